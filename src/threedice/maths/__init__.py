"""Exact odds: integers and fractions only, all by counting the 216 rolls of a compiled Game.

`figures` (one box) -> `sheet` (a layout) and `mix` (any stakes, exposure); `readings`, `lint` and
`difference` compare games with one another.
"""

from threedice.maths.figures import Figures, box_figures, percent
from threedice.maths.mix import Mix
from threedice.maths.sheet import BoxOdds, Sheet, odds_sheet

__all__ = ["BoxOdds", "Figures", "Mix", "Sheet", "box_figures", "odds_sheet", "percent"]
