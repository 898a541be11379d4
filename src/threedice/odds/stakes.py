"""Stakes on boxes: net result on each of the 216 rolls, proportional spreads, settlement.

A `Mix` serves a player's bets and the house's whole layout alike; only the sign differs. A `Spread`
divides one stake over boxes in fixed proportions, so that a staking plan needs only one amount.
`settle` pays bets on a roll and cites the clauses.
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
from threedice.notebook import html_bars, html_table
from threedice.odds.figures import Figures, compute_figures, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.money import Odds
    from threedice.rulebook import Game


class Mix:
    """Stakes on boxes of one game, evaluated over the 216 rolls.

    >>> from threedice.rulebook import load
    >>> mix = Mix(load("sg-rws-tai-sai-v6/a"), {"big": 50, "total:10": 20})
    >>> mix.result((1, 3, 6)), mix.winning((1, 3, 6)), str(mix.figures.edge)
    (Fraction(70, 1), ('total:10',), '1/18')
    """

    def __init__(self, game: Game, stakes: Mapping[str, int]) -> None:
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
        """Sum of the stakes."""
        return sum(self.stakes.values())

    @cached_property
    def nets(self) -> tuple[int, ...]:
        """Players' net result on each of the 216 rolls, in 1/unit."""
        rows = [(stake, self.game.payoffs[box_id]) for box_id, stake in self.stakes.items()]
        return tuple(sum(stake * row[i] for stake, row in rows) for i in range(len(ROLLS)))

    @property
    def exposure(self) -> tuple[Fraction, ...]:
        """House's net result on each of the 216 rolls."""
        return tuple(Fraction(-net, self.game.unit) for net in self.nets)

    @cached_property
    def distribution(self) -> tuple[tuple[Fraction, int], ...]:
        """Every net result of one round, worst first, with the number of rolls that give it."""
        counts = sorted(Counter(self.nets).items())
        return tuple((Fraction(net, self.game.unit), ways) for net, ways in counts)

    @cached_property
    def figures(self) -> Figures:
        """Figures per unit of the whole stake; a win is any round with a positive net result."""
        return compute_figures(Counter(self.nets).items(), len(ROLLS), self.game.unit * self.total)

    def result(self, roll: Roll) -> Fraction:
        """Return the net result on one roll."""
        return Fraction(self.nets[index(roll)], self.game.unit)

    def winning(self, roll: Roll) -> tuple[str, ...]:
        """Return the staked boxes that win on a roll."""
        return tuple(box_id for box_id in self.game.winning(roll) if box_id in self.stakes)

    @property
    def best(self) -> tuple[Fraction, tuple[Roll, ...]]:
        """Players' best net result (the house's worst), and the rolls that give it."""
        return self._extreme(max(self.nets))

    @property
    def worst(self) -> tuple[Fraction, tuple[Roll, ...]]:
        """Players' worst net result, and the rolls that give it."""
        return self._extreme(min(self.nets))

    def _extreme(self, net: int) -> tuple[Fraction, tuple[Roll, ...]]:
        rolls = (roll for roll, roll_net in zip(ROLLS, self.nets, strict=True) if roll_net == net)
        return Fraction(net, self.game.unit), tuple(rolls)

    def _repr_html_(self) -> str:
        figures = self.figures
        exact = (
            ("house edge", figures.edge),
            ("return", figures.return_to_player),
            ("wins", figures.hit),
        )
        rows = [(name, str(value), percent(value)) for name, value in exact]
        rows.append(
            (
                "standard deviation",
                f"{figures.sd * self.total:,.4f}",
                f"of a stake of {self.total:,}",
            )
        )
        results = [
            (str(net), f"{ways}", percent(Fraction(ways, len(ROLLS))))
            for net, ways in self.distribution
        ]
        bars = html_bars([(float(net), ways / len(ROLLS)) for net, ways in self.distribution])
        title = ", ".join(f"{stake:,} on {box_id}" for box_id, stake in self.stakes.items())
        return (
            html_table(title, rows)
            + html_table("net result of one round", results, ("net", "rolls of 216", ""))
            + bars
        )


@dataclass(frozen=True, slots=True)
class Spread:
    """Proportions of a stake over boxes, with the net results of staking one step.

    The step is the smallest whole stake that divides evenly over the boxes and is paid evenly by
    all their odds; every stake is a multiple of it. `nets` holds the net result of one step on
    each of the 216 rolls, `results` the same as (net, ways) pairs out of `total_ways`.
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
    """Return the spread of a stake over boxes in the given proportions.

    >>> from threedice.rulebook import load
    >>> big = spread(load("sg-rws-tai-sai-v6/a"), {"big": 1})
    >>> big.step, big.results, big.total_ways
    (1, ((-1, 37), (1, 35)), 72)
    """
    shares_divisor = gcd(*shares.values())
    reduced = {box: share // shares_divisor for box, share in shares.items()}
    mix = Mix(game, reduced)
    # Each box's part must itself be a multiple of the stake that its odds pay evenly.
    factor = lcm(
        *(game.box(box).unit // gcd(game.box(box).unit, share) for box, share in reduced.items())
    )
    nets = tuple(net * factor // game.unit for net in mix.nets)
    counts = Counter(nets)
    counts_divisor = gcd(*counts.values())
    results = tuple((net, ways // counts_divisor) for net, ways in sorted(counts.items()))
    return Spread(game, reduced, mix.total * factor, nets, results, len(ROLLS) // counts_divisor)


@dataclass(frozen=True, slots=True)
class SettledBet:
    """A bet after a roll: `net` is the winnings, or the lost stake as a negative amount."""

    box: str
    stake: Amount
    net: Amount
    odds: Odds | None
    explanation: str
    clauses: tuple[str, ...]

    @property
    def wins(self) -> bool:
        """True if the bet won."""
        return self.odds is not None

    @property
    def returned(self) -> Amount:
        """Amount that goes back to the player, including the stake of a winning bet."""
        return Amount(self.stake + self.net)


def settle(game: Game, roll: Roll, bets: Mapping[str, int]) -> list[SettledBet]:
    """Settle bets on a roll; the result has the order of the bets."""
    settled = []
    for box_id, number in bets.items():
        if type(number) is not int or number < 1:
            raise InvalidInput(
                f"a stake of {number!r} on {box_id}; stake a whole number above zero"
            )
        stake = Amount(number)
        cell = game.cell(box_id, roll)
        net = cell.odds.winnings(stake) if cell.odds else Amount(-stake)
        explanation = game.verdict(box_id, roll)
        settled.append(SettledBet(box_id, stake, net, cell.odds, explanation, cell.clauses))
    return settled
