"""Convolve a round's distribution by FFT, with exponential tilting for tails and an error bound.

The net result over very many rounds: the law, tilted, raised to a power by a Fourier transform.

For what is too large to count. Results are taken modulo a window that holds all but a vanishing
part of them, so that a year of rounds needs a few million numbers. Tilting the law by exp(tilt k)
moves the window to a result far out, and keeps the digits of a tail however small.

**Error.** Two things can be wrong with a probability, and the stated error bounds their sum.

- What lies outside the window is folded into it: at most Chernoff's bound at either end.
- Float64 rounds by u = 2^-53. A transform of length L goes through log2(L) levels, each with a
  relative error under 7u, so every frequency f of the law has an error of at most 7u log2(L), and
  the law's own shares have been rounded by (8 + tilt degree)u. Raising to the n turns an error e
  into n |f|^(n-1) e and adds 3u n |f|^n. The transform back spreads these; the bound adds up the
  |f|^(n-1) actually found, and a tenth for the terms of second order.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from math import ceil, expm1, log, log2, sqrt
from typing import TYPE_CHECKING, Any, Final

from threedice.errors import InfeasibleComputation, InvalidInput
from threedice.odds.convolution import check_rounds, lattice_index

if TYPE_CHECKING:
    from fractions import Fraction

    from threedice.odds.distribution import RoundDistribution


MAX_WINDOW_LENGTH: Final = 2**26
"""The longest window: about three gigabytes while it is worked on."""


_UNIT_ROUNDOFF: Final = 2.0**-53


_SMALLEST_NORMAL: Final = 2.0**-1022
"""Below this float64 loses digits."""


_MAX_OUTSIDE_PROBABILITY: Final = 1e-32
"""What may lie outside the window, at either end."""


@dataclass(frozen=True)
class ProbabilityWindow:
    """Probabilities of the tilted law over a run of places, from `first` on.

    One of them is within `single` of the truth, a sum of them within `summed`.
    """

    first_index: int
    probabilities: Any
    point_error: float
    sum_error: float


class TiltedDistribution:
    """A law whose shares are weighted by exp(tilt k) and made to add up to one again."""

    def __init__(self, one_round: RoundDistribution, tilt: float = 0.0) -> None:
        np = self.np = require_numpy("very many rounds")
        self.one_round, self.tilt = one_round, tilt
        self.lattice_indices = np.array([float(k) for k, _ in one_round.ways])
        self.log_probabilities = np.array(
            [log(ways) - log(one_round.total_ways) for _, ways in one_round.ways]
        )

    def log_mgf(self, tilt: float) -> float:
        """Return the logarithm of the mean of exp(tilt k), taken so that it cannot overflow."""
        each = self.log_probabilities + tilt * self.lattice_indices
        top = each.max()
        return float(top + self.np.log(self.np.exp(each - top).sum()))

    def mean(self) -> float:
        """Return the expected place of one round, tilted."""
        return float((self.probabilities() * self.lattice_indices).sum())

    def probabilities(self) -> Any:
        """Return the tilted probabilities."""
        return self.np.exp(
            self.log_probabilities + self.tilt * self.lattice_indices - self.log_mgf(self.tilt)
        )

    def convolve(self, rounds: int) -> ProbabilityWindow:
        """Return the tilted distribution of the sum of so many rounds."""
        np = self.np
        first, length = self._window(rounds)
        places = np.array([k % length for k, _ in self.one_round.ways])
        one = np.bincount(places, weights=self.probabilities(), minlength=length)
        spectrum = np.fft.rfft(one)
        single, summed = self._errors(np.abs(spectrum), length, rounds)
        shares = np.fft.irfft(_power_by_squaring(spectrum, rounds), length)
        return ProbabilityWindow(first, np.roll(shares, -(first % length)), single, summed)

    def _window(self, rounds: int) -> tuple[int, int]:
        """Return where the window begins, and its length, a power of two."""
        enough, now = -log(_MAX_OUTSIDE_PROBABILITY), self.log_mgf(self.tilt)
        low, high = 0.0, float(rounds * self.one_round.degree)
        # Chernoff: any trial s bounds the ends, the best of them bounds them closely.
        for s in (float(each) for each in self.np.geomspace(1e-10, 1e2, 150)):
            high = min(high, (rounds * (self.log_mgf(self.tilt + s) - now) + enough) / s)
            low = max(low, -(rounds * (self.log_mgf(self.tilt - s) - now) + enough) / s)
        length = 2 ** ceil(log2(high - low + 4))
        if length > MAX_WINDOW_LENGTH:
            raise InfeasibleComputation(
                f"the results of {rounds} rounds spread over {length:,} places",
                length,
                f"no more than {MAX_WINDOW_LENGTH:,} are worked on; stake in larger steps",
            )
        return max(int(low) - 1, 0), length

    def _errors(self, sizes: Any, length: int, rounds: int) -> tuple[float, float]:
        """Return the bounds on one probability and on a sum, from the sizes of the spectrum."""
        levels = 7 * log2(length)
        each = rounds * (levels + 11 + abs(self.tilt) * self.one_round.degree) * _UNIT_ROUNDOFF
        # Half a spectrum stands for all of it, its other half being the mirror image.
        lesser = 2 * (sizes ** (rounds - 1)).sum() / length
        squares = 2 * (sizes ** (2 * (rounds - 1))).sum()
        lost = 1.1 * (each + levels * _UNIT_ROUNDOFF) + (1 if each > 0.05 else 0)
        return float(lost * lesser + 2 * _MAX_OUTSIDE_PROBABILITY), float(
            lost * sqrt(squares) + 2 * _MAX_OUTSIDE_PROBABILITY
        )


def tail_probability(
    one_round: RoundDistribution, rounds: int, net: Fraction | int
) -> tuple[float, float]:
    """Return the probability of a net result of `net` or more, and a bound on its error.

    The law is tilted so that this very result is the expected one. However small the probability
    is, the bound is small beside it.
    """
    check_rounds(rounds)
    place = lattice_index(one_round, rounds, net, ceil)
    top = rounds * one_round.degree
    if not 0 < place <= top:
        return float(place <= 0), 0.0
    tilt = _solve_tilt(one_round, place / rounds, rounds)
    if tilt >= 0:
        return _upper_tail(one_round, tilt, rounds, place)
    chance, error = _upper_tail(_reversed_distribution(one_round), -tilt, rounds, top - place + 1)
    return 1 - chance, error + _UNIT_ROUNDOFF


def _upper_tail(
    one_round: RoundDistribution, tilt: float, rounds: int, index: int
) -> tuple[float, float]:
    """Return the probability of a place or more, and the bound, where the tilt leads there."""
    tilted = TiltedDistribution(one_round, tilt)
    np, window, growth = tilted.np, tilted.convolve(rounds), tilted.log_mgf(tilt)
    shares = window.probabilities[max(index - window.first_index, 0) :]
    fading = np.exp(-tilt * np.arange(len(shares)))
    scale = np.exp(rounds * growth - tilt * index)
    chance = float(scale * (shares * fading).sum())
    inside = (
        window.sum_error if tilt == 0 else min(window.sum_error, window.point_error / -expm1(-tilt))
    )
    rounded = 4 * (rounds * (abs(growth) + tilt * one_round.degree + 2) + 64) * _UNIT_ROUNDOFF
    return chance, float(scale * inside + abs(chance) * rounded) + _SMALLEST_NORMAL


def _solve_tilt(one_round: RoundDistribution, mean_index: float, rounds: int) -> float:
    """Return the tilt under which a round is expected to bring a place between its extremes."""
    margin = 0.5 / rounds
    wanted = min(max(mean_index, margin), one_round.degree - margin)
    low, high = -200.0, 200.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if TiltedDistribution(one_round, middle).mean() < wanted
            else (low, middle)
        )
    return (low + high) / 2


def _reversed_distribution(one_round: RoundDistribution) -> RoundDistribution:
    """Return the law with its places counted from the best result down."""
    ways = tuple((one_round.degree - k, n) for k, n in reversed(one_round.ways))
    highest = one_round.lowest + one_round.degree * one_round.step
    return type(one_round)(-highest, one_round.step, one_round.unit, ways, one_round.total_ways)


def _power_by_squaring(base: Any, exponent: int) -> Any:
    """Raise all numbers to a whole power by squaring, whose rounding is known."""
    result = None
    while True:
        if exponent & 1:
            result = base if result is None else result * base
        exponent >>= 1
        if not exponent:
            return result
        base = base * base


def require_numpy(purpose: str) -> Any:
    """Return numpy, or say what to install for this purpose."""
    try:
        return import_module("numpy")
    except ImportError:
        raise InvalidInput(
            f"{purpose} need numpy, which is not installed; run pip install 'threedice[sim]'"
        ) from None
