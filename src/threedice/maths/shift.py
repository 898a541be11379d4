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
from threedice.maths.crowd import Crowd, FixedLayout
from threedice.maths.laws import against
from threedice.maths.longrun import LongRun, Method, chance_above, long_run
from threedice.maths.notebook import html_bars, html_table
from threedice.maths.rounds import check_share

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from threedice.maths.laws import Law

Layout = FixedLayout | Crowd


@dataclass(frozen=True)
class Period:
    """A stretch of time at a table: the house's win, and what was staked for it on average."""

    name: str
    rounds: int
    win: LongRun
    turnover: Fraction

    @cached_property
    def losing(self) -> Fraction | float:
        """The probability that the house loses, to many digits however small it is."""
        return chance_of_losing(self.win.law, self.rounds, 0)[0]

    @property
    def mean_hold(self) -> Fraction:
        """The expected win as a share of what is staked."""
        return self.win.mean / self.turnover

    def hold(self, share: Fraction) -> Fraction:
        """Return a quantile of the win as a share of what is staked on average."""
        return self.win.quantile(share) / self.turnover

    def worst_roll(self, share: Fraction) -> Fraction:
        """Return what the period's worst roll undercuts or reaches with this probability."""
        check_share(share)
        # All rounds stay above x with probability (1 - F(x))^n.
        enough = -expm1(log1p(-float(share)) / self.rounds) if share < 1 else inf
        results = list(self.win.law.results())
        sums = accumulate(float(chance) for _, chance in results)
        pairs = zip(results, sums, strict=True)
        return next((net for (net, _), below in pairs if below >= enough), results[-1][0])

    def _repr_html_(self) -> str:
        rows = [
            ("staked on average", f"{float(self.turnover):,.2f}"),
            ("expected win", f"{float(self.win.mean):,.2f}"),
            ("expected hold of stakes", f"{float(self.mean_hold):.6f}"),
            ("house loses", f"{float(self.losing):.6g}"),
        ]
        title = f"the house's win of one {self.name}, {self.rounds:,} rounds"
        return html_table(title, rows) + html_bars(self.win.plain())


def period(layout: Layout, name: str, rounds: int, method: Method | None = None) -> Period:
    """Return the house's win over so many rounds of a layout."""
    win = long_run(layout.house_law(), rounds, method)
    return Period(name, rounds, win, layout.turnover() * rounds)


def chance_of_losing(law: Law, rounds: int, amount: int) -> tuple[Fraction | float, float]:
    """Return the probability that the house loses more than an amount, and the error of it."""
    return chance_above(against(law), rounds, amount)


@dataclass(frozen=True, slots=True)
class SafeMaximum:
    """The largest table maximum that keeps a loss unlikely enough, with both chances.

    `maximum` is None where none of those tried is small enough; `next` is the chance at the step
    above, None where a higher maximum changes nothing any more. `all_tried` says that no maximum
    was passed over, so that there is no larger one.
    """

    maximum: int | None
    chance: Fraction | float | None
    next: Fraction | float | None
    all_tried: bool


MOST_TRIED: Final = 128
"""How many maxima are looked at one by one; where there are more, so many spread over them."""


def safe_maximum(
    layout: Layout, rounds: int, amount: int, share: Fraction, step: int | None = None
) -> SafeMaximum:
    """Return the largest maximum under which losing more than an amount is at most this likely.

    Maxima are tried in steps of a chip from the highest down, since a higher one can make a large
    loss less likely: it lets one box make up for others. Where there are too many, some are tried,
    and between the last that is not safe and the first that is, halving finds where that changes.
    """
    check_share(share)
    if amount < 0:
        raise InvalidInput(f"a loss of {amount}; give the amount that may be lost, nought or more")
    chip = step or _chip(layout)
    least = -(-layout.limits.minimum // chip)
    maxima = range(least, max(-(-layout.heaviest() // chip), least) + 1)

    @cache
    def chance(chips: int) -> Fraction | float:
        limits = replace(layout.limits, maximum=chips * chip)
        law = replace(layout, limits=limits).house_law()
        return chance_of_losing(law, rounds, amount)[0]

    tried = _spread(maxima)
    all_tried = len(tried) == len(maxima)
    above: int | None = None
    for chips in reversed(tried):
        if chance(chips) <= share:
            low, high = _narrowed(chips, above, lambda each: chance(each) <= share)
            after = None if high is None else chance(high)
            return SafeMaximum(low * chip, chance(low), after, all_tried)
        above = chips
    return SafeMaximum(None, None, chance(least), all_tried)


def _spread(maxima: range) -> list[int]:
    """Return all of the maxima, or some from the first to the last."""
    if len(maxima) <= MOST_TRIED:
        return list(maxima)
    last = len(maxima) - 1
    return [maxima[place * last // (MOST_TRIED - 1)] for place in range(MOST_TRIED)]


def _narrowed(low: int, high: int | None, is_safe: Callable[[int], bool]) -> tuple[int, int | None]:
    """Return a safe maximum and the next, which is not, between one that is and one that is not."""
    while high is not None and high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_safe(middle) else (low, middle)
    return low, high


def _chip(layout: Layout) -> int:
    """Return the chip that all stakes can be made of."""
    if isinstance(layout, Crowd):
        return gcd(*(each.stake for each in layout.habits))
    return gcd(*layout.stakes.values())
