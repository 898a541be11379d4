"""Postings of a debt that is paid off, of chips on a line, and at the cage."""

from __future__ import annotations

from typing import Literal

import pytest

from tests.table.setting import DEALER
from threedice.cage import events as cage
from threedice.ledger import Posting, postings
from threedice.ledger.postings import cage_postings
from threedice.table import events as happened


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
    repaid = happened.DebtRepaid(player="ann", amount=30, source=source)

    assert postings(repaid) == [paid, Posting("vault", "owing/ann", 30)]


@pytest.mark.parametrize(
    ("accepted", "moves"), [(True, []), (False, [Posting("layout", "stack/ann", 5)])]
)
def test_chips_on_a_line_go_back_unless_they_are_a_bet(
    accepted: bool, moves: list[Posting]
) -> None:
    judged = happened.LineJudged(player="ann", spot="big", amount=5, accepted=accepted, by=DEALER)

    assert postings(judged) == moves


@pytest.mark.parametrize(
    ("event", "moves"),
    [
        (cage.Deposited(player="ann", amount=30, by="cashier"),
         [Posting("outside", "cage/ann", 30)]),
        (cage.Withdrawn(player="ann", amount=30, by="cashier"),
         [Posting("cage/ann", "outside", 30)]),
        (cage.AccountOpened(player="ann", currency="SGD", by="cashier"), []),
        (cage.SentToTable(player="ann", table="t", amount=30), []),
        (cage.ReceivedFromTable(player="ann", table="t", amount=30), []),
    ],
)  # fmt: skip
def test_cash_at_the_cage_moves_there_and_what_goes_to_a_table_is_posted_by_the_table(
    event: cage.AnyCageEvent, moves: list[Posting]
) -> None:
    assert cage_postings(event) == moves
