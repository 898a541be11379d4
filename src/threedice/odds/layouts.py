"""Bets of a round as the house sees them: a fixed layout, or bets drawn at random by weight.

A crowd at a table: who bets what in a round, what the limits leave of it, the house's law.

In each round so many bets are made. Each is drawn independently of the others, by weight, from the
crowd's habits: a box and a stake, or none at all. All bets of a round share its roll, so the
house's result is added up roll by roll, and only then are the 216 rolls mixed; rounds are
independent.

Where a limit concerns several bets at once (a maximum that all players share, a differential
between two boxes), the totals on those boxes are counted jointly before the limit is applied.

What a crowd does, in groups that no limit connects: the arithmetic under `crowd`.

Results are counted as weights that need not add up to anything in particular; the law made of them
in the end divides by their sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import comb
from operator import mul
from typing import TYPE_CHECKING, Final

from threedice.errors import InfeasibleComputation, InvalidInput
from threedice.odds.distribution import (
    RoundDistribution,
    distribution_from_counts,
    negate,
    round_distribution,
)
from threedice.odds.limits import (
    LayoutLimits,
    apply_limits,
    check_differential,
    connected_boxes,
    is_maximum_shared,
)
from threedice.odds.stakes import Mix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.rulebook import Game


MAX_BETS_PER_ROUND: Final = 200


@dataclass(frozen=True)
class FixedLayout:
    """The same chips in every round: what lies on each box before the limits.

    The maximum is applied to each box, as if its chips were one bet.
    """

    game: Game = field(repr=False)
    stakes: Mapping[str, int]
    limits: LayoutLimits = field(default_factory=LayoutLimits)

    def __post_init__(self) -> None:
        Mix(self.game, dict(self.stakes))
        check_differential(self.game, self.limits)

    def mix(self) -> Mix:
        """Return what the limits leave on the layout."""
        lies = {box: self.limits.clamp(stake) for box, stake in self.stakes.items()}
        left = apply_limits(self.game, self.limits, lies)
        return Mix(self.game, {box: stake for box, stake in left.items() if stake})

    def house_distribution(self) -> RoundDistribution:
        """Return the law of the house's result of one round."""
        return negate(round_distribution(self.mix()))

    def turnover(self) -> Fraction:
        """Return what is staked in a round."""
        return Fraction(self.mix().total)

    def max_box_total(self) -> int:
        """Return the most that can lie on one box before the limits."""
        return max(self.stakes.values())


@dataclass(frozen=True)
class RandomLayout:
    """Bets in a round, each drawn from the habits; `idle` is the weight of making none."""

    game: Game = field(repr=False)
    bets: int
    choices: tuple[WeightedBet, ...]
    limits: LayoutLimits = field(default_factory=LayoutLimits)
    idle_weight: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.bets <= MAX_BETS_PER_ROUND:
            raise InvalidInput(
                f"{self.bets} bets in a round; give a number from 1 to {MAX_BETS_PER_ROUND}"
            )
        if not self.choices:
            raise InvalidInput("a crowd without habits; give it boxes and stakes to choose from")
        if self.idle_weight < 0:
            raise InvalidInput(f"an idle weight of {self.idle_weight}; give nought or more")
        for each in self.choices:
            each.check(self.game)
        check_differential(self.game, self.limits)

    def house_distribution(self) -> RoundDistribution:
        """Return the law of the house's result of one round."""
        boxes = self._boxes()
        classes = Counter(zip(*(self.game.payoffs[box] for box in boxes), strict=True))
        groups, adding = self._groups(), Convolver(len(classes))
        mixed: Counter[int] = Counter()
        for nets, rolls in classes.items():
            paid = dict(zip(boxes, nets, strict=True))
            for net, ways in self._net_weights(groups, paid, adding).items():
                mixed[-net] += rolls * ways
        return distribution_from_counts(mixed, self.game.unit)

    def turnover(self) -> Fraction:
        """Return what is staked in a round, on average, after the limits."""
        groups, staked = self._groups(), 0
        whole = sum(group.weight for group in groups)
        for group in groups:
            others = whole - group.weight
            for bets in range(self.bets + 1):
                elsewhere = comb(self.bets, bets) * others ** (self.bets - bets)
                staked += elsewhere * group.weighted_stakes(bets)
        return Fraction(staked, whole**self.bets)

    def max_box_total(self) -> int:
        """Return the most that can lie on one box before the limits."""
        top = max(each.stake for each in self.choices)
        return top * self.bets if is_maximum_shared(self.game) else top

    def _boxes(self) -> list[str]:
        return list(dict.fromkeys(each.box for each in self.choices))

    def _groups(self) -> list[BetGroup]:
        """Return the habits in groups that no limit connects, the free ones first."""
        limits = self.limits
        habits = [
            WeightedBet(each.box, limits.clamp(each.stake), each.weight) for each in self.choices
        ]
        held = connected_boxes(self.game, limits, self._boxes(), self.max_box_total())
        taken = {box for boxes in held for box in boxes}
        free = tuple(each for each in habits if each.box not in taken)
        groups = [
            BetGroup(
                self.game,
                limits,
                self.bets,
                tuple(each for each in habits if each.box in boxes),
                limited_boxes=boxes,
            )
            for boxes in held
        ]
        return [BetGroup(self.game, limits, self.bets, free, idle_weight=self.idle_weight), *groups]

    def _net_weights(
        self, groups: Sequence[BetGroup], payoffs: Mapping[str, int], convolver: Convolver
    ) -> NetWeights:
        """Return the players' net where each box brings what is given for a unit."""
        convolver.classes_started += 1
        so_far, *others = [group.net_weights(payoffs, convolver) for group in groups]
        for other in others:
            so_far = [
                convolver.combine_groups(so_far, other, bets) for bets in range(self.bets + 1)
            ]
        return so_far[self.bets]


