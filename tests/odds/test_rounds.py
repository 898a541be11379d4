"""Net results over several rounds, compared with plain convolution and enumeration."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from threedice import InvalidInput, Mix, load, shipped_games
from threedice.odds import (
    chance_at_least,
    negate,
    over_rounds,
    quantile_over_rounds,
    round_distribution,
)
from threedice.odds.convolution import power_coefficients
from threedice.odds.distribution import distribution_from_counts

GAMES = [load(name) for name in shipped_games()]
SINGAPORE = load("sg-rws-tai-sai-v6/a")
SHARES = [Fraction(1, 1000), Fraction(1, 20), Fraction(1, 2), Fraction(37, 72), Fraction(19, 20),
          Fraction(999, 1000), Fraction(1)]  # fmt: skip


@st.composite
def mixes(draw: st.DrawFn) -> Mix:
    game = draw(st.sampled_from(GAMES))
    boxes = st.sampled_from(sorted(game.payoffs))
    return Mix(game, draw(st.dictionaries(boxes, st.integers(1, 60), min_size=1, max_size=4)))


def convolve(mix: Mix, rounds: int) -> dict[Fraction, int]:
    """Add rounds up one after the other, in plain loops over the 216 rolls."""
    sums: Counter[int] = Counter({0: 1})
    for _ in range(rounds):
        more: Counter[int] = Counter()
        for net, ways in sums.items():
            for result, rolls in Counter(mix.nets).items():
                more[net + result] += ways * rolls
        sums = more
    return {Fraction(net, mix.game.unit): ways for net, ways in sums.items()}


@pytest.mark.no_cover
@settings(max_examples=60, deadline=None)
@given(mixes(), st.integers(1, 5))
def test_counts_over_rounds_equal_plain_convolution(mix: Mix, rounds: int) -> None:
    by_hand = convolve(mix, rounds)
    found = over_rounds(round_distribution(mix), rounds)
    divided = Fraction(216, found.one_round.total_ways) ** rounds

    assert sum(by_hand.values()) == 216**rounds
    assert sum(found.counts) == found.total == found.one_round.total_ways**rounds
    assert {net: share * 216**rounds for net, share in found.results()} == by_hand
    assert [divided * n for n in found.counts] == [by_hand.get(net, 0) for net in found.nets()]


@pytest.mark.parametrize("name", shipped_games())
def test_distribution_over_two_rounds_equals_all_pairs_of_rolls(name: str) -> None:
    game = load(name)
    first, *_, last = game.payoffs
    mix = Mix(game, {first: 20, last: 40})
    pairs = Counter(one + other for one, other in product(mix.nets, repeat=2))
    found = over_rounds(round_distribution(mix), 2)

    assert {net * game.unit: share * 216**2 for net, share in found.results()} == pairs
    assert {net * game.unit for net in found.nets()} >= pairs.keys()


@settings(max_examples=60, deadline=None)
@given(mixes(), st.integers(1, 4))
def test_figures_over_rounds_follow_from_the_counts(mix: Mix, rounds: int) -> None:
    by_hand, found = convolve(mix, rounds), over_rounds(round_distribution(mix), rounds)
    whole = 216**rounds
    mean = Fraction(sum(net * ways for net, ways in by_hand.items())) / whole
    second = Fraction(sum(net * net * ways for net, ways in by_hand.items())) / whole

    assert found.mean == mean == mix.figures.mean * mix.total * rounds
    assert found.variance == second - mean**2
    assert found.sd == pytest.approx(float(found.variance) ** 0.5, rel=1e-12)
    for net in [*list(by_hand)[:10], Fraction(1, 3), Fraction(10**6), Fraction(-(10**6))]:
        assert found.at_least(net) * whole == sum(n for at, n in by_hand.items() if at >= net)
        assert found.at_most(net) * whole == sum(n for at, n in by_hand.items() if at <= net)
    assert found.ahead * whole == sum(n for net, n in by_hand.items() if net > 0)
    assert found.level * whole == by_hand.get(Fraction(0), 0)
    assert found.ahead + found.level + found.behind == 1


@pytest.mark.no_cover
@settings(max_examples=60, deadline=None)
@given(mixes(), st.integers(1, 5), st.sampled_from(SHARES))
def test_quantile_is_the_least_result_with_enough_probability(
    mix: Mix, rounds: int, share: Fraction
) -> None:
    found = over_rounds(round_distribution(mix), rounds)
    net = found.quantile(share)

    assert found.at_most(net) >= share
    assert found.at_most(net - Fraction(1, mix.game.unit)) < share
    assert found.worst_1_in_1000 == found.quantile(Fraction(1, 1000))


@settings(max_examples=60, deadline=None)
@given(mixes(), st.integers(1, 6), st.integers(-400, 400), st.sampled_from(SHARES))
def test_streamed_quantile_and_tail_equal_the_whole_distribution(
    mix: Mix, rounds: int, net: int, share: Fraction
) -> None:
    one = round_distribution(mix)
    whole = over_rounds(one, rounds)

    assert chance_at_least(one, rounds, net) == whole.at_least(net)
    assert quantile_over_rounds(one, rounds, share) == whole.quantile(share)


def test_power_coefficients_over_a_thousand_rounds_are_exact() -> None:
    ways = [(0, 2), (1, 3), (3, 1)]
    coefficients = list(power_coefficients(ways, 1000))
    squared = list(power_coefficients(list(enumerate(power_coefficients(ways, 10))), 100))

    assert coefficients == squared
    assert sum(coefficients) == 6**1000


def test_round_distribution_uses_the_coarsest_lattice() -> None:
    one = round_distribution(Mix(SINGAPORE, {"big": 50, "total:10": 20}))

    assert (one.lowest, one.step, one.total_ways) == (-70, 20, 72)
    assert sum(share for _, share in one.results()) == 1
    assert one.mean == -Fraction(1, 18) * 70


def test_negated_distribution_of_the_players_is_that_of_the_house() -> None:
    players = round_distribution(Mix(SINGAPORE, {"single:1": 10}))
    house = negate(players)

    assert dict(house.results()) == {-net: share for net, share in players.results()}
    assert negate(house) == players


def test_constant_result_adds_up_over_rounds() -> None:
    certain = over_rounds(distribution_from_counts({-3: 4}), 5)

    assert dict(certain.results()) == {Fraction(-15): Fraction(1)}
    assert certain.behind == 1
    assert certain.quantile(Fraction(1, 2)) == -15


@pytest.mark.parametrize("rounds", [0, -1, 10**9 + 1])
def test_invalid_number_of_rounds_is_refused(rounds: int) -> None:
    with pytest.raises(InvalidInput, match="rounds; give a whole number from 1"):
        over_rounds(distribution_from_counts({0: 1, 1: 1}), rounds)


@pytest.mark.parametrize("share", [Fraction(0), Fraction(-1), Fraction(3, 2)])
def test_quantile_outside_zero_to_one_is_refused(share: Fraction) -> None:
    with pytest.raises(InvalidInput, match="above 0 and up to 1"):
        quantile_over_rounds(distribution_from_counts({0: 1, 1: 1}), 3, share)


@pytest.mark.parametrize("results", [{}, {1: 0}, {1: 5, 2: -1}])
def test_distribution_without_positive_counts_is_refused(results: dict[int, int]) -> None:
    with pytest.raises(InvalidInput, match="every count must be positive"):
        distribution_from_counts(results)
