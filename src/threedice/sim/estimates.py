"""Estimates with standard errors and 95 % intervals, from exact integer sums and histograms.

What whole-number sums say of the truth: a value, its standard error, and 95 % confidence.

What studies share: sums by name, quantiles of counts, and estimates in words.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from html import escape
from math import sqrt
from typing import TYPE_CHECKING, Final

from threedice.errors import InvalidInput
from threedice.sim.kernels.sessions import SUMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from threedice.sim.kernels.sessions import HistogramBin


TWO_SIDED_95_Z: Final = 1.959963984540054
"""Two-sided, 95 % of a normal distribution lie within so many standard errors."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its standard error, and the interval that holds the truth 95 times in 100."""

    value: float
    standard_error: float
    low: float
    high: float

    def is_consistent_with(self, truth: float, standard_errors: float = TWO_SIDED_95_Z) -> bool:
        """Tell whether a value lies within so many standard errors."""
        return abs(self.value - truth) <= standard_errors * self.standard_error + 1e-15


def estimate_proportion(count: int, trials: int) -> Estimate:
    """Return how likely something is that happened so often: Wilson's interval.

    >>> half = estimate_proportion(50, 100)
    >>> half.value, round(half.low, 4), round(half.high, 4)
    (0.5, 0.4038, 0.5962)
    """
    if trials == 0:
        return Estimate(0.0, 0.0, 0.0, 1.0)
    value, z = count / trials, TWO_SIDED_95_Z
    middle = (value + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * sqrt(value * (1 - value) / trials + z * z / (4 * trials**2))
    error = sqrt(value * (1 - value) / trials)
    return Estimate(value, error, max(0.0, middle - half), min(1.0, middle + half))


def estimate_mean(total: int, squares: int, trials: int, unit: Fraction | int = 1) -> Estimate:
    """Return a mean from the sum and the sum of squares of whole numbers of some unit."""
    if trials == 0:
        return Estimate(0.0, 0.0, 0.0, 0.0)
    value = float(Fraction(total, trials) * unit)
    return _normal_estimate(value, sqrt(variance(total, squares, trials) / trials) * float(unit))


def variance(total: int, squares: int, trials: int) -> float:
    """Return the variance, from exact sums: nothing is lost by taking a difference of floats."""
    return float(Fraction(squares * trials - total * total, trials * trials)) if trials else 0.0


def estimate_ratio(
    total: int, squares: int, base: int, base_squares: int, products: int, trials: int
) -> Estimate:
    """Return the ratio of two means over the same sessions, such as loss to turnover."""
    if base == 0:
        return Estimate(0.0, 0.0, 0.0, 0.0)
    ratio = Fraction(total, base)
    spread = squares - 2 * ratio * products + ratio * ratio * base_squares
    return _normal_estimate(
        float(ratio), sqrt(max(float(spread), 0.0)) / abs(base) if trials else 0.0
    )


def _normal_estimate(value: float, error: float) -> Estimate:
    return Estimate(value, error, value - TWO_SIDED_95_Z * error, value + TWO_SIDED_95_Z * error)


FAN_QUANTILES: Final = tuple(Fraction(each, 100) for each in (1, 5, 25, 50, 75, 95, 99))
"""The quantiles of the bankroll that a fan shows, as in exact sessions."""


class SessionSums:
    """The sums of some sessions by name, halves put together."""

    def __init__(self, row: Sequence[int]) -> None:
        self._by_name = {name: int(each) for name, each in zip(SUMS, row, strict=True)}

    def total(self, name: str) -> int:
        """Return a sum."""
        if f"{name}_low" in self._by_name:
            return self._by_name[f"{name}_low"] + (self._by_name[f"{name}_high"] << 32)
        return self._by_name[name]


def quantiles(
    bins: Sequence[HistogramBin], probabilities: Iterable[Fraction]
) -> tuple[HistogramBin, ...]:
    """Return where the amounts lie not exceeded with at least these probabilities, which must rise.

    >>> from threedice.sim.kernels.sessions import HistogramBin
    >>> amounts = [HistogramBin(0, 0, 5), HistogramBin(10, 19, 4), HistogramBin(20, 20, 1)]
    >>> [each.low for each in quantiles(amounts, (Fraction(1, 2), Fraction(9, 10), Fraction(1)))]
    [0, 10, 20]
    """
    if not bins:
        raise InvalidInput("nothing has been played yet, so there is nothing to tell")
    whole = sum(each.times for each in bins)
    found, place, so_far = [], 0, bins[0].times
    for share in probabilities:
        while so_far < share * whole and place < len(bins) - 1:
            place += 1
            so_far += bins[place].times
        found.append(bins[place])
    return tuple(found)


def format_bin(amounts: HistogramBin) -> str:
    """Return an amount in words, or between which two it lies.

    >>> from threedice.sim.kernels.sessions import HistogramBin
    >>> format_bin(HistogramBin(1000, 1000, 7)), format_bin(HistogramBin(-1999, -1984, 7))
    ('1,000', '-1,999 to -1,984')
    """
    low, high, _ = amounts
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def format_estimate(estimate: Estimate, decimals: int) -> str:
    """Return an estimate in words: the value and its 95 % interval.

    >>> from threedice.sim.estimates import Estimate
    >>> format_estimate(Estimate(0.5, 0.01, 0.48, 0.52), 3)
    '0.500 (0.480 to 0.520)'
    """
    value, low, high = (
        f"{each:,.{decimals}f}" for each in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} ({low} to {high})"


def html_estimate_table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """Return a small table for a notebook."""
    body = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(value)}</td></tr>"
        for name, value in rows
    )
    return f"<table><caption>{escape(title)}; 95 % intervals</caption>{body}</table>"
