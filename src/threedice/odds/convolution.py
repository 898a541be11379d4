"""Exact distribution of the net result over many rounds, by n-fold convolution.

The net result over many rounds, exact: every result with its count out of `of` to the n.

`over_rounds` holds all of it. `chance_at_least` and `quantile_over_rounds` answer one question from a stream
of coefficients and hold none, from whichever end is nearer.

Powers of a polynomial in integers, by J.C.P. Miller's recurrence.

With `a` the counts of one round and `c` those of n rounds, `a c' = n a' c` gives

    c[m] = sum over k of ((n + 1) k - m) a[k] c[m - k] / (m a[0])

whose division is exact. A coefficient needs only the `degree` coefficients before it, so they can
be had one after the other without holding all of them. In floats the recurrence diverges; it is for
integers alone.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, islice
from math import ceil, floor, sqrt
from operator import itemgetter, mul, sub
from typing import TYPE_CHECKING, Final

from threedice.errors import InvalidInput
from threedice.odds.notebook import html_bars, html_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from threedice.odds.distribution import RoundDistribution


MAX_ROUNDS: Final = 10**9


WORST_PROBABILITY: Final = Fraction(1, 1000)


def check_rounds(rounds: int) -> None:
    """Refuse a number of rounds that cannot be meant."""
    if not 1 <= rounds <= MAX_ROUNDS:
        raise InvalidInput(f"{rounds} rounds; give a whole number from 1 to {MAX_ROUNDS}")


def check_probability(probability: Fraction) -> None:
    """Refuse a probability outside (0, 1]."""
    if not 0 < probability <= 1:
        raise InvalidInput(f"a quantile of {probability}; give a probability above 0 and up to 1")


@dataclass(frozen=True)
class Distribution:
    """The net result of `rounds` rounds: the k-th result from the worst has `counts[k]` ways.

    >>> from threedice.odds.distribution import distribution_from_counts
    >>> twice = over_rounds(distribution_from_counts({-1: 111, 1: 105}), 2)
    >>> str(twice.ahead), str(twice.level), [str(each) for each in twice.nets()]
    ('1225/5184', '1295/2592', ['-2', '0', '2'])
    """

    one_round: RoundDistribution
    rounds: int
    counts: tuple[int, ...]
    error = 0.0
    """How far any probability may be from the truth."""

    def nets(self) -> Iterator[Fraction]:
        """Yield every net result on the lattice, worst first."""
        return (self.net(k) for k in range(len(self.counts)))

    def net(self, index: int) -> Fraction:
        """Return the net result at a place from the worst."""
        law = self.one_round
        return Fraction(self.rounds * law.lowest + index * law.step, law.unit)

    def results(self) -> Iterator[tuple[Fraction, Fraction]]:
        """Yield the net results that can come, worst first, with their probabilities."""
        pairs = ((k, count) for k, count in enumerate(self.counts) if count)
        return ((self.net(k), Fraction(count, self.total)) for k, count in pairs)

    def as_floats(self) -> list[tuple[float, float]]:
        """Return the net results with their probabilities as floats, for drawing."""
        whole = self.total
        return [(float(self.net(k)), n / whole) for k, n in enumerate(self.counts) if n]

    @cached_property
    def total(self) -> int:
        """All the ways there are."""
        total: int = self.one_round.total_ways**self.rounds
        return total

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
    def ahead(self) -> Fraction:
        """The probability of winning something on the whole."""
        return 1 - self.at_most(Fraction(0))

    @property
    def behind(self) -> Fraction:
        """The probability of losing something on the whole."""
        return 1 - self.at_least(Fraction(0))

    @property
    def level(self) -> Fraction:
        """The probability of ending where one began."""
        return 1 - self.ahead - self.behind

    @property
    def worst_1_in_1000(self) -> Fraction:
        """The result that is reached or undercut once in a thousand times."""
        return self.quantile(WORST_PROBABILITY)

    def at_least(self, net: Fraction | int) -> Fraction:
        """Return the probability of this net result or a better one."""
        return 1 - self._below(lattice_index(self.one_round, self.rounds, net, ceil))

    def at_most(self, net: Fraction | int) -> Fraction:
        """Return the probability of this net result or a worse one."""
        return self._below(lattice_index(self.one_round, self.rounds, net, floor) + 1)

    def quantile(self, probability: Fraction) -> Fraction:
        """Return the least net result that is not exceeded with at least this probability."""
        check_probability(probability)
        return self.net(bisect_left(self._cumulative_counts, ceil(probability * self.total)))

    def _repr_html_(self) -> str:
        rows = [
            ("mean", f"{float(self.mean):,.4f}"),
            ("standard deviation", f"{self.sd:,.4f}"),
            ("ahead", f"{float(self.ahead):.12g}"),
            ("level", f"{float(self.level):.12g}"),
            ("behind", f"{float(self.behind):.12g}"),
            ("worst 1 in 1,000", f"{float(self.worst_1_in_1000):,g}"),
        ]
        title = f"net result of {self.rounds:,} rounds, exact"
        return html_table(title, rows) + html_bars(self.as_floats())

    @cached_property
    def _cumulative_counts(self) -> list[int]:
        return list(accumulate(self.counts))

    def _below(self, index: int) -> Fraction:
        inside = min(max(index, 0), len(self.counts))
        return Fraction(self._cumulative_counts[inside - 1] if inside else 0, self.total)


def over_rounds(one_round: RoundDistribution, rounds: int) -> Distribution:
    """Return the distribution of the net result of independent rounds, all of its counts."""
    check_rounds(rounds)
    return Distribution(one_round, rounds, tuple(power_coefficients(one_round.ways, rounds)))


# --- one question, without holding the counts ---------------------------------------------------


def chance_at_least(one_round: RoundDistribution, rounds: int, net: Fraction | int) -> Fraction:
    """Return the probability of a net result of `net` or more, holding a window of counts only."""
    check_rounds(rounds)
    places = rounds * one_round.degree + 1
    below = min(max(lattice_index(one_round, rounds, net, ceil), 0), places)
    total = one_round.total_ways**rounds
    if below <= places // 2:
        return 1 - Fraction(sum(islice(power_coefficients(one_round.ways, rounds), below)), total)
    return Fraction(
        sum(islice(power_coefficients(_reversed_ways(one_round), rounds), places - below)), total
    )


def quantile_over_rounds(
    one_round: RoundDistribution, rounds: int, probability: Fraction
) -> Fraction:
    """Return the least net result not exceeded with at least this probability, likewise."""
    check_rounds(rounds)
    check_probability(probability)
    total = one_round.total_ways**rounds
    top = rounds * one_round.degree
    if probability <= Fraction(1, 2):
        place = _first_index_reaching(
            power_coefficients(one_round.ways, rounds), ceil(probability * total)
        )
    else:
        # From the best down: what is left above the answer stays within 1 - share.
        place = top - _first_index_reaching(
            power_coefficients(_reversed_ways(one_round), rounds),
            floor((1 - probability) * total) + 1,
        )
    return Fraction(rounds * one_round.lowest + place * one_round.step, one_round.unit)


def lattice_index(
    one_round: RoundDistribution,
    rounds: int,
    net: Fraction | int,
    rounding: Callable[[Fraction], int],
) -> int:
    """Return a net result's place on the lattice of so many rounds, rounded where it has none."""
    return rounding(Fraction(net * one_round.unit - rounds * one_round.lowest) / one_round.step)


