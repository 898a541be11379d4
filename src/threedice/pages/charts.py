"""SVG charts: house edges, distributions, bankroll fans and probability curves.

The charts of an odds sheet: house edge by family, and the distribution of one round.

Pictures of many rounds: a distribution with its quantiles, a fan of bankrolls, a curve.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10
from typing import TYPE_CHECKING

from threedice.odds import Mix, OddsSheet, percent
from threedice.pages.felt import INK, edge_colour
from threedice.pages.markup import format_amount, picture, tag, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction


_GREY = "#6b7671"


def edge_chart(sheet: OddsSheet) -> str:
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
    parts = [_edge_scale(left, width, height - 30, least, most)]
    for i, (name, low, high) in enumerate(spans):
        y = 8 + i * row
        parts.append(text(name, left - 12, y + 16, 13, text_anchor="end", fill=INK))
        start, end = sorted((zero, zero + float(high) * scale))
        parts.append(
            tag("rect", x=start, y=y + 3, width=max(end - start, 1.5), height=row - 12,
                fill=edge_colour(high), stroke=INK, stroke_width=0.7)
        )  # fmt: skip
        told = percent(high, 2) if low == high else f"{percent(low, 2)} to {percent(high, 2)}"
        if low != high:
            mark = zero + float(low) * scale
            parts.append(tag("line", x1=mark, x2=mark, y1=y + 3, y2=y + row - 9, stroke=INK))
        parts.append(text(told, end + 8, y + 16, 12, text_anchor="start", fill=_GREY))
    return picture(left + width + 150, height, "".join(parts), "House edge by family")


def _edge_scale(left: float, width: float, bottom: float, least: float, most: float) -> str:
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


def round_chart(sheet: OddsSheet) -> str:
    """Return the distribution of the players' net in one round, a unit on every box."""
    game = sheet.game
    mix = Mix(game, dict.fromkeys(game.payoffs, 1))
    bars = _bin_rolls(mix.distribution, 48)
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


def _bin_rolls(
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


GREY = "#6b7671"


GRID_COLOUR = "#dfe3de"


GAIN_COLOUR, LEVEL_COLOUR, LOSS_COLOUR = "#8fb8a0", "#c9cfca", "#d88a74"


_BAND_COLOURS = ("#dbe9e0", "#b7d3c2", "#8fb8a0")


_WIDTH, _LEFT, _RIGHT = 1000, 76, 44


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers from `low` to `high`, drawn from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return where a number is drawn."""
        span = (self.high - self.low) or 1.0
        return self.start + (value - self.low) / span * (self.end - self.start)

    def ticks(self, most: int) -> list[float]:
        """Return round numbers along the scale, at most so many."""
        step = _round_step((self.high - self.low) / most)
        return [i * step for i in range(ceil(self.low / step), floor(self.high / step) + 1)]


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2, 5, 10, ... that is no less."""
    power = 10.0 ** floor(log10(least)) if least > 0 else 1.0
    return next(power * each for each in (1, 2, 5, 10) if power * each >= least * (1 - 1e-9))


Marks = list[tuple[str, float]]
"""Words and the result they stand at."""


def distribution_chart(
    results: Iterable[tuple[float, float]], marks: Marks, title: str, unit: str, bars: int = 96
) -> str:
    """Return a distribution as bars, losses and gains in their colours, with marked results."""
    shown = _bin_results(list(results), bars)
    height, bottom, top = 340, 276, 62
    x = Scale(shown[0][0], shown[-1][1], _LEFT, _WIDTH - _RIGHT)
    most = max(share for *_, share in shown)
    y = Scale(0, most, bottom, top)
    parts = [_x_axis(x, bottom), tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=bottom, y2=bottom,
                                    stroke=INK)]  # fmt: skip
    for low, high, share in shown:
        told = f"{format_amount(low)} to {format_amount(high)}: {share * 100:.4g} %"
        left, wide = x.at(low), max(x.at(high) - x.at(low) - 0.6, 0.8)
        parts.append(
            tag("rect", tag("title", told), x=left, y=y.at(share), width=wide,
                height=bottom - y.at(share), fill=_result_colour((low + high) / 2))
        )  # fmt: skip
    parts += _mark_lines(marks, x, bottom, top)
    parts.append(text(unit, (_LEFT + _WIDTH) / 2, height - 12, 12, fill=GREY))
    return picture(_WIDTH, height, "".join(parts), title)


def _result_colour(net: float) -> str:
    return LEVEL_COLOUR if abs(net) < 1e-9 else GAIN_COLOUR if net > 0 else LOSS_COLOUR


