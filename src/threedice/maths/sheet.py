"""The odds sheet of a game: every box's figures, and those of a unit on each."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from threedice.maths.figures import Figures, box_figures

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
        single = [each.figures.edge for each in self.boxes if each.box.throws == 1]
        return sum(single, Fraction(0)) / len(single)

    def families(self) -> Iterator[tuple[str, list[BoxOdds]]]:
        """Yield the boxes family by family, with the family's name."""
        families: dict[str, list[BoxOdds]] = {}
        for each in self.boxes:
            families.setdefault(each.box.family, []).append(each)
        yield from ((boxes[0].box.name, boxes) for boxes in families.values())


def odds_sheet(game: Game) -> Sheet:
    """Return the figures of every box of a game.

    >>> from threedice.rulebook import load
    >>> str(odds_sheet(load("nz-tai-sai-2008/1")).layout_edge)
    '2/25'
    """
    boxes = (BoxOdds(box, box_figures(box)) for box in game.boxes.values())
    return Sheet(game, tuple(boxes))
