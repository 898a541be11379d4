"""Compute edge, variance and hit rate of a bet, a box and a whole layout.

The figures of a bet, exact: from how often each result occurs to edge and variance.

Sums are kept as integers until the last step, so that a sheet of a hundred boxes costs a
millisecond and still ends in exact fractions.

The odds sheet of a game: every box's figures, and those of a unit on each.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm, sqrt
from typing import TYPE_CHECKING, Final

from threedice.odds.notebook import html_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from threedice.rulebook import Box, Game


ONE_SIDED_95_Z: Final = Fraction(1645, 1000)
"""The one-sided 95 % point of the normal distribution, as the trade rounds it."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What there is to know of a bet's result per unit staked.

    `ways` of the equally likely `of` outcomes win. Fractions are exact; `sd` (the standard
    deviation) and `volatility` (1.645 of it) are for display. `stakes_to_lead` is after how many
    equal stakes the house leads with 95 % confidence, if ever.
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
        """The player's expected net result."""
        return -self.edge


def compute_figures(results: Iterable[tuple[int, int]], total_ways: int, unit: int) -> Figures:
    """Return the figures of a bet from its (net in 1/unit, ways) pairs, wins and losses alike."""
    ways = first = second = 0
    for net, times in results:
        ways += times if net > 0 else 0
        first += net * times
        second += net * net * times
    whole = total_ways * unit
    squared = second * total_ways - first * first
    variance = Fraction(squared, whole * whole)
    sd = sqrt(variance)
    return Figures(
        ways,
        total_ways,
        Fraction(ways, total_ways),
        Fraction(-first, whole),
        Fraction(whole + first, whole),
        variance,
        sd,
        float(ONE_SIDED_95_Z) * sd,
        _stakes_to_lead(first, squared),
    )


def _stakes_to_lead(first: int, squared: int) -> int | None:
    """Return (1.645 sd / edge)^2 rounded up, from sums over all outcomes: edge -first, variance."""
    if first >= 0:
        return None
    z, n = ONE_SIDED_95_Z.numerator, ONE_SIDED_95_Z.denominator
    return -(-z * z * squared // (n * n * first * first))


PayoffProfile = tuple[int, tuple[tuple[int, int, int], ...]]
"""Throws, and for each line its odds a to b and on how many rolls it wins."""


def payoff_profile(box: Box) -> PayoffProfile:
    """Return all that a box's figures depend on; boxes with one profile share their figures."""
    lines = tuple((line.odds.a, line.odds.b, line.rolls.bit_count()) for line in box.lines)
    return box.throws, lines


def profile_figures(throws: int, lines: tuple[tuple[int, int, int], ...]) -> Figures:
    """Return the figures of a unit on a box of this profile, over all the throws that decide it."""
    of = 216**throws
    unit = lcm(*(b for _, b, _ in lines))
    wins = [(a * unit // b, rolls**throws) for a, b, rolls in lines]
    losses = of - sum(ways for _, ways in wins)
    return compute_figures([*wins, (-unit, losses)], of, unit)


def box_figures(box: Box) -> Figures:
    """Return the figures of a unit on one box.

    >>> from threedice.rulebook import load
    >>> str(box_figures(load("sg-rws-tai-sai-v6/a").box("big")).edge)
    '1/36'
    """
    return profile_figures(*payoff_profile(box))


def percent(value: Fraction, places: int = 3) -> str:
    """Write a fraction as a percentage, rounded half to even from the exact value.

    >>> percent(Fraction(1, 36)), percent(Fraction(-1, 8), 1)
    ('2.778 %', '-12.5 %')
    """
    scaled = round(value * 100 * 10**places)
    whole, rest = divmod(abs(scaled), 10**places)
    return f"{'-' if scaled < 0 else ''}{whole}.{rest:0{places}d} %"


@dataclass(frozen=True, slots=True)
class BoxOdds:
    """A box beside its figures."""

    box: Box
    figures: Figures


@dataclass(frozen=True, slots=True)
class OddsSheet:
    """All boxes of a game in the order of its pay table."""

    game: Game
    boxes: tuple[BoxOdds, ...]

    @property
    def layout_edge(self) -> Fraction:
        """The house edge on one unit on every box that one roll decides."""
        edges = [each.figures.edge for each in self.boxes if each.box.throws == 1]
        parts = lcm(*(edge.denominator for edge in edges))
        lost = sum(edge.numerator * (parts // edge.denominator) for edge in edges)
        return Fraction(lost, parts * len(edges))

    def families(self) -> Iterator[tuple[str, list[BoxOdds]]]:
        """Yield the boxes family by family, with the family's name."""
        families: dict[str, list[BoxOdds]] = {}
        for each in self.boxes:
            families.setdefault(each.box.family, []).append(each)
        yield from ((boxes[0].box.name, boxes) for boxes in families.values())

    def _repr_html_(self) -> str:
        rows = [
            (
                each.box.id,
                " / ".join(str(line.odds) for line in each.box.lines),
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
    known: dict[PayoffProfile, Figures] = {}
    boxes = []
    for box in game.boxes.values():
        key = payoff_profile(box)
        if key not in known:
            known[key] = profile_figures(*key)
        boxes.append(BoxOdds(box, known[key]))
    return OddsSheet(game, tuple(boxes))
