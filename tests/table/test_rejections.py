"""Rejections: which placements are returned when a box is over a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.table.table_driver import (
    MANAGER,
    PER_PLAYER_LIMITS,
    SUPERVISOR,
    Table,
    table_with_bets,
)
from threedice import load
from threedice.table import commands
from threedice.table.events import BetRejected
from threedice.table.limits import uniform_limits
from threedice.table.rejections import find_rejections

if TYPE_CHECKING:
    from pathlib import Path


def list_rejections(table: Table, *spots: str) -> list[tuple[str, int, int, str]]:
    """List rejections as (player, placement number, amount, limit)."""
    found = find_rejections(table.game, table.state, spots)
    return [(each.player, each.number, each.amount, each.limit) for each in found]


@pytest.mark.parametrize(
    ("bets", "gone"),
    [
        (["ann 600 big", "bob 400 big"], []),
        (["ann 600 big", "bob 405 big"], [("bob", 2, 5, "maximum")]),
        (["ann 600 big", "bob 300 big", "cat 200 big"], [("cat", 3, 100, "maximum")]),
        (["ann 950 big", "bob 100 big"], [("bob", 2, 50, "maximum")]),
        (["ann 955 big", "bob 100 big"], [("bob", 2, 100, "maximum")]),
        (["ann 800 big", "bob 800 big", "cat 500 big"],
         [("cat", 3, 500, "maximum"), ("bob", 2, 600, "maximum")]),
        (["ann 600 big", "bob 300 big", "ann 200 big"], [("ann", 3, 100, "maximum")]),
        (["ann 2500 big"], [("ann", 1, 1500, "maximum")]),
        (["ann 600 big", "bob 405 odd"], []),
    ],
)  # fmt: skip
def test_excess_in_a_shared_box_is_rejected_from_the_last_placement(
    bets: list[str], gone: list[tuple[str, int, int, str]]
) -> None:
    assert list_rejections(table_with_bets(*bets), "big", "small", "odd", "even") == gone


def test_per_player_maximum_trims_each_player_separately() -> None:
    table = table_with_bets(
        "ann 600 big", "bob 1000 big", "ann 600 big", "cat 1050 big", game=PER_PLAYER_LIMITS
    )

    assert list_rejections(table, "big") == [("ann", 3, 200, "maximum"), ("cat", 4, 50, "maximum")]


def test_player_far_over_the_maximum_has_several_placements_rejected() -> None:
    table = table_with_bets(
        "ann 600 big", "bob 50 big", "ann 400 big", "ann 700 big", game=PER_PLAYER_LIMITS
    )

    assert list_rejections(table, "big") == [("ann", 4, 700, "maximum")]
    table.play("ann bets 45 on big")
    assert list_rejections(table, "big") == [("ann", 5, 45, "maximum"), ("ann", 4, 700, "maximum")]


@pytest.mark.parametrize(
    ("bets", "gone"),
    [
        (["ann 300 big"], []),
        (["ann 305 big"], [("ann", 1, 5, "differential")]),
        (["ann 500 big", "bob 200 small"], []),
        (["ann 500 big", "bob 195 small"], [("ann", 1, 5, "differential")]),
        (["ann 200 small", "bob 505 small", "cat 400 big"], [("bob", 2, 5, "differential")]),
        (["ann 1400 big", "bob 1300 small"],
         [("ann", 1, 400, "maximum"), ("bob", 2, 300, "maximum")]),
        (["ann 1005 big", "bob 800 small"], [("ann", 1, 5, "maximum")]),
        (["ann 360 big", "bob 1000 odd"], [("ann", 1, 60, "differential"),
                                           ("bob", 2, 700, "differential")]),
    ],
)  # fmt: skip
def test_differential_trims_the_larger_side(
    bets: list[str], gone: list[tuple[str, int, int, str]]
) -> None:
    table = table_with_bets(*bets, differential=300)

    assert list_rejections(table, "big", "small", "odd", "even") == gone


def test_rejecting_a_whole_placement_can_put_the_other_side_over_the_differential() -> None:
    table = table_with_bets("ann 975 small", "bob 70 small", "cat 1000 big", differential=10)

    assert list_rejections(table, "big", "small") == [
        ("bob", 2, 70, "maximum"),
        ("cat", 3, 15, "differential"),
    ]


def test_placement_may_be_trimmed_for_maximum_and_then_for_differential() -> None:
    table = table_with_bets("ann 975 small", "bob 70 small", "cat 1005 big", differential=10)

    assert list_rejections(table, "big", "small") == [
        ("cat", 3, 5, "maximum"),
        ("bob", 2, 70, "maximum"),
        ("cat", 3, 15, "differential"),
    ]


def test_trimmed_stake_stays_payable_at_fractional_odds(tmp_path: Path) -> None:
    file = tmp_path / "fractional.toml"
    file.write_text(
        'extends = "sg-rws-tai-sai-v6"\nid = "fractional"\ntitle = "Fractional"\n'
        '[pay_tables.1.rows]\nsmall.odds = "19 to 20"\n',
        encoding="utf-8",
    )
    table = Table(f"{file}/a", limits=uniform_limits(load(f"{file}/a"), 100, 1000, 350))
    table.play("open betting", "ann bets 800 on small")

    assert list_rejections(table, "small") == [("ann", 1, 500, "differential")]


def test_excess_of_one_is_rejected_where_the_smallest_chip_is_one() -> None:
    table = table_with_bets(differential=300)
    table.state.chips = [1, 5, 25]
    table.play("ann bets 301 on big", "bob bets 1001 on total:9")

    assert list_rejections(table, "small", "big") == [("ann", 1, 1, "differential")]
    assert list_rejections(table, "total:9") == [("bob", 2, 1, "maximum")]


def test_bet_left_standing_plays_whole_at_a_lower_maximum_where_no_differential_applies() -> None:
    table = Table(PER_PLAYER_LIMITS, "refuse", readings={"no-spin": "stand"})
    table.play("open betting", "ann bets 1000 on big", "dealer reports dice-not-flat")
    lower = uniform_limits(table.game, 50, 500)
    table.send(commands.SetLimits(by=SUPERVISOR, limits=lower, approved_by=MANAGER))

    table.play("open betting", "close betting", "dice 6 5 5")

    assert table.stack("ann") == 3000


def test_each_rejection_names_its_spot() -> None:
    table = table_with_bets("ann 1005 big", "bob 1010 odd")

    assert find_rejections(table.game, table.state, ["odd", "big"]) == [
        BetRejected(player="bob", spot="odd", amount=10, number=2, limit="maximum"),
        BetRejected(player="ann", spot="big", amount=5, number=1, limit="maximum"),
    ]


@pytest.mark.clause("sg-rws-tai-sai-v6 5.1")
@pytest.mark.parametrize(
    ("bets", "gone"),
    [
        (["ann 910 big", "ann 95 big"], [("ann", 2, 5)]),
        (["ann 60 big", "bob 900 big", "ann 45 big"], [("ann", 3, 5)]),
        (["bob 960 big", "ann 60 big", "ann 40 big"], [("ann", 3, 40), ("ann", 2, 60)]),
        (["ann 60 big", "bob 920 big", "cat 100 big", "ann 40 big"],
         [("ann", 4, 40), ("cat", 3, 100)]),
        (["ann 30 big", "bob 970 big", "ann 25 big"], [("ann", 3, 25), ("ann", 1, 30)]),
        (["bob 1100 big", "ann 25 big", "ann 30 big"],
         [("ann", 3, 30), ("ann", 2, 25), ("bob", 1, 100)]),
    ],
)  # fmt: skip
def test_rejecting_excess_keeps_a_bet_that_reaches_the_minimum_with_its_earlier_placements(
    bets: list[str], gone: list[tuple[str, int, int]]
) -> None:
    table = table_with_bets(*bets)
    expected = [(*each, "maximum") for each in gone]

    assert list_rejections(table, "big") == expected


@pytest.mark.clause("sg-rws-tai-sai-v6 5.1", "sg-rws-tai-sai-v6 5.2")
def test_rejecting_excess_under_a_minimum_for_the_box_may_leave_a_player_less_than_it() -> None:
    table = table_with_bets("ann 960 big", "bob 100 big", readings={"minimum": "box-total"})

    assert list_rejections(table, "big") == [("bob", 2, 60, "maximum")]


def test_placement_trimmed_below_the_minimum_is_rejected_whole() -> None:
    table = table_with_bets(
        "ann 975 small", "bob 70 small", "ann 945 big", "cat 60 big", differential=10
    )

    assert list_rejections(table, "big", "small") == [
        ("cat", 4, 5, "maximum"),
        ("bob", 2, 70, "maximum"),
        ("cat", 4, 55, "differential"),
        ("ann", 1, 20, "differential"),
    ]
