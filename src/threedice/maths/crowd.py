"""A crowd at a table: who bets what in a round, what the limits leave of it, the house's law.

In each round so many bets are made. Each is drawn independently of the others, by weight, from the
crowd's habits: a box and a stake, or none at all. All bets of a round share its roll, so the
house's result is added up roll by roll, and only then are the 216 rolls mixed; rounds are
independent.

Where a limit concerns several bets at once (a maximum that all players share, a differential
between two boxes), the totals on those boxes are counted jointly before the limit is applied.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Final

from threedice.errors import InvalidInput
from threedice.maths.habits import Adding, Group, Habit, Weights
from threedice.maths.laws import Law, against, law, law_of
from threedice.maths.limits import Limits, check_differential, connected, let_stand, shares_maximum
from threedice.maths.mix import Mix

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from threedice.rulebook import Game

MOST_BETS: Final = 200


@dataclass(frozen=True)
class FixedLayout:
    """The same chips in every round: what lies on each box before the limits.

    The maximum is applied to each box, as if its chips were one bet.
    """

    game: Game = field(repr=False)
    stakes: Mapping[str, int]
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        Mix(self.game, dict(self.stakes))
        check_differential(self.game, self.limits)

    def mix(self) -> Mix:
        """Return what the limits leave on the layout."""
        lies = {box: self.limits.stake(stake) for box, stake in self.stakes.items()}
        left = let_stand(self.game, self.limits, lies)
        return Mix(self.game, {box: stake for box, stake in left.items() if stake})

    def house_law(self) -> Law:
        """Return the law of the house's result of one round."""
        return against(law_of(self.mix()))

    def turnover(self) -> Fraction:
        """Return what is staked in a round."""
        return Fraction(self.mix().total)

    def heaviest(self) -> int:
        """Return the most that can lie on one box before the limits."""
        return max(self.stakes.values())


@dataclass(frozen=True)
class Crowd:
    """Bets in a round, each drawn from the habits; `idle` is the weight of making none."""

    game: Game = field(repr=False)
    bets: int
    habits: tuple[Habit, ...]
    limits: Limits = field(default_factory=Limits)
    idle: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.bets <= MOST_BETS:
            raise InvalidInput(f"{self.bets} bets in a round; give a number from 1 to {MOST_BETS}")
        if not self.habits:
            raise InvalidInput("a crowd without habits; give it boxes and stakes to choose from")
        if self.idle < 0:
            raise InvalidInput(f"an idle weight of {self.idle}; give nought or more")
        for each in self.habits:
            each.check(self.game)
        check_differential(self.game, self.limits)

    def house_law(self) -> Law:
        """Return the law of the house's result of one round."""
        boxes = self._boxes()
        classes = Counter(zip(*(self.game.payoffs[box] for box in boxes), strict=True))
        groups, adding = self._groups(), Adding(len(classes))
        mixed: Counter[int] = Counter()
        for nets, rolls in classes.items():
            paid = dict(zip(boxes, nets, strict=True))
            for net, ways in self._result(groups, paid, adding).items():
                mixed[-net] += rolls * ways
        return law(mixed, self.game.unit)

    def turnover(self) -> Fraction:
        """Return what is staked in a round, on average, after the limits."""
        groups, staked = self._groups(), 0
        whole = sum(group.weight for group in groups)
        for group in groups:
            others = whole - group.weight
            for bets in range(self.bets + 1):
                elsewhere = comb(self.bets, bets) * others ** (self.bets - bets)
                staked += elsewhere * group.staked(bets)
        return Fraction(staked, whole**self.bets)

    def heaviest(self) -> int:
        """Return the most that can lie on one box before the limits."""
        top = max(each.stake for each in self.habits)
        return top * self.bets if shares_maximum(self.game) else top

    def _boxes(self) -> list[str]:
        return list(dict.fromkeys(each.box for each in self.habits))

    def _groups(self) -> list[Group]:
        """Return the habits in groups that no limit connects, the free ones first."""
        limits = self.limits
        habits = [Habit(each.box, limits.stake(each.stake), each.weight) for each in self.habits]
        held = connected(self.game, limits, self._boxes(), self.heaviest())
        taken = {box for boxes in held for box in boxes}
        free = tuple(each for each in habits if each.box not in taken)
        groups = [
            Group(
                self.game,
                limits,
                self.bets,
                tuple(each for each in habits if each.box in boxes),
                held=boxes,
            )
            for boxes in held
        ]
        return [Group(self.game, limits, self.bets, free, idle=self.idle), *groups]

    def _result(self, groups: Sequence[Group], paid: Mapping[str, int], adding: Adding) -> Weights:
        """Return the players' net where each box brings what is given for a unit."""
        adding.begun += 1
        so_far, *others = [group.results(paid, adding) for group in groups]
        for other in others:
            so_far = [adding.shared(so_far, other, bets) for bets in range(self.bets + 1)]
        return so_far[self.bets]
