"""Compile a regulator's rules, written as a TOML file, to a `Game`.

TOML -> `source` (merge what it extends) -> `validation` into `schema` and `conduct` ->
`consistency` and `readings` -> `compiler` (boxes in `boxes`, vocabulary in `conditions`, geometry
in `felt`) -> `game`. `library` finds and loads games by name.
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
