"""The law of one round: every net result with how often it comes, on the coarsest lattice it fits.

`mix` or `crowd` -> `law` -> `powers`, which raise it to the number of rounds. Dividing out what all
results and all counts have in common keeps the integers of a hundred rounds small.
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
    """A net result of (lowest + k step) / unit comes `ways` of `of` times, for each (k, ways)."""

    lowest: int
    step: int
    unit: int
    ways: tuple[tuple[int, int], ...]
    total_ways: int

    @property
    def degree(self) -> int:
        """How many steps the best result lies above the worst."""
        return self.ways[-1][0]

    @property
    def highest(self) -> Fraction:
        """The best result of a round."""
        return Fraction(self.lowest + self.degree * self.step, self.unit)

    @property
    def mean(self) -> Fraction:
        """The expected net result of a round."""
        first = sum(k * ways for k, ways in self.ways)
        return (self.lowest + self.step * Fraction(first, self.total_ways)) / self.unit

    @property
    def variance(self) -> Fraction:
        """The variance of the net result of a round."""
        first = sum(k * ways for k, ways in self.ways)
        second = sum(k * k * ways for k, ways in self.ways)
        spread = Fraction(second * self.total_ways - first * first, self.total_ways**2)
        return spread * self.step**2 / self.unit**2

    def results(self) -> Iterator[tuple[Fraction, Fraction]]:
        """Yield every net result, worst first, with its probability."""
        for k, ways in self.ways:
            yield Fraction(self.lowest + k * self.step, self.unit), Fraction(ways, self.total_ways)


def distribution_from_counts(counts: Mapping[int, int], unit: int = 1) -> RoundDistribution:
    """Return the law of nets counted in 1/unit, given how often each of them comes.

    >>> distribution_from_counts({-50: 111, 50: 105})
    RoundDistribution(lowest=-50, step=100, unit=1, ways=((0, 37), (1, 35)), total_ways=72)
    """
    if not counts or min(counts.values()) < 1:
        raise InvalidInput("a law needs results, each of which comes at least once")
    lowest = min(counts)
    step = gcd(*(net - lowest for net in counts)) or 1
    common = gcd(*counts.values())
    ways = tuple((((net - lowest) // step), n // common) for net, n in sorted(counts.items()))
    return RoundDistribution(lowest, step, unit, ways, sum(n for _, n in ways))


def round_distribution(mix: Mix) -> RoundDistribution:
    """Return the law of the players' net of one round with these stakes."""
    return distribution_from_counts(Counter(mix.nets), mix.game.unit)


def negate(distribution: RoundDistribution) -> RoundDistribution:
    """Return the house's law, which is the players' with every sign turned."""
    nets = {-(distribution.lowest + k * distribution.step): ways for k, ways in distribution.ways}
    return distribution_from_counts(nets, distribution.unit)
