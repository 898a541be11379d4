"""Money: every event of a table as postings between accounts, and what they add up to.

`postings` (event -> postings) -> `balances` (a fold, with what may not go below zero; `adding`
does both at once) -> `accounting` (drop, turnover, win, hold, and what theory expects).
"""

from threedice.ledger.accounting import Accounts, account
from threedice.ledger.adding import STILL, add
from threedice.ledger.balances import Balances
from threedice.ledger.postings import Posting, cage_postings, postings

__all__ = [
    "STILL",
    "Accounts",
    "Balances",
    "Posting",
    "account",
    "add",
    "cage_postings",
    "postings",
]
