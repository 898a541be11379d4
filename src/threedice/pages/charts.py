"""SVG charts: house edges, distributions of results, bankroll fans and probability curves."""

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

GREY = "#6b7671"
GRID_COLOUR = "#dfe3de"
GAIN_COLOUR, LEVEL_COLOUR, LOSS_COLOUR = "#8fb8a0", "#c9cfca", "#d88a74"
_BAND_COLOURS = ("#dbe9e0", "#b7d3c2", "#8fb8a0")
_WIDTH, _LEFT, _RIGHT = 1000, 76, 44


# --- one round ----------------------------------------------------------------------------------


def edge_chart(sheet: OddsSheet) -> str:
    """Draw a bar for each family, from its lowest house edge to its highest."""
    spans = [
        (name, min(each.figures.edge for each in boxes), max(each.figures.edge for each in boxes))
        for name, boxes in sheet.families()
    ]
    left, width, row = 330, 620, 30
    highest = float(max(high for _, _, high in spans)) or 1.0
    lowest = min(float(min(low for _, low, _ in spans)), 0.0)
    scale = width / (highest - lowest)
    zero = left - lowest * scale
    height = row * len(spans) + 46
    parts = [_edge_scale(left, width, height - 30, lowest, highest)]
    for i, (name, low, high) in enumerate(spans):
        y = 8 + i * row
        parts.append(text(name, left - 12, y + 16, 13, text_anchor="end", fill=INK))
        start, end = sorted((zero, zero + float(high) * scale))
        parts.append(
            tag("rect", x=start, y=y + 3, width=max(end - start, 1.5), height=row - 12,
                fill=edge_colour(high), stroke=INK, stroke_width=0.7)
        )  # fmt: skip
        label = percent(high, 2) if low == high else f"{percent(low, 2)} to {percent(high, 2)}"
        if low != high:
            mark = zero + float(low) * scale
            parts.append(tag("line", x1=mark, x2=mark, y1=y + 3, y2=y + row - 9, stroke=INK))
        parts.append(text(label, end + 8, y + 16, 12, text_anchor="start", fill=GREY))
    return picture(left + width + 150, height, "".join(parts), "House edge by family")


def _edge_scale(left: float, width: float, bottom: float, lowest: float, highest: float) -> str:
    """Draw the scale under a bar chart, with at most eight lines."""
    step = next(
        each
        for each in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
        if (highest - lowest) / each <= 8
    )
    parts = []
    for i in range(ceil(lowest / step), int(highest / step + 1e-9) + 1):
        x = left + (i * step - lowest) * width / (highest - lowest)
        parts.append(tag("line", x1=x, x2=x, y1=4, y2=bottom, stroke="#dfe3de"))
        places = 1 if step < 0.01 else 0
        parts.append(text(f"{i * step * 100:.{places}f} %", x, bottom + 18, 11, fill=GREY))
    return "".join(parts)


