"""Rejections: whose chips go back when a box is over a limit, and what is flagged before that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from tests.table.setting import Table
from threedice import load
from threedice.rulebook.conduct import ProRataRule
from threedice.table.events import BetRejected
from threedice.table.limits import (
    find_breaches,
    permitted_total,
    remaining_room,
    uniform_limits,
)
from threedice.table.rejections import find_rejections
from threedice.table.settlement import apportion, apportion_by_rule

if TYPE_CHECKING:
    from pathlib import Path


OWN_LIMITS = "nz-tai-sai-2008/1"
"""A game in which each player has the maximum to himself."""


def table_with(*bets: str, game: str = "sg-rws-tai-sai-v6/c", differential: int = 2000) -> Table:
    """Return a table at which limits are 50 to 1000 and bets as "ann 600 big" lie on the felt."""
    table = Table(game, stacks={"ann": 5000, "bob": 5000, "cat": 5000})
    table.state.limits = uniform_limits(table.game, 50, 1000, differential)
    table.play("open betting")
    for bet in bets:
        player, amount, box = bet.split()
        table.play(f"{player} bets {amount} on {box}")
    return table


def rejected(table: Table, *spots: str) -> list[tuple[str, int, int, str]]:
    """Return what goes back as (player, number of the placement, amount, limit)."""
    found = find_rejections(table.game, table.state, spots)
    return [(each.player, each.number, each.amount, each.limit) for each in found]


def flagged(table: Table) -> list[tuple[str, str, str, int, int]]:
    return [
        (flag.kind, flag.spot, flag.player, flag.staked, flag.limit)
        for flag in find_breaches(table.game, table.state)
    ]


# --- the last placement first -------------------------------------------------------------------


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
def test_the_excess_in_a_shared_box_goes_back_from_the_last_placement(
    bets: list[str], gone: list[tuple[str, int, int, str]]
) -> None:
    assert rejected(table_with(*bets), "big", "small", "odd", "even") == gone


def test_each_player_goes_back_to_his_own_maximum_where_it_is_his_own() -> None:
    table = table_with(
        "ann 600 big", "bob 1000 big", "ann 600 big", "cat 1050 big", game=OWN_LIMITS
    )

    assert rejected(table, "big") == [("ann", 3, 200, "maximum"), ("cat", 4, 50, "maximum")]


def test_a_player_far_over_his_own_maximum_loses_several_placements() -> None:
    table = table_with("ann 600 big", "bob 50 big", "ann 400 big", "ann 700 big", game=OWN_LIMITS)

    assert rejected(table, "big") == [("ann", 4, 700, "maximum")]
    table.play("ann bets 45 on big")
    assert rejected(table, "big") == [("ann", 5, 45, "maximum"), ("ann", 4, 700, "maximum")]


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
def test_the_differential_trims_the_larger_side(
    bets: list[str], gone: list[tuple[str, int, int, str]]
) -> None:
    table = table_with(*bets, differential=300)

    assert rejected(table, "big", "small", "odd", "even") == gone


def test_a_placement_that_goes_back_whole_may_put_the_other_side_over() -> None:
    table = table_with("ann 975 small", "bob 70 small", "cat 1000 big", differential=10)

    assert rejected(table, "big", "small") == [
        ("bob", 2, 70, "maximum"),
        ("cat", 3, 15, "differential"),
    ]


def test_a_placement_may_be_trimmed_twice() -> None:
    table = table_with("ann 975 small", "bob 70 small", "cat 1005 big", differential=10)

    assert rejected(table, "big", "small") == [
        ("cat", 3, 5, "maximum"),
        ("bob", 2, 70, "maximum"),
        ("cat", 3, 15, "differential"),
    ]


def test_what_is_left_can_still_be_paid_at_fractional_odds(tmp_path: Path) -> None:
    file = tmp_path / "fractional.toml"
    file.write_text(
        'extends = "sg-rws-tai-sai-v6"\nid = "fractional"\ntitle = "Fractional"\n'
        '[pay_tables.1.rows]\nsmall.odds = "19 to 20"\n',
        encoding="utf-8",
    )
    table = Table(f"{file}/a", limits=uniform_limits(load(f"{file}/a"), 100, 1000, 350))
    table.play("open betting", "ann bets 800 on small")

    assert rejected(table, "small") == [("ann", 1, 500, "differential")]


def test_an_excess_of_one_goes_back_where_chips_are_of_one() -> None:
    table = table_with(differential=300)
    table.state.chips = [1, 5, 25]
    table.play("ann bets 301 on big", "bob bets 1001 on total:9")

    assert rejected(table, "small", "big") == [("ann", 1, 1, "differential")]
    assert rejected(table, "total:9") == [("bob", 2, 1, "maximum")]


def test_each_rejection_names_its_spot() -> None:
    table = table_with("ann 1005 big", "bob 1010 odd")

    assert find_rejections(table.game, table.state, ["odd", "big"]) == [
        BetRejected(player="bob", spot="odd", amount=10, number=2, limit="maximum"),
        BetRejected(player="ann", spot="big", amount=5, number=1, limit="maximum"),
    ]


# --- room and flags -----------------------------------------------------------------------------


def test_an_untouched_box_has_room_for_its_maximum() -> None:
    table = table_with("ann 100 big")

    assert remaining_room(table.game, table.state, "small", "ann") == 1000
    assert remaining_room(table.game, table.state, "big", "ann") == 900


def test_a_player_over_his_own_maximum_has_no_room_left() -> None:
    table = table_with("ann 1200 big", game=OWN_LIMITS)

    assert remaining_room(table.game, table.state, "big", "ann") == 0
    assert remaining_room(table.game, table.state, "small", "ann") == 1000


@pytest.mark.parametrize(
    ("totals", "spot", "may_play"),
    [
        ({}, "big", 300),
        ({"small": 200}, "big", 500),
        ({"small": 5000}, "big", 1000),
        ({"small": 700}, "big", 1000),
        ({"big": 200}, "small", 500),
        ({"big": 200, "odd": 100}, "even", 400),
        ({"small": 200}, "total:9", 1000),
    ],
)
def test_what_may_play_depends_on_the_other_side(
    totals: dict[str, int], spot: str, may_play: int
) -> None:
    table = table_with()
    limits = uniform_limits(table.game, 50, 1000, 300)

    assert permitted_total(table.game, limits, totals, spot) == may_play


@pytest.mark.parametrize(
    ("bets", "found"),
    [
        (["ann 1000 big"], []),
        (["ann 1005 big"], [("maximum", "big", "", 1005, 1000)]),
        (["ann 900 big", "bob 50 big"], []),
        (["ann 900 big", "bob 45 big"], [("minimum", "big", "bob", 45, 50)]),
    ],
)
def test_a_shared_box_is_flagged_once_for_all_and_each_player_for_his_own_minimum(
    bets: list[str], found: list[tuple[str, str, str, int, int]]
) -> None:
    assert flagged(table_with(*bets)) == found


@pytest.mark.parametrize(
    ("bets", "found"),
    [
        (["ann 300 big"], []),
        (["ann 305 big"], [("differential", "big", "", 305, 300)]),
        (["ann 700 small", "bob 1000 big"], []),
        (["ann 1005 big"], [("maximum", "big", "", 1005, 1000),
                            ("differential", "big", "", 1005, 300)]),
        (["ann 1005 big", "bob 900 small"], [("maximum", "big", "", 1005, 1000)]),
    ],
)  # fmt: skip
def test_a_differential_is_flagged_from_the_first_chip_over_it(
    bets: list[str], found: list[tuple[str, str, str, int, int]]
) -> None:
    assert flagged(table_with(*bets, differential=300)) == found


def test_every_flag_cites_the_clauses_of_its_limit() -> None:
    table = table_with("ann 1005 big", "bob 40 odd", differential=300)
    cited = {flag.kind: flag.clauses for flag in find_breaches(table.game, table.state)}

    assert cited == {
        "maximum": ("3.5", "5.1", "5.1.1"),
        "differential": ("1.3", "3.5", "5.1", "5.1.1"),
        "minimum": ("5.2", "5.2.1"),
    }


@pytest.mark.parametrize(
    ("stake", "found"),
    [
        (0, []),
        (45, [("minimum", "shooter", "ann", 45, 50)]),
        (50, []),
        (1000, []),
        (1005, [("maximum", "shooter", "ann", 1005, 1000)]),
    ],
)
def test_the_shooters_bet_is_flagged_by_the_limits_of_its_box(
    stake: int, found: list[tuple[str, str, str, int, int]]
) -> None:
    table = Table("triple-dice", stacks={"ann": 5000})
    table.play("offer the dice to ann", "ann chooses dice 1 2 3", "open betting")
    if stake:
        table.play(f"ann bets {stake} on shooter")

    assert flagged(table) == found


# --- pro rata without a floor -------------------------------------------------------------------


@pytest.mark.parametrize("method", ["floor", "absorb"])
@pytest.mark.parametrize(
    ("exempt", "stakes", "plays"),
    [
        (False, [1900, 95, 5], [950, 45, 0]),
        (True, [1950, 50], [975, 25]),
        (False, [1955, 45], [975, 20]),
    ],
)
def test_a_rulebook_without_a_floor_scales_everybody_who_is_not_exempt(
    method: Literal["floor", "absorb"], exempt: bool, stakes: list[int], plays: list[int]
) -> None:
    rule = ProRataRule(
        method=method, round_to="smallest-chip", never_below_minimum=False,
        exempt_below_minimum=exempt, clause="1",
    )  # fmt: skip
    by_player = {str(i): stake for i, stake in enumerate(stakes)}

    assert list(apportion_by_rule(rule, by_player, 1000, 50, 5).values()) == plays


def test_whoever_plays_just_the_minimum_by_his_share_leaves_nothing_to_absorb() -> None:
    assert apportion("absorb", {"ann": 1900, "bob": 105}, 1000, 50, 5) == {"ann": 945, "bob": 50}
