"""Postings of a debt that is paid off, of chips on a line, and at the cage."""

from __future__ import annotations

from typing import Literal

import pytest

from tests.table.setting import DEALER
from threedice.account import events as account_events
from threedice.ledger import Posting, table_postings
from threedice.ledger.postings import account_postings
from threedice.table import events as table_events


@pytest.mark.parametrize(
    ("source", "paid"),
    [
        ("stack", Posting("stack/ann", "float", 30)),
        ("cash", Posting("outside", "cash", 30)),
    ],
)
def test_a_repayment_comes_out_of_chips_or_cash_and_out_of_the_debt(
    source: Literal["stack", "cash"], paid: Posting
) -> None:
    repaid = table_events.DebtRepaid(player="ann", amount=30, source=source)

    assert table_postings(repaid) == [paid, Posting("vault", "owing/ann", 30)]


@pytest.mark.parametrize(
    ("accepted", "moves"), [(True, []), (False, [Posting("layout", "stack/ann", 5)])]
)
def test_chips_on_a_line_go_back_unless_they_are_a_bet(
    accepted: bool, moves: list[Posting]
) -> None:
    judged = table_events.LineJudged(
        player="ann", spot="big", amount=5, accepted=accepted, by=DEALER
    )

    assert table_postings(judged) == moves


@pytest.mark.parametrize(
    ("event", "moves"),
    [
        (account_events.Deposited(player="ann", amount=30, by="cashier"),
         [Posting("outside", "cage/ann", 30)]),
        (account_events.Withdrawn(player="ann", amount=30, by="cashier"),
         [Posting("cage/ann", "outside", 30)]),
        (account_events.AccountOpened(player="ann", currency="SGD", by="cashier"), []),
        (account_events.SentToTable(player="ann", table="t", amount=30), []),
        (account_events.ReceivedFromTable(player="ann", table="t", amount=30), []),
    ],
)  # fmt: skip
def test_cash_at_the_cage_moves_there_and_what_goes_to_a_table_is_posted_by_the_table(
    event: account_events.AnyPlayerAccountEvent, moves: list[Posting]
) -> None:
    assert account_postings(event) == moves
