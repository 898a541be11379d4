"""Jobs in tasks: any number of threads, interrupted or not, ends in the same tally."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from threedice.errors import InvalidInput
from threedice.rulebook import load
from threedice.sim.jobs import (
    FlatJob,
    SessionJob,
    Tally,
    decode_tally,
    encode_tally,
    units_per_task,
)
from threedice.sim.kernels.plans import OwnPlan
from threedice.sim.runner import (
    SimulationInterrupt,
    job_fingerprint,
    load_progress,
    run_job,
    save_progress,
    thread_pool,
)
from threedice.sim.session_terms import Terms
from threedice.sim.simulation import session_job
from threedice.sim.table_setup import PlannedBet, SimulatedPlayer, table_job

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.sim.jobs import AnyJob

SIC_BO = "sg-rws-tai-sai-v6/a"


def sessions(**changes: Any) -> SessionJob:
    words: dict[str, Any] = {
        "plan": "martingale", "box": "big", "bankroll": 300, "base": 10, "maximum": 160,
        "rounds": 50, "sessions": 2_500_000, "seed": 12, **changes,
    }  # fmt: skip
    return session_job(load(SIC_BO), **words)


def table(**changes: Any) -> AnyJob:
    seats = [SimulatedPlayer("ann", (PlannedBet("big", 10), PlannedBet("single:2", 10)))]
    return table_job(load(SIC_BO), seats, **{"rounds": 50, "sessions": 100_000, **changes})


JOBS: dict[str, AnyJob] = {
    "sessions": sessions(),
    "flat": FlatJob(3 * 10**9, 4),
    "table": table(),
}


@pytest.fixture(scope="module")
def done() -> dict[str, Tally]:
    """Run every job in one piece on one thread."""
    return {name: job.play(0, job.units) for name, job in JOBS.items()}


@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_any_number_of_threads_gives_the_same_tally(
    name: str, threads: int, done: dict[str, Tally]
) -> None:
    progress = []
    with thread_pool(threads) as pool:
        tally = run_job(JOBS[name], pool, report=lambda so_far: progress.append(so_far.units))

    assert tally == done[name]
    assert len(progress) > 2
    assert progress == sorted(progress)


@pytest.mark.parametrize("name", JOBS)
def test_interrupted_run_resumes_to_the_same_tally(
    name: str, done: dict[str, Tally], tmp_path: Path
) -> None:
    job, file = JOBS[name], tmp_path / "so-far.json"

    def stop(so_far: Tally) -> None:
        if so_far.units >= job.units // 2:
            raise KeyboardInterrupt

    with thread_pool(2) as pool, pytest.raises(SimulationInterrupt) as stopped:
        run_job(job, pool, report=stop)
    save_progress(file, job, stopped.value.tally)

    kept = load_progress(file, job)
    assert 0 < kept.units < job.units
    assert kept == job.play(0, kept.units)
    with thread_pool(2) as pool:
        assert run_job(job, pool, kept) == done[name]


def test_finished_study_can_be_extended(tmp_path: Path) -> None:
    short, long = sessions(sessions=1000), sessions(sessions=3000)
    file = tmp_path / "study.json"
    save_progress(file, short, short.play(0, 1000))

    with thread_pool(1) as pool:
        tally = run_job(long, pool, load_progress(file, long))

    assert tally == long.play(0, 3000)


def test_missing_progress_file_gives_an_empty_tally(tmp_path: Path) -> None:
    assert load_progress(tmp_path / "none.json", sessions()).units == 0


def test_progress_file_of_another_simulation_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "so-far.json"
    save_progress(file, sessions(sessions=100), sessions(sessions=100).play(0, 100))

    for other in (sessions(seed=13), sessions(base=20), FlatJob(10**9, 12)):
        with pytest.raises(InvalidInput, match="belongs to another simulation"):
            load_progress(file, other)
    with pytest.raises(InvalidInput, match="already has 100 units, and the job has only 50"):
        load_progress(file, sessions(sessions=50))


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b"\xff", b'{"format": 5}'])
def test_file_that_is_not_a_progress_file_is_refused(tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "other.json"
    file.write_bytes(text)

    with pytest.raises(InvalidInput, match="cannot resume from"):
        load_progress(file, sessions())


def test_hashes_of_jobs_in_progress_files_do_not_change() -> None:
    terms = Terms("martingale", 1000, 10, 10, 500, 200, ((1, 105), (-1, 111)))
    own = OwnPlan("a.py:f", "f", "def f(): pass")
    players = [SimulatedPlayer("ann", (PlannedBet("big", 10),))]
    recorded: list[tuple[AnyJob, str]] = [
        (
            SessionJob(terms, 5, 1, None, "big"),
            "fb0540952cb14634093b1f45c2268f48eb9f2d052000b2f7a71c381460051a0b",
        ),
        (
            SessionJob(terms, 5, 1, own, "big"),
            "346742bc4afc6447cd12809f1500339fa08a7488fa4db768f000ab744cd61821",
        ),
        (FlatJob(10**9, 4), "bef00126b15f71bcbbc0a036969a06fc8b8e3f72eabdb73b72627d8648d5cc4c"),
        (
            table_job(load(SIC_BO), players, rounds=50, sessions=100),
            "f0249ab8c97dfb2fe4cbc28bbd0c763d0ec63f33b6079e9948be53635705d090",
        ),
    ]

    for job, fingerprint in recorded:
        assert job_fingerprint(job) == fingerprint


def test_unwritable_and_unreadable_progress_files_are_refused(tmp_path: Path) -> None:
    job = sessions(sessions=1)
    with pytest.raises(InvalidInput, match="cannot write"):
        save_progress(tmp_path / "none" / "so-far.json", job, job.empty_tally())
    with pytest.raises(InvalidInput, match="cannot read"):
        load_progress(tmp_path, job)


def test_encoded_tally_decodes_to_the_same_tally() -> None:
    job = sessions(sessions=300)
    tally = job.play(0, 300)
    tally.counts["sums"][0] += 2**90

    assert decode_tally(encode_tally(tally), job.empty_tally()) == tally
    with pytest.raises(InvalidInput, match="has the shape"):
        decode_tally(encode_tally(tally), sessions(rounds=20).empty_tally())
    assert tally != "a tally"


def test_units_per_task_depend_on_rounds_and_device() -> None:
    assert units_per_task(sessions()) * 50 == pytest.approx(50_000_000, rel=0.01)
    assert units_per_task(sessions(rounds=100_000)) == 448
    assert units_per_task(sessions(), "gpu") > units_per_task(sessions())
    assert units_per_task(sessions(rounds=1), "gpu") == 2**30
    with pytest.raises(InvalidInput, match="at most 1073741824 at once"):
        sessions().play(0, 2**30 + 1)


def test_fingerprints_of_different_jobs_differ() -> None:
    assert len({job_fingerprint(job) for job in (*JOBS.values(), sessions(seed=1))}) == 4
    assert job_fingerprint(sessions()) == job_fingerprint(sessions())


@pytest.mark.parametrize(
    ("threads", "device", "message"), [(0, "cpu", "0 threads"), (1, "tpu", "tpu")]
)
def test_invalid_thread_pool_is_refused(threads: int, device: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message), thread_pool(threads, device):
        pass
