"""Postings: the accounts and amounts that each event moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pytest

from tests.table.table_driver import DEALER, MANAGER, SUPERVISOR, Table
from threedice.account.events import Deposited
from threedice.money import Posting
from threedice.table import events
from threedice.table.money import table_postings

if TYPE_CHECKING:
    from threedice.table.events import AnyEvent

Moves = list[tuple[str, str, int]]


def rounds_reversed(transfers: list[tuple[str, int]], owing: list[tuple[str, int]]) -> AnyEvent:
    return events.RoundsReversed(
        rounds=[1], cause="dice-damaged", transfers=transfers, owing=owing, by=SUPERVISOR,
        approved_by=MANAGER,
    )  # fmt: skip


def bet_corrected(amount: int, owing: int = 0) -> AnyEvent:
    return events.BetCorrected(
        round=1, player="ann", amount=amount, owing=owing, reason="why", by=DEALER,
        approved_by=SUPERVISOR,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("event", "moves"),
    [
        (events.FloatFilled(amount=5, by=SUPERVISOR), [("vault", "float", 5)]),
        (events.FloatCredited(amount=5, by=SUPERVISOR), [("float", "vault", 5)]),
        (events.TableClosed(
            carried_away=[("ann", 5), ("bob", 0)], float_amount=10, drop=15, by=SUPERVISOR),
         [("stack/ann", "outside", 5), ("stack/bob", "outside", 0), ("float", "vault", 10),
          ("cash", "vault", 15)]),
        (events.BoughtIn(player="ann", amount=5, source="cash"),
         [("outside", "cash", 5), ("float", "stack/ann", 5)]),
        (events.BoughtIn(player="ann", amount=5, source="account"),
         [("transfer/ann", "vault", 5), ("float", "stack/ann", 5)]),
        (events.CashedOut(player="ann", amount=5, to="outside"), [("stack/ann", "outside", 5)]),
        (events.CashedOut(player="ann", amount=5, to="account"),
         [("stack/ann", "float", 5), ("vault", "transfer/ann", 5)]),
        (events.BetPlaced(
            player="ann", spot="big", area="", amount=5, number=1, manner="self", by=DEALER),
         [("stack/ann", "layout", 5)]),
        (events.BetWithdrawn(player="ann", spot="big", amount=5), [("layout", "stack/ann", 5)]),
        (events.BetRejected(player="ann", spot="big", amount=5, number=1, limit="maximum"),
         [("layout", "stack/ann", 5)]),
        (events.BetsApportioned(bets=[("big", "ann", 15, 10), ("big", "bob", 10, 10)]),
         [("layout", "stack/ann", 5)]),
        (events.LosersCollected(bets=[("big", "ann", 5), ("odd", "bob", 10)]),
         [("layout", "float", 5), ("layout", "float", 10)]),
        (events.WinnersPaid(round=1, dice=(1, 1, 2), bets=[("double:1", "ann", 5, 55)]),
         [("layout", "stack/ann", 5), ("float", "stack/ann", 55)]),
        (events.ShooterWon(player="ann", stake=5, winnings=45),
         [("layout", "stack/ann", 5), ("float", "stack/ann", 45)]),
        (events.ShooterLost(player="ann", stake=5), [("layout", "float", 5)]),
        (events.ShooterAdvanced(player="ann", throws=1), []),
        (events.RoundVoided(
            round=1, cause="", bets="returned", returned=[("big", "ann", 5)], by=DEALER),
         [("layout", "stack/ann", 5)]),
        (events.RoundVoided(
            round=1, cause="", bets="stand", returned=[], by=DEALER, restored=[("big", "ann", 5)]),
         [("float", "layout", 5)]),
        (rounds_reversed([("ann", 5), ("bob", -5)], []),
         [("float", "stack/ann", 5), ("stack/bob", "float", 5)]),
        (rounds_reversed([("ann", -15)], [("ann", 5)]),
         [("stack/ann", "float", 10), ("owing/ann", "vault", 5)]),
        (rounds_reversed([("ann", -15)], [("ann", 15)]),
         [("stack/ann", "float", 0), ("owing/ann", "vault", 15)]),
        (rounds_reversed([("ann", 15)], [("ann", -5)]),
         [("float", "stack/ann", 10), ("vault", "owing/ann", 5)]),
        (bet_corrected(5), [("float", "stack/ann", 5)]),
        (bet_corrected(5, -5), [("stack/ann", "float", 0), ("vault", "owing/ann", 5)]),
        (bet_corrected(2, -1), [("float", "stack/ann", 1), ("vault", "owing/ann", 1)]),
        (bet_corrected(-2, 1), [("stack/ann", "float", 1), ("owing/ann", "vault", 1)]),
        (bet_corrected(-5), [("stack/ann", "float", 5)]),
        (bet_corrected(-15, 5), [("stack/ann", "float", 10), ("owing/ann", "vault", 5)]),
        (events.RulingMade(player="ann", amount=1, owing=0, reason="why", by=MANAGER),
         [("float", "stack/ann", 1)]),
    ],
)  # fmt: skip
def test_event_posts_between_the_expected_accounts(event: AnyEvent, moves: Moves) -> None:
    assert [posting[:3] for posting in table_postings(event)] == moves


def test_opening_a_table_posts_the_float_from_the_vault() -> None:
    opened = Table(float_amount=700_000).events[0]

    assert table_postings(opened) == [Posting("vault", "float", 700_000)]


@pytest.mark.parametrize(
    ("source", "paid"),
    [
        ("stack", Posting("stack/ann", "float", 30, "ann")),
        ("cash", Posting("outside", "cash", 30, "ann")),
    ],
)
def test_repayment_posts_from_chips_or_cash_and_reduces_the_debt(
    source: Literal["stack", "cash"], paid: Posting
) -> None:
    repaid = events.DebtRepaid(player="ann", amount=30, source=source)

    assert table_postings(repaid) == [paid, Posting("vault", "owing/ann", 30, "ann")]


@pytest.mark.parametrize(
    ("accepted", "moves"), [(True, []), (False, [Posting("layout", "stack/ann", 5, "ann", "big")])]
)
def test_rejected_chips_on_a_line_are_posted_back_to_the_stack(
    accepted: bool, moves: list[Posting]
) -> None:
    judged = events.LineJudged(player="ann", spot="big", amount=5, accepted=accepted, by=DEALER)

    assert table_postings(judged) == moves


def test_postings_of_bets_name_the_player_and_the_spot() -> None:
    lost = events.LosersCollected(bets=[("big", "ann", 5)])
    won = events.WinnersPaid(round=1, dice=(1, 1, 2), bets=[("double:1", "bob", 5, 55)])

    assert table_postings(lost) == [Posting("layout", "float", 5, "ann", "big")]
    assert {each[3:] for each in table_postings(won)} == {("bob", "double:1")}


def test_event_of_another_kind_of_stream_is_not_posted_as_one_of_a_table() -> None:
    foreign: Any = Deposited(player="ann", amount=5, by="cashier")

    with pytest.raises(AssertionError, match="Deposited"):
        table_postings(foreign)
