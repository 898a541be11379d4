"""The figures of a bet, exact: from how often each result occurs to edge and variance.

Sums are kept as integers until the last step, so that a sheet of a hundred boxes costs a
millisecond and still ends in exact fractions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, lcm, sqrt
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.rulebook import Box

NORMAL_95: Final = Fraction(1645, 1000)
"""The one-sided 95 % point of the normal distribution, as the trade rounds it."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What there is to know of a bet's result per unit staked.

    `ways` of the equally likely `of` outcomes win; mean and variance are of the player's net.
    """

    ways: int
    of: int
    mean: Fraction
    variance: Fraction

    @property
    def hit(self) -> Fraction:
        """The probability of winning."""
        return Fraction(self.ways, self.of)

    @property
    def edge(self) -> Fraction:
        """The house edge: what the house expects to keep of each unit staked."""
        return -self.mean

    @property
    def returned(self) -> Fraction:
        """The return to the player: what comes back of each unit staked."""
        return 1 + self.mean

    @property
    def sd(self) -> float:
        """The standard deviation, for display."""
        return sqrt(self.variance)

    @property
    def volatility(self) -> float:
        """The volatility index, 1.645 standard deviations, for display."""
        return float(NORMAL_95) * self.sd

    @property
    def stakes_to_lead(self) -> int | None:
        """Return after how many equal stakes the house leads with 95 % confidence, if ever."""
        if self.edge <= 0:
            return None
        return ceil(NORMAL_95**2 * self.variance / self.edge**2)


def figures(results: Iterable[tuple[int, int]], of: int, unit: int) -> Figures:
    """Return the figures of a bet from its (net in 1/unit, ways) pairs, wins and losses alike."""
    ways = first = second = 0
    for net, times in results:
        ways += times if net > 0 else 0
        first += net * times
        second += net * net * times
    mean = Fraction(first, of * unit)
    variance = Fraction(second * of - first * first, (of * unit) ** 2)
    return Figures(ways, of, mean, variance)


def box_figures(box: Box) -> Figures:
    """Return the figures of a unit on one box, over all the throws that decide it.

    >>> from threedice.rulebook import load
    >>> str(box_figures(load("sg-rws-tai-sai-v6/a").box("big")).edge)
    '1/36'
    """
    of = 216**box.throws
    unit = lcm(*(line.odds.b for line in box.lines))
    wins = [
        (line.odds.a * unit // line.odds.b, line.rolls.bit_count() ** box.throws)
        for line in box.lines
    ]
    losses = of - sum(ways for _, ways in wins)
    return figures([*wins, (-unit, losses)], of, unit)


def percent(value: Fraction, places: int = 3) -> str:
    """Write a fraction as a percentage, rounded half to even from the exact value.

    >>> percent(Fraction(1, 36)), percent(Fraction(-1, 8), 1)
    ('2.778 %', '-12.5 %')
    """
    scaled = round(value * 100 * 10**places)
    whole, rest = divmod(abs(scaled), 10**places)
    return f"{'-' if scaled < 0 else ''}{whole}.{rest:0{places}d} %"
