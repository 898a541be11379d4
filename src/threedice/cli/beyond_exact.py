"""Where exact sessions end, simulation goes on: the one place that looks for `threedice.sim`."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from threedice.cli.counting import progress, stopped
from threedice.errors import InvalidInput
from threedice.money import MAX_AMOUNT
from threedice.odds.sessions.session import ENDINGS
from threedice.odds.sessions.session_odds import SessionOdds

if TYPE_CHECKING:
    from threedice.odds import BettingSession
    from threedice.odds.sessions.session import SessionEnding


def simulated_session(session: BettingSession, sessions: int, seed: int) -> SessionOdds:
    """Return what became of simulated sessions, in the form of an exact answer."""
    plan = session.plan
    job = _sim("simulation").session_job(
        session.spread.game,
        plan=plan.name,
        box=dict(session.spread.shares),
        bankroll=session.bankroll,
        base=plan.base,
        rounds=session.rounds,
        sessions=sessions,
        minimum=session.minimum,
        maximum=None if plan.maximum == MAX_AMOUNT else plan.maximum,
        stop_loss=session.stop_loss,
        stop_win=session.stop_win,
        line=plan.line,
        seed=seed,
    )
    study = _sim("studies").SessionStudy(job, _played(job))
    estimates = {"ruin": study.ruin, "mean_final": study.mean_final, "ahead": study.ahead}
    return SessionOdds(
        replace(session, plan=replace(plan, maximum=job.terms.maximum)),
        session.rounds,
        "simulated",
        study.ruin.high - study.ruin.low,
        _ended(session, study),
        tuple((each.low, each.times / study.sessions) for each in study.final_bankrolls),
        study.fan,
        study.sessions,
        {name: (each.low, each.high) for name, each in estimates.items()},
        {
            "final": study.mean_final.value,
            "rounds": study.mean_rounds,
            "ahead": study.ahead.value,
            "level": study.level.value,
        },
        {each.low: each.high for each in study.final_bankrolls if each.high > each.low},
    )


def _played(job: Any) -> Any:
    """Return the tally of a job; of what is done of it where somebody stops it."""
    runner = _sim("runner")
    try:
        with runner.thread_pool() as crew, progress("sessions", job.units) as shown:
            return runner.run_job(job, crew, report=lambda tally: shown(tally.units))
    except runner.SimulationInterrupt as stop:
        if not stop.tally.units:
            raise
        stopped(f"these are the first {stop.tally.units:,} of {job.units:,} sessions")
        return stop.tally


def _sim(module: str) -> Any:
    try:
        return import_module(f"threedice.sim.{module}")
    except ImportError:
        raise InvalidInput(
            "simulated sessions need the extra `sim`, which is not installed; "
            "run pip install 'threedice[sim]', or play fewer rounds"
        ) from None


def _ended(session: BettingSession, study: Any) -> dict[SessionEnding, tuple[float, ...]]:
    """Return which share of the sessions ended in each round, from the study's counts."""
    fine = study.job.terms.histograms.round_precision_bits
    bin_bounds = _sim("kernels.sessions").bin_bounds
    shares: dict[SessionEnding, tuple[float, ...]] = {}
    for kind, row in zip(ENDINGS, study.tally.counts["ends"].tolist(), strict=True):
        by_round = [0.0] * (session.rounds + 1)
        for place, count in enumerate(row):
            by_round[min(bin_bounds(place, fine)[1], session.rounds)] += count / study.sessions
        shares[kind] = tuple(by_round)
    return shares