def _reversed_ways(one_round: RoundDistribution) -> list[tuple[int, int]]:
    """Return the ways from the best result down."""
    return [(one_round.degree - k, ways) for k, ways in reversed(one_round.ways)]


def _first_index_reaching(counts: Iterator[int], enough: int) -> int:
    """Return the first place at which the counts add up to enough."""
    sums = accumulate(counts)
    return next(place for place, so_far in enumerate(sums) if so_far >= enough)


def power_coefficients(ways: Sequence[tuple[int, int]], n: int) -> Iterator[int]:
    """Yield the coefficients of a polynomial's n-th power, lowest first.

    The polynomial is given as (exponent, coefficient) pairs, rising from exponent nought.

    >>> list(power_coefficients([(0, 1), (1, 1)], 4)), list(power_coefficients([(0, 2), (2, 3)], 2))
    ([1, 4, 6, 4, 1], [4, 0, 12, 0, 9])
    """
    (_, first), *rest = ways
    latest = first**n
    yield latest
    if not rest:
        return
    degree, steps = rest[-1][0], [a for _, a in rest]
    pick = _index_getter([-k for k, _ in rest])
    window = [0] * degree + [latest]
    weights = [(n + 1) * k * a for k, a in rest]
    for m in range(1, n * degree + 1):
        weights = list(map(sub, weights, steps))
        latest = sum(map(mul, weights, pick(window))) // (m * first)
        yield latest
        window.append(latest)
        if len(window) > 4 * degree + 1000:
            del window[:-degree]


def _index_getter(indices: list[int]) -> Callable[[list[int]], Sequence[int]]:
    """Return a function that takes the given places out of a list, always as a sequence."""
    if len(indices) > 1:
        return itemgetter(*indices)
    (only,) = indices
    return lambda window: (window[only],)
