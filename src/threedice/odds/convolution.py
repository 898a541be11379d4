"""Exact distribution of the net result over many rounds, by n-fold convolution.

`over_rounds` holds all counts. `chance_at_least` and `quantile_over_rounds` compute one figure from
a stream of coefficients, starting from the nearer end, and keep only a window of them.

The counts are the coefficients of a polynomial's power, by J.C.P. Miller's recurrence. With `a` the
counts of one round and `c` those of n rounds, `a c' = n a' c` gives

    c[m] = sum over k of ((n + 1) k - m) a[k] c[m - k] / (m a[0])

and the division is exact. A coefficient needs only the `degree` coefficients before it, so they can
be generated one by one. In floating point the recurrence diverges; it works in integers only.
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


@dataclass(frozen=True)
class Distribution:
    """Exact distribution of the net result of `rounds` independent rounds.

    `counts[k]` is the number of ways to the k-th result of the lattice, counted from the worst.

    >>> from threedice.odds.distribution import distribution_from_counts
    >>> two_rounds = over_rounds(distribution_from_counts({-1: 111, 1: 105}), 2)
    >>> str(two_rounds.ahead), str(two_rounds.level), [str(net) for net in two_rounds.nets()]
    ('1225/5184', '1295/2592', ['-2', '0', '2'])
    """

    one_round: RoundDistribution
    rounds: int
    counts: tuple[int, ...]
    error = 0.0
    """Bound on the absolute error of every probability: none, the counts are exact."""

    def nets(self) -> Iterator[Fraction]:
        """Yield every net result on the lattice, worst first."""
        return (self.net(k) for k in range(len(self.counts)))

    def net(self, index: int) -> Fraction:
        """Return the net result at a lattice index, counted from the worst."""
        one_round = self.one_round
        return Fraction(self.rounds * one_round.lowest + index * one_round.step, one_round.unit)

    def results(self) -> Iterator[tuple[Fraction, Fraction]]:
        """Yield the possible net results, worst first, with their probabilities."""
        possible = ((k, count) for k, count in enumerate(self.counts) if count)
        return ((self.net(k), Fraction(count, self.total)) for k, count in possible)

    def as_floats(self) -> list[tuple[float, float]]:
        """Return the net results with their probabilities as floats, for charts."""
        total = self.total
        return [(float(self.net(k)), count / total) for k, count in enumerate(self.counts) if count]

    @cached_property
    def total(self) -> int:
        """Sum of all counts."""
        total: int = self.one_round.total_ways**self.rounds
        return total

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
    def ahead(self) -> Fraction:
        """Probability of a positive net result."""
        return 1 - self.at_most(Fraction(0))

    @property
    def behind(self) -> Fraction:
        """Probability of a negative net result."""
        return 1 - self.at_least(Fraction(0))

    @property
    def level(self) -> Fraction:
        """Probability of a net result of zero."""
        return 1 - self.ahead - self.behind

    @property
    def worst_1_in_1000(self) -> Fraction:
        """Quantile of 1/1000: the probability of this net result or a worse one is 1 in 1,000."""
        return self.quantile(WORST_PROBABILITY)

    def at_least(self, net: Fraction | int) -> Fraction:
        """Return the probability of this net result or a better one."""
        return 1 - self._below(lattice_index(self.one_round, self.rounds, net, ceil))

    def at_most(self, net: Fraction | int) -> Fraction:
        """Return the probability of this net result or a worse one."""
        return self._below(lattice_index(self.one_round, self.rounds, net, floor) + 1)

    def quantile(self, probability: Fraction) -> Fraction:
        """Return the least net result with a cumulative probability of at least this."""
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
        clamped = min(max(index, 0), len(self.counts))
        return Fraction(self._cumulative_counts[clamped - 1] if clamped else 0, self.total)


def over_rounds(one_round: RoundDistribution, rounds: int) -> Distribution:
    """Return the exact distribution of the net result of independent rounds."""
    check_rounds(rounds)
    return Distribution(one_round, rounds, tuple(power_coefficients(one_round.ways, rounds)))


# --- a single figure, without holding all counts ------------------------------------------------


def chance_at_least(one_round: RoundDistribution, rounds: int, net: Fraction | int) -> Fraction:
    """Return the probability of a net result of `net` or more, without holding all counts."""
    check_rounds(rounds)
    size = rounds * one_round.degree + 1
    below = min(max(lattice_index(one_round, rounds, net, ceil), 0), size)
    total = one_round.total_ways**rounds
    if below <= size // 2:
        return 1 - Fraction(sum(islice(power_coefficients(one_round.ways, rounds), below)), total)
    return Fraction(
        sum(islice(power_coefficients(_reversed_ways(one_round), rounds), size - below)), total
    )


def quantile_over_rounds(
    one_round: RoundDistribution, rounds: int, probability: Fraction
) -> Fraction:
    """Return a quantile as `Distribution.quantile` does, without holding all counts."""
    check_rounds(rounds)
    check_probability(probability)
    total = one_round.total_ways**rounds
    top = rounds * one_round.degree
    if probability <= Fraction(1, 2):
        index = _first_index_reaching(
            power_coefficients(one_round.ways, rounds), ceil(probability * total)
        )
    else:
        # Counted from the best result down, the tail above is at most 1 - probability.
        index = top - _first_index_reaching(
            power_coefficients(_reversed_ways(one_round), rounds),
            floor((1 - probability) * total) + 1,
        )
    return Fraction(rounds * one_round.lowest + index * one_round.step, one_round.unit)


def check_rounds(rounds: int) -> None:
    """Raise `InvalidInput` for a number of rounds outside 1 to `MAX_ROUNDS`."""
    if not 1 <= rounds <= MAX_ROUNDS:
        raise InvalidInput(f"{rounds} rounds; give a whole number from 1 to {MAX_ROUNDS}")


def check_probability(probability: Fraction) -> None:
    """Raise `InvalidInput` for a probability outside (0, 1]."""
    if not 0 < probability <= 1:
        raise InvalidInput(f"a quantile of {probability}; give a probability above 0 and up to 1")


def lattice_index(
    one_round: RoundDistribution,
    rounds: int,
    net: Fraction | int,
    rounding: Callable[[Fraction], int],
) -> int:
    """Return the index of a net result on the lattice of `rounds` rounds.

    `rounding` decides for a net result between two lattice points.
    """
    return rounding(Fraction(net * one_round.unit - rounds * one_round.lowest) / one_round.step)


def _reversed_ways(one_round: RoundDistribution) -> list[tuple[int, int]]:
    """Return the (index, ways) pairs with the indices counted from the best result down."""
    return [(one_round.degree - k, ways) for k, ways in reversed(one_round.ways)]


def _first_index_reaching(counts: Iterator[int], target: int) -> int:
    """Return the first index at which the cumulative count reaches the target."""
    return next(
        index for index, cumulative in enumerate(accumulate(counts)) if cumulative >= target
    )


def power_coefficients(ways: Sequence[tuple[int, int]], n: int) -> Iterator[int]:
    """Yield the coefficients of the n-th power of a polynomial, lowest exponent first.

    The polynomial is given as (exponent, coefficient) pairs in ascending order from exponent 0.

    >>> list(power_coefficients([(0, 1), (1, 1)], 4)), list(power_coefficients([(0, 2), (2, 3)], 2))
    ([1, 4, 6, 4, 1], [4, 0, 12, 0, 9])
    """
    (_, first), *rest = ways
    latest = first**n
    yield latest
    if not rest:
        return
    degree, coefficients = rest[-1][0], [a for _, a in rest]
    terms_of = _index_getter([-k for k, _ in rest])
    window = [0] * degree + [latest]
    weights = [(n + 1) * k * a for k, a in rest]
    for m in range(1, n * degree + 1):
        weights = list(map(sub, weights, coefficients))
        latest = sum(map(mul, weights, terms_of(window))) // (m * first)
        yield latest
        window.append(latest)
        if len(window) > 4 * degree + 1000:
            del window[:-degree]


def _index_getter(indices: list[int]) -> Callable[[list[int]], Sequence[int]]:
    """Return a function that takes the items at these indices of a list, always as a sequence."""
    if len(indices) > 1:
        return itemgetter(*indices)
    (only,) = indices
    return lambda window: (window[only],)
