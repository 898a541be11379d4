"""The house's side of a table: its win over an hour, a shift, a year, and what limits do to it.

A layout (fixed, or a crowd's) gives the law of one round; rounds are independent and all alike, so
a period is a number of rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import accumulate
from math import expm1, gcd, inf, log1p
from typing import TYPE_CHECKING, Final

from threedice.errors import InvalidInput
from threedice.odds.approximation import LongRun, LongRunMethod, chance_above, long_run
from threedice.odds.convolution import check_probability
from threedice.odds.distribution import negate
from threedice.odds.layouts import FixedLayout, RandomLayout
from threedice.odds.notebook import html_bars, html_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from threedice.odds.distribution import RoundDistribution

Layout = FixedLayout | RandomLayout


@dataclass(frozen=True)
class PeriodForecast:
    """A stretch of time at a table: the house's win, and what was staked for it on average."""

    name: str
    rounds: int
    win: LongRun
    turnover: Fraction

    @cached_property
    def loss_probability(self) -> Fraction | float:
        """The probability that the house loses, to many digits however small it is."""
        return chance_of_loss_above(self.win.one_round, self.rounds, 0)[0]

    @property
    def mean_hold(self) -> Fraction:
        """The expected win as a share of what is staked."""
        return self.win.mean / self.turnover

    def hold_quantile(self, probability: Fraction) -> Fraction:
        """Return a quantile of the win as a share of what is staked on average."""
        return self.win.quantile(probability) / self.turnover

    def worst_round_quantile(self, probability: Fraction) -> Fraction:
        """Return what the period's worst roll undercuts or reaches with this probability."""
        check_probability(probability)
        # All rounds stay above x with probability (1 - F(x))^n.
        enough = -expm1(log1p(-float(probability)) / self.rounds) if probability < 1 else inf
        results = list(self.win.one_round.results())
        sums = accumulate(float(chance) for _, chance in results)
        pairs = zip(results, sums, strict=True)
        return next((net for (net, _), below in pairs if below >= enough), results[-1][0])

    def _repr_html_(self) -> str:
        rows = [
            ("staked on average", f"{float(self.turnover):,.2f}"),
            ("expected win", f"{float(self.win.mean):,.2f}"),
            ("expected hold of stakes", f"{float(self.mean_hold):.6f}"),
            ("house loses", f"{float(self.loss_probability):.6g}"),
        ]
        title = f"the house's win of one {self.name}, {self.rounds:,} rounds"
        return html_table(title, rows) + html_bars(self.win.as_floats())


def forecast_period(
    layout: Layout, name: str, rounds: int, method: LongRunMethod | None = None
) -> PeriodForecast:
    """Return the house's win over so many rounds of a layout."""
    win = long_run(layout.house_distribution(), rounds, method)
    return PeriodForecast(name, rounds, win, layout.turnover() * rounds)


def chance_of_loss_above(
    one_round: RoundDistribution, rounds: int, amount: int
) -> tuple[Fraction | float, float]:
    """Return the probability that the house loses more than an amount, and the error of it."""
    return chance_above(negate(one_round), rounds, amount)


@dataclass(frozen=True, slots=True)
class SafeMaximum:
    """The largest table maximum that keeps a loss unlikely enough, with both chances.

    `maximum` is None where none of those tried is small enough; `next` is the chance at the step
    above, None where a higher maximum changes nothing any more. `all_tried` says that no maximum
    was passed over, so that there is no larger one.
    """

    maximum: int | None
    chance: Fraction | float | None
    next_chance: Fraction | float | None
    all_tried: bool


MAX_MAXIMA_TRIED: Final = 128
"""How many maxima are looked at one by one; where there are more, so many spread over them."""


def safe_maximum(
    layout: Layout, rounds: int, amount: int, max_probability: Fraction, step: int | None = None
) -> SafeMaximum:
    """Return the largest maximum under which losing more than an amount is at most this likely.

    Maxima are tried in steps of a chip from the highest down, since a higher one can make a large
    loss less likely: it lets one box make up for others. Where there are too many, some are tried,
    and between the last that is not safe and the first that is, halving finds where that changes.
    """
    check_probability(max_probability)
    if amount < 0:
        raise InvalidInput(f"a loss of {amount}; give the amount that may be lost, nought or more")
    chip = step or _common_chip(layout)
    least = -(-layout.limits.minimum // chip)
    maxima = range(least, max(-(-layout.max_box_total() // chip), least) + 1)

    @cache
    def chance(chips: int) -> Fraction | float:
        limits = replace(layout.limits, maximum=chips * chip)
        law = replace(layout, limits=limits).house_distribution()
        return chance_of_loss_above(law, rounds, amount)[0]

    tried = _sample(maxima)
    all_tried = len(tried) == len(maxima)
    above: int | None = None
    for chips in reversed(tried):
        if chance(chips) <= max_probability:
            low, high = _bisect(chips, above, lambda each: chance(each) <= max_probability)
            after = None if high is None else chance(high)
            return SafeMaximum(low * chip, chance(low), after, all_tried)
        above = chips
    return SafeMaximum(None, None, chance(least), all_tried)


def _sample(maxima: range) -> list[int]:
    """Return all of the maxima, or some from the first to the last."""
    if len(maxima) <= MAX_MAXIMA_TRIED:
        return list(maxima)
    last = len(maxima) - 1
    return [maxima[place * last // (MAX_MAXIMA_TRIED - 1)] for place in range(MAX_MAXIMA_TRIED)]


def _bisect(low: int, high: int | None, is_safe: Callable[[int], bool]) -> tuple[int, int | None]:
    """Return a safe maximum and the next, which is not, between one that is and one that is not."""
    while high is not None and high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_safe(middle) else (low, middle)
    return low, high


def _common_chip(layout: Layout) -> int:
    """Return the chip that all stakes can be made of."""
    if isinstance(layout, RandomLayout):
        return gcd(*(each.stake for each in layout.choices))
    return gcd(*layout.stakes.values())
