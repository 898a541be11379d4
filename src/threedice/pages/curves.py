"""Pictures of many rounds: a distribution with its quantiles, a fan of bankrolls, a curve."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10
from typing import TYPE_CHECKING

from threedice.pages.felt import INK
from threedice.pages.frame import amount
from threedice.pages.svg import picture, tag, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

GREY = "#6b7671"
LINE = "#dfe3de"
GAIN, LEVEL, LOSS = "#8fb8a0", "#c9cfca", "#d88a74"
_BANDS = ("#dbe9e0", "#b7d3c2", "#8fb8a0")
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
    shown = _binned(list(results), bars)
    height, bottom, top = 340, 276, 62
    x = Scale(shown[0][0], shown[-1][1], _LEFT, _WIDTH - _RIGHT)
    most = max(share for *_, share in shown)
    y = Scale(0, most, bottom, top)
    parts = [_below(x, bottom), tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=bottom, y2=bottom,
                                    stroke=INK)]  # fmt: skip
    for low, high, share in shown:
        told = f"{amount(low)} to {amount(high)}: {share * 100:.4g} %"
        left, wide = x.at(low), max(x.at(high) - x.at(low) - 0.6, 0.8)
        parts.append(
            tag("rect", tag("title", told), x=left, y=y.at(share), width=wide,
                height=bottom - y.at(share), fill=_colour((low + high) / 2))
        )  # fmt: skip
    parts += _marked(marks, x, bottom, top)
    parts.append(text(unit, (_LEFT + _WIDTH) / 2, height - 12, 12, fill=GREY))
    return picture(_WIDTH, height, "".join(parts), title)


def _colour(net: float) -> str:
    return LEVEL if abs(net) < 1e-9 else GAIN if net > 0 else LOSS


def _binned(results: list[tuple[float, float]], most: int) -> list[tuple[float, float, float]]:
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


def _below(x: Scale, bottom: float) -> str:
    """Draw the numbers of a scale along the bottom."""
    return "".join(
        tag("line", x1=x.at(each), x2=x.at(each), y1=bottom, y2=bottom + 5, stroke=INK)
        + text(amount(each), x.at(each), bottom + 20, 12, fill=GREY)
        for each in x.ticks(6)
    )


def _marked(marks: Marks, x: Scale, bottom: float, top: float) -> list[str]:
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
    parts = [_beside(y), _below(x, bottom)]
    count = len(fan[0][1])
    for band in range(count // 2):
        upper = [(x.at(when), y.at(bands[count - 1 - band])) for when, bands in fan]
        lower = [(x.at(when), y.at(bands[band])) for when, bands in reversed(fan)]
        parts.append(tag("polygon", points=_points([*upper, *lower]), fill=_BANDS[band % 3]))
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
    parts = [_beside(y, " %"), _below(x, bottom)]
    line = [(x.at(i), y.at(value * 100)) for i, value in enumerate(values)]
    area = [(x.at(0), bottom), *line, (line[-1][0], bottom)]
    parts.append(tag("polygon", points=_points(area), fill="#f0d3c8"))
    parts.append(
        tag("polyline", points=_points(line), fill="none", stroke="#a5402a", stroke_width=2)
    )
    parts.append(text(unit, (_LEFT + _WIDTH) / 2, height - 12, 12, fill=GREY))
    return picture(_WIDTH, height, "".join(parts), title)


def _beside(y: Scale, after: str = "") -> str:
    """Draw the numbers of a scale along the left, with lines across."""
    parts = []
    for each in y.ticks(6):
        at = y.at(each)
        parts.append(tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=at, y2=at, stroke=LINE))
        parts.append(
            text(f"{each:,.10g}{after}", _LEFT - 8, at + 4, 12, text_anchor="end", fill=GREY)
        )
    return "".join(parts)


def _points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
