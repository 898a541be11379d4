"""Convolve a round's distribution by FFT, with exponential tilting for tails and an error bound.

For numbers of rounds where exact counts are infeasible. Results are taken modulo a window that
holds all but a vanishing part of the probability, so that a year of rounds needs a few million
numbers. Exponential tilting by exp(tilt k) centres the window on a result far out in a tail (as in
a saddlepoint approximation), which keeps the relative precision of a small tail probability.

**Error bound.** The stated error bounds the sum of two errors:

- Truncation error: probability outside the window is aliased into it, at most Chernoff's bound at
  either end.
- Rounding error: float64 has the unit roundoff u = 2^-53. A transform of length L has log2(L)
  levels, each with a relative error under 7u, so every frequency f of the spectrum has an error of
  at most 7u log2(L), and the tilted probabilities themselves are rounded by (8 + tilt degree)u.
  Raising to the power n turns an error e into n |f|^(n-1) e and adds 3u n |f|^n. The inverse
  transform distributes these errors; the bound sums the computed |f|^(n-1) and adds a tenth for the
  second-order terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from math import ceil, expm1, log, log2, sqrt
from typing import TYPE_CHECKING, Any, Final

from threedice.errors import InfeasibleComputation, MissingExtra
from threedice.odds.convolution import check_rounds
from threedice.odds.distribution import negate

if TYPE_CHECKING:
    from fractions import Fraction

    from threedice.odds.distribution import RoundDistribution


MAX_WINDOW_LENGTH: Final = 2**26
"""Maximum window length: it takes about three gigabytes during the transform."""

UNIT_ROUNDOFF: Final = 2.0**-53
"""Maximum relative error of one float64 operation."""

_SMALLEST_NORMAL: Final = 2.0**-1022
"""Smallest normal float64; smaller numbers lose precision."""

_MAX_OUTSIDE_PROBABILITY: Final = 1e-32
"""Maximum probability outside the window, at either end."""


@dataclass(frozen=True)
class ProbabilityWindow:
    """Probabilities of the tilted distribution at the lattice indices from `first_index` on.

    `point_error` bounds the error of one probability, `sum_error` that of a sum of them.
    """

    first_index: int
    probabilities: Any
    point_error: float
    sum_error: float


class TiltedDistribution:
    """A round's distribution, exponentially tilted: weighted by exp(tilt k) and normalised."""

    def __init__(self, one_round: RoundDistribution, tilt: float = 0.0) -> None:
        np = self.np = require_numpy("a float64 distribution")
        self.one_round, self.tilt = one_round, tilt
        self.lattice_indices = np.array([float(k) for k, _ in one_round.ways])
        self.log_probabilities = np.array(
            [log(ways) - log(one_round.total_ways) for _, ways in one_round.ways]
        )

    def log_mgf(self, tilt: float) -> float:
        """Return the log of the moment-generating function at `tilt`, without overflow."""
        log_terms = self.log_probabilities + tilt * self.lattice_indices
        largest = log_terms.max()
        return float(largest + self.np.log(self.np.exp(log_terms - largest).sum()))

    def mean(self) -> float:
        """Return the expected lattice index of one round under the tilted distribution."""
        return float((self.probabilities() * self.lattice_indices).sum())

    def probabilities(self) -> Any:
        """Return the tilted probabilities."""
        return self.np.exp(
            self.log_probabilities + self.tilt * self.lattice_indices - self.log_mgf(self.tilt)
        )

    def convolve(self, rounds: int) -> ProbabilityWindow:
        """Return the tilted distribution of the sum of `rounds` rounds."""
        np = self.np
        first_index, length = self._window(rounds)
        indices = np.array([k % length for k, _ in self.one_round.ways])
        one_round = np.bincount(indices, weights=self.probabilities(), minlength=length)
        spectrum = np.fft.rfft(one_round)
        point_error, sum_error = self._error_bounds(np.abs(spectrum), length, rounds)
        probabilities = np.fft.irfft(_power_by_squaring(spectrum, rounds), length)
        rotated = np.roll(probabilities, -(first_index % length))
        return ProbabilityWindow(first_index, rotated, point_error, sum_error)

    def _window(self, rounds: int) -> tuple[int, int]:
        """Return the first index of the window, and its length, a power of two."""
        margin, log_mgf = -log(_MAX_OUTSIDE_PROBABILITY), self.log_mgf(self.tilt)
        low, high = 0.0, float(rounds * self.one_round.degree)
        # Chernoff's bound holds for every s; the tightest of the trials is taken.
        for s in map(float, self.np.geomspace(1e-10, 1e2, 150)):
            high = min(high, (rounds * (self.log_mgf(self.tilt + s) - log_mgf) + margin) / s)
            low = max(low, -(rounds * (self.log_mgf(self.tilt - s) - log_mgf) + margin) / s)
        length = 2 ** ceil(log2(high - low + 4))
        if length > MAX_WINDOW_LENGTH:
            raise InfeasibleComputation(
                f"the results of {rounds} rounds spread over {length:,} lattice points",
                length,
                f"the limit is {MAX_WINDOW_LENGTH:,}; stake in larger steps",
            )
        return max(int(low) - 1, 0), length

    def _error_bounds(self, magnitudes: Any, length: int, rounds: int) -> tuple[float, float]:
        """Return the error bounds of one probability and of a sum, from the spectrum."""
        transform_units = 7 * log2(length)
        tilt_units = abs(self.tilt) * self.one_round.degree
        power_error = rounds * (transform_units + 11 + tilt_units) * UNIT_ROUNDOFF
        # The spectrum of real numbers is symmetric, so rfft holds half of it: hence the factor 2.
        mean_power = 2 * (magnitudes ** (rounds - 1)).sum() / length
        square_sum = 2 * (magnitudes ** (2 * (rounds - 1))).sum()
        # Above 0.05 the second-order terms are no longer small: add 1, which voids the bound.
        relative = 1.1 * (power_error + transform_units * UNIT_ROUNDOFF) + (
            1 if power_error > 0.05 else 0
        )
        truncation = 2 * _MAX_OUTSIDE_PROBABILITY
        return float(relative * mean_power + truncation), float(
            relative * sqrt(square_sum) + truncation
        )


