"""The equipment of a table: its register, opening checks, malfunctions and the test mode.

Handlers in `register`, `checks` and `trials`; `evolve` applies the events, `prose` describes them.
"""
