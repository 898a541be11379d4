"""The charts of an odds sheet: house edge by family, and the distribution of one round."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from threedice.maths import Mix, Sheet, percent
from threedice.pages.felt import INK, tint
from threedice.pages.svg import picture, tag, text

if TYPE_CHECKING:
    from fractions import Fraction

_GREY = "#6b7671"


def edge_chart(sheet: Sheet) -> str:
    """Return a bar for each family, from its lowest house edge to its highest."""
    spans = [
        (name, min(each.figures.edge for each in boxes), max(each.figures.edge for each in boxes))
        for name, boxes in sheet.families()
    ]
    left, width, row = 330, 620, 30
    most = float(max(high for _, _, high in spans)) or 1.0
    least = min(float(min(low for _, low, _ in spans)), 0.0)
    scale = width / (most - least)
    zero = left - least * scale
    height = row * len(spans) + 46
    parts = [_grid(left, width, height - 30, least, most)]
    for i, (name, low, high) in enumerate(spans):
        y = 8 + i * row
        parts.append(text(name, left - 12, y + 16, 13, text_anchor="end", fill=INK))
        start, end = sorted((zero, zero + float(high) * scale))
        parts.append(
            tag("rect", x=start, y=y + 3, width=max(end - start, 1.5), height=row - 12,
                fill=tint(high), stroke=INK, stroke_width=0.7)
        )  # fmt: skip
        told = percent(high, 2) if low == high else f"{percent(low, 2)} to {percent(high, 2)}"
        if low != high:
            mark = zero + float(low) * scale
            parts.append(tag("line", x1=mark, x2=mark, y1=y + 3, y2=y + row - 9, stroke=INK))
        parts.append(text(told, end + 8, y + 16, 12, text_anchor="start", fill=_GREY))
    return picture(left + width + 150, height, "".join(parts), "House edge by family")


def _grid(left: float, width: float, bottom: float, least: float, most: float) -> str:
    """Draw the scale under a bar chart, in steps that come to at most eight lines."""
    step = next(
        each for each in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if (most - least) / each <= 8
    )
    parts = []
    for i in range(ceil(least / step), int(most / step + 1e-9) + 1):
        x = left + (i * step - least) * width / (most - least)
        parts.append(tag("line", x1=x, x2=x, y1=4, y2=bottom, stroke="#dfe3de"))
        places = 1 if step < 0.01 else 0
        parts.append(text(f"{i * step * 100:.{places}f} %", x, bottom + 18, 11, fill=_GREY))
    return "".join(parts)


def round_chart(sheet: Sheet) -> str:
    """Return the distribution of the players' net in one round, a unit on every box."""
    game = sheet.game
    mix = Mix(game, dict.fromkeys(game.payoffs, 1))
    bars = _binned(mix.distribution, 48)
    width, height, left, bottom = 1000, 250, 10, 210
    most = max(ways for _, _, ways in bars)
    slot = (width - left - 10) / len(bars)
    parts = [tag("line", x1=left, x2=width - 10, y1=bottom, y2=bottom, stroke=INK)]
    for i, (low, high, ways) in enumerate(bars):
        x, tall = left + i * slot, ways / most * 180
        gain = (low + high) / 2 > 0
        told = (
            f"net {low} to {high}: {ways} of 216 rolls"
            if low != high
            else f"net {low}: {ways} of 216 rolls"
        )
        parts.append(
            tag("rect", tag("title", told), x=x + 1, y=bottom - tall, width=slot - 2, height=tall,
                fill="#d88a74" if gain else "#8fb8a0", stroke=INK, stroke_width=0.6)
        )  # fmt: skip
        if ways:
            parts.append(text(str(ways), x + slot / 2, bottom - tall - 5, 11, fill=_GREY))
        if i % max(1, len(bars) // 12) == 0:
            parts.append(text(str(round(low)), x + slot / 2, bottom + 18, 11, fill=_GREY))
    parts.append(
        text(f"players' net on {mix.total} units", (left + width) / 2, 244, 12, fill=_GREY)
    )
    return picture(width, height, "".join(parts), "Distribution of one round")


def _binned(
    distribution: tuple[tuple[Fraction, int], ...], most: int
) -> list[tuple[Fraction, Fraction, int]]:
    """Gather results into at most so many bars of equal breadth: (lowest, highest, ways)."""
    if len(distribution) <= most:
        return [(net, net, ways) for net, ways in distribution]
    low, high = distribution[0][0], distribution[-1][0]
    breadth = (high - low) / most
    bars = []
    for i in range(most):
        start, end = low + i * breadth, low + (i + 1) * breadth
        last = i == most - 1
        ways = sum(n for net, n in distribution if start <= net < end or (last and net == end))
        bars.append((start, end, ways))
    return bars