def round_chart(sheet: OddsSheet) -> str:
    """Draw the distribution of the players' net result of a round, a unit on every box."""
    game = sheet.game
    mix = Mix(game, dict.fromkeys(game.payoffs, 1))
    bars = _bin_rolls(mix.distribution, 48)
    width, height, left, bottom = 1000, 250, 10, 210
    max_ways = max(ways for _, _, ways in bars)
    slot = (width - left - 10) / len(bars)
    parts = [tag("line", x1=left, x2=width - 10, y1=bottom, y2=bottom, stroke=INK)]
    for i, (low, high, ways) in enumerate(bars):
        x, bar_height = left + i * slot, ways / max_ways * 180
        gain = (low + high) / 2 > 0
        label = (
            f"net {low} to {high}: {ways} of 216 rolls"
            if low != high
            else f"net {low}: {ways} of 216 rolls"
        )
        parts.append(
            tag("rect", tag("title", label), x=x + 1, y=bottom - bar_height, width=slot - 2,
                height=bar_height, fill=LOSS_COLOUR if gain else GAIN_COLOUR, stroke=INK,
                stroke_width=0.6)
        )  # fmt: skip
        if ways:
            parts.append(text(str(ways), x + slot / 2, bottom - bar_height - 5, 11, fill=GREY))
        if i % max(1, len(bars) // 12) == 0:
            parts.append(text(str(round(low)), x + slot / 2, bottom + 18, 11, fill=GREY))
    parts.append(text(f"players' net on {mix.total} units", (left + width) / 2, 244, 12, fill=GREY))
    return picture(width, height, "".join(parts), "Distribution of one round")


def _bin_rolls(
    distribution: tuple[tuple[Fraction, int], ...], max_bars: int
) -> list[tuple[Fraction, Fraction, int]]:
    """Group results into at most `max_bars` bars of equal width: (lowest, highest, ways)."""
    if len(distribution) <= max_bars:
        return [(net, net, ways) for net, ways in distribution]
    low, high = distribution[0][0], distribution[-1][0]
    width = (high - low) / max_bars
    bars = []
    for i in range(max_bars):
        start, end = low + i * width, low + (i + 1) * width
        is_last = i == max_bars - 1
        ways = sum(n for net, n in distribution if start <= net < end or (is_last and net == end))
        bars.append((start, end, ways))
    return bars


# --- many rounds --------------------------------------------------------------------------------


Marks = list[tuple[str, float]]
"""Labels and the results at which they are drawn."""


def distribution_chart(
    results: Iterable[tuple[float, float]], marks: Marks, title: str, unit: str, bars: int = 96
) -> str:
    """Draw a distribution as bars, coloured by loss and gain, with marked results."""
    bins = _bin_results(list(results), bars)
    height, bottom, top = 340, 276, 62
    x = Scale(bins[0][0], bins[-1][1], _LEFT, _WIDTH - _RIGHT)
    max_share = max(share for *_, share in bins)
    y = Scale(0, max_share, bottom, top)
    base = tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=bottom, y2=bottom, stroke=INK)
    parts = [_x_axis(x, bottom), base]
    for low, high, share in bins:
        label = f"{format_amount(low)} to {format_amount(high)}: {share * 100:.4g} %"
        left, width = x.at(low), max(x.at(high) - x.at(low) - 0.6, 0.8)
        parts.append(
            tag("rect", tag("title", label), x=left, y=y.at(share), width=width,
                height=bottom - y.at(share), fill=_result_colour((low + high) / 2))
        )  # fmt: skip
    parts += _mark_lines(marks, x, bottom, top)
    parts.append(text(unit, (_LEFT + _WIDTH) / 2, height - 12, 12, fill=GREY))
    return picture(_WIDTH, height, "".join(parts), title)


def _result_colour(net: float) -> str:
    return LEVEL_COLOUR if abs(net) < 1e-9 else GAIN_COLOUR if net > 0 else LOSS_COLOUR


def _bin_results(
    results: list[tuple[float, float]], max_bars: int
) -> list[tuple[float, float, float]]:
    """Group results into bars of equal width without the far tails: (low, high, share)."""
    cumulative, within = 0.0, []
    total = sum(share for _, share in results)
    for net, share in results:
        cumulative += share
        if 1e-5 * total < cumulative and cumulative - share < (1 - 1e-5) * total:
            within.append((net, share))
    low, high = within[0][0], within[-1][0]
    spacing = min((b[0] - a[0] for a, b in pairwise(within)), default=1.0)
    steps = round((high - low) / spacing) + 1
    width = spacing * ceil(steps / max_bars)
    count = ceil(steps * spacing / width - 1e-9)
    shares = [0.0] * count
    for net, share in within:
        shares[int((net - low) / width + 1e-9)] += share
    start = low - spacing / 2
    return [(start + i * width, start + (i + 1) * width, share) for i, share in enumerate(shares)]


