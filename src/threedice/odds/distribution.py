"""Probability distribution of the net result of one round, on the coarsest lattice it fits.

Stakes (`stakes.Mix`) or a layout (`layouts`) give the distribution of one round; `convolution`
raises it to the number of rounds. Dividing all results and all counts by their common divisors
keeps the integers of a hundred rounds small.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import TYPE_CHECKING

from threedice.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from threedice.odds.stakes import Mix


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
        return Fraction(self.lowest + self.degree * self.step, self.unit)

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
            yield Fraction(self.lowest + k * self.step, self.unit), Fraction(ways, self.total_ways)


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
