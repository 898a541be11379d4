"""Stakes on boxes: net result on each of the 216 rolls, proportional spreads, settlement.

A mix of stakes over the boxes of a layout: its distribution in one round, and the exposure.

The same sums serve a player's spread of bets and the house's whole layout; only the sign differs.

A box, or a fixed mix of bets, as something to put one stake on, however large.

A staking plan names one stake; a spread divides it over its boxes in fixed proportions and says
what each roll brings.

What bets on a roll are paid, and under which clauses: one cell of the matrix for each bet.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm
from typing import TYPE_CHECKING

from threedice.dice import ROLLS, Roll, index
from threedice.errors import InvalidInput
from threedice.money import Amount
from threedice.odds.figures import Figures, compute_figures

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.money import Odds
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
        return compute_figures(Counter(self.nets).items(), len(ROLLS), self.game.unit * self.total)

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
    total_ways: int

    def __str__(self) -> str:
        if len(self.shares) == 1:
            return next(iter(self.shares))
        return " + ".join(f"{share} {box}" for box, share in self.shares.items())


def spread(game: Game, shares: Mapping[str, int]) -> Spread:
    """Return the spread of a stake over boxes in the proportions given.

    >>> from threedice.rulebook import load
    >>> big = spread(load("sg-rws-tai-sai-v6/a"), {"big": 1})
    >>> big.step, big.results, big.total_ways
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


@dataclass(frozen=True, slots=True)
class SettledBet:
    """One bet after a roll: `net` is the winnings, or the stake lost as a negative amount."""

    box: str
    stake: Amount
    net: Amount
    odds: Odds | None
    explanation: str
    clauses: tuple[str, ...]

    @property
    def wins(self) -> bool:
        """Whether the bet won."""
        return self.odds is not None

    @property
    def returned(self) -> Amount:
        """What goes back to the player, the stake of a winning bet included."""
        return Amount(self.stake + self.net)


def settle(game: Game, roll: Roll, bets: Mapping[str, Amount]) -> list[SettledBet]:
    """Settle bets on a roll, in the order they were given."""
    for box_id, stake in bets.items():
        if type(stake) is not int or stake < 1:
            raise InvalidInput(f"a stake of {stake!r} on {box_id}; stake a whole number above zero")
    return [_settle_bet(game, roll, box_id, stake) for box_id, stake in bets.items()]


def _settle_bet(game: Game, roll: Roll, box_id: str, stake: Amount) -> SettledBet:
    cell = game.cell(box_id, roll)
    net = cell.odds.winnings(stake) if cell.odds else Amount(-stake)
    return SettledBet(box_id, stake, net, cell.odds, game.verdict(box_id, roll), cell.clauses)
