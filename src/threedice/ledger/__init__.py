"""Money: every event of a table as postings between accounts, and what they add up to.

`postings` (event -> postings) -> `balances` (a fold, with what may not go below zero; `adding`
does both at once) -> `accounting` (drop, turnover, win, hold, and what theory expects).
"""

from threedice.ledger.balances import (
    EVENTS_WITHOUT_POSTINGS,
    Balances,
    TableFigures,
    compute_table_figures,
    post_event,
)
from threedice.ledger.postings import Posting, account_postings, table_postings

__all__ = [
    "EVENTS_WITHOUT_POSTINGS",
    "Balances",
    "Posting",
    "TableFigures",
    "account_postings",
    "compute_table_figures",
    "post_event",
    "table_postings",
]
