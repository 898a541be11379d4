"""Limits: room, flags, rejections and pro rata."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.table.setting import Table
from threedice.table.limits import TableLimits, find_breaches, remaining_room, uniform_limits
from threedice.table.settlement import apportion

Method = Literal["floor", "absorb"]


@pytest.mark.clause("sg-rws-tai-sai-v6 5.1.1", "sg-rws-tai-sai-v6 5.1.2")
@pytest.mark.parametrize(
    ("method", "stakes", "plays"),
    [
        ("floor", [900, 300, 40], [725, 240, 40]),
        ("absorb", [900, 300, 40], [720, 240, 40]),
        ("floor", [500, 500], [500, 500]),
        ("floor", [505, 500], [500, 495]),
        ("absorb", [505, 500], [500, 495]),
        ("floor", [2000, 50], [975, 50]),
        ("absorb", [2000, 50], [950, 50]),
        ("floor", [1000, 1000, 1000], [330, 330, 330]),
        ("absorb", [3000, 60, 55], [900, 50, 50]),
        ("floor", [3000, 60, 55], [960, 50, 50]),
        ("absorb", [1000] + [50] * 30, [50] * 31),
        ("floor", [1000] + [50] * 30, [400] + [50] * 30),
        ("absorb", [1010, 45], [955, 45]),
    ],
)
def test_pro_rata_as_the_documents_are_read(
    method: Method, stakes: list[int], plays: list[int]
) -> None:
    by_player = {f"p{i}": stake for i, stake in enumerate(stakes)}

    assert list(apportion(method, by_player, 1000, 50, 5).values()) == plays


@given(
    st.sampled_from(["floor", "absorb"]),
    st.lists(st.integers(1, 400).map(lambda n: n * 5), min_size=1, max_size=12),
    st.integers(0, 300).map(lambda n: n * 5),
    st.integers(1, 20).map(lambda n: n * 5),
)
def test_pro_rata_never_pays_more_than_was_staked_nor_less_than_the_rules_allow(
    method: Method, stakes: list[int], allowed: int, minimum: int
) -> None:
    by_player = {f"p{i}": stake for i, stake in enumerate(stakes)}
    shares = apportion(method, by_player, allowed, minimum, 5)
    floors = 0
    for player, stake in by_player.items():
        share = shares[player]
        assert 0 < share <= stake
        assert share % 5 == 0
        assert share >= min(stake, minimum)
        if stake < minimum and sum(stakes) > allowed:
            assert share == stake
        floors += share if share <= minimum else 0
    if sum(stakes) <= allowed:
        assert shares == by_player
    elif method == "absorb":
        assert sum(shares.values()) <= max(allowed, floors)
    else:
        assert sum(shares.values()) <= allowed + floors


@given(st.lists(st.integers(10, 400).map(lambda n: n * 5), min_size=2, max_size=8))
def test_a_larger_stake_never_plays_for_less(stakes: list[int]) -> None:
    for method in ("floor", "absorb"):
        shares = apportion(method, {str(i): s for i, s in enumerate(stakes)}, 1000, 50, 5)
        in_order = [shares[str(i)] for i, _ in sorted(enumerate(stakes), key=lambda each: each[1])]
        assert in_order == sorted(in_order)


@pytest.mark.clause("sg-rws-tai-sai-v6 3.5")
def test_the_room_in_a_box_is_shared_by_all_players() -> None:
    table = Table()
    table.play("open betting", "ann bets 700 on big")

    assert remaining_room(table.game, table.state, "big", "bob") == 300
    table.play("bob bets 500 on big")
    assert remaining_room(table.game, table.state, "big", "ann") == 0


@pytest.mark.clause("triple-dice 6")
def test_the_room_is_each_players_own_where_the_rulebook_says_so() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 700 on big")

    assert remaining_room(table.game, table.state, "big", "bob") == 1000
    assert remaining_room(table.game, table.state, "big", "ann") == 300


@pytest.mark.clause("sg-rws-tai-sai-v6 5.1", "sg-rws-tai-sai-v6 5.2")
def test_chips_on_felt_are_flagged_when_they_break_a_limit() -> None:
    table = Table(limits=None)
    table.play("open betting", "ann bets 900 on big", "bob bets 200 on big", "cat bets 40 on odd")
    found = {
        (flag.kind, flag.spot, flag.player, flag.limit)
        for flag in find_breaches(table.game, table.state)
    }

    assert found == {("maximum", "big", "", 1000), ("minimum", "odd", "cat", 50)}


def test_a_differential_is_flagged_on_the_larger_side() -> None:
    table = Table()
    table.state.limits = uniform_limits(table.game, 50, 1000, 300)
    table.play("open betting")
    table.state.limits = uniform_limits(table.game, 50, 1000, 300)
    table.play("ann bets 500 on big", "bob bets 100 on small")
    (flag,) = find_breaches(table.game, table.state)

    assert (flag.kind, flag.spot, flag.staked, flag.limit) == ("differential", "big", 500, 400)
    assert "1.3" in flag.clauses


def test_a_player_over_his_own_maximum_is_flagged() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 1005 on big", "bob bets 1000 on big")

    assert [(flag.kind, flag.player) for flag in find_breaches(table.game, table.state)] == [
        ("maximum", "ann")
    ]


def test_the_minimum_may_be_read_as_the_boxes_total() -> None:
    table = Table(readings={"minimum": "box-total"})
    table.play("open betting", "ann bets 30 on big", "bob bets 20 on big")
    assert list(find_breaches(table.game, table.state)) == []
    table.play("bob withdraws 5 from big")
    assert [flag.staked for flag in find_breaches(table.game, table.state)] == [45, 45]


def test_limits_by_family_may_have_exceptions_by_box() -> None:
    table = Table()
    limits = uniform_limits(table.game, 50, 1000, 2000)
    special = TableLimits(
        families=limits.families,
        boxes={"total:4": limits.families["total"].__class__(5, 100)},
        differential=limits.differential,
    )

    assert special.for_box("total:4").maximum == 100
    assert special.for_box("total:5").maximum == 1000
