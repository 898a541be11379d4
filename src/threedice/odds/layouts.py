"""Layouts of a round as the house sees them: fixed stakes, or bets drawn at random by weight.

In each round of a `RandomLayout` a fixed number of bets is made. Each is drawn independently, by
weight, from weighted choices of a box and a stake, or is idle. All bets of a round share its roll,
so the house's result is convolved separately for each class of rolls with equal payoffs, and the
classes are mixed afterwards. Rounds are independent.

If a limit affects several bets together (a maximum that all players share, a differential between
two boxes), the totals on those boxes are counted jointly before the limit is applied. Choices that
no limit connects form separate groups. Results are counted with integer weights, which are divided
by their sum at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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

MAX_OPERATIONS: Final = 60_000_000
"""Maximum number of additions for the distribution of one round: about ten seconds."""

NetWeights = Mapping[int, int]
"""Weight of each net result."""

BoxTotals = Counter[tuple[int, ...]]
"""Weight of each combination of totals on the limited boxes."""


@dataclass(frozen=True)
class FixedLayout:
    """The same stakes in every round, given as totals on boxes before the limits.

    The maximum is applied to each box, as if its chips were one bet.
    """

    game: Game = field(repr=False)
    stakes: Mapping[str, int]
    limits: LayoutLimits = field(default_factory=LayoutLimits)

    def __post_init__(self) -> None:
        Mix(self.game, dict(self.stakes))
        check_differential(self.game, self.limits)

    def mix(self) -> Mix:
        """Return the stakes after the limits."""
        clamped = {box: self.limits.clamp(stake) for box, stake in self.stakes.items()}
        limited = apply_limits(self.game, self.limits, clamped)
        return Mix(self.game, {box: stake for box, stake in limited.items() if stake})

    def house_distribution(self) -> RoundDistribution:
        """Return the distribution of the house's result of one round."""
        return negate(round_distribution(self.mix()))

    def turnover(self) -> Fraction:
        """Return the amount staked in a round."""
        return Fraction(self.mix().total)

    def max_box_total(self) -> int:
        """Return the largest total on one box before the limits."""
        return max(self.stakes.values())


@dataclass(frozen=True)
class RandomLayout:
    """A number of bets in each round, drawn by weight; `idle_weight` is the weight of no bet."""

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
            raise InvalidInput("no bets to draw from; give boxes and stakes to choose from")
        if self.idle_weight < 0:
            raise InvalidInput(f"an idle weight of {self.idle_weight}; give 0 or more")
        for choice in self.choices:
            choice.check(self.game)
        check_differential(self.game, self.limits)

    def house_distribution(self) -> RoundDistribution:
        """Return the distribution of the house's result of one round."""
        boxes = self._boxes()
        roll_classes = Counter(zip(*(self.game.payoffs[box] for box in boxes), strict=True))
        groups, convolver = self._groups(), Convolver(len(roll_classes))
        house_weights: Counter[int] = Counter()
        for payoffs, rolls in roll_classes.items():
            box_payoffs = dict(zip(boxes, payoffs, strict=True))
            for net, weight in self._net_weights(groups, box_payoffs, convolver).items():
                house_weights[-net] += rolls * weight
        return distribution_from_counts(house_weights, self.game.unit)

    def turnover(self) -> Fraction:
        """Return the expected amount staked in a round, after the limits."""
        groups, weighted_stakes = self._groups(), 0
        total_weight = sum(group.weight for group in groups)
        for group in groups:
            other_weight = total_weight - group.weight
            for bets in range(self.bets + 1):
                elsewhere = comb(self.bets, bets) * other_weight ** (self.bets - bets)
                weighted_stakes += elsewhere * group.weighted_stakes(bets)
        return Fraction(weighted_stakes, total_weight**self.bets)

    def max_box_total(self) -> int:
        """Return the largest total on one box before the maximum and the differential."""
        max_stake = max(max(choice.stake, self.limits.minimum) for choice in self.choices)
        return max_stake * self.bets if is_maximum_shared(self.game) else max_stake

    def _boxes(self) -> list[str]:
        return list(dict.fromkeys(choice.box for choice in self.choices))

    def _groups(self) -> list[BetGroup]:
        """Return the choices in groups that no limit connects, the unlimited group first."""
        clamp = self.limits.clamp
        choices = [replace(choice, stake=clamp(choice.stake)) for choice in self.choices]
        connected = connected_boxes(self.game, self.limits, self._boxes(), self.max_box_total())
        limited = {box for boxes in connected for box in boxes}
        unlimited = tuple(choice for choice in choices if choice.box not in limited)
        groups = [BetGroup(self, unlimited, idle_weight=self.idle_weight)]
        for boxes in connected:
            group_choices = tuple(choice for choice in choices if choice.box in boxes)
            groups.append(BetGroup(self, group_choices, limited_boxes=boxes))
        return groups

    def _net_weights(
        self, groups: Sequence[BetGroup], payoffs: Mapping[str, int], convolver: Convolver
    ) -> NetWeights:
        """Return the weights of the players' net result, given the payoff of a unit on each box."""
        convolver.classes_started += 1
        combined, *others = [group.net_weights(payoffs, convolver) for group in groups]
        for other in others:
            combined = [
                convolver.combine_groups(combined, other, bets) for bets in range(self.bets + 1)
            ]
        return combined[self.bets]


