"""Threedice: casino table games with three dice, from the regulator's rulebook to exact odds.

Everything that a program needs is in this namespace: rulebooks (`load`, `shipped_games`), odds
(`odds_sheet`, `Mix`, `settle`), many rounds (`round_distribution`, `over_rounds`, `session_odds`,
`forecast_period`), tables (`Table`), cases (`read_cases`, `run_case`), and the errors that all of
them raise. Three parts need an extra: `House` with its `EstablishTable` (`house`), and the modules
`sim` (`sim`) and `research` (`research`); without it they raise `MissingExtra`.

>>> import threedice as td
>>> game = td.load("sg-rws-tai-sai-v6/a")
>>> game.call((4, 3, 3))
'double 3, 4, total 10'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threedice import research as research
    from threedice import sim as sim
    from threedice.cases import Case, CaseOutcome, narrate_case, read_cases, run_case, shipped_cases
    from threedice.errors import (
        InfeasibleComputation,
        InvalidInput,
        MissingExtra,
        Refusal,
        RulebookError,
        ThreediceError,
        UnknownName,
        UnsupportedSystem,
    )
    from threedice.house.commands import EstablishTable as EstablishTable
    from threedice.house.house import House as House
    from threedice.odds import (
        PLANS,
        BettingSession,
        BoxOdds,
        Distribution,
        Figures,
        FixedLayout,
        LayoutLimits,
        LongRun,
        Mix,
        OddsSheet,
        PeriodForecast,
        RandomLayout,
        RoundDistribution,
        SafeMaximum,
        SessionOdds,
        Spread,
        StakingPlan,
        WeightedBet,
        box_figures,
        chance_above,
        chance_at_least,
        forecast_period,
        long_run,
        negate,
        odds_sheet,
        over_rounds,
        percent,
        quantile_over_rounds,
        round_distribution,
        safe_maximum,
        session_odds,
        spread,
    )
    from threedice.odds.stakes import SettledBet, settle
    from threedice.rulebook import (
        Box,
        Cell,
        ConclusiveBoxes,
        Game,
        OddsLine,
        load,
        load_rulebook,
        shipped_games,
    )
    from threedice.table import Table
    from threedice.table.commands import Actor
    from threedice.table.limits import StakeRange, TableLimits

__version__ = "0.1.0"

__all__ = [
    "PLANS",
    "Actor",
    "BettingSession",
    "Box",
    "BoxOdds",
    "Case",
    "CaseOutcome",
    "Cell",
    "ConclusiveBoxes",
    "Distribution",
    "Figures",
    "FixedLayout",
    "Game",
    "InfeasibleComputation",
    "InvalidInput",
    "LayoutLimits",
    "LongRun",
    "MissingExtra",
    "Mix",
    "OddsLine",
    "OddsSheet",
    "PeriodForecast",
    "RandomLayout",
    "Refusal",
    "RoundDistribution",
    "RulebookError",
    "SafeMaximum",
    "SessionOdds",
    "SettledBet",
    "Spread",
    "StakeRange",
    "StakingPlan",
    "Table",
    "TableLimits",
    "ThreediceError",
    "UnknownName",
    "UnsupportedSystem",
    "WeightedBet",
    "__version__",
    "box_figures",
    "chance_above",
    "chance_at_least",
    "forecast_period",
    "load",
    "load_rulebook",
    "long_run",
    "narrate_case",
    "negate",
    "odds_sheet",
    "over_rounds",
    "percent",
    "quantile_over_rounds",
    "read_cases",
    "round_distribution",
    "run_case",
    "safe_maximum",
    "session_odds",
    "settle",
    "shipped_cases",
    "shipped_games",
    "spread",
]

_LAZY_NAMES = {
    "threedice.cases": (
        "Case",
        "CaseOutcome",
        "narrate_case",
        "read_cases",
        "run_case",
        "shipped_cases",
    ),
    "threedice.errors": (
        "InfeasibleComputation",
        "InvalidInput",
        "MissingExtra",
        "Refusal",
        "RulebookError",
        "ThreediceError",
        "UnknownName",
        "UnsupportedSystem",
    ),
    "threedice.odds": (
        "PLANS",
        "BettingSession",
        "BoxOdds",
        "Distribution",
        "Figures",
        "FixedLayout",
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
    ),
    "threedice.odds.stakes": (
        "SettledBet",
        "settle",
    ),
    "threedice.rulebook": (
        "Box",
        "Cell",
        "ConclusiveBoxes",
        "Game",
        "OddsLine",
        "load",
        "load_rulebook",
        "shipped_games",
    ),
    "threedice.table": ("Table",),
    "threedice.table.commands": ("Actor",),
    "threedice.table.limits": (
        "StakeRange",
        "TableLimits",
    ),
}
_EXTRA_NAMES = {
    "threedice.house.commands": ("EstablishTable",),
    "threedice.house.house": ("House",),
}
_EXTRA_MODULES = ("research", "sim")
"""The names that need an extra; not in `__all__`, so that `import *` works without it."""


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that `threedice --help` starts quickly."""
    for module, names in (_LAZY_NAMES | _EXTRA_NAMES).items():
        if name in names:
            return getattr(import_module(module), name)
    if name in _EXTRA_MODULES:
        return import_module(f"threedice.{name}")
    raise AttributeError(f"module 'threedice' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return all public names, for completion."""
    return sorted([*__all__, "EstablishTable", "House", *_EXTRA_MODULES])
