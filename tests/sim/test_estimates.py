"""Estimates and their intervals from exact sums."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from threedice.errors import InvalidInput
from threedice.sim.estimates import (
    estimate_mean,
    estimate_proportion,
    estimate_ratio,
    quantiles,
    variance,
)

numbers = st.lists(st.integers(-1000, 1000), min_size=2, max_size=50)


@given(numbers)
def test_mean_and_standard_error_equal_those_of_the_sample(each: list[int]) -> None:
    found = estimate_mean(sum(each), sum(n * n for n in each), len(each), 3)

    assert found.value == pytest.approx(3 * np.mean(each))
    assert found.standard_error == pytest.approx(3 * np.std(each) / len(each) ** 0.5)
    assert found.low <= found.value <= found.high


@given(numbers)
def test_ratio_and_standard_error_equal_those_of_the_sample(each: list[int]) -> None:
    base = [abs(n) + 1 for n in each]
    products = sum(a * b for a, b in zip(each, base, strict=True))

    found = estimate_ratio(
        sum(each),
        sum(n * n for n in each),
        sum(base),
        sum(n * n for n in base),
        products,
    )

    ratio = sum(each) / sum(base)
    rests = [a - ratio * b for a, b in zip(each, base, strict=True)]
    assert found.value == pytest.approx(ratio)
    assert found.standard_error == pytest.approx(np.linalg.norm(rests) / sum(base), abs=1e-9)


def test_variance_of_huge_sums_is_exact() -> None:
    many, large = 10**15, 10**12
    total, squares = many * large + 5, many * large**2 + 10 * large + 25

    assert variance(total, squares, many) == pytest.approx(25 / many, rel=1e-6)


def test_interval_of_a_proportion_stays_between_zero_and_one() -> None:
    none, every = estimate_proportion(0, 50), estimate_proportion(50, 50)

    assert (none.low, every.high) == (0.0, 1.0)
    assert 0 < none.high < 0.1
    assert 0.9 < every.low < 1


def test_estimates_of_an_empty_sample_are_zero_and_quantiles_refused() -> None:
    assert (estimate_proportion(0, 0).low, estimate_proportion(0, 0).high) == (0.0, 1.0)
    assert (
        estimate_mean(0, 0, 0).value
        == estimate_ratio(0, 0, 0, 0, 0).value
        == variance(0, 0, 0)
        == 0
    )
    with pytest.raises(InvalidInput, match="nothing has been played"):
        quantiles([], (Fraction(1, 2),))