def _mark_lines(marks: Marks, x: Scale, bottom: float, top: float) -> list[str]:
    """Draw vertical lines with labels, in two rows so that neighbours do not overlap."""
    parts = []
    for i, (label, value) in enumerate(marks):
        if not x.low <= value <= x.high:
            continue
        position, row = x.at(value), top - 34 + 20 * (i % 2)
        middle = min(max(position, _LEFT + 40), _WIDTH - _RIGHT - 40)
        parts.append(
            tag("line", x1=position, x2=position, y1=row + 4, y2=bottom, stroke=INK, stroke_width=1,
                stroke_dasharray="3 3")
        )  # fmt: skip
        parts.append(text(label, middle, row, 12, fill=INK))
    return parts


def fan_chart(
    fan: Sequence[tuple[int, Sequence[float]]], start: float, title: str, unit: str
) -> str:
    """Draw the bankroll by round as nested bands of quantiles around the median."""
    height, bottom, top = 380, 320, 20
    high = max(max(bands) for _, bands in fan)
    x = Scale(fan[0][0], fan[-1][0], _LEFT, _WIDTH - _RIGHT)
    y = Scale(0, max(high, start) * 1.04, bottom, top)
    parts = [_y_axis(y), _x_axis(x, bottom)]
    count = len(fan[0][1])
    for band in range(count // 2):
        upper = [(x.at(number), y.at(bands[count - 1 - band])) for number, bands in fan]
        lower = [(x.at(number), y.at(bands[band])) for number, bands in reversed(fan)]
        parts.append(tag("polygon", points=_points([*upper, *lower]), fill=_BAND_COLOURS[band % 3]))
    middle = [(x.at(number), y.at(bands[count // 2])) for number, bands in fan]
    parts.append(tag("polyline", points=_points(middle), fill="none", stroke=INK, stroke_width=2))
    parts.append(
        tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y.at(start), y2=y.at(start), stroke=INK,
            stroke_dasharray="3 4", stroke_width=0.8)
    )  # fmt: skip
    parts.append(text(unit, (_LEFT + _WIDTH) / 2, height - 12, 12, fill=GREY))
    return picture(_WIDTH, height, "".join(parts), title)


def curve_chart(values: Sequence[float], title: str, unit: str) -> str:
    """Draw a probability by round, rising from zero, as a filled curve."""
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


# --- axes ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear scale: numbers from `low` to `high`, drawn from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the position of a number."""
        span = (self.high - self.low) or 1.0
        return self.start + (value - self.low) / span * (self.end - self.start)

    def ticks(self, max_steps: int) -> list[float]:
        """Return round numbers along the scale, at intervals of at least 1/`max_steps` of it."""
        step = _round_step((self.high - self.low) / max_steps)
        return [i * step for i in range(ceil(self.low / step), floor(self.high / step) + 1)]


def _round_step(minimum: float) -> float:
    """Return the smallest of 1, 2, 5, 10, ... that is at least the given number."""
    power = 10.0 ** floor(log10(minimum)) if minimum > 0 else 1.0
    return next(power * each for each in (1, 2, 5, 10) if power * each >= minimum * (1 - 1e-9))


def _x_axis(x: Scale, bottom: float) -> str:
    """Draw the numbers of a scale along the bottom."""
    return "".join(
        tag("line", x1=x.at(each), x2=x.at(each), y1=bottom, y2=bottom + 5, stroke=INK)
        + text(format_amount(each), x.at(each), bottom + 20, 12, fill=GREY)
        for each in x.ticks(6)
    )


def _y_axis(y: Scale, suffix: str = "") -> str:
    """Draw the numbers of a scale along the left, with grid lines."""
    parts = []
    for each in y.ticks(6):
        position = y.at(each)
        parts.append(
            tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=position, y2=position, stroke=GRID_COLOUR)
        )
        parts.append(
            text(f"{each:,.10g}{suffix}", _LEFT - 8, position + 4, 12, text_anchor="end", fill=GREY)
        )
    return "".join(parts)


def _points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
