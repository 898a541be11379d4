"""The net result over very many rounds in float64, with the answers of an exact `Distribution`."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, sqrt
from typing import TYPE_CHECKING, Any

from threedice.errors import InvalidInput
from threedice.maths.notebook import html_bars, html_table
from threedice.maths.rounds import WORST, check_rounds, check_share, place_of
from threedice.maths.tilted import Tilted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.maths.laws import Law


@dataclass(frozen=True)
class Approximation:
    """The net result of `rounds` rounds: a window of probabilities from place `first` on.

    Every probability it gives is within `error` of the truth; mean and variance are exact.
    """

    law: Law
    rounds: int
    first: int
    shares: Any
    error: float

    def net(self, place: int) -> Fraction:
        """Return the net result at a place of the window."""
        law = self.law
        from_worst = self.first + place
        return Fraction(self.rounds * law.lowest + from_worst * law.step, law.unit)

    def results(self) -> Iterator[tuple[Fraction, float]]:
        """Yield the net results of the window, worst first, with their probabilities."""
        return ((self.net(k), share) for k, share in enumerate(self.shares.tolist()) if share)

    def plain(self) -> list[tuple[float, float]]:
        """Return the net results with their probabilities as floats, for drawing."""
        (places,) = self.shares.nonzero()
        nets = float(self.net(0)) + places * (self.law.step / self.law.unit)
        return list(zip(nets.tolist(), self.shares[places].tolist(), strict=True))

    @property
    def mean(self) -> Fraction:
        """The expected net result."""
        return self.law.mean * self.rounds

    @property
    def variance(self) -> Fraction:
        """The variance of the net result."""
        return self.law.variance * self.rounds

    @property
    def sd(self) -> float:
        """The standard deviation of the net result."""
        return sqrt(self.variance)

    @property
    def ahead(self) -> float:
        """The probability of winning something on the whole."""
        return 1 - self.at_most(0)

    @property
    def behind(self) -> float:
        """The probability of losing something on the whole."""
        return self._below(place_of(self.law, self.rounds, 0, ceil))

    @property
    def level(self) -> float:
        """The probability of ending where one began."""
        return max(1 - self.ahead - self.behind, 0.0)

    @property
    def worst(self) -> Fraction:
        """The result that is reached or undercut once in a thousand times."""
        return self.quantile(WORST)

    def at_least(self, net: Fraction | int) -> float:
        """Return the probability of this net result or a better one."""
        return 1 - self._below(place_of(self.law, self.rounds, net, ceil))

    def at_most(self, net: Fraction | int) -> float:
        """Return the probability of this net result or a worse one."""
        return self._below(place_of(self.law, self.rounds, net, floor) + 1)

    def quantile(self, share: Fraction) -> Fraction:
        """Return the least net result not exceeded with at least this probability.

        A probability that the error swallows, next to nought or one, has no quantile to be told.
        """
        check_share(share)
        if share == 1:
            return self.law.highest * self.rounds
        if not self.error < share < 1 - self.error:
            raise InvalidInput(
                f"a quantile of {float(share):g} among probabilities that are known within "
                f"{self.error:.1e} only; count exactly, or ask for one less extreme"
            )
        place = int(self._sums.searchsorted(float(share)))
        return self.net(min(place, len(self.shares) - 1))

    def _repr_html_(self) -> str:
        rows = [
            ("mean", f"{float(self.mean):,.4f}"),
            ("standard deviation", f"{self.sd:,.4f}"),
            ("ahead", f"{float(self.ahead):.12g}"),
            ("level", f"{float(self.level):.12g}"),
            ("behind", f"{float(self.behind):.12g}"),
            ("worst 1 in 1,000", f"{float(self.worst):,g}"),
        ]
        title = f"net result of {self.rounds:,} rounds, within {self.error:.1e}"
        return html_table(title, rows) + html_bars(self.plain())

    @cached_property
    def _sums(self) -> Any:
        return self.shares.cumsum()

    def _below(self, place: int) -> float:
        inside = min(max(place - self.first, 0), len(self.shares))
        return min(float(self._sums[inside - 1]), 1.0) if inside else 0.0


def approximate(law: Law, rounds: int) -> Approximation:
    """Return the distribution of the net result of very many rounds, with its error."""
    check_rounds(rounds)
    window = Tilted(law).powered(rounds)
    # A running sum rounds once for each of its terms; none of them is over one.
    added = len(window.shares) * 2.0**-53
    shares = window.shares.clip(0.0, None)
    return Approximation(law, rounds, window.first, shares, window.summed + added)
