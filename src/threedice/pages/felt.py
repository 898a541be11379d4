"""The felt of a game, each area tinted by its house edge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.rulebook.felt_picture import felt_picture

if TYPE_CHECKING:
    from fractions import Fraction

    from threedice.odds import OddsSheet


def tinted_felt(sheet: OddsSheet) -> str:
    """Draw the felt with every box in the colour of its house edge; nothing if there is no felt."""
    felt = sheet.game.felt
    fills = {each.box.id: edge_colour(each.figures.edge) for each in sheet.boxes}
    return felt_picture(sheet.game, felt, fills) if felt else ""


def edge_colour(edge: Fraction) -> str:
    """Return the colour of a house edge: green at zero, then sand, red from 30 % up."""
    share = min(max(float(edge), 0.0) / 0.30, 1.0)
    stops = ((214, 234, 221), (250, 236, 196), (235, 150, 128))
    low, high = (stops[0], stops[1]) if share < 0.5 else (stops[1], stops[2])
    part = share * 2 if share < 0.5 else share * 2 - 1
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(low, high, strict=True))
    return f"#{red:02x}{green:02x}{blue:02x}"