@dataclass(frozen=True, slots=True)
class WeightedBet:
    """A bet that a player may make in a round, with its weight relative to the others."""

    box: str
    stake: int
    weight: int = 1

    def check(self, game: Game) -> None:
        """Raise `InvalidInput` for a bet that is impossible at this table."""
        if game.box(self.box).throws > 1:
            raise InvalidInput(f"{self.box} is not decided by one roll; leave it out")
        if min(self.stake, self.weight) < 1:
            raise InvalidInput(
                f"a stake of {self.stake} with weight {self.weight} on {self.box}; "
                "give whole numbers above zero"
            )


@dataclass(frozen=True)
class BetGroup:
    """Choices that no limit connects with the other choices.

    `limited_boxes` are the boxes of the limit that holds the group together, if there is one.
    """

    layout: RandomLayout
    choices: tuple[WeightedBet, ...]
    limited_boxes: tuple[str, ...] = ()
    idle_weight: int = 0

    @property
    def weight(self) -> int:
        """Total weight of the group."""
        return sum(choice.weight for choice in self.choices) + self.idle_weight

    def net_weights(self, payoffs: Mapping[str, int], convolver: Convolver) -> list[NetWeights]:
        """Return the weights of the players' net for each number of bets, from none.

        `payoffs` holds the payoff of a unit on each box.
        """
        if self.limited_boxes:
            limited_payoffs = [payoffs[box] for box in self.limited_boxes]
            return [_settle_totals(totals, limited_payoffs) for totals in self.limited_totals]
        one_bet: Counter[int] = Counter({0: self.idle_weight} if self.idle_weight else {})
        for choice in self.choices:
            one_bet[choice.stake * payoffs[choice.box]] += choice.weight
        powers: list[NetWeights] = [{0: 1}]
        for _ in range(self.layout.bets):
            powers.append(convolver.convolve(powers[-1], one_bet))
        return powers

    def weighted_stakes(self, bets: int) -> int:
        """Return the sum, by weight, of the stakes of a number of bets after the limits."""
        if self.limited_boxes:
            return sum(sum(total) * weight for total, weight in self.limited_totals[bets].items())
        one_bet = sum(choice.stake * choice.weight for choice in self.choices)
        return bets * one_bet * self.weight ** (bets - 1) if bets else 0

    @cached_property
    def limited_totals(self) -> list[BoxTotals]:
        """Totals on the limited boxes after the limits, for each number of bets."""
        totals: BoxTotals = Counter({(0,) * len(self.limited_boxes): 1})
        limited = [self._apply_limits(totals)]
        for _ in range(self.layout.bets):
            check_operations(len(totals) * len(self.choices) * self.layout.bets)
            next_totals: BoxTotals = Counter()
            for total, weight in totals.items():
                for choice in self.choices:
                    next_totals[self._add_bet(total, choice)] += weight * choice.weight
            totals = next_totals
            limited.append(self._apply_limits(totals))
        return limited

    def _add_bet(self, total: tuple[int, ...], choice: WeightedBet) -> tuple[int, ...]:
        return tuple(
            amount + choice.stake * (box == choice.box)
            for box, amount in zip(self.limited_boxes, total, strict=True)
        )

    def _apply_limits(self, totals: BoxTotals) -> BoxTotals:
        limited: BoxTotals = Counter()
        for total, weight in totals.items():
            amounts = dict(zip(self.limited_boxes, total, strict=True))
            after = apply_limits(self.layout.game, self.layout.limits, amounts)
            limited[tuple(after[box] for box in self.limited_boxes)] += weight
        return limited


def _settle_totals(box_totals: BoxTotals, payoffs: list[int]) -> NetWeights:
    """Return the weights of the players' net on boxes with these payoffs for a unit."""
    results: Counter[int] = Counter()
    for amounts, weight in box_totals.items():
        results[sum(map(mul, amounts, payoffs))] += weight
    return results


class Convolver:
    """Convolve net weights, and refuse early if all classes of rolls would take too long.

    The work of the classes started so far is extrapolated to all `roll_classes`.
    """

    def __init__(self, roll_classes: int) -> None:
        self.roll_classes, self.classes_started, self.operations = roll_classes, 0, 0

    def convolve(self, one: NetWeights, other: NetWeights, factor: int = 1) -> Counter[int]:
        """Return the weights of the sum of two independent nets, times a factor."""
        self.operations += len(one) * len(other)
        check_operations(self.operations * self.roll_classes // self.classes_started)
        both: Counter[int] = Counter()
        for net, weight in one.items():
            for other_net, other_weight in other.items():
                both[net + other_net] += weight * factor * other_weight
        return both

    def combine_groups(
        self, one: Sequence[NetWeights], other: Sequence[NetWeights], bets: int
    ) -> NetWeights:
        """Return the weights of the net of `bets` bets that fall into either of two groups."""
        both: Counter[int] = Counter()
        for n in range(bets + 1):
            both.update(self.convolve(one[n], other[bets - n], comb(bets, n)))
        return both


def check_operations(operations: int) -> None:
    """Raise `InfeasibleComputation` for a layout whose distribution would take too long."""
    if operations > MAX_OPERATIONS:
        raise InfeasibleComputation(
            f"a round of these bets takes about {operations:,} additions; "
            f"the limit is {MAX_OPERATIONS:,}",
            operations,
            "give fewer bets, boxes or stakes, or stakes with a larger common divisor",
        )
