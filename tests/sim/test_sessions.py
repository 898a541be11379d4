"""Simulated sessions: consistent with the exact odds, for any split of the work."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.sim.reference import betting_session
from threedice.errors import InvalidInput, ThreediceError
from threedice.odds.sessions.plans import PLANS, StakingPlan
from threedice.odds.sessions.session_odds import session_odds
from threedice.rulebook import load
from threedice.sim import session_study
from threedice.sim.estimates import FAN_QUANTILES
from threedice.sim.jobs import SessionJob
from threedice.sim.kernels.sessions import SUMS
from threedice.sim.runner import available_memory_bytes, check_memory
from threedice.sim.session_terms import MAX_FINAL_BINS, Terms
from threedice.sim.simulation import session_job
from threedice.sim.studies import SessionStudy

if TYPE_CHECKING:
    from pathlib import Path

SIC_BO = "sg-rws-tai-sai-v6/a"
WIDE = 3.5
"""Standard errors within which a fixed seed must come out: one in 2,000 would not."""
REFERENCE: dict[str, Any] = {
    "plan": "martingale", "box": "big", "bankroll": 1000, "base": 10, "maximum": 500, "rounds": 200,
}  # fmt: skip

SHORT_FORM = ("martingale", "labouchere")
"""Plans of `make test`: compiling the kernel of a plan takes seconds."""


def job(**changes: Any) -> SessionJob:
    words = {**REFERENCE, "sessions": 1000, "seed": 4, **changes}
    return session_job(load(SIC_BO), **words)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in SHORT_FORM else pytest.mark.long) for name in PLANS],
)
def test_simulated_plan_is_consistent_with_the_exact_odds(name: str) -> None:
    exact = session_odds(
        betting_session(SIC_BO, {"big": 1}, StakingPlan(name, 10, 160), 300, 50), "float64"
    )

    study = session_study(
        load(SIC_BO), plan=name, box="big", bankroll=300, base=10, maximum=160, rounds=50,
        sessions=100_000, seed=21,
    )  # fmt: skip

    assert study.ruin.is_consistent_with(float(exact.ruin), WIDE)
    assert study.mean_final.is_consistent_with(float(exact.mean_final), WIDE)
    assert study.ahead.is_consistent_with(float(exact.ahead), WIDE)
    assert study.edge.is_consistent_with(1 / 36, WIDE)
    assert study.mean_rounds == pytest.approx(float(exact.mean_rounds), rel=0.01)
    assert study.ruin_by_round[-1] == (50, study.ruin.value)
    for at, share in study.ruin_by_round:
        assert share == pytest.approx(float(exact.ruin_by_round()[at]), abs=0.006)


def test_simulated_reference_is_consistent_with_the_published_figures() -> None:
    study = session_study(load(SIC_BO), **REFERENCE, sessions=400_000, seed=2)

    assert study.ruin.is_consistent_with(0.469143625154827, WIDE)
    assert study.mean_final.is_consistent_with(855.0484019, WIDE)
    assert study.ruin.low < study.ruin.value < study.ruin.high
    assert study.sd_final / 400_000**0.5 == pytest.approx(study.mean_final.standard_error)


def test_simulated_stops_are_consistent_with_the_exact_odds() -> None:
    plan = StakingPlan("martingale", 10, 160)
    session = betting_session(SIC_BO, {"big": 1}, plan, 300, 50, stop_loss=150, stop_win=100)
    exact = session_odds(session, "float64")

    study = session_study(
        load(SIC_BO), plan="martingale", box="big", bankroll=300, base=10, maximum=160, rounds=50,
        stop_loss=150, stop_win=100, sessions=100_000, seed=3,
    )  # fmt: skip

    for ours, theirs in (
        ("ruined", "ruined"), ("stop-loss", "stop-loss"), ("stop-win", "stop-win"),
        ("played-out", "played out"),
    ):  # fmt: skip
        assert study.chance(ours).is_consistent_with(float(exact.chance(theirs)), WIDE), ours  # type: ignore[arg-type]
    assert sum(study.chance(each).value for each in ("stop-loss", "stop-win")) > 0.5


@pytest.mark.parametrize("cuts", [(0, 1000), (0, 1, 1000), (0, 63, 64, 65, 500, 999, 1000)])
def test_any_split_of_a_session_job_gives_the_same_tally(cuts: tuple[int, ...]) -> None:
    whole = job()
    parts = [whole.play(a, b - a) for a, b in pairwise(cuts)]

    tally = whole.empty_tally()
    for each in parts:
        tally = tally + each

    assert tally == whole.play(0, 1000)


def test_another_seed_gives_another_tally() -> None:
    assert job().play(0, 1000) != job(seed=5).play(0, 1000)
    assert job().play(0, 1000) != job(seed=4 + 2**32).play(0, 1000)


def test_histograms_of_sessions_agree_with_the_sums() -> None:
    study = SessionStudy(job(), job().play(0, 1000))
    left = [each.low for each in study.final_bankrolls for _ in range(each.times)]

    assert len(left) == study.sessions == 1000
    assert sum(left) == study.sums.total("bank") * 10
    assert sum(each * each for each in left) == study.sums.total("bank_squared") * 100
    assert study.mean_final.value == pytest.approx(sum(left) / 1000)
    assert study.mean_final.standard_error == pytest.approx(np.std(left) / 1000**0.5)
    assert int(study.tally.counts["ends"].sum()) == 1000
    assert {int(each) for each in study.tally.counts["paths"].sum(axis=1)} == {1000}


def test_standard_error_of_the_edge_follows_from_losses_and_stakes() -> None:
    whole = job(rounds=30)
    each = [SessionStudy(whole, whole.play(number, 1)).sums for number in range(300)]
    lost = np.array([1000 - 10 * sums.total("bank") for sums in each], float)
    staked = np.array([10 * sums.total("staked") for sums in each], float)

    edge = SessionStudy(whole, whole.play(0, 300)).edge

    assert edge.value == pytest.approx(lost.sum() / staked.sum())
    rests = lost - edge.value * staked
    assert edge.standard_error == pytest.approx(np.linalg.norm(rests) / staked.sum())


def test_fan_starts_at_the_bankroll_and_ends_at_the_final_quantiles() -> None:
    study = session_study(load(SIC_BO), **REFERENCE, sessions=20_000, seed=6)

    assert study.fan[0] == (0, (1000,) * 7)
    assert [when for when, _ in study.fan] == [*range(0, 200, 12), 200]
    assert study.fan[-1][1] == tuple(study.quantile(each).low for each in FAN_QUANTILES)
    assert study.quantile(Fraction(0))[:2] == (0, 0)


def test_large_bankrolls_are_binned_but_summed_exactly() -> None:
    words: dict[str, Any] = {
        "plan": "flat", "box": "big", "base": 7, "maximum": 70_000, "rounds": 300, "sessions": 2000,
    }  # fmt: skip
    fine = session_study(load(SIC_BO), bankroll=10**6, **words)
    coarse = session_study(load(SIC_BO), bankroll=10**6 + 1, **words)

    assert any(each.high > each.low for each in coarse.final_bankrolls)
    assert all(
        each.high - each.low < each.low / coarse.bins_per_doubling
        for each in coarse.final_bankrolls
    )
    assert len(coarse.tally.counts["finals"]) <= MAX_FINAL_BINS
    assert coarse.mean_final.value - fine.mean_final.value == pytest.approx(1)
    assert sum(each.times for each in coarse.final_bankrolls) == 2000
    mean = sum(each.low * each.times for each in coarse.final_bankrolls) / 2000
    assert 0 <= coarse.mean_final.value - mean < mean / coarse.bins_per_doubling


@pytest.mark.parametrize("maximum", [500, 10**6])
def test_ahead_and_level_are_exact_despite_binned_bankrolls(maximum: int) -> None:
    whole = job(bankroll=100_000, base=10, maximum=maximum, plan="martingale", rounds=20)
    left = [SessionStudy(whole, whole.play(each, 1)).sums.total("bank") for each in range(300)]
    start = whole.terms.bankroll // whole.terms.grain

    study = SessionStudy(whole, whole.play(0, 300))

    assert study.ahead.value == sum(each > start for each in left) / 300
    assert study.level.value == sum(each == start for each in left) / 300 > 0
    assert study.ahead.value > 0.5


def test_small_bankrolls_are_exact_where_large_ones_are_binned() -> None:
    words: dict[str, Any] = {
        "plan": "labouchere", "box": "big", "bankroll": 300, "base": 10, "rounds": 12,
        "sessions": 40_000, "seed": 12,
    }  # fmt: skip
    exact = session_odds(
        betting_session(SIC_BO, {"big": 1}, StakingPlan("labouchere", 10), 300, 12), "float64"
    )

    study = session_study(load(SIC_BO), **words)

    assert study.job.terms.histograms.max_bank > 10**8
    assert study.ahead.is_consistent_with(float(exact.ahead), WIDE)
    assert study.level.is_consistent_with(float(exact.level), WIDE)
    for share in (Fraction(1, 5), Fraction(2, 5), Fraction(4, 5)):
        low, high, _ = study.quantile(share)
        assert low == high == exact.quantile(share)


def test_session_without_a_maximum_uses_the_largest_countable_stake() -> None:
    study = session_study(
        load(SIC_BO), plan="martingale", box="big", bankroll=1000, base=10, rounds=100,
        sessions=5000, seed=9,
    )  # fmt: skip
    exact = session_odds(
        betting_session(SIC_BO, {"big": 1}, StakingPlan("martingale", 10), 1000, 100), "float64"
    )

    assert study.job.terms.maximum > 10**6
    assert study.ruin.is_consistent_with(float(exact.ruin), WIDE)


def test_session_study_renders_as_html() -> None:
    shown = SessionStudy(job(), job().play(0, 200))._repr_html_()

    assert shown.startswith("<table><caption")
    assert "martingale on big, 200 sessions of 200 rounds; 95 % intervals" in shown
    assert "risk of ruin" in shown


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"plan": "martingal"}, "did you mean martingale"),
        ({"box": "bog"}, "no box"),
        ({"maximum": 5}, "over the maximum"),
        ({"maximum": 0}, "over the maximum"),
        ({"base": 0, "maximum": None}, "base stake of 0"),
        ({"sessions": 10**19}, "10^18"),
        ({"minimum": 20}, "under the minimum"),
        ({"bankroll": 0}, "bring at least"),
        ({"rounds": 0}, "0 rounds"),
        ({"sessions": 0}, "play at least one"),
        ({"stop_loss": 2000}, "stop-loss"),
        ({"stop_win": 0}, "stop-win"),
        ({"seed": -1}, "0 to 2^64"),
        ({"maximum": 10**10}, "can exceed"),
        ({"line": (0,), "plan": "labouchere"}, "line"),
        ({"plan": "nowhere.py:press"}, "cannot read the plan"),
    ],
)
def test_invalid_session_job_is_refused_before_work_begins(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ThreediceError, match=message.replace("^", r"\^")):
        job(**changes)


def test_available_memory_includes_the_page_cache(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    assert available_memory_bytes(meminfo) is None

    meminfo.write_text("MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable: 8000 kB\n")

    assert available_memory_bytes(meminfo) == 8000 * 1024


def test_job_that_needs_more_memory_than_available_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"would take .* GiB of memory"):
        check_memory(job(), worker_count=64, free_bytes=10**6)


def test_bankroll_beyond_the_countable_range_is_refused() -> None:
    terms = Terms("paroli", 2**30 + 1, 2**24, 1, 2**24, 30, ((30, 215), (-1, 1)))
    assert not terms.is_bounded

    for stop_win in (None, 2**40):
        with pytest.raises(InvalidInput, match="more than can be counted"):
            SessionJob(replace(terms, stop_win=stop_win), 10, 1).play(0, 10)
    assert SessionJob(replace(terms, stop_win=2**24), 10, 1).play(0, 10).units == 10


def test_names_of_the_session_sums_are_unique() -> None:
    assert len(set(SUMS)) == len(SUMS) == 15
