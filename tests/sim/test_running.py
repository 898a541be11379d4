"""A job in pieces: any number of threads, stopped and gone on with, in the end the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.sim.paths import game
from threedice.errors import InvalidInput
from threedice.sim.asking import session_job
from threedice.sim.jobs import FlatJob, SessionJob, at_once, name_of
from threedice.sim.running import Interrupted, run, threads
from threedice.sim.saving import load, save
from threedice.sim.seating import Placed, Seat, table_job
from threedice.sim.tallies import Tally, packed, unpacked

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.sim.saving import AnyJob

SIC_BO = "sg-rws-tai-sai-v6/a"


def sessions(**changes: Any) -> SessionJob:
    words: dict[str, Any] = {
        "plan": "martingale", "box": "big", "bankroll": 300, "base": 10, "maximum": 160,
        "rounds": 50, "sessions": 2_500_000, "seed": 12, **changes,
    }  # fmt: skip
    return session_job(game(SIC_BO), **words)


def table(**changes: Any) -> AnyJob:
    seats = [Seat("ann", (Placed("big", 10), Placed("single:2", 10)))]
    return table_job(game(SIC_BO), seats, **{"rounds": 50, "sessions": 100_000, **changes})


JOBS: dict[str, AnyJob] = {
    "sessions": sessions(),
    "flat": FlatJob(3 * 10**9, 4),
    "table": table(),
}


@pytest.fixture(scope="module")
def done() -> dict[str, Tally]:
    """Every job done in one go, by one thread."""
    return {name: job.play(0, job.units) for name, job in JOBS.items()}


@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize("hands", [1, 2, 5])
def test_any_number_of_threads_comes_to_the_same(
    name: str, hands: int, done: dict[str, Tally]
) -> None:
    pieces = []
    with threads(hands) as crew:
        tally = run(JOBS[name], crew, report=lambda so_far: pieces.append(so_far.units))

    assert tally == done[name]
    assert len(pieces) > 2
    assert pieces == sorted(pieces)


@pytest.mark.parametrize("name", JOBS)
def test_a_run_that_is_stopped_goes_on_to_the_same_end(
    name: str, done: dict[str, Tally], tmp_path: Path
) -> None:
    job, file = JOBS[name], tmp_path / "so-far.json"

    def stop(so_far: Tally) -> None:
        if so_far.units >= job.units // 2:
            raise KeyboardInterrupt

    with threads(2) as crew, pytest.raises(Interrupted) as stopped:
        run(job, crew, report=stop)
    save(file, job, stopped.value.tally)

    kept = load(file, job)
    assert 0 < kept.units < job.units
    assert kept == job.play(0, kept.units)
    with threads(2) as crew:
        assert run(job, crew, kept) == done[name]


def test_a_finished_study_is_carried_further(tmp_path: Path) -> None:
    short, long = sessions(sessions=1000), sessions(sessions=3000)
    file = tmp_path / "study.json"
    save(file, short, short.play(0, 1000))

    with threads(1) as crew:
        tally = run(long, crew, load(file, long))

    assert tally == long.play(0, 3000)


def test_without_a_file_nothing_is_done_yet(tmp_path: Path) -> None:
    assert load(tmp_path / "none.json", sessions()).units == 0


def test_the_file_of_another_simulation_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "so-far.json"
    save(file, sessions(sessions=100), sessions(sessions=100).play(0, 100))

    for other in (sessions(seed=13), sessions(base=20), FlatJob(10**9, 12)):
        with pytest.raises(InvalidInput, match="belongs to another simulation"):
            load(file, other)
    with pytest.raises(InvalidInput, match="100 units done already, and 50 are asked for"):
        load(file, sessions(sessions=50))


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b"\xff", b'{"format": 5}'])
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "other.json"
    file.write_bytes(text)

    with pytest.raises(InvalidInput, match="cannot go on from"):
        load(file, sessions())


def test_a_file_that_cannot_be_written_is_told_of(tmp_path: Path) -> None:
    job = sessions(sessions=1)
    with pytest.raises(InvalidInput, match="cannot write"):
        save(tmp_path / "none" / "so-far.json", job, job.blank())
    with pytest.raises(InvalidInput, match="cannot read"):
        load(tmp_path, job)


def test_a_tally_is_packed_and_unpacked_whole() -> None:
    job = sessions(sessions=300)
    tally = job.play(0, 300)
    tally.counts["sums"][0] += 2**90

    assert unpacked(packed(tally), job.blank()) == tally
    with pytest.raises(InvalidInput, match="has the shape"):
        unpacked(packed(tally), sessions(rounds=20).blank())
    assert tally != "a tally"


def test_pieces_are_of_a_sensible_size() -> None:
    assert at_once(sessions()) * 50 == pytest.approx(50_000_000, rel=0.01)
    assert at_once(sessions(rounds=100_000)) == 448
    assert at_once(sessions(), "gpu") > at_once(sessions())
    assert at_once(sessions(rounds=1), "gpu") == 2**30
    with pytest.raises(InvalidInput, match="at most 1073741824 at once"):
        sessions().play(0, 2**30 + 1)


def test_jobs_have_names_of_their_own() -> None:
    assert len({name_of(job) for job in (*JOBS.values(), sessions(seed=1))}) == 4
    assert name_of(sessions()) == name_of(sessions())


@pytest.mark.parametrize(("hands", "device", "says"), [(0, "cpu", "0 threads"), (1, "tpu", "tpu")])
def test_a_crew_that_cannot_be_had_is_refused(hands: int, device: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says), threads(hands, device):
        pass
