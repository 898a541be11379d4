"""Compiled plans equal the plans of `odds`, step by step and session by session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sim.reference import SessionResult, betting_session, play_session
from threedice.odds.sessions.plans import DEFAULT_LINE, PLANS, StakingPlan
from threedice.odds.sessions.session import ENDINGS, BettingSession
from threedice.sim.estimates import SessionSums
from threedice.sim.kernels.plans import LINE_CAPACITY, MOVES
from threedice.sim.simulation import session_job

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.sim.jobs import SessionJob

SIC_BO = "sg-rws-tai-sai-v6/a"


def test_every_plan_has_a_compiled_move() -> None:
    assert set(MOVES) == set(PLANS)


def compare_moves(plan: StakingPlan, results: Iterable[tuple[int, int]]) -> None:
    """Compare a compiled move with its plan along a path of (net per unit, per cent of the due)."""
    base, state = plan.base, plan.initial_state()
    due, memory = state[0], len(DEFAULT_LINE) if plan.name == "labouchere" else 0
    fresh = np.array([base * each for each in DEFAULT_LINE], np.int32)
    lines = np.zeros((1, LINE_CAPACITY), np.int32)
    lines[0, : len(DEFAULT_LINE)] = fresh
    for each, short in results:
        stake = max(min(due, plan.maximum) * short // 100, 1)
        net = each * stake
        state = plan.next_state(state, stake, net)
        brought = (stake, net, net > 0, net < 0)
        due, memory = MOVES[plan.name](
            (due, memory), brought, (base, plan.maximum), (lines, 0, fresh)
        )
        assert int(due) == state[0]
        if plan.name != "labouchere":
            assert int(memory) == state[1]


nets = st.sampled_from((-1, -1, -1, 1, 1, 0, 2, 35, -2))


@pytest.mark.parametrize("name", PLANS)
@given(
    base=st.integers(1, 50),
    most=st.integers(1, 40),
    results=st.lists(st.tuples(nets, st.sampled_from((100, 100, 50, 33))), max_size=90),
)
def test_compiled_move_equals_the_plan_after_every_result(
    name: str, base: int, most: int, results: list[tuple[int, int]]
) -> None:
    compare_moves(StakingPlan(name, base, base * most), results)


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("losses", [3, 9, 61, 150])
def test_compiled_move_equals_the_plan_after_a_long_run(name: str, losses: int) -> None:
    path = [(-1, 100)] * losses + [(1, 100), (1, 100), (-1, 100), (1, 100), (1, 100)] * 20

    compare_moves(StakingPlan(name, 10, 5000), path)


def play_alone(job: SessionJob, number: int) -> SessionResult:
    """Play one session of a job on its own."""
    sums = SessionSums(job.play(number, 1).counts["sums"].tolist())
    grain = job.terms.grain
    ends = [sums.total(each) for each in ("ruined", "stop_loss", "stop_win")]
    kind = ENDINGS[ends.index(1)] if 1 in ends else "played out"
    return SessionResult(
        sums.total("bank") * grain, sums.total("played"), sums.total("staked") * grain, kind
    )


def create_job(session: BettingSession, seed: int, **more: Any) -> SessionJob:
    plan = session.plan
    return session_job(
        session.spread.game, plan=plan.name, box=dict(session.spread.shares),
        bankroll=session.bankroll, base=plan.base, maximum=plan.maximum, rounds=session.rounds,
        minimum=session.minimum, stop_loss=session.stop_loss, stop_win=session.stop_win,
        line=plan.line, sessions=1000, seed=seed, **more,
    )  # fmt: skip


SESSIONS = {
    **{
        name: betting_session(SIC_BO, {"big": 1}, StakingPlan(name, 10, 160), 300, 50)
        for name in PLANS
    },
    "tiers, stops": betting_session(
        SIC_BO, {"single:3": 1}, StakingPlan("paroli", 7, 300), 90, 41, 5, stop_loss=60, stop_win=70
    ),
    "a stop on the way up": betting_session(
        "macau-sic-bo/main", {"big": 1}, StakingPlan("dalembert", 20, 400), 333, 37, 20,
        stop_win=100,
    ),
    "a mix that may push": betting_session(
        SIC_BO, {"big": 1, "small": 1, "total:10": 1}, StakingPlan("fibonacci", 9, 90), 200, 40
    ),
    "another line": betting_session(
        SIC_BO, {"big": 1}, StakingPlan("labouchere", 10, 500, (2, 1, 5)), 400, 60, 10
    ),
}  # fmt: skip


SHORT_FORM = ("martingale", "labouchere", "tiers, stops", "a mix that may push", "another line")
"""Sessions of `make test`: compiling the kernel of a plan takes seconds, and all share the rest."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in SHORT_FORM else pytest.mark.long) for name in SESSIONS],
)
def test_compiled_sessions_equal_the_reference(name: str) -> None:
    session, seed = SESSIONS[name], 11 + (5 << 40)
    job = create_job(session, seed)

    for number in (*range(25), 2**32 - 1, 2**32, 2**63):
        assert play_alone(job, number) == play_session(session, seed, number), number


def test_compared_sessions_include_every_kind_of_ending() -> None:
    seed = 11 + (5 << 40)
    seen = {
        play_session(session, seed, number).ending
        for session in SESSIONS.values()
        for number in range(25)
    }

    assert seen == set(ENDINGS)
