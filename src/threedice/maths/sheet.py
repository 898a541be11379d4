"""The odds sheet of a game: every box's figures, and those of a unit on each."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

from threedice.maths.figures import Figures, Profile, percent, profile, profile_figures
from threedice.maths.notebook import html_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.rulebook import Box, Game


@dataclass(frozen=True, slots=True)
class BoxOdds:
    """A box beside its figures."""

    box: Box
    figures: Figures


@dataclass(frozen=True, slots=True)
class Sheet:
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


def odds_sheet(game: Game) -> Sheet:
    """Return the figures of every box of a game.

    >>> from threedice.rulebook import load
    >>> str(odds_sheet(load("nz-tai-sai-2008/1")).layout_edge)
    '2/25'
    """
    known: dict[Profile, Figures] = {}
    boxes = []
    for box in game.boxes.values():
        key = profile(box)
        if key not in known:
            known[key] = profile_figures(*key)
        boxes.append(BoxOdds(box, known[key]))
    return Sheet(game, tuple(boxes))
