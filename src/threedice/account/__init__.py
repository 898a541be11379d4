"""A player's account with the house, in one currency: commands in, events out.

`commands` -> `decide` -> `events` -> `evolve` -> `PlayerAccount`. The package is pure: no clock, no
I/O, no randomness. For a transfer, `house` appends to the account's stream and to the table's
stream in one transaction.
"""

from threedice.account.decider import PlayerAccount, decide, evolve

__all__ = ["PlayerAccount", "decide", "evolve"]
