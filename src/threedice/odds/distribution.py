"""Probability distributions of the net result of one round, and of many.

Stakes (`stakes.Mix`) or a layout (`layouts`) give the distribution of one round, on the coarsest
lattice it fits: dividing all results and all counts by their common divisors keeps the integers of
a hundred rounds small. `NetDistribution` holds what the exact distribution of many rounds
(`convolution`) and the approximate one (`approximation`) have in common.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor, gcd, sqrt
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from threedice.errors import InvalidInput
from threedice.notebook import html_bars, html_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from threedice.odds.stakes import Mix

WORST_PROBABILITY: Final = Fraction(1, 1000)

Probability = TypeVar("Probability", Fraction, float)


@dataclass(frozen=True, slots=True)
class RoundDistribution:
    """Distribution of a net result on a lattice.

    For each pair (k, ways) in `ways`, the net result (lowest + k step) / unit has the probability
    ways / total_ways. The pairs are sorted by k, and the first k is 0.
    """

    lowest: int
    step: int
    unit: int
    ways: tuple[tuple[int, int], ...]
    total_ways: int

    @property
    def degree(self) -> int:
        """Number of lattice steps from the worst result to the best."""
        return self.ways[-1][0]

    @property
    def highest(self) -> Fraction:
        """Best net result of a round."""
        return self.net(self.degree)

    @property
    def mean(self) -> Fraction:
        """Expected net result of a round."""
        first_moment = sum(k * ways for k, ways in self.ways)
        return (self.lowest + self.step * Fraction(first_moment, self.total_ways)) / self.unit

    @property
    def variance(self) -> Fraction:
        """Variance of the net result of a round."""
        first_moment = sum(k * ways for k, ways in self.ways)
        second_moment = sum(k * k * ways for k, ways in self.ways)
        index_variance = Fraction(
            second_moment * self.total_ways - first_moment**2, self.total_ways**2
        )
        return index_variance * self.step**2 / self.unit**2

    def results(self) -> Iterator[tuple[Fraction, Fraction]]:
        """Yield every net result, worst first, with its probability."""
        for k, ways in self.ways:
            yield self.net(k), Fraction(ways, self.total_ways)

    def net(self, index: int, rounds: int = 1) -> Fraction:
        """Return the net result at an index of the lattice of `rounds` rounds."""
        return Fraction(rounds * self.lowest + index * self.step, self.unit)

    def net_text(self, index: int, rounds: int = 1) -> str:
        """Return the text of `net`, in a tenth of the time that a Fraction takes.

        >>> commission = distribution_from_counts({-20: 111, 19: 105}, unit=20)
        >>> commission.net_text(0), commission.net_text(1), str(commission.net(1))
        ('-1', '19/20', '19/20')
        """
        net, unit = rounds * self.lowest + index * self.step, self.unit
        divisor = gcd(net, unit)
        return str(net // unit) if divisor == unit else f"{net // divisor}/{unit // divisor}"

    def index(self, net: Fraction | int, rounds: int, rounding: Callable[[Fraction], int]) -> int:
        """Return the index of a net result on the lattice of `rounds` rounds.

        `rounding` decides for a net result between two lattice points.
        """
        return rounding(Fraction(net * self.unit - rounds * self.lowest) / self.step)

    def _repr_html_(self) -> str:
        rows = [(str(net), str(probability)) for net, probability in self.results()]
        bars = html_bars([(float(net), float(probability)) for net, probability in self.results()])
        return html_table("net result of one round, exact", rows, ("net", "probability")) + bars


def distribution_from_counts(counts: Mapping[int, int], unit: int = 1) -> RoundDistribution:
    """Return the distribution of net results in 1/unit, given the count of each.

    >>> distribution_from_counts({-50: 111, 50: 105})
    RoundDistribution(lowest=-50, step=100, unit=1, ways=((0, 37), (1, 35)), total_ways=72)
    """
    if not counts or min(counts.values()) < 1:
        raise InvalidInput("a distribution needs results, and every count must be positive")
    lowest = min(counts)
    step = gcd(*(net - lowest for net in counts)) or 1
    divisor = gcd(*counts.values())
    ways = tuple(
        (((net - lowest) // step), count // divisor) for net, count in sorted(counts.items())
    )
    return RoundDistribution(lowest, step, unit, ways, sum(count for _, count in ways))


def round_distribution(mix: Mix) -> RoundDistribution:
    """Return the distribution of the players' net result of one round with these stakes."""
    return distribution_from_counts(Counter(mix.nets), mix.game.unit)


