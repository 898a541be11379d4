"""Fixed and random layouts under limits, compared with the enumeration of all choices."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from threedice import Game, InvalidInput, Mix, load
from threedice.odds import (
    FixedLayout,
    InfeasibleComputation,
    LayoutLimits,
    RandomLayout,
    WeightedBet,
)
from threedice.odds.limits import apply_limits

SHARED = load("sg-rws-tai-sai-v6/c")
EACH = load("nz-tai-sai-2008/1")
PAIRS = [("big", "small"), ("odd", "even")]


def enumerate_choices(layout: RandomLayout) -> tuple[dict[Fraction, Fraction], Fraction]:
    """Return the house's distribution and the mean turnover, over all choices of all players."""
    least, most, apart = layout.limits.minimum, layout.limits.maximum, layout.limits.differential
    top = most or 10**9
    choices = [(each.box, min(max(each.stake, least), top), each.weight) for each in layout.choices]
    if layout.idle_weight:
        choices.append(("", 0, layout.idle_weight))
    whole = sum(weight for *_, weight in choices) ** layout.bets
    law: dict[Fraction, Fraction] = {}
    turnover = Fraction(0)
    for chosen in product(choices, repeat=layout.bets):
        weight, lies = 1, Counter[str]()
        for box, stake, n in chosen:
            weight *= n
            if box:
                lies[box] += stake
        if layout.game is SHARED:
            lies = Counter({box: min(total, top) for box, total in lies.items()})
        left = dict(lies)
        if apart is not None:
            for one, other in [*PAIRS, *(pair[::-1] for pair in PAIRS)]:
                if one in lies:
                    left[one] = min(lies[one], lies[other] + apart)
        share = Fraction(weight, whole)
        turnover += share * sum(left.values())
        for i in range(216):
            net = -sum(total * layout.game.payoffs[box][i] for box, total in left.items())
            at = Fraction(net, layout.game.unit)
            law[at] = law.get(at, Fraction(0)) + share / 216
    return law, turnover


Terms = tuple[bool, int, tuple[WeightedBet, ...], LayoutLimits, int]


@st.composite
def layout_terms(draw: st.DrawFn) -> Terms:
    """Draw whether the maximum is shared, the bets, the choices, the limits and the idle weight."""
    shared = draw(st.booleans())
    boxes = ["big", "small", "total:10", "single:1", "triple:6"]
    boxes += ["odd", "even"] if shared else []
    habit = st.builds(
        WeightedBet, st.sampled_from(boxes), st.sampled_from([5, 10, 15, 40]), st.integers(1, 3)
    )
    apart = draw(st.none() | st.sampled_from([0, 5, 20])) if shared else None
    limits = LayoutLimits(
        draw(st.sampled_from([1, 10])), draw(st.none() | st.integers(10, 60)), apart
    )
    habits = tuple(draw(st.lists(habit, min_size=1, max_size=4)))
    return shared, draw(st.integers(1, 3)), habits, limits, draw(st.integers(0, 2))


@pytest.mark.no_cover
@settings(max_examples=60, deadline=None)
@given(layout_terms())
def test_random_layout_equals_the_enumeration_of_all_choices(terms: Terms) -> None:
    shared, bets, habits, limits, idle = terms
    layout = RandomLayout(SHARED if shared else EACH, bets, habits, limits, idle)
    law, turnover = enumerate_choices(layout)

    assert dict(layout.house_distribution().results()) == law
    assert layout.turnover() == turnover


def test_bets_of_one_round_share_one_roll() -> None:
    two = RandomLayout(SHARED, 2, (WeightedBet("big", 10),)).house_distribution()

    assert dict(two.results()) == {Fraction(-20): Fraction(35, 72), Fraction(20): Fraction(37, 72)}