NetWeights = Mapping[int, int]
"""How often each net comes."""


BoxTotals = Counter[tuple[int, ...]]
"""How often the amounts on the held boxes come out like this."""


MAX_OPERATIONS: Final = 60_000_000
"""The most sums for the law of one round: about ten seconds' work."""


@dataclass(frozen=True, slots=True)
class WeightedBet:
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


class Convolver:
    """Sums of independent nets, counted: the first classes of rolls tell what all will take."""

    def __init__(self, roll_classes: int) -> None:
        self.roll_classes, self.classes_started, self.operations = roll_classes, 0, 0

    def convolve(self, one: NetWeights, other: NetWeights, times: int = 1) -> Counter[int]:
        """Return how often each sum of two independent nets comes."""
        self.operations += len(one) * len(other)
        check_operations(self.operations * self.roll_classes // self.classes_started)
        both: Counter[int] = Counter()
        for net, ways in one.items():
            for more, n in other.items():
                both[net + more] += ways * times * n
        return both

    def combine_groups(
        self, one: Sequence[NetWeights], other: Sequence[NetWeights], bets: int
    ) -> NetWeights:
        """Return the net of so many bets that fall into either of two groups."""
        both: Counter[int] = Counter()
        for n in range(bets + 1):
            both.update(self.convolve(one[n], other[bets - n], comb(bets, n)))
        return both


@dataclass(frozen=True)
class BetGroup:
    """Habits whose bets no limit connects with other bets; `held` names the boxes of a limit."""

    game: Game = field(repr=False)
    limits: LayoutLimits
    bets: int
    choices: tuple[WeightedBet, ...]
    limited_boxes: tuple[str, ...] = ()
    idle_weight: int = 0

    @property
    def weight(self) -> int:
        """The weight of all in the group."""
        return sum(each.weight for each in self.choices) + self.idle_weight

    def net_weights(self, payoffs: Mapping[str, int], convolver: Convolver) -> list[NetWeights]:
        """Return the players' net for each number of bets, given what a unit on each box brings."""
        if self.limited_boxes:
            brings = [payoffs[box] for box in self.limited_boxes]
            return [_settle_totals(each, brings) for each in self.limited_totals]
        one: Counter[int] = Counter({0: self.idle_weight} if self.idle_weight else {})
        for each in self.choices:
            one[each.stake * payoffs[each.box]] += each.weight
        powers: list[NetWeights] = [{0: 1}]
        for _ in range(self.bets):
            powers.append(convolver.convolve(powers[-1], one))
        return powers

    def weighted_stakes(self, bets: int) -> int:
        """Return what so many bets stake after the limits, summed by weight."""
        if self.limited_boxes:
            return sum(sum(each) * ways for each, ways in self.limited_totals[bets].items())
        one = sum(each.stake * each.weight for each in self.choices)
        return bets * one * self.weight ** (bets - 1) if bets else 0

    @cached_property
    def limited_totals(self) -> list[BoxTotals]:
        """What the limits leave on the held boxes, for each number of bets."""
        totals: BoxTotals = Counter({(0,) * len(self.limited_boxes): 1})
        standing = [self._apply_limits(totals)]
        for _ in range(self.bets):
            check_operations(len(totals) * len(self.choices) * self.bets)
            more: BoxTotals = Counter()
            for total, ways in totals.items():
                for each in self.choices:
                    more[self._add_bet(total, each)] += ways * each.weight
            totals = more
            standing.append(self._apply_limits(totals))
        return standing

    def _add_bet(self, total: tuple[int, ...], choice: WeightedBet) -> tuple[int, ...]:
        return tuple(
            amount + choice.stake * (box == choice.box)
            for box, amount in zip(self.limited_boxes, total, strict=True)
        )

    def _apply_limits(self, totals: BoxTotals) -> BoxTotals:
        limited: BoxTotals = Counter()
        for total, ways in totals.items():
            lies = dict(zip(self.limited_boxes, total, strict=True))
            left = apply_limits(self.game, self.limits, lies)
            limited[tuple(left[box] for box in self.limited_boxes)] += ways
        return limited


def _settle_totals(box_totals: BoxTotals, payoffs: list[int]) -> NetWeights:
    """Return the players' net on boxes that bring these nets for a unit."""
    results: Counter[int] = Counter()
    for amounts, ways in box_totals.items():
        results[sum(map(mul, amounts, payoffs))] += ways
    return results


def check_operations(operations: int) -> None:
    """Refuse a crowd whose law would take too long to work out."""
    if operations > MAX_OPERATIONS:
        raise InfeasibleComputation(
            f"a round with this crowd takes some {operations:,} sums, and {MAX_OPERATIONS:,} are the most",
            operations,
            "give fewer bets, boxes or stakes, or stakes with a larger common divisor",
        )