def negate(distribution: RoundDistribution) -> RoundDistribution:
    """Return the distribution with the sign of every result reversed: the house's result."""
    counts = {-(distribution.lowest + k * distribution.step): ways for k, ways in distribution.ways}
    return distribution_from_counts(counts, distribution.unit)


@dataclass(frozen=True)
class NetDistribution(ABC, Generic[Probability]):
    """Distribution of the net result of `rounds` independent rounds.

    `error` bounds the absolute error of every probability; mean and variance are exact.
    """

    one_round: RoundDistribution
    rounds: int
    error: float = field(default=0.0, kw_only=True)

    @abstractmethod
    def indexed_probabilities(self) -> Iterator[tuple[int, float]]:
        """Yield the lattice index of each possible net result and its probability, worst first.

        The probability is the nearest float. Computing it from the counts takes a fraction of the
        time of reducing them: the counts of 1,000 rounds have thousands of digits.
        """

    @abstractmethod
    def as_floats(self) -> list[tuple[float, float]]:
        """Return the net results with their probabilities as floats, for charts."""

    @abstractmethod
    def quantile(self, probability: Fraction) -> Fraction:
        """Return the least net result with a cumulative probability of at least this."""

    @abstractmethod
    def _below(self, index: int) -> Probability:
        """Return the probability of the net results below a lattice index."""

    @property
    def mean(self) -> Fraction:
        """Expected net result."""
        return self.one_round.mean * self.rounds

    @property
    def variance(self) -> Fraction:
        """Variance of the net result."""
        return self.one_round.variance * self.rounds

    @property
    def sd(self) -> float:
        """Standard deviation of the net result."""
        return sqrt(self.variance)

    @property
    def ahead(self) -> Probability:
        """Probability of a positive net result."""
        return 1 - self.at_most(0)

    @property
    def behind(self) -> Probability:
        """Probability of a negative net result."""
        return self._below(self.one_round.index(0, self.rounds, ceil))

    @property
    def level(self) -> Probability:
        """Probability of a net result of zero."""
        return 1 - self.ahead - self.behind

    @property
    def worst_1_in_1000(self) -> Fraction:
        """Quantile of 1/1000: the probability of this net result or a worse one is 1 in 1,000."""
        return self.quantile(WORST_PROBABILITY)

    def at_least(self, net: Fraction | int) -> Probability:
        """Return the probability of this net result or a better one."""
        return 1 - self._below(self.one_round.index(net, self.rounds, ceil))

    def at_most(self, net: Fraction | int) -> Probability:
        """Return the probability of this net result or a worse one."""
        return self._below(self.one_round.index(net, self.rounds, floor) + 1)

    def _repr_html_(self) -> str:
        rows = [
            ("mean", f"{float(self.mean):,.4f}"),
            ("standard deviation", f"{self.sd:,.4f}"),
            ("ahead", f"{float(self.ahead):.12g}"),
            ("level", f"{float(self.level):.12g}"),
            ("behind", f"{float(self.behind):.12g}"),
            ("worst 1 in 1,000", f"{float(self.worst_1_in_1000):,g}"),
        ]
        precision = f"within {self.error:.1e}" if self.error else "exact"
        title = f"net result of {self.rounds:,} rounds, {precision}"
        return html_table(title, rows) + html_bars(self.as_floats())
