"""The house's win over periods, and the largest safe maximum."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from threedice import InvalidInput, load
from threedice.odds import (
    FixedLayout,
    LayoutLimits,
    RandomLayout,
    WeightedBet,
    forecast_period,
    over_rounds,
    safe_maximum,
)
from threedice.odds.shift import chance_of_loss_above

GAME = load("sg-rws-tai-sai-v6/a")
LAYOUT = FixedLayout(GAME, {"big": 500, "small": 200, "total:10": 50})
RANDOM_LAYOUT = RandomLayout(
    GAME,
    3,
    (WeightedBet("big", 100, 3), WeightedBet("small", 25, 3), WeightedBet("single:1", 50, 2)),
    LayoutLimits(25),
)


def test_forecast_of_an_hour_equals_the_distribution_over_its_rounds() -> None:
    hour = forecast_period(LAYOUT, "hour", 60)
    whole = over_rounds(LAYOUT.house_distribution(), 60)

    assert (hour.win.mean, hour.loss_probability) == (whole.mean, whole.behind)
    assert hour.turnover == 60 * 750
    assert hour.mean_hold == LAYOUT.mix().figures.edge
    assert hour.hold_quantile(Fraction(1, 100)) == whole.quantile(Fraction(1, 100)) / 45_000


def test_worst_round_quantile_is_that_of_the_minimum_over_rounds() -> None:
    law = LAYOUT.house_distribution()
    for rounds in (1, 3, 40):
        some = forecast_period(LAYOUT, "some", rounds)
        for share in (Fraction(1, 100), Fraction(1, 2), Fraction(99, 100)):
            worst = some.worst_round_quantile(share)
            at_most = sum(chance for net, chance in law.results() if net <= worst)
            below = sum(chance for net, chance in law.results() if net < worst)
            assert 1 - (1 - at_most) ** rounds >= share > 1 - (1 - below) ** rounds
        best = max(net for net, _ in law.results())
        assert some.worst_round_quantile(Fraction(1)) == best


def test_chance_of_loss_above_an_amount_excludes_the_amount() -> None:
    law = LAYOUT.house_distribution()
    whole = over_rounds(law, 20)
    amount = int(-whole.quantile(Fraction(1, 10)))
    found, error = chance_of_loss_above(law, 20, amount)

    assert error == 0
    assert found == whole.at_most(-amount - Fraction(1, GAME.unit))
    assert found < whole.at_most(-amount)


@pytest.mark.parametrize("layout", [LAYOUT, RANDOM_LAYOUT])
@pytest.mark.parametrize("amount", [400, 2000])
def test_safe_maximum_is_the_largest_safe_one(
    layout: FixedLayout | RandomLayout, amount: int
) -> None:
    share, rounds = Fraction(1, 20), 30
    found = safe_maximum(layout, rounds, amount, share, step=25)

    def chance(maximum: int) -> Fraction:
        law = replace(layout, limits=replace(layout.limits, maximum=maximum)).house_distribution()
        return over_rounds(law, rounds).at_most(-amount - Fraction(1, GAME.unit))

    safe = [each for each in range(25, 601, 25) if chance(each) <= share]
    assert found.maximum == (max(safe) if safe and max(safe) < 600 else found.maximum)
    if found.maximum is not None:
        assert found.chance == chance(found.maximum) <= share
    if found.next_chance is not None:
        assert found.next_chance == chance((found.maximum or 0) + 25) > share


def test_safe_maximum_above_an_unsafe_one_is_found() -> None:
    """Big makes up for the others once enough may lie there, so that 75 and 100 are worse."""
    stakes = {"domino:2-3": 100, "triple:3": 200, "big": 200}
    share = Fraction(8303, 46656)
    found = safe_maximum(FixedLayout(GAME, stakes), 2, 50, share, step=25)

    assert (found.maximum, found.chance, found.next_chance) == (200, share, None)
    assert found.all_tried


def test_search_that_tries_only_some_maxima_reports_it() -> None:
    layout = FixedLayout(GAME, {"big": 50_000, "small": 20_000})
    found = safe_maximum(layout, 3, 20_000, Fraction(1, 7), step=10)
    safe, unsafe = (
        chance_of_loss_above(
            replace(layout, limits=LayoutLimits(1, each)).house_distribution(), 3, 20_000
        )[0]
        for each in (found.maximum or 0, (found.maximum or 0) + 10)
    )

    assert not found.all_tried
    assert (found.chance, found.next_chance) == (safe, unsafe)
    assert safe <= Fraction(1, 7) < unsafe


def test_unreachable_chance_of_loss_has_no_safe_maximum() -> None:
    found = safe_maximum(LAYOUT, 30, 0, Fraction(1, 10**6))

    assert (found.maximum, found.chance) == (None, None)
    assert found.next_chance is not None
    assert found.all_tried


def test_safe_maximum_is_the_largest_stake_where_no_loss_is_possible() -> None:
    found = safe_maximum(LAYOUT, 1, 10**6, Fraction(1, 100))

    assert (found.maximum, found.chance, found.next_chance) == (500, 0, None)


def test_safe_maximum_is_a_multiple_of_the_chip() -> None:
    found = safe_maximum(RANDOM_LAYOUT, 5, 150, Fraction(1, 10))

    assert found.maximum is not None
    assert found.maximum % 25 == 0


def test_negative_loss_is_refused() -> None:
    with pytest.raises(InvalidInput, match="a loss of -1"):
        safe_maximum(LAYOUT, 10, -1, Fraction(1, 2))
