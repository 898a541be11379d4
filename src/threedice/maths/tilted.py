"""The net result over very many rounds: the law, tilted, raised to a power by a Fourier transform.

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
from math import ceil, expm1, log, log2, sqrt
from typing import TYPE_CHECKING, Any, Final

from threedice.maths.rounds import check_rounds, place_of
from threedice.maths.states import Infeasible
from threedice.maths.walks import numpy

if TYPE_CHECKING:
    from fractions import Fraction

    from threedice.maths.laws import Law

LONGEST: Final = 2**26
"""The longest window: about three gigabytes while it is worked on."""
_U: Final = 2.0**-53
_SMALLEST: Final = 2.0**-1022
"""Below this float64 loses digits."""
_OUTSIDE: Final = 1e-32
"""What may lie outside the window, at either end."""


@dataclass(frozen=True)
class Window:
    """Probabilities of the tilted law over a run of places, from `first` on.

    One of them is within `single` of the truth, a sum of them within `summed`.
    """

    first: int
    shares: Any
    single: float
    summed: float


class Tilted:
    """A law whose shares are weighted by exp(tilt k) and made to add up to one again."""

    def __init__(self, law: Law, tilt: float = 0.0) -> None:
        np = self.np = numpy("very many rounds")
        self.law, self.tilt = law, tilt
        self.places = np.array([float(k) for k, _ in law.ways])
        self.logs = np.array([log(ways) - log(law.of) for _, ways in law.ways])

    def growth(self, tilt: float) -> float:
        """Return the logarithm of the mean of exp(tilt k), taken so that it cannot overflow."""
        each = self.logs + tilt * self.places
        top = each.max()
        return float(top + self.np.log(self.np.exp(each - top).sum()))

    def mean(self) -> float:
        """Return the expected place of one round, tilted."""
        return float((self.shares() * self.places).sum())

    def shares(self) -> Any:
        """Return the tilted probabilities."""
        return self.np.exp(self.logs + self.tilt * self.places - self.growth(self.tilt))

    def powered(self, rounds: int) -> Window:
        """Return the tilted distribution of the sum of so many rounds."""
        np = self.np
        first, length = self._window(rounds)
        places = np.array([k % length for k, _ in self.law.ways])
        one = np.bincount(places, weights=self.shares(), minlength=length)
        spectrum = np.fft.rfft(one)
        single, summed = self._errors(np.abs(spectrum), length, rounds)
        shares = np.fft.irfft(_power(spectrum, rounds), length)
        return Window(first, np.roll(shares, -(first % length)), single, summed)

    def _window(self, rounds: int) -> tuple[int, int]:
        """Return where the window begins, and its length, a power of two."""
        enough, now = -log(_OUTSIDE), self.growth(self.tilt)
        low, high = 0.0, float(rounds * self.law.degree)
        # Chernoff: any trial s bounds the ends, the best of them bounds them closely.
        for s in (float(each) for each in self.np.geomspace(1e-10, 1e2, 150)):
            high = min(high, (rounds * (self.growth(self.tilt + s) - now) + enough) / s)
            low = max(low, -(rounds * (self.growth(self.tilt - s) - now) + enough) / s)
        length = 2 ** ceil(log2(high - low + 4))
        if length > LONGEST:
            raise Infeasible(
                f"the results of {rounds} rounds spread over {length:,} places",
                length,
                f"no more than {LONGEST:,} are worked on; stake in larger steps",
            )
        return max(int(low) - 1, 0), length

    def _errors(self, sizes: Any, length: int, rounds: int) -> tuple[float, float]:
        """Return the bounds on one probability and on a sum, from the sizes of the spectrum."""
        levels = 7 * log2(length)
        each = rounds * (levels + 11 + abs(self.tilt) * self.law.degree) * _U
        # Half a spectrum stands for all of it, its other half being the mirror image.
        lesser = 2 * (sizes ** (rounds - 1)).sum() / length
        squares = 2 * (sizes ** (2 * (rounds - 1))).sum()
        lost = 1.1 * (each + levels * _U) + (1 if each > 0.05 else 0)
        return float(lost * lesser + 2 * _OUTSIDE), float(lost * sqrt(squares) + 2 * _OUTSIDE)


def tail(law: Law, rounds: int, net: Fraction | int) -> tuple[float, float]:
    """Return the probability of a net result of `net` or more, and a bound on its error.

    The law is tilted so that this very result is the expected one. However small the probability
    is, the bound is small beside it.
    """
    check_rounds(rounds)
    place = place_of(law, rounds, net, ceil)
    top = rounds * law.degree
    if not 0 < place <= top:
        return float(place <= 0), 0.0
    tilt = _tilt_to(law, place / rounds, rounds)
    if tilt >= 0:
        return _above(law, tilt, rounds, place)
    chance, error = _above(_turned(law), -tilt, rounds, top - place + 1)
    return 1 - chance, error + _U


def _above(law: Law, tilt: float, rounds: int, place: int) -> tuple[float, float]:
    """Return the probability of a place or more, and the bound, where the tilt leads there."""
    tilted = Tilted(law, tilt)
    np, window, growth = tilted.np, tilted.powered(rounds), tilted.growth(tilt)
    shares = window.shares[max(place - window.first, 0) :]
    fading = np.exp(-tilt * np.arange(len(shares)))
    scale = np.exp(rounds * growth - tilt * place)
    chance = float(scale * (shares * fading).sum())
    inside = window.summed if tilt == 0 else min(window.summed, window.single / -expm1(-tilt))
    rounded = 4 * (rounds * (abs(growth) + tilt * law.degree + 2) + 64) * _U
    return chance, float(scale * inside + abs(chance) * rounded) + _SMALLEST


def _tilt_to(law: Law, place: float, rounds: int) -> float:
    """Return the tilt under which a round is expected to bring a place between its extremes."""
    margin = 0.5 / rounds
    wanted = min(max(place, margin), law.degree - margin)
    low, high = -200.0, 200.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if Tilted(law, middle).mean() < wanted else (low, middle)
    return (low + high) / 2


def _turned(law: Law) -> Law:
    """Return the law with its places counted from the best result down."""
    ways = tuple((law.degree - k, n) for k, n in reversed(law.ways))
    highest = law.lowest + law.degree * law.step
    return type(law)(-highest, law.step, law.unit, ways, law.of)


def _power(base: Any, exponent: int) -> Any:
    """Raise all numbers to a whole power by squaring, whose rounding is known."""
    result = None
    while True:
        if exponent & 1:
            result = base if result is None else result * base
        exponent >>= 1
        if not exponent:
            return result
        base = base * base
