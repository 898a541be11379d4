"""Rulebooks: a regulator's document as a TOML file in, a compiled `Game` out.

TOML -> `source` (extends, readings) -> `validation` into `schema` -> `compile` (vocabulary in
`conditions`, boxes in `boxes`, places in `felt`) -> `game`. `library` finds and loads.
"""

from threedice.rulebook.game import Box, Cell, ConclusiveBoxes, Game, OddsLine, from_canonical
from threedice.rulebook.library import load, load_rulebook, shipped_games

__all__ = [
    "Box",
    "Cell",
    "ConclusiveBoxes",
    "Game",
    "OddsLine",
    "from_canonical",
    "load",
    "load_rulebook",
    "shipped_games",
]
