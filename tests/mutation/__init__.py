"""Mutation testing of the rulebook and the table."""
