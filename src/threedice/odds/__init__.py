"""Exact odds in integers and fractions, computed from the 216 rolls of a compiled Game.

- One round: `figures` (edge and variance of a box or a layout), `stakes` (any stakes on boxes,
  exposure, settlement); `comparison` and `lint` examine rulebooks.
- Many rounds: `distribution` (one round) -> `convolution` (exact), or `tilted_distribution` where
  exact counts are infeasible; `approximation.long_run` chooses between them.
- A player's session: the package `sessions`.
- The house's win over a shift: `limits` -> `layouts` -> `shift`.
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