def test_stakes_raised_to_the_minimum_share_the_maximum_of_a_box() -> None:
    two = RandomLayout(SHARED, 2, (WeightedBet("big", 5),), LayoutLimits(10, 10))

    law, turnover = enumerate_choices(two)

    assert dict(two.house_distribution().results()) == law
    assert two.turnover() == turnover == 10


def test_differential_reduces_the_variance_of_a_lopsided_layout() -> None:
    stakes = {"big": 1000, "small": 200, "total:10": 50}
    free, held = (
        FixedLayout(SHARED, stakes),
        FixedLayout(SHARED, stakes, LayoutLimits(1, None, 300)),
    )

    assert held.mix().stakes == {"big": 500, "small": 200, "total:10": 50}
    assert held.turnover() == 750
    assert held.house_distribution().variance < free.house_distribution().variance
    assert free.house_distribution().mean == Mix(SHARED, stakes).figures.edge * 1250


def test_limits_of_a_fixed_layout_apply_to_each_box() -> None:
    layout = FixedLayout(EACH, {"big": 5, "small": 900}, LayoutLimits(10, 500))

    assert layout.mix().stakes == {"big": 10, "small": 500}
    assert layout.max_box_total() == 900


def test_differential_of_zero_empties_a_box_without_an_opposite_bet() -> None:
    layout = FixedLayout(SHARED, {"big": 50, "total:9": 5}, LayoutLimits(1, None, 0))

    assert layout.mix().stakes == {"total:9": 5}


def test_maximum_is_shared_by_all_players_where_the_rulebook_says_so() -> None:
    totals = {"big": 700, "total:9": 20}

    assert apply_limits(SHARED, LayoutLimits(1, 500), totals) == {"big": 500, "total:9": 20}
    assert apply_limits(EACH, LayoutLimits(1, 500), totals) == totals
    assert RandomLayout(SHARED, 4, (WeightedBet("big", 50),)).max_box_total() == 200
    assert RandomLayout(EACH, 4, (WeightedBet("big", 50),)).max_box_total() == 50


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"bets": 0}, "0 bets in a round"),
        ({"bets": 201}, "from 1 to 200"),
        ({"choices": ()}, "no bets to draw from"),
        ({"choices": (WeightedBet("big", 0),)}, "a stake of 0"),
        ({"choices": (WeightedBet("big", 5, 0),)}, "weight 0"),
        ({"idle_weight": -1}, "an idle weight of -1"),
        ({"game": EACH, "limits": LayoutLimits(1, 50, 5)}, "no boxes under a differential"),
        (
            {"game": load("triple-dice/mat"), "choices": (WeightedBet("shooter", 5),)},
            "not decided by one roll",
        ),
    ],
)
def test_invalid_random_layout_is_refused(wrong: dict[str, Any], message: str) -> None:
    terms: dict[str, Any] = {
        "game": SHARED,
        "bets": 2,
        "choices": (WeightedBet("big", 5),),
        **wrong,
    }
    with pytest.raises(InvalidInput, match=message):
        RandomLayout(**terms)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ((0,), "a minimum of 0"),
        ((10, 5), "the maximum 5 is under the minimum 10"),
        ((1, 5, -1), "a differential of -1"),
    ],
)
def test_invalid_layout_limits_are_refused(limits: tuple[int, ...], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        LayoutLimits(*limits)


def many_choices(game: Game, boxes: int, stakes: int) -> tuple[WeightedBet, ...]:
    return tuple(
        WeightedBet(box, 5 + 7 * stake)
        for box in list(game.payoffs)[:boxes]
        for stake in range(stakes)
    )


@pytest.mark.parametrize("limits", [LayoutLimits(), LayoutLimits(1, None, 500)])
def test_infeasible_random_layout_is_refused_with_its_size(limits: LayoutLimits) -> None:
    with pytest.raises(InfeasibleComputation, match="give fewer bets, boxes or stakes") as refused:
        RandomLayout(SHARED, 120, many_choices(SHARED, 60, 40), limits).house_distribution()
    assert refused.value.size > 60_000_000