def _bin_results(results: list[tuple[float, float]], most: int) -> list[tuple[float, float, float]]:
    """Gather results into bars of equal breadth, leaving the far tails out: (low, high, share)."""
    so_far, kept = 0.0, []
    whole = sum(share for _, share in results)
    for net, share in results:
        so_far += share
        if 1e-5 * whole < so_far and so_far - share < (1 - 1e-5) * whole:
            kept.append((net, share))
    low, high = kept[0][0], kept[-1][0]
    apart = min((b[0] - a[0] for a, b in pairwise(kept)), default=1.0)
    steps = round((high - low) / apart) + 1
    breadth = apart * ceil(steps / most)
    count = ceil(steps * apart / breadth - 1e-9)
    shares = [0.0] * count
    for net, share in kept:
        shares[int((net - low) / breadth + 1e-9)] += share
    start = low - apart / 2
    return [
        (start + i * breadth, start + (i + 1) * breadth, share) for i, share in enumerate(shares)
    ]


def _x_axis(x: Scale, bottom: float) -> str:
    """Draw the numbers of a scale along the bottom."""
    return "".join(
        tag("line", x1=x.at(each), x2=x.at(each), y1=bottom, y2=bottom + 5, stroke=INK)
        + text(format_amount(each), x.at(each), bottom + 20, 12, fill=GREY)
        for each in x.ticks(6)
    )


def _mark_lines(marks: Marks, x: Scale, bottom: float, top: float) -> list[str]:
    """Draw upright lines with their words, on two rows so that neighbours stay apart."""
    parts = []
    for i, (words, value) in enumerate(marks):
        if not x.low <= value <= x.high:
            continue
        at, row = x.at(value), top - 34 + 20 * (i % 2)
        middle = min(max(at, _LEFT + 40), _WIDTH - _RIGHT - 40)
        parts.append(
            tag("line", x1=at, x2=at, y1=row + 4, y2=bottom, stroke=INK, stroke_width=1,
                stroke_dasharray="3 3")
        )  # fmt: skip
        parts.append(text(words, middle, row, 12, fill=INK))
    return parts


def fan_chart(
    fan: Sequence[tuple[int, Sequence[float]]], start: float, title: str, unit: str
) -> str:
    """Return the bankroll by round as nested bands of quantiles around the median."""
    height, bottom, top = 380, 320, 20
    high = max(max(bands) for _, bands in fan)
    x = Scale(fan[0][0], fan[-1][0], _LEFT, _WIDTH - _RIGHT)
    y = Scale(0, max(high, start) * 1.04, bottom, top)
    parts = [_y_axis(y), _x_axis(x, bottom)]
    count = len(fan[0][1])
    for band in range(count // 2):
        upper = [(x.at(when), y.at(bands[count - 1 - band])) for when, bands in fan]
        lower = [(x.at(when), y.at(bands[band])) for when, bands in reversed(fan)]
        parts.append(tag("polygon", points=_points([*upper, *lower]), fill=_BAND_COLOURS[band % 3]))
    middle = [(x.at(when), y.at(bands[count // 2])) for when, bands in fan]
    parts.append(tag("polyline", points=_points(middle), fill="none", stroke=INK, stroke_width=2))
    parts.append(
        tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y.at(start), y2=y.at(start), stroke=INK,
            stroke_dasharray="3 4", stroke_width=0.8)
    )  # fmt: skip
    parts.append(text(unit, (_LEFT + _WIDTH) / 2, height - 12, 12, fill=GREY))
    return picture(_WIDTH, height, "".join(parts), title)


def curve_chart(values: Sequence[float], title: str, unit: str) -> str:
    """Return a probability that grows by round, from nought at the start, as a filled curve."""
    height, bottom, top = 260, 206, 16
    x = Scale(0, max(len(values) - 1, 1), _LEFT, _WIDTH - _RIGHT)
    y = Scale(0, max(*values, 1e-12) * 1.08 * 100, bottom, top)
    parts = [_y_axis(y, " %"), _x_axis(x, bottom)]
    line = [(x.at(i), y.at(value * 100)) for i, value in enumerate(values)]
    area = [(x.at(0), bottom), *line, (line[-1][0], bottom)]
    parts.append(tag("polygon", points=_points(area), fill="#f0d3c8"))
    parts.append(
        tag("polyline", points=_points(line), fill="none", stroke="#a5402a", stroke_width=2)
    )
    parts.append(text(unit, (_LEFT + _WIDTH) / 2, height - 12, 12, fill=GREY))
    return picture(_WIDTH, height, "".join(parts), title)


def _y_axis(y: Scale, after: str = "") -> str:
    """Draw the numbers of a scale along the left, with lines across."""
    parts = []
    for each in y.ticks(6):
        at = y.at(each)
        parts.append(tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=at, y2=at, stroke=GRID_COLOUR))
        parts.append(
            text(f"{each:,.10g}{after}", _LEFT - 8, at + 4, 12, text_anchor="end", fill=GREY)
        )
    return "".join(parts)


def _points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
