"""Results over very many rounds: the Fourier transform stays within its error bound."""

from __future__ import annotations

import sys
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from threedice import InvalidInput, Mix, load
from threedice.errors import MissingExtra
from threedice.odds import (
    InfeasibleComputation,
    chance_above,
    long_run,
    over_rounds,
    round_distribution,
)
from threedice.odds.approximation import (
    Approximation,
    approximate,
    choose_method,
    estimate_exact_bytes,
    estimate_exact_work,
)
from threedice.odds.convolution import Distribution
from threedice.odds.distribution import RoundDistribution, distribution_from_counts
from threedice.odds.tilted_distribution import TiltedDistribution, tail_probability

GAME = load("sg-rws-tai-sai-v6/a")
DISTRIBUTIONS = {
    "even money": round_distribution(Mix(GAME, {"big": 50})),
    "two boxes": round_distribution(Mix(GAME, {"big": 50, "total:10": 20})),
    "tiers": round_distribution(Mix(GAME, {"single:1": 10})),
    "long shot": round_distribution(Mix(GAME, {"triple:1": 5, "big": 10})),
}
QUANTILES = [Fraction(1, 1000), Fraction(1, 20), Fraction(1, 2), Fraction(999, 1000)]


@pytest.mark.parametrize("one", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
@pytest.mark.parametrize("rounds", [1, 2, 7, 64, 300])
def test_approximate_probabilities_are_within_the_stated_error(
    one: RoundDistribution, rounds: int
) -> None:
    exact, found = over_rounds(one, rounds), approximate(one, rounds)
    places = range(0, len(exact.counts), max(1, len(exact.counts) // 50))

    assert 0 < found.error < 1e-9
    assert (found.mean, found.variance, found.sd) == (exact.mean, exact.variance, exact.sd)
    for net in [*(exact.net(each) for each in places), exact.net(0) - 1, exact.net(-1) + 10**6]:
        assert abs(Fraction(found.at_least(net)) - exact.at_least(net)) <= found.error
        assert abs(Fraction(found.at_most(net)) - exact.at_most(net)) <= found.error
    for mine, theirs in zip(
        (found.ahead, found.level, found.behind),
        (exact.ahead, exact.level, exact.behind),
        strict=True,
    ):
        assert abs(Fraction(mine) - theirs) <= 2 * found.error


@pytest.mark.parametrize("share", [Fraction(1, 10**25), 1 - Fraction(1, 10**25)])
def test_quantile_smaller_than_the_error_is_refused(share: Fraction) -> None:
    with pytest.raises(InvalidInput, match="known within"):
        approximate(DISTRIBUTIONS["tiers"], 300).quantile(share)


def test_chance_above_an_amount_between_results_starts_at_the_next_result() -> None:
    one = distribution_from_counts({-1: 111, 1: 105})

    for net in (Fraction(0), Fraction(1, 2), Fraction(99, 100)):
        assert chance_above(one, 3, net)[0] == over_rounds(one, 3).at_least(1)
    assert chance_above(one, 3, 1)[0] == over_rounds(one, 3).at_least(3)


@pytest.mark.parametrize("one", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
def test_approximate_quantiles_and_results_agree_with_exact_ones(one: RoundDistribution) -> None:
    exact, found = over_rounds(one, 100), approximate(one, 100)
    shares = dict(exact.results())

    assert [found.quantile(each) for each in QUANTILES] == list(map(exact.quantile, QUANTILES))
    assert found.worst_1_in_1000 == exact.worst_1_in_1000
    assert found.quantile(Fraction(1)) == exact.quantile(Fraction(1))
    for net, share in found.results():
        assert abs(share - shares.get(net, 0)) <= found.error
    assert found.as_floats() == [(float(net), share) for net, share in found.results()]
    assert exact.as_floats() == [(float(net), float(share)) for net, share in exact.results()]
    for law in (exact, found):
        rows = [(one.net_text(k, 100), share) for k, share in law.indexed_probabilities()]
        assert rows == [(str(net), float(share)) for net, share in law.results()]


@pytest.mark.no_cover
@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(DISTRIBUTIONS)), st.integers(1, 200), st.fractions(0, 1))
def test_tail_probability_keeps_its_relative_precision(
    name: str, rounds: int, at: Fraction
) -> None:
    exact = over_rounds(DISTRIBUTIONS[name], rounds)
    net = exact.net(round(at * (len(exact.counts) - 1)))
    truth = exact.at_least(net)
    found, error = tail_probability(DISTRIBUTIONS[name], rounds, net)

    assert abs(Fraction(found) - truth) <= error
    assert error <= 1e-7 * truth + 1e-300


def test_tail_probability_beyond_the_extremes_is_zero_or_one() -> None:
    one = DISTRIBUTIONS["even money"]

    assert tail_probability(one, 10, -500) == (1.0, 0.0)
    assert tail_probability(one, 10, 501) == (0.0, 0.0)


def test_error_bound_is_exceeded_by_a_wrong_distribution() -> None:
    one, other = DISTRIBUTIONS["even money"], distribution_from_counts({-50: 1, 50: 1})
    exact, wrong = over_rounds(one, 50), approximate(other, 50)

    assert abs(Fraction(wrong.ahead) - exact.ahead) > wrong.error


@pytest.mark.no_cover
@pytest.mark.parametrize("rounds", [300, 600])
def test_every_probability_of_a_window_is_within_its_bound(rounds: int) -> None:
    one = DISTRIBUTIONS["two boxes"]
    exact, window = over_rounds(one, rounds), TiltedDistribution(one).convolve(rounds)
    places = range(
        window.first_index, min(window.first_index + len(window.probabilities), len(exact.counts))
    )
    misses = [
        abs(
            Fraction(float(window.probabilities[place - window.first_index]))
            - Fraction(count, exact.total)
        )
        for place, count in ((each, exact.counts[each]) for each in places)
    ]

    assert max(misses) <= window.point_error < 1e-9
    assert sum(misses) <= window.sum_error < 1e-8
    assert max(misses) > window.point_error / 10_000, "a bound this loose bounds nothing"


def test_untilted_window_covers_only_the_middle_of_the_distribution() -> None:
    window = TiltedDistribution(DISTRIBUTIONS["tiers"]).convolve(5000)

    assert len(window.probabilities) < 5000 * DISTRIBUTIONS["tiers"].degree / 8
    assert float(window.probabilities.sum()) == pytest.approx(1, abs=window.sum_error)


def test_long_run_is_exact_until_the_work_is_too_large() -> None:
    small, large = DISTRIBUTIONS["even money"], DISTRIBUTIONS["long shot"]

    assert isinstance(long_run(small, 100), Distribution)
    assert isinstance(long_run(small, 100, "float64"), Approximation)
    assert isinstance(long_run(large, 20_000), Approximation)
    assert isinstance(long_run(large, 5, "exact"), Distribution)
    assert (
        estimate_exact_work(small, 100)
        < estimate_exact_work(small, 200)
        < estimate_exact_work(large, 200)
    )
    counts = over_rounds(small, 1000).counts
    assert estimate_exact_bytes(small, 1000) >= sum(map(sys.getsizeof, counts))
    assert choose_method(small, 10**6) == "float64"


@pytest.mark.parametrize("rounds", [50, 30_000])
def test_chance_above_an_amount_excludes_the_amount(rounds: int) -> None:
    one = DISTRIBUTIONS["long shot"]
    middle = long_run(one, rounds, "float64").quantile(Fraction(2, 3))
    found, error = chance_above(one, rounds, middle)
    at, _ = tail_probability(one, rounds, middle)

    assert (error == 0) == isinstance(found, Fraction) == (rounds == 50)
    assert found < at
    assert float(found) == pytest.approx(
        1 - long_run(one, rounds, "float64").at_most(middle), abs=1e-8
    )


def test_infeasible_window_is_refused_with_its_size() -> None:
    with pytest.raises(InfeasibleComputation, match="stake in larger steps") as refused:
        approximate(distribution_from_counts({-1: 1, 0: 1, 10**9: 1}), 10**6)
    assert refused.value.size > 2**26


def test_approximation_without_numpy_names_the_extra_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(MissingExtra, match=r"float64 distribution needs .*threedice\[sim\]"):
        approximate(DISTRIBUTIONS["tiers"], 10)
