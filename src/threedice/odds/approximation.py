"""Distribution over very many rounds: exact where feasible, approximated with an error bound beyond.

The net result over very many rounds in float64, with the answers of an exact `Distribution`.

Which way to the long run: counting where that is feasible, a bounded approximation beyond.

The border was measured on one core: counting takes 0.2 to 0.5 ns for each unit of `estimate_exact_work` here (a
coefficient times its terms times a number that grows with the digits), so the border stands at half
a minute, or at a gigabyte of counts, whichever comes first.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, log2, sqrt
from typing import TYPE_CHECKING, Any, Final, Literal

from threedice.errors import InvalidInput
from threedice.odds.convolution import (
    WORST_PROBABILITY,
    Distribution,
    chance_at_least,
    check_probability,
    check_rounds,
    lattice_index,
    over_rounds,
)
from threedice.odds.notebook import html_bars, html_table
from threedice.odds.tilted_distribution import TiltedDistribution, tail_probability

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.odds.distribution import RoundDistribution


@dataclass(frozen=True)
class Approximation:
    """The net result of `rounds` rounds: a window of probabilities from place `first` on.

    Every probability it gives is within `error` of the truth; mean and variance are exact.
    """

    one_round: RoundDistribution
    rounds: int
    first_index: int
    probabilities: Any
    error: float

    def net(self, index: int) -> Fraction:
        """Return the net result at a place of the window."""
        law = self.one_round
        from_worst = self.first_index + index
        return Fraction(self.rounds * law.lowest + from_worst * law.step, law.unit)

    def results(self) -> Iterator[tuple[Fraction, float]]:
        """Yield the net results of the window, worst first, with their probabilities."""
        return (
            (self.net(k), share) for k, share in enumerate(self.probabilities.tolist()) if share
        )

    def as_floats(self) -> list[tuple[float, float]]:
        """Return the net results with their probabilities as floats, for drawing."""
        (places,) = self.probabilities.nonzero()
        nets = float(self.net(0)) + places * (self.one_round.step / self.one_round.unit)
        return list(zip(nets.tolist(), self.probabilities[places].tolist(), strict=True))

    @property
    def mean(self) -> Fraction:
        """The expected net result."""
        return self.one_round.mean * self.rounds

    @property
    def variance(self) -> Fraction:
        """The variance of the net result."""
        return self.one_round.variance * self.rounds

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
        return self._below(lattice_index(self.one_round, self.rounds, 0, ceil))

    @property
    def level(self) -> float:
        """The probability of ending where one began."""
        return max(1 - self.ahead - self.behind, 0.0)

    @property
    def worst_1_in_1000(self) -> Fraction:
        """The result that is reached or undercut once in a thousand times."""
        return self.quantile(WORST_PROBABILITY)

    def at_least(self, net: Fraction | int) -> float:
        """Return the probability of this net result or a better one."""
        return 1 - self._below(lattice_index(self.one_round, self.rounds, net, ceil))

    def at_most(self, net: Fraction | int) -> float:
        """Return the probability of this net result or a worse one."""
        return self._below(lattice_index(self.one_round, self.rounds, net, floor) + 1)

    def quantile(self, probability: Fraction) -> Fraction:
        """Return the least net result not exceeded with at least this probability.

        A probability that the error swallows, next to nought or one, has no quantile to be told.
        """
        check_probability(probability)
        if probability == 1:
            return self.one_round.highest * self.rounds
        if not self.error < probability < 1 - self.error:
            raise InvalidInput(
                f"a quantile of {float(probability):g} among probabilities that are known within "
                f"{self.error:.1e} only; count exactly, or ask for one less extreme"
            )
        place = int(self._cumulative.searchsorted(float(probability)))
        return self.net(min(place, len(self.probabilities) - 1))

    def _repr_html_(self) -> str:
        rows = [
            ("mean", f"{float(self.mean):,.4f}"),
            ("standard deviation", f"{self.sd:,.4f}"),
            ("ahead", f"{float(self.ahead):.12g}"),
            ("level", f"{float(self.level):.12g}"),
            ("behind", f"{float(self.behind):.12g}"),
            ("worst 1 in 1,000", f"{float(self.worst_1_in_1000):,g}"),
        ]
        title = f"net result of {self.rounds:,} rounds, within {self.error:.1e}"
        return html_table(title, rows) + html_bars(self.as_floats())

    @cached_property
    def _cumulative(self) -> Any:
        return self.probabilities.cumsum()

    def _below(self, index: int) -> float:
        inside = min(max(index - self.first_index, 0), len(self.probabilities))
        return min(float(self._cumulative[inside - 1]), 1.0) if inside else 0.0


def approximate(one_round: RoundDistribution, rounds: int) -> Approximation:
    """Return the distribution of the net result of very many rounds, with its error."""
    check_rounds(rounds)
    window = TiltedDistribution(one_round).convolve(rounds)
    # A running sum rounds once for each of its terms; none of them is over one.
    added = len(window.probabilities) * 2.0**-53
    shares = window.probabilities.clip(0.0, None)
    return Approximation(one_round, rounds, window.first_index, shares, window.sum_error + added)


LongRunMethod = Literal["exact", "float64"]


LongRun = Distribution | Approximation


MAX_EXACT_WORK: Final = 10**11


MAX_EXACT_BYTES: Final = 10**9


def estimate_exact_work(one_round: RoundDistribution, rounds: int) -> float:
    """Return how much work counting is: coefficients x terms x (1000 + half a count's bits)."""
    bits = rounds * log2(one_round.total_ways)
    return (rounds * one_round.degree + 1) * len(one_round.ways) * (1000 + bits / 2)


def estimate_exact_bytes(one_round: RoundDistribution, rounds: int) -> int:
    """Return about how much memory all the counts take."""
    return int((rounds * one_round.degree + 1) * (44 + rounds * log2(one_round.total_ways) / 7.5))


def choose_method(one_round: RoundDistribution, rounds: int) -> LongRunMethod:
    """Return how the long run is found unless somebody asks otherwise."""
    small = estimate_exact_bytes(one_round, rounds) <= MAX_EXACT_BYTES
    return (
        "exact" if small and estimate_exact_work(one_round, rounds) <= MAX_EXACT_WORK else "float64"
    )


def long_run(
    one_round: RoundDistribution, rounds: int, method: LongRunMethod | None = None
) -> LongRun:
    """Return the distribution of the net result of independent rounds."""
    check_rounds(rounds)
    chosen = method or choose_method(one_round, rounds)
    return over_rounds(one_round, rounds) if chosen == "exact" else approximate(one_round, rounds)


def chance_above(
    one_round: RoundDistribution, rounds: int, net: Fraction | int
) -> tuple[Fraction | float, float]:
    """Return the probability of more than a net result, and how far it may be from the truth."""
    check_rounds(rounds)
    reached = Fraction(floor(net * one_round.unit) + 1, one_round.unit)
    if choose_method(one_round, rounds) == "exact":
        return chance_at_least(one_round, rounds, reached), 0.0
    return tail_probability(one_round, rounds, reached)
