"""Mixes of stakes and the house's exposure to them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle import brute_force as oracle
from threedice import InvalidInput, Mix, UnknownName, load
from threedice.dice import ROLLS
from threedice.odds import box_figures

GAME = load("sg-rws-tai-sai-v6/c")
stakes = st.dictionaries(st.sampled_from(sorted(GAME.boxes)), st.integers(1, 10_000), min_size=1)


@given(stakes)
def test_result_of_a_mix_is_the_sum_of_its_bets_on_every_roll(bets: dict[str, int]) -> None:
    mix = Mix(GAME, bets)
    by_hand = [
        sum(stake * oracle.net(GAME.id, box, roll) for box, stake in bets.items()) for roll in ROLLS
    ]

    assert [mix.result(roll) for roll in ROLLS] == by_hand
    assert [-each for each in mix.exposure] == by_hand
    assert sum(ways for _, ways in mix.distribution) == 216
    assert sum((net * ways for net, ways in mix.distribution), Fraction(0)) == sum(by_hand)
    assert mix.best[0] == max(by_hand)
    assert mix.worst[0] == min(by_hand)
    assert all(mix.result(roll) == max(by_hand) for roll in mix.best[1])
    assert len(mix.worst[1]) == by_hand.count(min(by_hand))


@given(stakes)
def test_edge_of_a_mix_is_the_stake_weighted_average(bets: dict[str, int]) -> None:
    mix = Mix(GAME, bets)
    lost = sum(
        (stake * box_figures(GAME.box(box)).edge for box, stake in bets.items()), Fraction(0)
    )

    assert mix.figures.edge == lost / mix.total


def test_hedged_bets_have_less_variance_than_one_bet() -> None:
    hedged, alone = Mix(GAME, {"big": 10, "small": 10}), Mix(GAME, {"big": 20})

    assert hedged.figures.variance < alone.figures.variance
    assert hedged.distribution == ((Fraction(-20), 6), (Fraction(0), 210))
    assert hedged.figures.ways == 0


def test_winning_boxes_of_a_mix_are_only_staked_ones() -> None:
    assert Mix(GAME, {"total:10": 1, "big": 1}).winning((1, 3, 6)) == ("total:10",)


@pytest.mark.parametrize("bets", [{}, {"big": 0}, {"big": -5}])
def test_mix_without_positive_stakes_is_refused(bets: dict[str, int]) -> None:
    with pytest.raises(InvalidInput):
        Mix(GAME, bets)


def test_mix_with_a_box_of_another_layout_is_refused() -> None:
    with pytest.raises(UnknownName, match="pair:1-1-2"):
        Mix(GAME, {"pair:1-1-2": 5})


def test_mix_with_the_shooter_bet_is_refused() -> None:
    with pytest.raises(InvalidInput, match="not decided by one roll"):
        Mix(load("triple-dice"), {"shooter": 5})
