"""Limits: remaining room, and which bets are flagged."""

from __future__ import annotations

import msgspec
import pytest

from tests.table.table_driver import PER_PLAYER_LIMITS, Table, table_with_bets
from threedice.table.limits import (
    StakeRange,
    TableLimits,
    find_breaches,
    permitted_total,
    remaining_room,
    uniform_limits,
)


@pytest.mark.clause("sg-rws-tai-sai-v6 3.5")
def test_remaining_room_in_a_box_is_shared_by_all_players() -> None:
    table = Table()
    table.play("open betting", "ann bets 700 on big")

    assert remaining_room(table.game, table.state, "big", "bob") == 300
    table.play("bob bets 500 on big")
    assert remaining_room(table.game, table.state, "big", "ann") == 0


@pytest.mark.clause("triple-dice 6")
def test_remaining_room_is_per_player_where_the_maximum_is_per_player() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 700 on big")

    assert remaining_room(table.game, table.state, "big", "bob") == 1000
    assert remaining_room(table.game, table.state, "big", "ann") == 300


@pytest.mark.clause("sg-rws-tai-sai-v6 5.1", "sg-rws-tai-sai-v6 5.2")
def test_physical_chips_that_break_a_limit_are_flagged() -> None:
    table = Table(limits=None)
    table.play("open betting", "ann bets 900 on big", "bob bets 200 on big", "cat bets 40 on odd")
    found = {
        (flag.kind, flag.spot, flag.player, flag.limit)
        for flag in find_breaches(table.game, table.state)
    }

    assert found == {("maximum", "big", "", 1000), ("minimum", "odd", "cat", 50)}


def test_differential_breach_is_flagged_on_the_larger_side() -> None:
    table = table_with_bets("ann 500 big", "bob 100 small", differential=300)
    (flag,) = find_breaches(table.game, table.state)

    assert (flag.kind, flag.spot, flag.staked, flag.limit) == ("differential", "big", 500, 400)
    assert "1.3" in flag.clauses


def test_player_over_a_per_player_maximum_is_flagged() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 1005 on big", "bob bets 1000 on big")

    assert [(flag.kind, flag.player) for flag in find_breaches(table.game, table.state)] == [
        ("maximum", "ann")
    ]


def test_minimum_may_apply_to_the_total_of_a_box() -> None:
    table = Table(readings={"minimum": "box-total"})
    table.play("open betting", "ann bets 30 on big", "bob bets 20 on big")
    assert list(find_breaches(table.game, table.state)) == []
    table.play("bob withdraws 5 from big")
    assert [flag.staked for flag in find_breaches(table.game, table.state)] == [45, 45]


def test_limits_of_a_box_override_the_limits_of_its_family() -> None:
    table = Table()
    limits = uniform_limits(table.game, 50, 1000, 2000)
    special = TableLimits(
        families=limits.families,
        boxes={"total:4": limits.families["total"].__class__(5, 100)},
        differential=limits.differential,
    )

    assert special.for_box("total:4").maximum == 100
    assert special.for_box("total:5").maximum == 1000


def list_breaches(table: Table) -> list[tuple[str, str, str, int, int]]:
    return [
        (flag.kind, flag.spot, flag.player, flag.staked, flag.limit)
        for flag in find_breaches(table.game, table.state)
    ]


def test_an_untouched_box_has_room_for_its_maximum() -> None:
    table = table_with_bets("ann 100 big")

    assert remaining_room(table.game, table.state, "small", "ann") == 1000
    assert remaining_room(table.game, table.state, "big", "ann") == 900


def test_player_over_a_per_player_maximum_has_no_remaining_room() -> None:
    table = table_with_bets("ann 1200 big", game=PER_PLAYER_LIMITS)

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
def test_permitted_total_of_a_box_depends_on_the_opposite_box(
    totals: dict[str, int], spot: str, may_play: int
) -> None:
    table = table_with_bets()
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
def test_maximum_is_flagged_once_per_shared_box_and_minimum_once_per_player(
    bets: list[str], found: list[tuple[str, str, str, int, int]]
) -> None:
    assert list_breaches(table_with_bets(*bets)) == found


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
def test_differential_is_flagged_from_the_first_chip_over_the_limit(
    bets: list[str], found: list[tuple[str, str, str, int, int]]
) -> None:
    assert list_breaches(table_with_bets(*bets, differential=300)) == found


def test_every_flag_cites_the_clauses_of_its_limit() -> None:
    table = table_with_bets("ann 1005 big", "bob 40 odd", differential=300)
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
def test_shooter_bet_is_flagged_by_the_limits_of_the_shooter_box(
    stake: int, found: list[tuple[str, str, str, int, int]]
) -> None:
    table = Table("triple-dice", stacks={"ann": 5000})
    table.play("offer the dice to ann", "ann chooses dice 1 2 3", "open betting")
    if stake:
        table.play(f"ann bets {stake} on shooter")

    assert list_breaches(table) == found


@pytest.mark.clause("triple-dice 6")
@pytest.mark.parametrize(("amount", "kind"), [(5, "minimum"), (1500, "maximum")])
def test_shooter_bet_outside_the_limits_is_flagged(amount: int, kind: str) -> None:
    table = Table("triple-dice")
    table.play("offer the dice to ann", "ann chooses dice 1 2 3", "open betting")
    table.play(f"ann bets {amount} on shooter")

    assert [flag.kind for flag in find_breaches(table.game, table.state)] == [kind]


@pytest.mark.parametrize("values", [{"families": {}}, {"minimum": 5, "maximum": 10}], ids=str)
def test_limits_have_no_unknown_keys_and_do_not_change(values: dict[str, int]) -> None:
    kind = StakeRange if "minimum" in values else TableLimits
    limits = msgspec.convert(values, kind)

    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**values, "highest": 5}, kind)
    with pytest.raises(AttributeError):
        setattr(limits, next(iter(values)), 5)
