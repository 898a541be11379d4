"""The house's theoretical win on the stakes of a round, and its variance, computed exactly.

Covariances of boxes are integers and cached, so a round costs a few multiplications; the audit
recomputes every round.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, partial
from math import lcm
from operator import mul
from typing import TYPE_CHECKING, Final

from threedice.dice import ROLLS
from threedice.odds import box_figures
from threedice.table.limits import box_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from threedice.rulebook import Game

_ROLL_COUNT: Final = len(ROLLS)


class WinExpectation:
    """The edges of a game's boxes, and the covariances of their results."""

    def __init__(self, game: Game) -> None:
        figures = {box.id: box_figures(box) for box in game.boxes.values()}
        self._edge_unit = lcm(*(each.edge.denominator for each in figures.values()))
        self._edges = {box: int(each.edge * self._edge_unit) for box, each in figures.items()}
        self._series_variances = {
            box: each.variance for box, each in figures.items() if box not in game.payoffs
        }
        self._covariance_unit = (_ROLL_COUNT * game.unit) ** 2
        self._payoffs, self._covariance = game.payoffs, cache(partial(_covariance, game.payoffs))

    def expected_win(self, stakes: Mapping[str, int]) -> Fraction:
        """Return the house's theoretical win on these stakes."""
        edges = self._edges
        win = sum(edges[box] * stake for box, stake in stakes.items())
        return Fraction(win, self._edge_unit)

    def variance(self, stakes: Mapping[str, int]) -> Fraction:
        """Return the variance of the house's win on all these stakes over the 216 rolls.

        A bet over several throws does not depend on a single roll: the variance over its whole
        series is added in the round that decides it, as are its stake and its edge.
        """
        total, earlier_stakes = 0, list[tuple[str, int]]()
        for box, stake in stakes.items():
            if box in self._payoffs:
                covariance = partial(self._covariance, box)
                cross = sum(covariance(other) * amount for other, amount in earlier_stakes)
                total += stake * (2 * cross + covariance(box) * stake)
                earlier_stakes.append((box, stake))
        variance = Fraction(total, self._covariance_unit)
        for box, series_variance in self._series_variances.items():
            variance += series_variance * stakes.get(box, 0) ** 2
        return variance


def _covariance(payoffs: Mapping[str, Sequence[int]], one: str, other: str) -> int:
    """Return the covariance of two boxes as an integer over (216 * unit) squared."""
    first, second = payoffs[one], payoffs[other]
    product_sum: int = sum(map(mul, first, second))
    return _ROLL_COUNT * product_sum - sum(first) * sum(second)


_MAX_CACHED_GAMES: Final = 32
_CACHE: Final[dict[str, WinExpectation]] = {}


def win_expectation(game: Game) -> WinExpectation:
    """Return the win expectation of a game, cached for up to 32 games."""
    if game.hash not in _CACHE:
        if len(_CACHE) >= _MAX_CACHED_GAMES:
            _CACHE.clear()
        _CACHE[game.hash] = WinExpectation(game)
    return _CACHE[game.hash]


def stakes_by_box(stakes: Mapping[str, int]) -> dict[str, int]:
    """Sum stakes on spots by box: the areas of a box have separate limits, but win together."""
    by_box: dict[str, int] = {}
    for spot, stake in stakes.items():
        box = box_of(spot)
        by_box[box] = by_box.get(box, 0) + stake
    return by_box
