"""What a crowd does, in groups that no limit connects: the arithmetic under `crowd`.

Results are counted as weights that need not add up to anything in particular; the law made of them
in the end divides by their sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import comb
from operator import mul
from typing import TYPE_CHECKING, Final

from threedice.errors import InvalidInput
from threedice.maths.limits import Limits, let_stand
from threedice.maths.states import Infeasible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.rulebook import Game

Weights = Mapping[int, int]
"""How often each net comes."""
Totals = Counter[tuple[int, ...]]
"""How often the amounts on the held boxes come out like this."""

MOST_SUMS: Final = 60_000_000
"""The most sums for the law of one round: about ten seconds' work."""


@dataclass(frozen=True, slots=True)
class Habit:
    """One thing a player may do in a round, and how often compared with the others."""

    box: str
    stake: int
    weight: int = 1

    def check(self, game: Game) -> None:
        """Refuse what cannot be done at this table."""
        if game.box(self.box).throws > 1:
            raise InvalidInput(f"{self.box} is not decided by one roll; leave it out")
        if min(self.stake, self.weight) < 1:
            raise InvalidInput(
                f"a stake of {self.stake} with weight {self.weight} on {self.box}; "
                "give whole numbers above zero"
            )


class Adding:
    """Sums of independent nets, counted: the first classes of rolls tell what all will take."""

    def __init__(self, classes: int) -> None:
        self.classes, self.begun, self.sums = classes, 0, 0

    def convolved(self, one: Weights, other: Weights, times: int = 1) -> Counter[int]:
        """Return how often each sum of two independent nets comes."""
        self.sums += len(one) * len(other)
        check_sums(self.sums * self.classes // self.begun)
        both: Counter[int] = Counter()
        for net, ways in one.items():
            for more, n in other.items():
                both[net + more] += ways * times * n
        return both

    def shared(self, one: Sequence[Weights], other: Sequence[Weights], bets: int) -> Weights:
        """Return the net of so many bets that fall into either of two groups."""
        both: Counter[int] = Counter()
        for n in range(bets + 1):
            both.update(self.convolved(one[n], other[bets - n], comb(bets, n)))
        return both


@dataclass(frozen=True)
class Group:
    """Habits whose bets no limit connects with other bets; `held` names the boxes of a limit."""

    game: Game = field(repr=False)
    limits: Limits
    bets: int
    habits: tuple[Habit, ...]
    held: tuple[str, ...] = ()
    idle: int = 0

    @property
    def weight(self) -> int:
        """The weight of all in the group."""
        return sum(each.weight for each in self.habits) + self.idle

    def results(self, paid: Mapping[str, int], adding: Adding) -> list[Weights]:
        """Return the players' net for each number of bets, given what a unit on each box brings."""
        if self.held:
            brings = [paid[box] for box in self.held]
            return [_settled(each, brings) for each in self.standing]
        one: Counter[int] = Counter({0: self.idle} if self.idle else {})
        for each in self.habits:
            one[each.stake * paid[each.box]] += each.weight
        powers: list[Weights] = [{0: 1}]
        for _ in range(self.bets):
            powers.append(adding.convolved(powers[-1], one))
        return powers

    def staked(self, bets: int) -> int:
        """Return what so many bets stake after the limits, summed by weight."""
        if self.held:
            return sum(sum(each) * ways for each, ways in self.standing[bets].items())
        one = sum(each.stake * each.weight for each in self.habits)
        return bets * one * self.weight ** (bets - 1) if bets else 0

    @cached_property
    def standing(self) -> list[Totals]:
        """What the limits leave on the held boxes, for each number of bets."""
        totals: Totals = Counter({(0,) * len(self.held): 1})
        standing = [self._limited(totals)]
        for _ in range(self.bets):
            check_sums(len(totals) * len(self.habits) * self.bets)
            more: Totals = Counter()
            for total, ways in totals.items():
                for each in self.habits:
                    more[self._with(total, each)] += ways * each.weight
            totals = more
            standing.append(self._limited(totals))
        return standing

    def _with(self, total: tuple[int, ...], habit: Habit) -> tuple[int, ...]:
        return tuple(
            amount + habit.stake * (box == habit.box)
            for box, amount in zip(self.held, total, strict=True)
        )

    def _limited(self, totals: Totals) -> Totals:
        limited: Totals = Counter()
        for total, ways in totals.items():
            lies = dict(zip(self.held, total, strict=True))
            left = let_stand(self.game, self.limits, lies)
            limited[tuple(left[box] for box in self.held)] += ways
        return limited


def _settled(standing: Totals, brings: list[int]) -> Weights:
    """Return the players' net on boxes that bring these nets for a unit."""
    results: Counter[int] = Counter()
    for amounts, ways in standing.items():
        results[sum(map(mul, amounts, brings))] += ways
    return results


def check_sums(sums: int) -> None:
    """Refuse a crowd whose law would take too long to work out."""
    if sums > MOST_SUMS:
        raise Infeasible(
            f"a round with this crowd takes some {sums:,} sums, and {MOST_SUMS:,} are the most",
            sums,
            "give fewer bets, boxes or stakes, or stakes with a larger common divisor",
        )
