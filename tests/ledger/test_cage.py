"""What happens to a player's account, as postings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from threedice.cage import events as happened
from threedice.ledger import Posting, cage_postings

if TYPE_CHECKING:
    from threedice.cage.events import AnyCageEvent


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (happened.AccountOpened(player="ann", currency="SGD", by="c"), []),
        (
            happened.Deposited(player="ann", amount=50, by="c"),
            [Posting("outside", "cage/ann", 50)],
        ),
        (
            happened.Withdrawn(player="ann", amount=50, by="c"),
            [Posting("cage/ann", "outside", 50)],
        ),
        (happened.SentToTable(player="ann", table="1", amount=50), []),
        (happened.ReceivedFromTable(player="ann", table="1", amount=50), []),
    ],
)
def test_cash_comes_from_outside_and_transfers_are_posted_by_the_table(
    event: AnyCageEvent, expected: list[Posting]
) -> None:
    assert cage_postings(event) == expected
