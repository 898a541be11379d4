"""A house to try everything in: tables of every rulebook, sign-ins, and players who bet."""
