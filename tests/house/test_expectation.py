"""Expected win and variance, compared with plain loops over the 216 rolls and over series."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from random import Random

import pytest

from tests.house.house_driver import (
    ROUND,
    People,
    play_lines,
    results,
    shift_figures,
    store_statements,
)
from tests.oracle import brute_force as oracle
from threedice import load
from threedice.house import CommandHandler
from threedice.house.reports.expectation import WinExpectation, stakes_by_box

pytestmark = pytest.mark.anyio


def moments(game: str, stakes: dict[str, int]) -> tuple[Fraction, Fraction]:
    """Return mean and variance of the house's win by settling every roll, box by box."""
    wins = [
        -sum((stake * oracle.net(game, box, roll) for box, stake in stakes.items()), Fraction(0))
        for roll in oracle.rolls()
    ]
    mean = Fraction(sum(wins), len(wins))
    return mean, Fraction(sum((win - mean) * (win - mean) for win in wins), len(wins))


@pytest.mark.parametrize("name", sorted(oracle.GAMES))
def test_expected_win_and_variance_match_enumeration_of_all_rolls(name: str) -> None:
    game, choice = load(name), Random(name)
    chances, boxes = WinExpectation(game), sorted(game.payoffs)
    for how_many in (1, 2, 3, 6, len(boxes)):
        stakes = {box: choice.randrange(1, 10**6) for box in choice.sample(boxes, how_many)}

        assert (chances.expected_win(stakes), chances.variance(stakes)) == moments(name, stakes)


def test_opposite_boxes_have_a_small_joint_variance() -> None:
    chances = WinExpectation(load("sg-rws-tai-sai-v6/a"))

    alone, both = chances.variance({"big": 100}), chances.variance({"big": 100, "small": 100})

    assert alone > 9000
    assert both == 200**2 * Fraction(6, 216) * Fraction(210, 216)  # lost together on triples only


def test_variance_of_a_shooter_bet_covers_its_whole_series() -> None:
    wins = Fraction(count_surviving_rolls(), 216) ** 4
    expected = 50**2 * 10**2 * wins * (1 - wins)

    assert WinExpectation(load("triple-dice/mat")).variance({"shooter": 50}) == expected


def count_surviving_rolls() -> int:
    return sum(1 for roll in oracle.rolls() if 1 in roll)


def test_stakes_on_areas_of_a_box_are_added() -> None:
    assert stakes_by_box({"big@left": 5, "big@right": 10, "small": 1}) == {"big": 15, "small": 1}


async def test_result_row_has_the_variance_of_its_round() -> None:
    store = await play_lines(*ROUND)

    (result,) = results(store, "1")

    _, expected = moments("sg-rws-tai-sai-v6/a", {"big": 100, "small": 50})
    assert Fraction(*result.row.variance) == expected


async def test_shift_figures_have_a_95_percent_band_around_the_expected_win() -> None:
    store = await play_lines(*ROUND, *ROUND)
    mean, variance = moments("sg-rws-tai-sai-v6/a", {"big": 100, "small": 50})

    report = shift_figures(store, "1")

    assert (report.theoretical_win, report.variance) == (2 * mean, 2 * variance)
    reach = 1.96 * sqrt(2 * variance)
    low, high = report.band
    assert low <= 2 * mean - reach < low + 1
    assert high - 1 < 2 * mean + reach <= high


async def test_reversed_round_moves_its_variance_to_the_shift_of_the_reversal() -> None:
    store = await play_lines(*ROUND)
    since = results(store, "1")[-1].at + 1
    played_variance = shift_figures(store, "1").variance
    async with CommandHandler(store) as handler:
        await People(handler).play("supervisor reports dice-damaged affecting 1 with shift-manager")
        store_statements(store, handler)

    assert shift_figures(store, "1").variance == 0
    assert shift_figures(store, "1", since=since).variance == played_variance > 0