def tail_probability(
    one_round: RoundDistribution, rounds: int, net: Fraction | int
) -> tuple[float, float]:
    """Return the probability of a net result of `net` or more, and a bound on its error.

    The distribution is tilted so that its mean is this result (the saddlepoint), which makes the
    bound small relative to the probability, however small the probability is.
    """
    check_rounds(rounds)
    index = one_round.index(net, rounds, ceil)
    top = rounds * one_round.degree
    if not 0 < index <= top:
        return float(index <= 0), 0.0
    tilt = _solve_tilt(one_round, index / rounds, rounds)
    if tilt >= 0:
        return _upper_tail(one_round, tilt, rounds, index)
    chance, error = _upper_tail(negate(one_round), -tilt, rounds, top - index + 1)
    return 1 - chance, error + UNIT_ROUNDOFF


def _upper_tail(
    one_round: RoundDistribution, tilt: float, rounds: int, index: int
) -> tuple[float, float]:
    """Return the probability of a lattice index or more, and its error bound.

    `tilt` is zero or more, and is the one that moves the mean to the index.
    """
    tilted = TiltedDistribution(one_round, tilt)
    np, window, log_mgf = tilted.np, tilted.convolve(rounds), tilted.log_mgf(tilt)
    probabilities = window.probabilities[max(index - window.first_index, 0) :]
    untilting = np.exp(-tilt * np.arange(len(probabilities)))
    scale = np.exp(rounds * log_mgf - tilt * index)
    chance = float(scale * (probabilities * untilting).sum())
    window_error = (
        window.sum_error if tilt == 0 else min(window.sum_error, window.point_error / -expm1(-tilt))
    )
    rounding = 4 * (rounds * (abs(log_mgf) + tilt * one_round.degree + 2) + 64) * UNIT_ROUNDOFF
    return chance, float(scale * window_error + abs(chance) * rounding) + _SMALLEST_NORMAL


def _solve_tilt(one_round: RoundDistribution, mean_index: float, rounds: int) -> float:
    """Return the tilt that gives a round this mean index, by bisection."""
    margin = 0.5 / rounds
    target = min(max(mean_index, margin), one_round.degree - margin)
    low, high = -200.0, 200.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if TiltedDistribution(one_round, middle).mean() < target
            else (low, middle)
        )
    return (low + high) / 2


def _power_by_squaring(base: Any, exponent: int) -> Any:
    """Raise an array to a whole power by squaring, whose rounding error is known."""
    result = None
    while True:
        if exponent & 1:
            result = base if result is None else result * base
        exponent >>= 1
        if not exponent:
            return result
        base = base * base


def require_numpy(purpose: str) -> Any:
    """Return the numpy module, or raise `MissingExtra`."""
    try:
        return import_module("numpy")
    except ImportError:
        raise MissingExtra(purpose, "sim") from None
