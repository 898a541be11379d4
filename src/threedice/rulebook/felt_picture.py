"""An SVG drawing of a layout's felt."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from threedice.svg import INK, picture, tag, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.rulebook.felt import Area, Felt, Inscription
    from threedice.rulebook.game import Game

_FELT_GREEN = "#d6eadd"
_PIPS = {
    1: [(0, 0)],
    2: [(-1, -1), (1, 1)],
    3: [(-1, -1), (0, 0), (1, 1)],
    4: [(-1, -1), (1, -1), (-1, 1), (1, 1)],
    5: [(-1, -1), (1, -1), (0, 0), (-1, 1), (1, 1)],
    6: [(-1, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (1, 1)],
}
_INKS = {"black": INK, "red": "#b3261e", "green": "#1f6b3a", "blue": "#1c4f9c"}
_SYMBOL_SIZE = 32
"""Symbols are drawn on a square of this size."""


def felt_picture(
    game: Game, felt: Felt, fills: Mapping[str, str], chips: Mapping[str, int] | None = None
) -> str:
    """Draw the felt; `fills` has the colour of each box, `chips` the amount on an area.

    Every area is a group with the attribute `data-box`, so that a page can make it selectable.
    """
    parts = [tag("rect", x=0, y=0, width=felt.width, height=felt.height, fill="#fff", stroke=INK)]
    parts += [_area(area, game, fills.get(area.box, _FELT_GREEN)) for area in felt.areas]
    parts += [_inscription(each) for each in felt.inscriptions]
    parts += [_chip(area, chips[area.id]) for area in felt.areas if chips and area.id in chips]
    body = tag("g", "".join(parts), transform="translate(4 4)")
    return picture(felt.width + 8, felt.height + 8, body, f"The felt of {game.title}")


def _area(area: Area, game: Game, fill: str) -> str:
    """Draw an area: its dice, text and odds, stacked and centred."""
    rows = _rows(area)
    die = min(area.width / (len(area.dice) + 1), area.height * (0.36 if rows else 0.6), 46)
    stack_height = sum(size * 1.2 for size, _ in rows) + (die * 1.15 if area.dice else 0)
    shrink = min(1.0, area.height * 0.92 / stack_height) if stack_height else 1.0
    die, y = die * shrink, area.y + (area.height - stack_height * shrink) / 2
    middle = area.x + area.width / 2
    parts = [
        tag("title", area.box),
        tag(
            "rect", x=area.x, y=area.y, width=area.width, height=area.height, fill=fill, stroke=INK
        ),
    ]
    if area.dice:
        parts.append(_dice(area.dice, middle, y, die, game))
        y += die * 1.15
    for size, line in rows:
        y += size * shrink * 1.2
        parts.append(text(line, middle, y - size * shrink * 0.3, size * shrink, fill=INK))
    return tag("g", "".join(parts), data_box=area.box)


def _chip(area: Area, amount: int) -> str:
    """Draw a chip in the lower right corner of an area, with the amount that lies there."""
    radius = min(area.width, area.height, 80) * 0.3
    x, y = area.x + area.width - radius * 1.1, area.y + area.height - radius * 1.1
    label = f"{amount:,}"
    size = min(radius * 0.8, radius * 2.6 / len(label))
    disc = tag("circle", cx=x, cy=y, r=radius, fill="#f3c74f", stroke=INK, stroke_width=1.5)
    return disc + text(label, x, y + size * 0.35, size, fill=INK, font_weight="bold")


def _rows(area: Area) -> list[tuple[float, str]]:
    """Return an area's lines with their font sizes; the first is its name in both languages."""
    title = " ".join([*area.en[:1], *area.zh[:1]])
    rows = [(_fit_font_size(title, area, 0.34, 34), title)] if title else []
    rows += [(_fit_font_size(line, area, 0.16, 15), line) for line in (*area.en[1:], *area.zh[1:])]
    return [*rows, (_fit_font_size(area.odds, area, 0.2, 17), area.odds)] if area.odds else rows


def _fit_font_size(line: str, area: Area, share: float, max_size: float) -> float:
    """Return a font size at which a line fits its area."""
    width_units = sum(1.0 if ord(each) > 0x2E80 else 0.72 for each in line)
    return min(max_size, area.height * share, area.width * 0.94 / max(width_units, 1))


def _dice(faces: tuple[int, ...], middle: float, y: float, size: float, game: Game) -> str:
    left = middle - size * len(faces) / 2
    return "".join(
        _die(game, face, left + i * size + size * 0.05, y, size * 0.9)
        for i, face in enumerate(faces)
    )


def _die(game: Game, face: int, x: float, y: float, size: float) -> str:
    box = tag("rect", x=x, y=y, width=size, height=size, rx=size / 6, fill="#fffdf7", stroke=INK)
    name = game.faces.name(face)
    cx, cy = x + size / 2, y + size / 2
    if symbol := _symbols().get(name):
        place = f"translate({x:.2f} {y:.2f}) scale({size / _SYMBOL_SIZE:.4f})"
        return box + tag("path", d=symbol["path"], fill=_INKS[symbol["ink"]], transform=place)
    fill = _INKS["red"] if face in (1, 4) else INK
    return box + "".join(
        tag("circle", cx=cx + dx * size / 4, cy=cy + dy * size / 4, r=size / 10, fill=fill)
        for dx, dy in _PIPS[face]
    )


@cache
def _symbols() -> dict[str, dict[str, str]]:
    """Return the path and ink of every face that is a symbol; the screens draw the same file."""
    text = files("threedice.rulebooks").joinpath("symbols.json").read_text(encoding="utf-8")
    drawings: dict[str, dict[str, str]] = json.loads(text)
    return drawings


def _inscription(inscription: Inscription) -> str:
    lines, cx = [*inscription.en, *inscription.zh], inscription.x + inscription.width / 2
    is_vertical = inscription.height > inscription.width * 1.5 and len(lines) == 1
    if is_vertical:
        size, cy = min(15.0, inscription.width * 0.6), inscription.y + inscription.height / 2
        return text(lines[0], cx, cy, size, fill=INK, transform=f"rotate(-90 {cx:.1f} {cy:.1f})")
    wrapped = [part for line in lines for part in _wrap_words(line, inscription.width / 8.5)]
    size = min(14.0, inscription.height / (len(wrapped) * 1.3))
    top = inscription.y + (inscription.height - len(wrapped) * size * 1.25) / 2
    return "".join(
        text(line, cx, top + (i + 0.85) * size * 1.25, size, fill=INK)
        for i, line in enumerate(wrapped)
    )


def _wrap_words(line: str, max_characters: float) -> list[str]:
    lines = [""]
    for word in line.split():
        extended = f"{lines[-1]} {word}".strip()
        if len(extended) > max_characters and lines[-1]:
            lines.append(word)
        else:
            lines[-1] = extended
    return lines
