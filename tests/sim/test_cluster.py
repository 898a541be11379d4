"""A Dask cluster: the same tally from any workers, also when one of them is killed."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import distributed
import pytest

from threedice.errors import InvalidInput
from threedice.rulebook import load
from threedice.sim.jobs import FlatJob
from threedice.sim.runner import dask_pool, run_job
from threedice.sim.simulation import session_job

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.sim.jobs import SessionJob, Tally


LocalCluster: Any = distributed.LocalCluster


@pytest.fixture(scope="module")
def workers() -> Iterator[Any]:
    """Start two worker processes of one thread each; a nanny replaces one that dies."""
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    ) as running:
        yield running


@pytest.fixture(scope="module")
def job() -> SessionJob:
    return session_job(
        load("sg-rws-tai-sai-v6/a"), plan="martingale", box="big", bankroll=300, base=10,
        maximum=160, rounds=50, sessions=5_000_000, seed=12,
    )  # fmt: skip


@pytest.fixture(scope="module")
def expected(job: SessionJob) -> Tally:
    return job.play(0, job.units)


def test_cluster_returns_the_same_tally_as_one_thread(
    workers: Any, job: SessionJob, expected: Tally
) -> None:
    with dask_pool(workers.scheduler_address) as pool:
        assert run_job(job, pool) == expected
        flat = FlatJob(10**9, 5)
        assert run_job(flat, pool) == flat.play(0, flat.units)


def test_killed_worker_does_not_change_the_tally(
    workers: Any, job: SessionJob, expected: Tally
) -> None:
    killed: list[int] = []

    def kill_one(_so_far: Tally) -> None:
        if not killed:
            nanny = next(iter(workers.workers.values()))
            killed.append(nanny.pid)
            os.kill(nanny.pid, signal.SIGKILL)

    with dask_pool(workers.scheduler_address) as pool:
        tally = run_job(job, pool, report=kill_one)

    assert tally == expected
    assert killed


@pytest.mark.parametrize("url", ["tcp://127.0.0.1:1", "carrier-pigeon"])
def test_unreachable_scheduler_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("threedice.sim.runner.CONNECT_TIMEOUT_SECONDS", 1)

    with pytest.raises(InvalidInput, match="no Dask scheduler answers"), dask_pool(url):
        pass


def test_scheduler_without_workers_is_refused() -> None:
    empty = LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50)
    refused = pytest.raises(InvalidInput, match="has no workers")
    with empty, refused, dask_pool(empty.scheduler_address):
        pass
