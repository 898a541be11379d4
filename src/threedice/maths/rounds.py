"""The net result over many rounds, exact: every result with its count out of `of` to the n.

`over_rounds` holds all of it. `chance_at_least` and `quantile_of` answer one question from a stream
of coefficients and hold none, from whichever end is nearer.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, islice
from math import ceil, floor, sqrt
from typing import TYPE_CHECKING, Final

from threedice.errors import InvalidInput
from threedice.maths.notebook import html_bars, html_table
from threedice.maths.powers import power

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from threedice.maths.laws import Law

MOST_ROUNDS: Final = 10**9
WORST: Final = Fraction(1, 1000)


def check_rounds(rounds: int) -> None:
    """Refuse a number of rounds that cannot be meant."""
    if not 1 <= rounds <= MOST_ROUNDS:
        raise InvalidInput(f"{rounds} rounds; give a whole number from 1 to {MOST_ROUNDS}")


def check_share(share: Fraction) -> None:
    """Refuse a probability outside (0, 1]."""
    if not 0 < share <= 1:
        raise InvalidInput(f"a quantile of {share}; give a probability above 0 and up to 1")


@dataclass(frozen=True)
class Distribution:
    """The net result of `rounds` rounds: the k-th result from the worst has `counts[k]` ways.

    >>> from threedice.maths.laws import law
    >>> twice = over_rounds(law({-1: 111, 1: 105}), 2)
    >>> str(twice.ahead), str(twice.level), [str(each) for each in twice.nets()]
    ('1225/5184', '1295/2592', ['-2', '0', '2'])
    """

    law: Law
    rounds: int
    counts: tuple[int, ...]
    error = 0.0
    """How far any probability may be from the truth."""

    def nets(self) -> Iterator[Fraction]:
        """Yield every net result on the lattice, worst first."""
        return (self.net(k) for k in range(len(self.counts)))

    def net(self, place: int) -> Fraction:
        """Return the net result at a place from the worst."""
        law = self.law
        return Fraction(self.rounds * law.lowest + place * law.step, law.unit)

    def results(self) -> Iterator[tuple[Fraction, Fraction]]:
        """Yield the net results that can come, worst first, with their probabilities."""
        pairs = ((k, count) for k, count in enumerate(self.counts) if count)
        return ((self.net(k), Fraction(count, self.total)) for k, count in pairs)

    def plain(self) -> list[tuple[float, float]]:
        """Return the net results with their probabilities as floats, for drawing."""
        whole = self.total
        return [(float(self.net(k)), n / whole) for k, n in enumerate(self.counts) if n]

    @cached_property
    def total(self) -> int:
        """All the ways there are."""
        total: int = self.law.of**self.rounds
        return total

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
    def worst(self) -> Fraction:
        """The result that is reached or undercut once in a thousand times."""
        return self.quantile(WORST)

    def at_least(self, net: Fraction | int) -> Fraction:
        """Return the probability of this net result or a better one."""
        return 1 - self._below(place_of(self.law, self.rounds, net, ceil))

    def at_most(self, net: Fraction | int) -> Fraction:
        """Return the probability of this net result or a worse one."""
        return self._below(place_of(self.law, self.rounds, net, floor) + 1)

    def quantile(self, share: Fraction) -> Fraction:
        """Return the least net result that is not exceeded with at least this probability."""
        check_share(share)
        return self.net(bisect_left(self._sums, ceil(share * self.total)))

    def _repr_html_(self) -> str:
        rows = [
            ("mean", f"{float(self.mean):,.4f}"),
            ("standard deviation", f"{self.sd:,.4f}"),
            ("ahead", f"{float(self.ahead):.12g}"),
            ("level", f"{float(self.level):.12g}"),
            ("behind", f"{float(self.behind):.12g}"),
            ("worst 1 in 1,000", f"{float(self.worst):,g}"),
        ]
        title = f"net result of {self.rounds:,} rounds, exact"
        return html_table(title, rows) + html_bars(self.plain())

    @cached_property
    def _sums(self) -> list[int]:
        return list(accumulate(self.counts))

    def _below(self, place: int) -> Fraction:
        inside = min(max(place, 0), len(self.counts))
        return Fraction(self._sums[inside - 1] if inside else 0, self.total)


def over_rounds(law: Law, rounds: int) -> Distribution:
    """Return the distribution of the net result of independent rounds, all of its counts."""
    check_rounds(rounds)
    return Distribution(law, rounds, tuple(power(law.ways, rounds)))


# --- one question, without holding the counts ---------------------------------------------------


def chance_at_least(law: Law, rounds: int, net: Fraction | int) -> Fraction:
    """Return the probability of a net result of `net` or more, holding a window of counts only."""
    check_rounds(rounds)
    places = rounds * law.degree + 1
    below = min(max(place_of(law, rounds, net, ceil), 0), places)
    total = law.of**rounds
    if below <= places // 2:
        return 1 - Fraction(sum(islice(power(law.ways, rounds), below)), total)
    return Fraction(sum(islice(power(_turned(law), rounds), places - below)), total)


def quantile_of(law: Law, rounds: int, share: Fraction) -> Fraction:
    """Return the least net result not exceeded with at least this probability, likewise."""
    check_rounds(rounds)
    check_share(share)
    total = law.of**rounds
    top = rounds * law.degree
    if share <= Fraction(1, 2):
        place = _reaching(power(law.ways, rounds), ceil(share * total))
    else:
        # From the best down: what is left above the answer stays within 1 - share.
        place = top - _reaching(power(_turned(law), rounds), floor((1 - share) * total) + 1)
    return Fraction(rounds * law.lowest + place * law.step, law.unit)


def place_of(law: Law, rounds: int, net: Fraction | int, rounded: Callable[[Fraction], int]) -> int:
    """Return a net result's place on the lattice of so many rounds, rounded where it has none."""
    return rounded(Fraction(net * law.unit - rounds * law.lowest) / law.step)


def _turned(law: Law) -> list[tuple[int, int]]:
    """Return the ways from the best result down."""
    return [(law.degree - k, ways) for k, ways in reversed(law.ways)]


def _reaching(counts: Iterator[int], enough: int) -> int:
    """Return the first place at which the counts add up to enough."""
    sums = accumulate(counts)
    return next(place for place, so_far in enumerate(sums) if so_far >= enough)
