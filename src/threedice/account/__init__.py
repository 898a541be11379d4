"""The cage: a player's account with the house, in one currency. Commands in, events out.

`commands` -> `decide` -> `events` -> `evolve` -> `Account`. Nothing here touches a clock, a disk or
a random number; `floor` appends a transfer to the account's stream and the table's together.
"""

from threedice.account.decider import PlayerAccount, decide, evolve

__all__ = ["PlayerAccount", "decide", "evolve"]
