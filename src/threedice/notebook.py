"""HTML for notebooks: a small table, and a bar chart of a distribution."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_CELL = "text-align:right;padding:1px 10px"


def html_table(title: str, rows: Iterable[Sequence[str]], columns: Sequence[str] = ()) -> str:
    """Return an HTML table; all text is escaped."""
    head = "".join(f"<th style='{_CELL}'>{escape(column)}</th>" for column in columns)
    body = "".join(
        f"<tr>{''.join(f'<td style={_CELL!r}>{escape(cell)}</td>' for cell in row)}</tr>"
        for row in rows
    )
    return (
        f"<table><caption style='text-align:left'>{escape(title)}</caption>"
        f"{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"
    )


def html_bars(results: Sequence[tuple[float, float]], bars: int = 60) -> str:
    """Return a bar chart of (net, probability) pairs as SVG: losses red, gains green.

    >>> html_bars([(-1.0, 0.5), (1.0, 0.5)], 2).count("<rect")
    2
    """
    low, high = results[0][0], results[-1][0]
    bin_width = (high - low) / bars or 1.0
    heights = [0.0] * bars
    for net, probability in results:
        heights[min(int((net - low) / bin_width), bars - 1)] += probability
    highest = max(heights)
    rectangles = "".join(
        f"<rect x='{i * 6}' y='{80 - height / highest * 78:.1f}' width='5' "
        f"height='{height / highest * 78:.1f}' fill='{_colour(low + (i + 0.5) * bin_width)}'/>"
        for i, height in enumerate(heights)
        if height
    )
    return f"<svg width='{bars * 6}' height='82' role='img'>{rectangles}</svg>"


def _colour(net: float) -> str:
    return "#8fb8a0" if net > 0 else "#d88a74"
