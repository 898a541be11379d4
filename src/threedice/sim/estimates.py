"""Estimates with standard errors and 95 % intervals, from exact integer sums and histograms."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp, fsum, lgamma, log, log1p, sqrt
from typing import TYPE_CHECKING, Final

from threedice.errors import InvalidInput
from threedice.notebook import html_table
from threedice.odds.sessions import session_odds
from threedice.sim.kernels.sessions import SUMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from threedice.sim.kernels.sessions import HistogramBin


FAN_QUANTILES: Final = session_odds.FAN_QUANTILES
"""Quantiles of the bankroll in a fan chart, those of exact sessions."""

TWO_SIDED_95_Z: Final = 1.959963984540054
"""Two-sided 95 % quantile of the standard normal distribution."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated value with its standard error and its 95 % confidence interval."""

    value: float
    standard_error: float
    low: float
    high: float

    def is_consistent_with(self, truth: float, standard_errors: float = TWO_SIDED_95_Z) -> bool:
        """Return whether a true value lies within a number of standard errors of the estimate."""
        return abs(self.value - truth) <= standard_errors * self.standard_error + 1e-15


def estimate_proportion(count: int, trials: int) -> Estimate:
    """Estimate a probability from a count of successes, with Wilson's interval.

    >>> half = estimate_proportion(50, 100)
    >>> half.value, round(half.low, 4), round(half.high, 4)
    (0.5, 0.4038, 0.5962)
    """
    if trials == 0:
        return Estimate(0.0, 0.0, 0.0, 1.0)
    value, z = count / trials, TWO_SIDED_95_Z
    centre = (value + z * z / (2 * trials)) / (1 + z * z / trials)
    half_width = (
        z / (1 + z * z / trials) * sqrt(value * (1 - value) / trials + z * z / (4 * trials**2))
    )
    error = sqrt(value * (1 - value) / trials)
    return Estimate(value, error, max(0.0, centre - half_width), min(1.0, centre + half_width))


def estimate_proportion_exactly(count: int, trials: int) -> Estimate:
    """Estimate a probability with the interval of Clopper and Pearson, for rare successes.

    The interval holds the true probability in at least 95 % of all studies, whatever it is.

    >>> none = estimate_proportion_exactly(0, 100)
    >>> none.low, round(none.high, 5)
    (0.0, 0.03622)
    """
    value = count / trials
    tail = 0.025
    low = _bisect(lambda p: 1 - _binomial_cdf(count - 1, trials, p) < tail, value) if count else 0.0
    high = (
        1 - _bisect(lambda q: _binomial_cdf(count, trials, 1 - q) < tail, 1 - value)
        if count < trials
        else 1.0
    )
    return Estimate(value, sqrt(value * (1 - value) / trials), low, high)


def _bisect(is_below: Callable[[float], bool], high: float) -> float:
    """Return the number from 0 to `high` at which a condition that holds at first ends."""
    low = 0.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low


def _binomial_cdf(successes: int, trials: int, probability: float) -> float:
    """Return the probability of at most so many successes."""
    if not 0 < probability < 1:
        return float(probability <= 0)
    log_success, log_failure = log(probability), log1p(-probability)
    return fsum(
        exp(
            lgamma(trials + 1) - lgamma(k + 1) - lgamma(trials - k + 1)
            + k * log_success + (trials - k) * log_failure
        )
        for k in range(successes + 1)
    )  # fmt: skip


def estimate_mean(total: int, squares: int, trials: int, unit: Fraction | int = 1) -> Estimate:
    """Estimate a mean from the sum and the sum of squares of integers in some unit."""
    if trials == 0:
        return Estimate(0.0, 0.0, 0.0, 0.0)
    value = float(Fraction(total, trials) * unit)
    return _normal_estimate(value, sqrt(variance(total, squares, trials) / trials) * float(unit))


def variance(total: int, squares: int, trials: int) -> float:
    """Return the variance from exact sums, so that the difference does not cancel digits."""
    return float(Fraction(squares * trials - total * total, trials * trials)) if trials else 0.0


def estimate_ratio(
    total: int, squares: int, base: int, base_squares: int, products: int
) -> Estimate:
    """Estimate the ratio of two means over the same sessions, such as loss to turnover.

    The standard error is that of the delta method.
    """
    if base == 0:
        return Estimate(0.0, 0.0, 0.0, 0.0)
    ratio = Fraction(total, base)
    residual_squares = squares - 2 * ratio * products + ratio * ratio * base_squares
    return _normal_estimate(float(ratio), sqrt(max(float(residual_squares), 0.0)) / abs(base))


def _normal_estimate(value: float, error: float) -> Estimate:
    return Estimate(value, error, value - TWO_SIDED_95_Z * error, value + TWO_SIDED_95_Z * error)


class SessionSums:
    """Sums over sessions by name, with the 32-bit halves of squares and products combined."""

    def __init__(self, row: Sequence[int]) -> None:
        self._by_name = {name: int(value) for name, value in zip(SUMS, row, strict=True)}

    def total(self, name: str) -> int:
        """Return a sum by its name in `SUMS`, without the suffix of a half."""
        if f"{name}_low" in self._by_name:
            return self._by_name[f"{name}_low"] + (self._by_name[f"{name}_high"] << 32)
        return self._by_name[name]

    def mean(self, name: str, sessions: int, unit: int = 1) -> Estimate:
        """Estimate the mean of an amount of which the squares are summed too."""
        return estimate_mean(self.total(name), self.total(f"{name}_squared"), sessions, unit)


def quantiles(
    bins: Sequence[HistogramBin], probabilities: Iterable[Fraction]
) -> tuple[HistogramBin, ...]:
    """Return the bins that hold the quantiles at these probabilities, given in ascending order.

    >>> from threedice.sim.kernels.sessions import HistogramBin
    >>> bins = [HistogramBin(0, 0, 5), HistogramBin(10, 19, 4), HistogramBin(20, 20, 1)]
    >>> [each.low for each in quantiles(bins, (Fraction(1, 2), Fraction(9, 10), Fraction(1)))]
    [0, 10, 20]
    """
    if not bins:
        raise InvalidInput("nothing has been played yet, so there are no quantiles")
    return session_odds.quantiles({each: each.times for each in bins}, probabilities)


def format_bin(amounts: HistogramBin) -> str:
    """Format a bin as an amount, or as a range of amounts.

    >>> from threedice.sim.kernels.sessions import HistogramBin
    >>> format_bin(HistogramBin(1000, 1000, 7)), format_bin(HistogramBin(-1999, -1984, 7))
    ('1,000', '-1,999 to -1,984')
    """
    low, high, _ = amounts
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def format_estimate(estimate: Estimate, decimals: int) -> str:
    """Format an estimate as its value and its 95 % interval.

    >>> from threedice.sim.estimates import Estimate
    >>> format_estimate(Estimate(0.5, 0.01, 0.48, 0.52), 3)
    '0.500 (0.480 to 0.520)'
    """
    value, low, high = (
        f"{number:,.{decimals}f}" for number in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} ({low} to {high})"


def html_estimate_table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """Return a small HTML table for a notebook."""
    return html_table(f"{title}; 95 % intervals", rows)
