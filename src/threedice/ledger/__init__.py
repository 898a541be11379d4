"""Money: the postings of every event, the balances they lead to, and a table's figures.

`postings` maps events to postings; `balances` applies them to accounts, refuses a negative balance
where none is allowed, and sums a table's events into drop, turnover, win and hold.
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
