"""The figures of a bet, exact: from how often each result occurs to edge and variance.

Sums are kept as integers until the last step, so that a sheet of a hundred boxes costs a
millisecond and still ends in exact fractions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm, sqrt
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.rulebook import Box

NORMAL_95: Final = Fraction(1645, 1000)
"""The one-sided 95 % point of the normal distribution, as the trade rounds it."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What there is to know of a bet's result per unit staked.

    `ways` of the equally likely `of` outcomes win. Fractions are exact; `sd` (the standard
    deviation) and `volatility` (1.645 of it) are for display. `stakes_to_lead` is after how many
    equal stakes the house leads with 95 % confidence, if ever.
    """

    ways: int
    of: int
    hit: Fraction
    edge: Fraction
    returned: Fraction
    variance: Fraction
    sd: float
    volatility: float
    stakes_to_lead: int | None

    @property
    def mean(self) -> Fraction:
        """The player's expected net result."""
        return -self.edge


def figures(results: Iterable[tuple[int, int]], of: int, unit: int) -> Figures:
    """Return the figures of a bet from its (net in 1/unit, ways) pairs, wins and losses alike."""
    ways = first = second = 0
    for net, times in results:
        ways += times if net > 0 else 0
        first += net * times
        second += net * net * times
    whole = of * unit
    squared = second * of - first * first
    variance = Fraction(squared, whole * whole)
    sd = sqrt(variance)
    return Figures(
        ways,
        of,
        Fraction(ways, of),
        Fraction(-first, whole),
        Fraction(whole + first, whole),
        variance,
        sd,
        float(NORMAL_95) * sd,
        _stakes_to_lead(first, squared),
    )


def _stakes_to_lead(first: int, squared: int) -> int | None:
    """Return (1.645 sd / edge)^2 rounded up, from sums over all outcomes: edge -first, variance."""
    if first >= 0:
        return None
    z, n = NORMAL_95.numerator, NORMAL_95.denominator
    return -(-z * z * squared // (n * n * first * first))


Profile = tuple[int, tuple[tuple[int, int, int], ...]]
"""Throws, and for each line its odds a to b and on how many rolls it wins."""


def profile(box: Box) -> Profile:
    """Return all that a box's figures depend on; boxes with one profile share their figures."""
    lines = tuple((line.odds.a, line.odds.b, line.rolls.bit_count()) for line in box.lines)
    return box.throws, lines


def profile_figures(throws: int, lines: tuple[tuple[int, int, int], ...]) -> Figures:
    """Return the figures of a unit on a box of this profile, over all the throws that decide it."""
    of = 216**throws
    unit = lcm(*(b for _, b, _ in lines))
    wins = [(a * unit // b, rolls**throws) for a, b, rolls in lines]
    losses = of - sum(ways for _, ways in wins)
    return figures([*wins, (-unit, losses)], of, unit)


def box_figures(box: Box) -> Figures:
    """Return the figures of a unit on one box.

    >>> from threedice.rulebook import load
    >>> str(box_figures(load("sg-rws-tai-sai-v6/a").box("big")).edge)
    '1/36'
    """
    return profile_figures(*profile(box))


def percent(value: Fraction, places: int = 3) -> str:
    """Write a fraction as a percentage, rounded half to even from the exact value.

    >>> percent(Fraction(1, 36)), percent(Fraction(-1, 8), 1)
    ('2.778 %', '-12.5 %')
    """
    scaled = round(value * 100 * 10**places)
    whole, rest = divmod(abs(scaled), 10**places)
    return f"{'-' if scaled < 0 else ''}{whole}.{rest:0{places}d} %"
