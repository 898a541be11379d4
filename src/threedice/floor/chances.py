"""What the house may expect of a round's stakes: its theoretical win, and how far luck strays.

Both are exact. Covariances of boxes are whole numbers and are kept once they were needed, so that
a round costs a few multiplications: the audit makes the books of every round again.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from operator import mul
from typing import TYPE_CHECKING, Final

from threedice.dice import ROLLS
from threedice.maths import box_figures
from threedice.table.state import box_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from threedice.rulebook import Game

_OF: Final = len(ROLLS)
_MOST: Final = 32


class Chances:
    """The edges of a game's boxes, and how their results go together."""

    def __init__(self, game: Game) -> None:
        figures = {box.id: box_figures(box) for box in game.boxes.values()}
        self._edge_unit = lcm(*(each.edge.denominator for each in figures.values()))
        self._edges = {box: int(each.edge * self._edge_unit) for box, each in figures.items()}
        self._alone = {
            box: each.variance for box, each in figures.items() if box not in game.payoffs
        }
        self._whole = (_OF * game.unit) ** 2
        self._together = {box: _Covariances(box, game.payoffs) for box in game.payoffs}

    def theory(self, stakes: Mapping[str, int]) -> Fraction:
        """Return what the house wins of these stakes in the long run."""
        edges = self._edges
        won = sum(edges[box] * stake for box, stake in stakes.items())
        return Fraction(won, self._edge_unit)

    def variance(self, stakes: Mapping[str, int]) -> Fraction:
        """Return the variance of the house's win over the 216 rolls, with all these stakes down.

        A bet over several throws is none of the roll's: its own variance is added, over its whole
        series, in the round that decides it, which is where its stake and its edge count too.
        """
        total, played = 0, list[tuple[str, int]]()
        for box, stake in stakes.items():
            with_box = self._together.get(box)
            if with_box is not None:
                beside = sum([with_box[other] * more for other, more in played])
                total += stake * (2 * beside + with_box[box] * stake)
                played.append((box, stake))
        variance = Fraction(total, self._whole)
        for box, alone in self._alone.items():
            variance += alone * stakes.get(box, 0) ** 2
        return variance


class _Covariances(dict[str, int]):
    """Covariances of a box with others, in parts of (216 units) squared."""

    def __init__(self, box: str, payoffs: Mapping[str, Sequence[int]]) -> None:
        super().__init__()
        self._own, self._payoffs = payoffs[box], payoffs

    def __missing__(self, other: str) -> int:
        own, others = self._own, self._payoffs[other]
        both: int = sum(map(mul, own, others))
        self[other] = found = _OF * both - sum(own) * sum(others)
        return found


_KEPT: Final[dict[str, Chances]] = {}


def chances_of(game: Game) -> Chances:
    """Return the chances of a game; those of the last few games are kept."""
    if game.hash not in _KEPT:
        if len(_KEPT) >= _MOST:
            _KEPT.clear()
        _KEPT[game.hash] = Chances(game)
    return _KEPT[game.hash]


def by_box(staked: Mapping[str, int]) -> dict[str, int]:
    """Return the stakes on spots by box: areas with limits of their own win and lose together."""
    stakes: dict[str, int] = {}
    for spot, stake in staked.items():
        box = box_of(spot)
        stakes[box] = stakes.get(box, 0) + stake
    return stakes
