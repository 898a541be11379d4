"""SVG charts: house edges, distributions of results, bankroll fans and probability curves."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10
from typing import TYPE_CHECKING

from threedice.odds import Mix, OddsSheet, percent
from threedice.pages.felt import edge_colour
from threedice.pages.numbers import format_amount
from threedice.svg import INK, picture, tag, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

GREY = "#6b7671"
GRID_COLOUR = "#dfe3de"
GAIN_COLOUR, LEVEL_COLOUR, LOSS_COLOUR = "#8fb8a0", "#c9cfca", "#d88a74"
_BAND_COLOURS = ("#dbe9e0", "#b7d3c2", "#8fb8a0")
_WIDTH, _LEFT, _RIGHT = 1000, 76, 956
MAX_BARS = 96
"""Maximum number of bars of a distribution."""

Marks = list[tuple[str, float]]
"""Labels and the results at which they are drawn."""


# --- one round ----------------------------------------------------------------------------------


def edge_chart(sheet: OddsSheet) -> str:
    """Draw a bar for each family, from its lowest house edge to its highest."""
    spans = [
        (name, min(each.figures.edge for each in boxes), max(each.figures.edge for each in boxes))
        for name, boxes in sheet.families()
    ]
    left, right, row = 330, 950, 30
    bottom = row * len(spans) + 16
    lowest, highest = min(low for _, low, _ in spans), max(high for *_, high in spans)
    x = Scale(min(float(lowest), 0.0), float(highest) or 1.0, left, right)
    parts = []
    for tick in x.ticks(8):
        parts.append(_line(x.at(tick), x.at(tick), 4, bottom, GRID_COLOUR))
        parts.append(text(f"{tick * 100:.4g} %", x.at(tick), bottom + 18, 11, fill=GREY))
    for i, (name, low, high) in enumerate(spans):
        y = 8 + i * row
        start, end = sorted((x.at(0), x.at(float(high))))
        parts.append(text(name, left - 12, y + 16, 13, text_anchor="end", fill=INK))
        parts.append(
            tag("rect", x=start, y=y + 3, width=max(end - start, 1.5), height=row - 12,
                fill=edge_colour(high), stroke=INK, stroke_width=0.7)
        )  # fmt: skip
        label = percent(high, 2)
        if low != high:
            label = f"{percent(low, 2)} to {label}"
            parts.append(_line(x.at(float(low)), x.at(float(low)), y + 3, y + row - 9, INK))
        parts.append(text(label, end + 8, y + 16, 12, text_anchor="start", fill=GREY))
    return picture(right + 150, bottom + 30, "".join(parts), "House edge by family")


def round_chart(sheet: OddsSheet) -> str:
    """Draw a bar for each net result of the players in a round with a unit on every box."""
    mix = Mix(sheet.game, dict.fromkeys(sheet.game.payoffs, 1))
    height, bottom, left, right = 260, 210, 10, 990
    slot = (right - left) / len(mix.distribution)
    y = Scale(0, max(ways for _, ways in mix.distribution), bottom, 30)
    parts = [_line(left, right, bottom, bottom, INK)]
    for i, (net, ways) in enumerate(mix.distribution):
        x = left + i * slot
        parts.append(
            tag("rect", tag("title", f"net {net}: {ways} of 216 rolls"), x=x + 1, y=y.at(ways),
                width=slot - 2, height=bottom - y.at(ways), fill=_result_colour(float(net)),
                stroke=INK, stroke_width=0.6)
        )  # fmt: skip
        parts.append(text(str(ways), x + slot / 2, y.at(ways) - 5, 11, fill=GREY))
        if i % max(1, len(mix.distribution) // 12) == 0:
            parts.append(text(format_amount(net), x + slot / 2, bottom + 18, 11, fill=GREY))
    unit = f"players' net on {mix.total} units"
    return _picture(height, parts, "Distribution of one round", unit)


# --- many rounds --------------------------------------------------------------------------------


def distribution_chart(
    results: Iterable[tuple[float, float]], marks: Marks, title: str, unit: str
) -> str:
    """Draw a distribution as bars, coloured by loss and gain, with marked results."""
    bins = _bin_results(list(results))
    height, bottom, top = 340, 276, 62
    x = Scale(bins[0][0], bins[-1][1], _LEFT, _RIGHT)
    y = Scale(0, max(share for *_, share in bins), bottom, top)
    parts = [_x_axis(x, bottom), _line(_LEFT, _RIGHT, bottom, bottom, INK)]
    for low, high, share in bins:
        label = f"{format_amount(low)} to {format_amount(high)}: {share * 100:.4g} %"
        left, width = x.at(low), max(x.at(high) - x.at(low) - 0.6, 0.8)
        parts.append(
            tag("rect", tag("title", label), x=left, y=y.at(share), width=width,
                height=bottom - y.at(share), fill=_result_colour((low + high) / 2))
        )  # fmt: skip
    return _picture(height, [*parts, *_mark_lines(marks, x, bottom, top)], title, unit)


def _result_colour(net: float) -> str:
    return LEVEL_COLOUR if abs(net) < 1e-9 else GAIN_COLOUR if net > 0 else LOSS_COLOUR


def _bin_results(results: list[tuple[float, float]]) -> list[tuple[float, float, float]]:
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
    width = spacing * ceil(steps / MAX_BARS)
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
        if x.low <= value <= x.high:
            position, row = x.at(value), top - 34 + 20 * (i % 2)
            middle = min(max(position, _LEFT + 40), _RIGHT - 40)
            parts.append(
                _line(position, position, row + 4, bottom, INK, stroke_dasharray="3 3")
                + text(label, middle, row, 12, fill=INK)
            )
    return parts


def fan_chart(
    fan: Sequence[tuple[int, Sequence[float]]], start: float, title: str, unit: str
) -> str:
    """Draw the bankroll by round as nested bands of quantiles around the median."""
    height, bottom, top = 380, 320, 20
    high = max(max(bands) for _, bands in fan)
    x = Scale(fan[0][0], fan[-1][0], _LEFT, _RIGHT)
    y = Scale(0, max(high, start) * 1.04, bottom, top)
    parts = [_y_axis(y), _x_axis(x, bottom)]
    count = len(fan[0][1])
    for band in range(count // 2):
        upper = [(x.at(number), y.at(bands[count - 1 - band])) for number, bands in fan]
        lower = [(x.at(number), y.at(bands[band])) for number, bands in reversed(fan)]
        parts.append(tag("polygon", points=_points([*upper, *lower]), fill=_BAND_COLOURS[band % 3]))
    middle = [(x.at(number), y.at(bands[count // 2])) for number, bands in fan]
    parts += [
        tag("polyline", points=_points(middle), fill="none", stroke=INK, stroke_width=2),
        _line(_LEFT, _RIGHT, y.at(start), y.at(start), INK, stroke_dasharray="3 4"),
    ]
    return _picture(height, parts, title, unit)


def curve_chart(values: Sequence[float], title: str, unit: str) -> str:
    """Draw a probability by round, rising from zero, as a filled curve."""
    height, bottom, top = 260, 206, 16
    x = Scale(0, max(len(values) - 1, 1), _LEFT, _RIGHT)
    y = Scale(0, max(*values, 1e-12) * 1.08 * 100, bottom, top)
    line = [(x.at(i), y.at(value * 100)) for i, value in enumerate(values)]
    area = [(x.at(0), bottom), *line, (line[-1][0], bottom)]
    parts = [
        _y_axis(y, " %"),
        _x_axis(x, bottom),
        tag("polygon", points=_points(area), fill="#f0d3c8"),
        tag("polyline", points=_points(line), fill="none", stroke="#a5402a", stroke_width=2),
    ]
    return _picture(height, parts, title, unit)


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
        _line(x.at(each), x.at(each), bottom, bottom + 5, INK)
        + text(format_amount(each), x.at(each), bottom + 20, 12, fill=GREY)
        for each in x.ticks(6)
    )


def _y_axis(y: Scale, suffix: str = "") -> str:
    """Draw the numbers of a scale along the left, with grid lines."""
    return "".join(
        _line(_LEFT, _RIGHT, y.at(each), y.at(each), GRID_COLOUR)
        + text(f"{each:,.10g}{suffix}", _LEFT - 8, y.at(each) + 4, 12, text_anchor="end", fill=GREY)
        for each in y.ticks(6)
    )


def _line(x1: float, x2: float, y1: float, y2: float, stroke: str, **style: str) -> str:
    return tag("line", x1=x1, x2=x2, y1=y1, y2=y2, stroke=stroke, **style)


def _points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _picture(height: float, parts: list[str], title: str, unit: str) -> str:
    """Return a chart with the unit of its horizontal axis below it."""
    caption = text(unit, (_LEFT + _WIDTH) / 2, height - 12, 12, fill=GREY)
    return picture(_WIDTH, height, "".join([*parts, caption]), title)
