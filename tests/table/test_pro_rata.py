"""Pro rata: the shares that play when a box holds more than its limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.table.table_driver import Table, replace_facts, table_on_changed_game
from threedice import load
from threedice.rulebook.conduct import ProRataRule
from threedice.table import BetRef, events, explain
from threedice.table.limits import uniform_limits
from threedice.table.settlement import (
    apportion,
    apportion_by_rule,
    playing_stakes,
    split_fixed_stakes,
)

if TYPE_CHECKING:
    from pathlib import Path

Method = Literal["floor", "absorb"]


@pytest.mark.parametrize("method", ["floor", "absorb"])
def test_stakes_that_exactly_fill_the_limit_are_not_rounded_to_chips(
    method: Method,
) -> None:
    stakes = {"ann": 503, "bob": 497}

    assert apportion(method, stakes, 1000, 50, 5) == stakes


@pytest.mark.parametrize("exempt", [25, 30])
def test_stake_gets_no_share_once_exempt_stakes_fill_the_limit(exempt: int) -> None:
    rule = ProRataRule(
        method="absorb", never_below_minimum=False,
        exempt_below_minimum=True, clause="1",
    )  # fmt: skip
    below = {f"p{i}": 40 for i in range(exempt)}

    assert apportion_by_rule(rule, {**below, "ann": 1000}, 1000, 50, 1) == {**below, "ann": 0}
    assert split_fixed_stakes({**below, "ann": 1000}, 1000, 0, 1, 50) == (below, 0, 1000)


def test_unnoticed_excess_over_a_differential_stands_where_the_rulebook_says_so() -> None:
    game = load("sg-rws-tai-sai-v6/a")
    limits = game.facts.limits
    assert limits.differential
    rule = msgspec.structs.replace(limits.differential, unnoticed="stands")
    changed = replace_facts(game, limits=msgspec.structs.replace(limits, differential=rule))
    table = table_on_changed_game(changed, stacks={"ann": 5000})
    table.state.limits = uniform_limits(changed, 50, 1000, 100)

    table.play("open betting", "ann bets 900 on big", "dice 6 5 4")

    assert table.stack("ann") == 5900


def test_excess_over_a_shared_maximum_is_apportioned_in_a_game_without_a_differential() -> None:
    game = load("sg-rws-tai-sai-v6/a")
    policy = msgspec.structs.replace(game.facts.limits, differential=None)
    table = table_on_changed_game(replace_facts(game, limits=policy))

    table.play("open betting", "ann bets 900 on big", "bob bets 300 on big", "dice 6 5 4")

    assert (table.stack("ann"), table.stack("bob")) == (2750, 2250)


def test_excess_that_arises_after_the_close_of_an_electronic_table_is_apportioned(
    tmp_path: Path,
) -> None:
    file = tmp_path / "moving.toml"
    file.write_text(
        'extends = "sg-rws-tai-sai-v6"\nid = "moving"\ntitle = "Chips move until the call"\n'
        '[procedure.positions]\nfixed_at = "call-result"\n',
        encoding="utf-8",
    )
    limits = uniform_limits(load(f"{file}/a"), 50, 1000, 300)
    table = Table(f"{file}/a", "refuse", limits=limits)
    table.play("open betting", "ann bets 400 on big", "bob bets 100 on big",
               "cat bets 200 on small", "close betting",
               "200 of cat's is moved from small to total:9")  # fmt: skip

    shares = playing_stakes(table.game, table.state)
    table.play("dice 6 5 5")

    assert shares == {"big": {"ann": 240, "bob": 60}, "total:9": {"cat": 200}}
    assert events.BetsApportioned(bets=[("big", "ann", 400, 240), ("big", "bob", 100, 60)]) in (
        table.events
    )


def test_bet_of_which_nothing_plays_goes_back() -> None:
    game = load("sg-rws-tai-sai-v6/c")
    rule = game.facts.limits.pro_rata
    assert rule
    changed = msgspec.structs.replace(
        game.facts.limits, pro_rata=msgspec.structs.replace(rule, never_below_minimum=False)
    )
    table = table_on_changed_game(
        replace_facts(game, limits=changed), stacks={"ann": 15_000, "bob": 50}
    )
    table.play("open betting", "ann bets 15000 on big", "bob bets 50 on big", "dice 1 2 3")

    assert (table.stack("ann"), table.stack("bob")) == (14_005, 50)
    assert table.state.settled[1] == {"ann": -995}


def test_explanation_of_a_return_that_an_older_version_raised_says_so() -> None:
    table = Table(stacks={"ann": 900, "bob": 300})
    table.play("open betting", "ann bets 900 on big", "bob bets 300 on big", "dice 6 5 4")
    raised = {
        events.BetsApportioned: [("big", "ann", 900, 700), ("big", "bob", 300, 200)],
        events.WinnersPaid: [("big", "ann", 700, 700), ("big", "bob", 200, 200)],
    }
    history = [
        msgspec.structs.replace(each, bets=raised[type(each)]) if type(each) in raised else each
        for each in table.events
    ]

    words = " ".join(explain(table.game, history, BetRef(1, "ann", "big")))

    assert "No chips make the 150 to return, so the next higher amount goes back. 700" in words


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
def test_pro_rata_shares_match_the_rulebook_examples(
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
def test_pro_rata_share_stays_between_the_minimum_and_the_stake(
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


@pytest.mark.no_cover
@given(st.lists(st.integers(10, 400).map(lambda n: n * 5), min_size=2, max_size=8))
def test_larger_stake_never_gets_a_smaller_pro_rata_share(stakes: list[int]) -> None:
    for method in ("floor", "absorb"):
        shares = apportion(method, {str(i): s for i, s in enumerate(stakes)}, 1000, 50, 5)
        in_order = [shares[str(i)] for i, _ in sorted(enumerate(stakes), key=lambda each: each[1])]
        assert in_order == sorted(in_order)


@pytest.mark.parametrize("method", ["floor", "absorb"])
@pytest.mark.parametrize(
    ("exempt", "stakes", "plays"),
    [
        (False, [1900, 95, 5], [950, 45, 0]),
        (True, [1950, 50], [975, 25]),
        (False, [1955, 45], [975, 20]),
    ],
)
def test_pro_rata_rule_without_a_floor_scales_all_but_exempt_stakes(
    method: Method, exempt: bool, stakes: list[int], plays: list[int]
) -> None:
    rule = ProRataRule(
        method=method, never_below_minimum=False,
        exempt_below_minimum=exempt, clause="1",
    )  # fmt: skip
    by_player = {str(i): stake for i, stake in enumerate(stakes)}

    assert list(apportion_by_rule(rule, by_player, 1000, 50, 5).values()) == plays


def test_share_equal_to_the_minimum_leaves_nothing_to_absorb() -> None:
    assert apportion("absorb", {"ann": 1900, "bob": 105}, 1000, 50, 5) == {"ann": 945, "bob": 50}


def test_pro_rata_rule_without_floor_or_exemption_scales_every_stake() -> None:
    rule = load("sg-rws-tai-sai-v6/c").facts.limits.pro_rata
    assert rule is not None
    plain = rule.__class__(
        method="floor", never_below_minimum=False,
        exempt_below_minimum=False, clause=rule.clause,
    )  # fmt: skip

    assert apportion_by_rule(rule, {"a": 1960, "b": 40}, 1000, 50, 5) == {"a": 980, "b": 40}
    assert apportion_by_rule(plain, {"a": 1960, "b": 40}, 1000, 50, 5) == {"a": 980, "b": 20}
