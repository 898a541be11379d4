"""Exact odds: integers and fractions, by counting the 216 rolls of a compiled Game.

One round: `figures` (one box) -> `sheet` (a layout) and `mix` (any stakes, exposure); `readings`,
`lint` and `difference` compare games with one another.
Many rounds: `laws` (one round) -> `powers` -> `rounds`, or `tilted` -> `approximation` where it is
too much to count; `longrun` chooses.
A player's session: `plans` (the definition), `spread` and `sessions` (the question) -> `states` ->
`walks` -> `session_odds`. The house's shift: `limits`, `habits`, `crowd` -> `shift`.
"""

from threedice.maths.crowd import Crowd, FixedLayout
from threedice.maths.figures import Figures, box_figures, percent
from threedice.maths.habits import Habit
from threedice.maths.laws import Law, against, law_of
from threedice.maths.limits import Limits
from threedice.maths.longrun import LongRun, chance_above, long_run
from threedice.maths.mix import Mix
from threedice.maths.plans import PLANS, Plan
from threedice.maths.rounds import Distribution, chance_at_least, over_rounds, quantile_of
from threedice.maths.session_odds import SessionOdds, session_odds
from threedice.maths.sessions import Session
from threedice.maths.sheet import BoxOdds, Sheet, odds_sheet
from threedice.maths.shift import Period, SafeMaximum, period, safe_maximum
from threedice.maths.spread import Spread, spread
from threedice.maths.states import Infeasible

__all__ = [
    "PLANS",
    "BoxOdds",
    "Crowd",
    "Distribution",
    "Figures",
    "FixedLayout",
    "Habit",
    "Infeasible",
    "Law",
    "Limits",
    "LongRun",
    "Mix",
    "Period",
    "Plan",
    "SafeMaximum",
    "Session",
    "SessionOdds",
    "Sheet",
    "Spread",
    "against",
    "box_figures",
    "chance_above",
    "chance_at_least",
    "law_of",
    "long_run",
    "odds_sheet",
    "over_rounds",
    "percent",
    "period",
    "quantile_of",
    "safe_maximum",
    "session_odds",
    "spread",
]
