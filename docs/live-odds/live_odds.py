"""The Python side of the live odds page; it runs in the browser."""

from __future__ import annotations

from html import escape

import threedice as td
from threedice.errors import ThreediceError
from threedice.pages.felt import tinted_felt


def games() -> list[tuple[str, str]]:
    """Return every shipped game with its title."""
    return [(name, td.load(name).title) for name in td.shipped_games()]


def felt(name: str) -> str:
    """Draw the felt of a game."""
    return tinted_felt(td.odds_sheet(td.load(name)))


def boxes(name: str) -> list[str]:
    """Return the boxes that one roll decides: only these can be mixed."""
    return [box.id for box in td.load(name).boxes.values() if box.throws == 1]


def sheet(name: str, stakes: dict[str, int]) -> str:
    """Return the exact sheet of stakes on boxes, or the reason why there is none."""
    try:
        return td.Mix(td.load(name), stakes)._repr_html_()
    except ThreediceError as error:
        return f"<p>{escape(str(error))}</p>"
