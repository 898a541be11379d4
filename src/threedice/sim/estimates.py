"""What whole-number sums say of the truth: a value, its standard error, and 95 % confidence."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Final

NORMAL_95: Final = 1.959963984540054
"""Two-sided, 95 % of a normal distribution lie within so many standard errors."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its standard error, and the interval that holds the truth 95 times in 100."""

    value: float
    error: float
    low: float
    high: float

    def holds(self, truth: float, errors: float = NORMAL_95) -> bool:
        """Tell whether a value lies within so many standard errors."""
        return abs(self.value - truth) <= errors * self.error + 1e-15


def share_of(count: int, whole: int) -> Estimate:
    """Return how likely something is that happened so often: Wilson's interval.

    >>> half = share_of(50, 100)
    >>> half.value, round(half.low, 4), round(half.high, 4)
    (0.5, 0.4038, 0.5962)
    """
    if whole == 0:
        return Estimate(0.0, 0.0, 0.0, 1.0)
    value, z = count / whole, NORMAL_95
    middle = (value + z * z / (2 * whole)) / (1 + z * z / whole)
    half = z / (1 + z * z / whole) * sqrt(value * (1 - value) / whole + z * z / (4 * whole**2))
    error = sqrt(value * (1 - value) / whole)
    return Estimate(value, error, max(0.0, middle - half), min(1.0, middle + half))


def mean_of(total: int, squares: int, whole: int, unit: Fraction | int = 1) -> Estimate:
    """Return a mean from the sum and the sum of squares of whole numbers of some unit."""
    if whole == 0:
        return Estimate(0.0, 0.0, 0.0, 0.0)
    value = float(Fraction(total, whole) * unit)
    return _around(value, sqrt(variance(total, squares, whole) / whole) * float(unit))


def variance(total: int, squares: int, whole: int) -> float:
    """Return the variance, from exact sums: nothing is lost by taking a difference of floats."""
    return float(Fraction(squares * whole - total * total, whole * whole)) if whole else 0.0


def ratio_of(
    total: int, squares: int, base: int, base_squares: int, products: int, whole: int
) -> Estimate:
    """Return the ratio of two means over the same sessions, such as loss to turnover."""
    if base == 0:
        return Estimate(0.0, 0.0, 0.0, 0.0)
    ratio = Fraction(total, base)
    spread = squares - 2 * ratio * products + ratio * ratio * base_squares
    return _around(float(ratio), sqrt(max(float(spread), 0.0)) / abs(base) if whole else 0.0)


def _around(value: float, error: float) -> Estimate:
    return Estimate(value, error, value - NORMAL_95 * error, value + NORMAL_95 * error)
