"""Threedice: casino table games with three dice, from the regulator's rulebook to exact odds.

>>> import threedice
>>> game = threedice.load("sg-rws-tai-sai-v6/a")
>>> game.call((4, 3, 3))
'double 3, 4, total 10'
"""

from threedice.errors import InvalidInput, RulebookError, ThreediceError, UnknownName
from threedice.maths import Mix, odds_sheet
from threedice.maths.settlement import settle
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
