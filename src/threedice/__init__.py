"""Threedice: casino table games with three dice, from the regulator's rulebook to exact odds.

>>> import threedice
>>> game = threedice.load("sg-rws-tai-sai-v6/a")
>>> game.call((4, 3, 3))
'double 3, 4, total 10'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threedice.errors import InvalidInput, RulebookError, ThreediceError, UnknownName
    from threedice.odds import Mix, odds_sheet
    from threedice.odds.stakes import settle
    from threedice.rulebook import Game, load, shipped_games

__version__ = "0.1.0"

__all__ = [
    "Game",
    "InvalidInput",
    "Mix",
    "RulebookError",
    "ThreediceError",
    "UnknownName",
    "__version__",
    "load",
    "odds_sheet",
    "settle",
    "shipped_games",
]

_LAZY_NAMES = {
    "threedice.errors": ("InvalidInput", "RulebookError", "ThreediceError", "UnknownName"),
    "threedice.odds": ("Mix", "odds_sheet"),
    "threedice.odds.stakes": ("settle",),
    "threedice.rulebook": ("Game", "load", "shipped_games"),
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that `threedice --help` starts quickly."""
    for module, names in _LAZY_NAMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'threedice' has no attribute {name!r}")
