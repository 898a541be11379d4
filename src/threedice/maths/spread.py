"""A box, or a fixed mix of bets, as something to put one stake on, however large.

A staking plan names one stake; a spread divides it over its boxes in fixed proportions and says
what each roll brings.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import gcd, lcm
from typing import TYPE_CHECKING

from threedice.dice import ROLLS
from threedice.maths.mix import Mix

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.rulebook import Game


@dataclass(frozen=True, slots=True)
class Spread:
    """Proportions over boxes, and for each step staked the nets with their ways out of `of`.

    The step is the smallest whole stake that divides evenly over the boxes and is paid evenly by
    all their odds; every stake is a multiple of it.
    """

    game: Game = field(repr=False)
    shares: Mapping[str, int]
    step: int
    nets: tuple[int, ...] = field(repr=False)
    results: tuple[tuple[int, int], ...]
    of: int

    def __str__(self) -> str:
        if len(self.shares) == 1:
            return next(iter(self.shares))
        return " + ".join(f"{share} {box}" for box, share in self.shares.items())


def spread(game: Game, shares: Mapping[str, int]) -> Spread:
    """Return the spread of a stake over boxes in the proportions given.

    >>> from threedice.rulebook import load
    >>> big = spread(load("sg-rws-tai-sai-v6/a"), {"big": 1})
    >>> big.step, big.results, big.of
    (1, ((-1, 37), (1, 35)), 72)
    """
    common = gcd(*shares.values())
    least = {box: share // common for box, share in shares.items()}
    mix = Mix(game, least)
    # Each box's part must itself be a multiple of what its odds can pay.
    times = lcm(*(game.box(box).unit // gcd(game.box(box).unit, n) for box, n in least.items()))
    nets = tuple(net * times // game.unit for net in mix.nets)
    counts = Counter(nets)
    shared = gcd(*counts.values())
    results = tuple((net, ways // shared) for net, ways in sorted(counts.items()))
    return Spread(game, least, mix.total * times, nets, results, len(ROLLS) // shared)
