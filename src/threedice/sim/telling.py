"""What studies share: sums by name, quantiles of counts, and estimates in words."""

from __future__ import annotations

from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any, Final

from threedice.errors import InvalidInput
from threedice.sim.kernel import SUMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from threedice.sim.estimates import Estimate

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


def amounts_of(counts: Any, width: int) -> tuple[tuple[int, int], ...]:
    """Return the amounts that were counted at all, each with its count."""
    (places,) = counts.nonzero()
    return tuple((int(place) * width, int(counts[place])) for place in places)


def quantiles(amounts: Sequence[tuple[int, int]], shares: Iterable[Fraction]) -> tuple[int, ...]:
    """Return the amounts not exceeded with at least these probabilities, which must rise.

    >>> quantiles([(0, 5), (10, 4), (20, 1)], (Fraction(1, 2), Fraction(9, 10), Fraction(1)))
    (0, 10, 20)
    """
    if not amounts:
        raise InvalidInput("nothing has been played yet, so there is nothing to tell")
    whole = sum(count for _, count in amounts)
    found, place, so_far = [], 0, amounts[0][1]
    for share in shares:
        while so_far < share * whole and place < len(amounts) - 1:
            place += 1
            so_far += amounts[place][1]
        found.append(amounts[place][0])
    return tuple(found)


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
