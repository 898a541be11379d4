"""Where exact sessions end, simulation goes on: the one place that looks for `threedice.sim`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from threedice.errors import InvalidInput
from threedice.maths.session_odds import SessionOdds
from threedice.maths.sessions import ENDINGS
from threedice.money import MOST

if TYPE_CHECKING:
    from threedice.maths import Session
    from threedice.maths.sessions import Ending


def simulated_session(session: Session, sessions: int, seed: int) -> SessionOdds:
    """Return what became of simulated sessions, in the form of an exact answer."""
    plan = session.plan
    study = _simulate()(
        session.spread.game,
        plan=plan.name,
        box=dict(session.spread.shares),
        bankroll=session.bankroll,
        base=plan.base,
        rounds=session.rounds,
        sessions=sessions,
        minimum=session.minimum,
        maximum=None if plan.maximum == MOST else plan.maximum,
        stop_loss=session.stop_loss,
        stop_win=session.stop_win,
        line=plan.line,
        seed=seed,
    )
    estimates = {"ruin": study.ruin, "mean_final": study.mean_final, "ahead": study.ahead}
    return SessionOdds(
        session,
        session.rounds,
        "simulated",
        study.ruin.high - study.ruin.low,
        _ended(session, study),
        tuple((left, count / study.sessions) for left, count in study.final),
        study.fan,
        study.sessions,
        {name: (each.low, each.high) for name, each in estimates.items()},
        {"final": study.mean_final.value, "rounds": study.mean_rounds},
    )


def _simulate() -> Any:
    try:
        return import_module("threedice.sim").simulated_session
    except ImportError:
        raise InvalidInput(
            "simulated sessions need the extra `sim`, which is not installed; "
            "run pip install 'threedice[sim]', or play fewer rounds"
        ) from None


def _ended(session: Session, study: Any) -> dict[Ending, tuple[float, ...]]:
    """Return which share of the sessions ended in each round, from the study's counts."""
    wide = 1 << study.job.terms.counting.every
    shares: dict[Ending, tuple[float, ...]] = {}
    for kind, row in zip(ENDINGS, study.tally.counts["ends"].tolist(), strict=True):
        by_round = [0.0] * (session.rounds + 1)
        for place, count in enumerate(row):
            by_round[min((place + 1) * wide - 1, session.rounds)] += count / study.sessions
        shares[kind] = tuple(by_round)
    return shares
