"""A mix of stakes over the boxes of a layout: its distribution in one round, and the exposure.

The same sums serve a player's spread of bets and the house's whole layout; only the sign differs.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from threedice.dice import ROLLS, Roll, index
from threedice.errors import InvalidInput
from threedice.maths.figures import Figures, figures

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.money import Amount
    from threedice.rulebook import Game


class Mix:
    """Stakes on boxes of one game, judged over the 216 rolls.

    >>> from threedice.rulebook import load
    >>> mix = Mix(load("sg-rws-tai-sai-v6/a"), {"big": 50, "total:10": 20})
    >>> mix.result((1, 3, 6)), mix.winning((1, 3, 6)), str(mix.figures.edge)
    (Fraction(70, 1), ('total:10',), '1/18')
    """

    def __init__(self, game: Game, stakes: Mapping[str, Amount] | Mapping[str, int]) -> None:
        if not stakes:
            raise InvalidInput("no stakes given; stake at least one box")
        for box_id, stake in stakes.items():
            if game.box(box_id).throws > 1:
                raise InvalidInput(f"{box_id} is not decided by one roll; leave it out of a mix")
            if stake <= 0:
                raise InvalidInput(f"a stake of {stake} on {box_id}; stake more than nothing")
        self.game = game
        self.stakes = dict(stakes)

    @property
    def total(self) -> int:
        """All that is staked."""
        return sum(self.stakes.values())

    @cached_property
    def nets(self) -> tuple[int, ...]:
        """The players' net on each of the 216 rolls, in 1/unit."""
        rows = [(stake, self.game.payoffs[box_id]) for box_id, stake in self.stakes.items()]
        return tuple(sum(stake * row[i] for stake, row in rows) for i in range(len(ROLLS)))

    @property
    def exposure(self) -> tuple[Fraction, ...]:
        """The house's result on each of the 216 rolls."""
        return tuple(Fraction(-net, self.game.unit) for net in self.nets)

    @cached_property
    def distribution(self) -> tuple[tuple[Fraction, int], ...]:
        """Every net result of one round, from worst to best, with how many rolls bring it."""
        counts = sorted(Counter(self.nets).items())
        return tuple((Fraction(net, self.game.unit), ways) for net, ways in counts)

    @cached_property
    def figures(self) -> Figures:
        """The figures per unit of the whole stake; a win is any round that ends ahead."""
        return figures(Counter(self.nets).items(), len(ROLLS), self.game.unit * self.total)

    def result(self, roll: Roll) -> Fraction:
        """Return the net result on one roll."""
        return Fraction(self.nets[index(roll)], self.game.unit)

    def winning(self, roll: Roll) -> tuple[str, ...]:
        """Return the staked boxes that win on a roll."""
        return tuple(box_id for box_id in self.game.winning(roll) if box_id in self.stakes)

    @property
    def best(self) -> tuple[Fraction, tuple[Roll, ...]]:
        """The best net result, and the rolls that bring it; the house's worst."""
        return self._extreme(max(self.nets))

    @property
    def worst(self) -> tuple[Fraction, tuple[Roll, ...]]:
        """The worst net result, and the rolls that bring it."""
        return self._extreme(min(self.nets))

    def _extreme(self, net: int) -> tuple[Fraction, tuple[Roll, ...]]:
        rolls = (roll for roll, each in zip(ROLLS, self.nets, strict=True) if each == net)
        return Fraction(net, self.game.unit), tuple(rolls)
