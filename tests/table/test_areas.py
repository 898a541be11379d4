"""Boxes with an area at each end of the table: placing, moving and withdrawing chips there."""

from __future__ import annotations

from tests.table.table_driver import Table
from threedice.table.state import Bet, Placement

E = "sg-rws-tai-sai-v6/e"
PER_AREA = {"areas": "per-area"}


def test_chips_are_withdrawn_only_from_the_area_where_they_lie() -> None:
    table = Table(E)
    table.play("open betting", "ann bets 100 on big at left", "ann bets 50 on big at right")

    refused = table.expect_refusal("ann withdraws 60 from big at right")

    assert (refused.code, refused.facts) == ("bet/not-there", {"amount": 60, "staked": 50})
    table.play("ann withdraws 100 from big at left")
    assert table.state.current.bets["big"]["ann"].placements == [Placement(2, 50, "right", "self")]


def test_withdrawal_without_an_area_takes_the_last_placed_chips() -> None:
    table = Table(E)
    table.play("open betting", "ann bets 100 on big at left", "ann bets 50 on big at right")

    table.play("ann withdraws 50 from big")

    assert table.state.current.bets["big"]["ann"].placements == [Placement(1, 100, "left", "self")]


def test_chips_move_between_areas_that_have_separate_limits() -> None:
    table = Table(E, readings=PER_AREA)
    table.play("open betting", "ann bets 100 on big at left")

    table.play("50 of ann's is moved from big at left to big at right")

    bets = table.state.current.bets
    assert bets["big@left"]["ann"] == Bet(50, [Placement(1, 50, "left", "self")])
    assert bets["big@right"]["ann"] == Bet(50, [Placement(1, 50, "right", "self", "big@left")])


def test_chips_moved_between_areas_of_a_box_keep_their_placement_number() -> None:
    table = Table(E)
    table.play("open betting", "ann bets 100 on big at left", "ann bets 50 on big at right")

    table.play("40 of ann's is moved from big at left to big at right")

    bet = table.state.current.bets["big"]["ann"]
    assert (bet.total, bet.placements) == (
        150,
        [
            Placement(1, 60, "left", "self"),
            Placement(2, 50, "right", "self"),
            Placement(1, 40, "right", "self"),
        ],
    )
    refused = table.expect_refusal("70 of ann's is moved from big at left to small at left")
    assert (refused.code, refused.facts) == ("bet/not-there", {"amount": 70, "staked": 60})
    table.play("40 of ann's is moved from big at right to big at left")
    assert bet.placements[0] == Placement(1, 100, "left", "self")


def test_chips_moved_to_a_box_without_an_area_keep_their_area() -> None:
    table = Table(E)
    table.play("open betting", "ann bets 100 on big at right")

    table.play("50 of ann's is moved from big at right to small")

    assert table.state.current.bets["small"]["ann"].placements[0].area == "right"


def test_rejection_of_a_placement_split_between_areas_takes_from_both() -> None:
    table = Table(E)
    table.play("open betting", "ann bets 900 on big at left", "bob bets 200 on big at left")
    table.play("100 of bob's is moved from big at left to big at right")

    table.play("dealer rejects the excess on big")

    bets = table.state.current.bets["big"]
    assert sum(bet.total for bet in bets.values()) <= 1000
    assert all(bet.total == sum(each.amount for each in bet.placements) for bet in bets.values())


def test_withdrawal_that_breaks_a_shared_minimum_is_refused_at_an_electronic_table() -> None:
    table = Table(E, mode="refuse", readings={"minimum": "box-total"})
    table.play("open betting", "ann bets 50 on big", "bob bets 30 on big")

    refused = table.expect_refusal("bob withdraws 30 from big at left")
    assert refused.code == "bet/not-there"
    assert table.expect_refusal("ann withdraws 50 from big").facts == {"total": 30, "minimum": 50}
    table.play("bob withdraws 30 from big")


def test_bet_on_an_unknown_area_is_refused_without_a_clause() -> None:
    table = Table(E)
    table.play("open betting")

    refused = table.expect_refusal("ann bets 50 on big at nowhere")

    assert (refused.code, refused.clause) == ("bet/unknown-area", ())


def test_refused_area_of_a_box_without_areas_says_that_it_has_none() -> None:
    table = Table("sg-rws-tai-sai-v6/a")
    table.play("open betting")

    refused = table.expect_refusal("ann bets 50 on big at left")

    assert str(refused).startswith("box big has no area left; it has no areas")
