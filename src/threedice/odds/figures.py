"""Compute edge, variance and hit rate of a bet, a box and a whole layout, exactly.

Sums stay integers until the last step, so that a sheet of a hundred boxes takes a millisecond and
its figures are exact fractions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import lcm, sqrt
from typing import TYPE_CHECKING, Final

from threedice.notebook import html_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from threedice.rulebook import Box, Game


ONE_SIDED_95_Z: Final = Fraction(1645, 1000)
"""One-sided 95 % quantile of the standard normal distribution, as the trade rounds it."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of a bet's net result per unit staked.

    `ways` of the `total_ways` equally likely outcomes win. Fractions are exact; `sd` (the standard
    deviation) and `volatility` (1.645 standard deviations) are for display. `stakes_to_lead` is the
    number of equal stakes after which the house leads with 95 % confidence, None if it never does.
    """

    ways: int
    total_ways: int
    hit: Fraction
    edge: Fraction
    return_to_player: Fraction
    variance: Fraction
    sd: float
    volatility: float
    stakes_to_lead: int | None

    @property
    def mean(self) -> Fraction:
        """Player's expected net result."""
        return -self.edge


def compute_figures(results: Iterable[tuple[int, int]], total_ways: int, unit: int) -> Figures:
    """Return the figures of a bet from (net in 1/unit, ways) pairs of all wins and losses."""
    winning_ways = first_moment = second_moment = 0
    for net, ways in results:
        winning_ways += ways if net > 0 else 0
        first_moment += net * ways
        second_moment += net * net * ways
    scale = total_ways * unit
    scaled_variance = second_moment * total_ways - first_moment * first_moment
    variance = Fraction(scaled_variance, scale * scale)
    sd = sqrt(variance)
    return Figures(
        winning_ways,
        total_ways,
        Fraction(winning_ways, total_ways),
        Fraction(-first_moment, scale),
        Fraction(scale + first_moment, scale),
        variance,
        sd,
        float(ONE_SIDED_95_Z) * sd,
        _stakes_to_lead(first_moment, scaled_variance),
    )


def _stakes_to_lead(scaled_mean: int, scaled_variance: int) -> int | None:
    """Return (1.645 sd / edge)^2, rounded up; the scale of the arguments cancels out."""
    if scaled_mean >= 0:
        return None
    z, n = ONE_SIDED_95_Z.numerator, ONE_SIDED_95_Z.denominator
    return -(-z * z * scaled_variance // (n * n * scaled_mean * scaled_mean))


PayLines = tuple[tuple[int, int, int], ...]
"""For each pay line of a box its odds a to b, and its number of winning rolls."""


def payoff_profile(box: Box) -> tuple[int, PayLines]:
    """Return the facts that determine a box's figures: its number of throws and its pay lines."""
    return box.throws, tuple(
        (line.odds.a, line.odds.b, line.rolls.bit_count()) for line in box.lines
    )


def profile_figures(throws: int, lines: PayLines) -> Figures:
    """Return the figures of a unit on a box of this profile, over all the throws that decide it."""
    total_ways = 216**throws
    unit = lcm(*(b for _, b, _ in lines))
    wins = [(a * unit // b, rolls**throws) for a, b, rolls in lines]
    losing_ways = total_ways - sum(ways for _, ways in wins)
    return compute_figures([*wins, (-unit, losing_ways)], total_ways, unit)


def box_figures(box: Box) -> Figures:
    """Return the figures of a unit on one box.

    >>> from threedice.rulebook import load
    >>> str(box_figures(load("sg-rws-tai-sai-v6/a").box("big")).edge)
    '1/36'
    """
    return profile_figures(*payoff_profile(box))


def format_odds(box: Box) -> str:
    """Format the odds of all pay lines of a box."""
    return " / ".join(str(line.odds) for line in box.lines)


def percent(value: Fraction, places: int = 3) -> str:
    """Format a fraction as a percentage, rounded half to even from the exact value.

    >>> percent(Fraction(1, 36)), percent(Fraction(-1, 8), 1)
    ('2.778 %', '-12.5 %')
    """
    scaled = round(value * 100 * 10**places)
    whole, decimals = divmod(abs(scaled), 10**places)
    return f"{'-' if scaled < 0 else ''}{whole}.{decimals:0{places}d} %"


@dataclass(frozen=True, slots=True)
class BoxOdds:
    """A box with its figures."""

    box: Box
    figures: Figures


@dataclass(frozen=True, slots=True)
class OddsSheet:
    """All boxes of a game in the order of its pay table."""

    game: Game
    boxes: tuple[BoxOdds, ...]

    @property
    def layout_edge(self) -> Fraction:
        """House edge on one unit on every box that one roll decides."""
        edges = [each.figures.edge for each in self.boxes if each.box.throws == 1]
        return sum(edges, Fraction(0)) / len(edges)

    def families(self) -> Iterator[tuple[str, list[BoxOdds]]]:
        """Yield the name and the boxes of each family."""
        families: dict[str, list[BoxOdds]] = {}
        for each in self.boxes:
            families.setdefault(each.box.family, []).append(each)
        yield from ((boxes[0].box.name, boxes) for boxes in families.values())

    def _repr_html_(self) -> str:
        rows = [
            (
                each.box.id,
                format_odds(each.box),
                str(each.figures.hit),
                str(each.figures.edge),
                percent(each.figures.edge),
            )
            for each in self.boxes
        ]
        title = f"{self.game.title} ({self.game.id})"
        return html_table(title, rows, ("box", "pays", "hit", "house edge", ""))


def odds_sheet(game: Game) -> OddsSheet:
    """Return the figures of every box of a game.

    >>> from threedice.rulebook import load
    >>> str(odds_sheet(load("nz-tai-sai-2008/1")).layout_edge)
    '2/25'
    """
    figures_of = cache(profile_figures)  # many boxes have the same profile
    boxes = (BoxOdds(box, figures_of(*payoff_profile(box))) for box in game.boxes.values())
    return OddsSheet(game, tuple(boxes))
