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
from math import ceil, floor
from operator import itemgetter, mul, sub
from typing import TYPE_CHECKING, Final

from threedice.errors import InvalidInput
from threedice.odds.distribution import NetDistribution, negate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from threedice.odds.distribution import RoundDistribution


MAX_ROUNDS: Final = 10**9


@dataclass(frozen=True)
class Distribution(NetDistribution[Fraction]):
    """Exact distribution of the net result of `rounds` independent rounds.

    `counts[k]` is the number of ways to the k-th result of the lattice, counted from the worst.

    >>> from threedice.odds.distribution import distribution_from_counts
    >>> two_rounds = over_rounds(distribution_from_counts({-1: 111, 1: 105}), 2)
    >>> str(two_rounds.ahead), str(two_rounds.level), [str(net) for net in two_rounds.nets()]
    ('1225/5184', '1295/2592', ['-2', '0', '2'])
    """

    counts: tuple[int, ...]

    @cached_property
    def total(self) -> int:
        """Sum of all counts."""
        total: int = self.one_round.total_ways**self.rounds
        return total

    def nets(self) -> Iterator[Fraction]:
        """Yield every net result on the lattice, worst first."""
        return (self.net(k) for k in range(len(self.counts)))

    def net(self, index: int) -> Fraction:
        """Return the net result at a lattice index, counted from the worst."""
        return self.one_round.net(index, self.rounds)

    def results(self) -> Iterator[tuple[Fraction, Fraction]]:
        """Yield the possible net results, worst first, with their probabilities."""
        possible = ((k, count) for k, count in enumerate(self.counts) if count)
        return ((self.net(k), Fraction(count, self.total)) for k, count in possible)

    def indexed_probabilities(self) -> Iterator[tuple[int, float]]:
        """Yield the lattice index of each possible net result and its probability, worst first."""
        total = self.total
        return ((k, count / total) for k, count in enumerate(self.counts) if count)

    def as_floats(self) -> list[tuple[float, float]]:
        """Return the net results with their probabilities as floats, for charts."""
        return [(float(self.net(k)), share) for k, share in self.indexed_probabilities()]

    def quantile(self, probability: Fraction) -> Fraction:
        """Return the least net result with a cumulative probability of at least this."""
        check_probability(probability)
        return self.net(bisect_left(self._cumulative_counts, ceil(probability * self.total)))

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
    below = min(max(one_round.index(net, rounds, ceil), 0), size)
    total = one_round.total_ways**rounds
    if below <= size // 2:
        return 1 - Fraction(sum(islice(power_coefficients(one_round.ways, rounds), below)), total)
    from_best = power_coefficients(negate(one_round).ways, rounds)
    return Fraction(sum(islice(from_best, size - below)), total)


def quantile_over_rounds(
    one_round: RoundDistribution, rounds: int, probability: Fraction
) -> Fraction:
    """Return a quantile as `Distribution.quantile` does, without holding all counts."""
    check_rounds(rounds)
    check_probability(probability)
    total = one_round.total_ways**rounds
    if probability <= Fraction(1, 2):
        from_worst = power_coefficients(one_round.ways, rounds)
        index = _first_index_reaching(from_worst, ceil(probability * total))
    else:
        # Counted from the best result down, the tail above is at most 1 - probability.
        from_best = power_coefficients(negate(one_round).ways, rounds)
        above = _first_index_reaching(from_best, floor((1 - probability) * total) + 1)
        index = rounds * one_round.degree - above
    return one_round.net(index, rounds)


def check_rounds(rounds: int) -> None:
    """Raise `InvalidInput` for a number of rounds outside 1 to `MAX_ROUNDS`."""
    if not 1 <= rounds <= MAX_ROUNDS:
        raise InvalidInput(f"{rounds} rounds; give a whole number from 1 to {MAX_ROUNDS}")


def check_probability(probability: Fraction) -> None:
    """Raise `InvalidInput` for a probability outside (0, 1]."""
    if not 0 < probability <= 1:
        raise InvalidInput(f"a quantile of {probability}; give a probability above 0 and up to 1")


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
