"""What happens to a player's account, as postings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from threedice.account import events
from threedice.ledger import Posting, account_postings

if TYPE_CHECKING:
    from threedice.account.events import AnyPlayerAccountEvent


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (events.AccountOpened(player="ann", currency="SGD", by="c"), []),
        (
            events.Deposited(player="ann", amount=50, by="c"),
            [Posting("outside", "cage/ann", 50)],
        ),
        (
            events.Withdrawn(player="ann", amount=50, by="c"),
            [Posting("cage/ann", "outside", 50)],
        ),
        (events.SentToTable(player="ann", table="1", amount=50), []),
        (events.ReceivedFromTable(player="ann", table="1", amount=50), []),
    ],
)
def test_cash_comes_from_outside_and_transfers_are_posted_by_the_table(
    event: AnyPlayerAccountEvent, expected: list[Posting]
) -> None:
    assert account_postings(event) == expected
