"""What studies share: sums by name, quantiles of counts, and estimates in words."""

from __future__ import annotations

from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Final

from threedice.errors import InvalidInput
from threedice.sim.kernel import SUMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from threedice.sim.estimates import Estimate
    from threedice.sim.places import Counted

BANDS: Final = tuple(Fraction(each, 100) for each in (1, 5, 25, 50, 75, 95, 99))
"""The quantiles of the bankroll that a fan shows, as in exact sessions."""


class Sums:
    """The sums of some sessions by name, halves put together."""

    def __init__(self, row: Sequence[int]) -> None:
        self._by_name = {name: int(each) for name, each in zip(SUMS, row, strict=True)}

    def of(self, name: str) -> int:
        """Return a sum."""
        if f"{name}_low" in self._by_name:
            return self._by_name[f"{name}_low"] + (self._by_name[f"{name}_high"] << 32)
        return self._by_name[name]


def quantiles(amounts: Sequence[Counted], shares: Iterable[Fraction]) -> tuple[Counted, ...]:
    """Return where the amounts lie not exceeded with at least these probabilities, which must rise.

    >>> from threedice.sim.places import Counted
    >>> amounts = [Counted(0, 0, 5), Counted(10, 19, 4), Counted(20, 20, 1)]
    >>> [each.low for each in quantiles(amounts, (Fraction(1, 2), Fraction(9, 10), Fraction(1)))]
    [0, 10, 20]
    """
    if not amounts:
        raise InvalidInput("nothing has been played yet, so there is nothing to tell")
    whole = sum(each.times for each in amounts)
    found, place, so_far = [], 0, amounts[0].times
    for share in shares:
        while so_far < share * whole and place < len(amounts) - 1:
            place += 1
            so_far += amounts[place].times
        found.append(amounts[place])
    return tuple(found)


def span(amounts: Counted) -> str:
    """Return an amount in words, or between which two it lies.

    >>> from threedice.sim.places import Counted
    >>> span(Counted(1000, 1000, 7)), span(Counted(-1999, -1984, 7))
    ('1,000', '-1,999 to -1,984')
    """
    low, high, _ = amounts
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def told(estimate: Estimate, places: int) -> str:
    """Return an estimate in words: the value and its 95 % interval.

    >>> from threedice.sim.estimates import Estimate
    >>> told(Estimate(0.5, 0.01, 0.48, 0.52), 3)
    '0.500 (0.480 to 0.520)'
    """
    value, low, high = (
        f"{each:,.{places}f}" for each in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} ({low} to {high})"


def html_table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """Return a small table for a notebook."""
    body = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(value)}</td></tr>"
        for name, value in rows
    )
    return f"<table><caption>{escape(title)}; 95 % intervals</caption>{body}</table>"
