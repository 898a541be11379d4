"""The house's win at a table over an hour, a shift or a year, and how limits change it.

A layout (fixed or random) gives the distribution of one round. Rounds are independent and
identically distributed, so a period is a number of rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import accumulate
from math import expm1, gcd, inf, log1p
from typing import TYPE_CHECKING, Final

from threedice.errors import InvalidInput
from threedice.notebook import html_bars, html_table
from threedice.odds.approximation import LongRun, LongRunMethod, chance_above, long_run
from threedice.odds.convolution import check_probability
from threedice.odds.distribution import negate
from threedice.odds.layouts import FixedLayout, RandomLayout

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from threedice.odds.distribution import RoundDistribution

Layout = FixedLayout | RandomLayout


@dataclass(frozen=True)
class PeriodForecast:
    """A period at a table: the distribution of the house's win, and the expected turnover."""

    name: str
    rounds: int
    win: LongRun
    turnover: Fraction

    @cached_property
    def loss_probability(self) -> Fraction | float:
        """Probability that the house loses, precise however small it is."""
        return chance_of_loss_above(self.win.one_round, self.rounds, 0)[0]

    @property
    def mean_hold(self) -> Fraction:
        """Expected win as a share of the expected turnover."""
        return self.win.mean / self.turnover

    def hold_quantile(self, probability: Fraction) -> Fraction:
        """Return a quantile of the win as a share of the expected turnover."""
        return self.win.quantile(probability) / self.turnover

    def worst_round_quantile(self, probability: Fraction) -> Fraction:
        """Return a quantile of the house's worst single round of the period."""
        check_probability(probability)
        # All rounds stay above x with probability (1 - F(x))^n.
        target = -expm1(log1p(-float(probability)) / self.rounds) if probability < 1 else inf
        results = list(self.win.one_round.results())
        cumulative = accumulate(float(chance) for _, chance in results)
        pairs = zip(results, cumulative, strict=True)
        return next((net for (net, _), below in pairs if below >= target), results[-1][0])

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
    """Forecast the house's win over a number of rounds of a layout."""
    win = long_run(layout.house_distribution(), rounds, method)
    return PeriodForecast(name, rounds, win, layout.turnover() * rounds)


def chance_of_loss_above(
    one_round: RoundDistribution, rounds: int, amount: int
) -> tuple[Fraction | float, float]:
    """Return the probability that the house loses more than an amount, and its error bound."""
    return chance_above(negate(one_round), rounds, amount)


@dataclass(frozen=True, slots=True)
class SafeMaximum:
    """The largest table maximum that keeps the probability of a loss within a bound.

    `maximum` is None if no maximum that was tried is small enough. `chance` is the probability at
    the maximum, `next_chance` that at the next step above, None if a higher maximum changes
    nothing. If `all_tried`, no maximum was skipped, and there is no larger safe one.
    """

    maximum: int | None
    chance: Fraction | float | None
    next_chance: Fraction | float | None
    all_tried: bool


MAX_MAXIMA_TRIED: Final = 128
"""Number of maxima up to which all are tried; of more, this many are sampled evenly."""


def safe_maximum(
    layout: Layout, rounds: int, amount: int, max_probability: Fraction, step: int | None = None
) -> SafeMaximum:
    """Return the largest maximum that bounds the probability of losing more than an amount.

    Maxima are tried in steps of a chip from the highest down, because the probability is not
    monotonic: a higher maximum can make a large loss less likely, since one box makes up for
    others. Of too many maxima, a sample is tried, and bisection finds the boundary between the last
    unsafe and the first safe one.
    """
    check_probability(max_probability)
    if amount < 0:
        raise InvalidInput(f"a loss of {amount}; give the amount that may be lost, 0 or more")
    chip = step or _common_chip(layout)
    lowest = -(-layout.limits.minimum // chip)
    maxima = range(lowest, max(-(-layout.max_box_total() // chip), lowest) + 1)

    @cache
    def chance(chips: int) -> Fraction | float:
        limits = replace(layout.limits, maximum=chips * chip)
        one_round = replace(layout, limits=limits).house_distribution()
        return chance_of_loss_above(one_round, rounds, amount)[0]

    sample = _sample(maxima)
    all_tried = len(sample) == len(maxima)
    unsafe: int | None = None
    for chips in reversed(sample):
        if chance(chips) <= max_probability:
            low, high = _bisect(chips, unsafe, lambda trial: chance(trial) <= max_probability)
            next_chance = None if high is None else chance(high)
            return SafeMaximum(low * chip, chance(low), next_chance, all_tried)
        unsafe = chips
    return SafeMaximum(None, None, chance(lowest), all_tried)


def _sample(maxima: range) -> list[int]:
    """Return all maxima, or an even sample of them that includes the first and the last."""
    if len(maxima) <= MAX_MAXIMA_TRIED:
        return list(maxima)
    last = len(maxima) - 1
    return [maxima[i * last // (MAX_MAXIMA_TRIED - 1)] for i in range(MAX_MAXIMA_TRIED)]


def _bisect(low: int, high: int | None, is_safe: Callable[[int], bool]) -> tuple[int, int | None]:
    """Return adjacent maxima, the lower safe and the higher not, between such a pair."""
    while high is not None and high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_safe(middle) else (low, middle)
    return low, high


def _common_chip(layout: Layout) -> int:
    """Return the largest chip that all stakes are multiples of."""
    if isinstance(layout, RandomLayout):
        return gcd(*(choice.stake for choice in layout.choices))
    return gcd(*layout.stakes.values())
