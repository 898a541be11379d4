"""Exact odds: integers and fractions, by counting the 216 rolls of a compiled Game.

One round: `figures` (one box) -> `sheet` (a layout) and `mix` (any stakes, exposure); `readings`,
`lint` and `difference` compare games with one another.
Many rounds: `laws` (one round) -> `powers` -> `rounds`, or `tilted` -> `approximation` where it is
too much to count; `longrun` chooses.
A player's session: `plans` (the definition), `spread` and `sessions` (the question) -> `states` ->
`walks` -> `session_odds`. The house's shift: `limits`, `habits`, `crowd` -> `shift`.
"""

from threedice.errors import InfeasibleComputation
from threedice.odds.approximation import LongRun, chance_above, long_run
from threedice.odds.convolution import (
    Distribution,
    chance_at_least,
    over_rounds,
    quantile_over_rounds,
)
from threedice.odds.distribution import RoundDistribution, negate, round_distribution
from threedice.odds.figures import BoxOdds, Figures, OddsSheet, box_figures, odds_sheet, percent
from threedice.odds.layouts import FixedLayout, RandomLayout, WeightedBet
from threedice.odds.limits import LayoutLimits
from threedice.odds.sessions.plans import PLANS, StakingPlan
from threedice.odds.sessions.session import BettingSession
from threedice.odds.sessions.session_odds import SessionOdds, session_odds
from threedice.odds.shift import PeriodForecast, SafeMaximum, forecast_period, safe_maximum
from threedice.odds.stakes import Mix, Spread, spread

__all__ = [
    "PLANS",
    "BettingSession",
    "BoxOdds",
    "Distribution",
    "Figures",
    "FixedLayout",
    "InfeasibleComputation",
    "LayoutLimits",
    "LongRun",
    "Mix",
    "OddsSheet",
    "PeriodForecast",
    "RandomLayout",
    "RoundDistribution",
    "SafeMaximum",
    "SessionOdds",
    "Spread",
    "StakingPlan",
    "WeightedBet",
    "box_figures",
    "chance_above",
    "chance_at_least",
    "forecast_period",
    "long_run",
    "negate",
    "odds_sheet",
    "over_rounds",
    "percent",
    "quantile_over_rounds",
    "round_distribution",
    "safe_maximum",
    "session_odds",
    "spread",
]
