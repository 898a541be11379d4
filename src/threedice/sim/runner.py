"""Run a job on local threads or a Dask cluster; check its memory; save and resume its progress.

Doing a job: in pieces, on several threads, with a word after each piece, and to be gone on with.

Pieces are added in their order, so that what has been done is always the first so many units: a run
that is stopped can be resumed from its tally, and ends in the same tally as one that was not.

A Dask cluster as crew: ranges of a job go out, tallies come back, lost ranges go out again.

A piece of work is (job, first, count) and nothing else, so it does not matter which worker does it,
nor how often: Dask gives what a lost worker had in hand to another, and the answer is the same.
Needs the extra `dask_pool`, and Threedice on every worker.

A simulation put by: what has been done of which job, in a file to go on from.

The file says which job it belongs to, and going on with another is refused. More sessions of the
same kind are the same job: a finished study can be carried further.

How much memory a job takes, and a clear word where there is less.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from threedice.errors import InvalidInput, OperatingFailure, ThreediceError
from threedice.sim import require_modules
from threedice.sim.jobs import FlatJob, decode_tally, encode_tally, job_id, units_per_task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.sim.jobs import SessionJob, SimulationJob, TableJob, Tally

    AnyJob = SessionJob | FlatJob | TableJob


ProgressCallback = Callable[["Tally"], None]
"""Told what has been done so far, after each piece."""


class PendingTask(Protocol):
    """A piece of work under way."""

    def result(self) -> Tally:
        """Wait for it."""
        ...

    def cancel(self) -> Any:
        """Give it up if it has not begun."""
        ...


class WorkerPool(Protocol):
    """Whoever does pieces of work: threads of this machine, or a cluster."""

    device: str

    @property
    def capacity(self) -> int:
        """How many pieces it can do at once."""
        ...

    def submit(self, job: SimulationJob, first: int, count: int) -> PendingTask:
        """Begin a piece."""
        ...


class SimulationInterrupt(ThreediceError):
    """A run that was stopped, with what it had done."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        super().__init__("stopped before the end")


class ThreadWorkerPool:
    """The threads of this machine; machine code runs on all of them at once."""

    def __init__(self, thread_count: int, device: str = "cpu") -> None:
        self._thread_count, self.device = thread_count, device
        self._pool = ThreadPoolExecutor(thread_count, thread_name_prefix="threedice-sim")

    @property
    def capacity(self) -> int:
        """How many threads there are."""
        return self._thread_count

    def submit(self, job: SimulationJob, first: int, count: int) -> PendingTask:
        """Begin a piece."""
        return self._pool.submit(job.play, first, count, self.device)

    def close(self) -> None:
        """Wait for what is under way, and end the threads."""
        self._pool.shutdown(cancel_futures=True)


@contextmanager
def thread_pool(thread_count: int | None = None, device: str = "cpu") -> Iterator[WorkerPool]:
    """Have the threads of this machine at work: all of its processors unless told otherwise."""
    if device not in ("cpu", "gpu"):
        raise InvalidInput(f"there is no device {device!r}; choose cpu or gpu")
    if thread_count is not None and thread_count < 1:
        raise InvalidInput(f"{thread_count} threads; give at least one, or leave it out for all")
    crew = ThreadWorkerPool(1 if device == "gpu" else thread_count or os.cpu_count() or 1, device)
    try:
        yield crew
    finally:
        crew.close()


def run_job(
    job: SimulationJob,
    pool: WorkerPool,
    so_far: Tally | None = None,
    report: ProgressCallback = lambda _: None,
) -> Tally:
    """Do what is left of a job, and return the tally of all of it."""
    tally = so_far or job.empty_tally()
    piece, begun = units_per_task(job, pool.device), tally.units
    pending: deque[PendingTask] = deque()
    try:
        while begun < job.units or pending:
            while begun < job.units and len(pending) < 2 * pool.capacity:
                count = min(piece, job.units - begun)
                pending.append(pool.submit(job, begun, count))
                begun += count
            tally = tally + pending.popleft().result()
            report(tally)
    except KeyboardInterrupt:
        raise SimulationInterrupt(tally) from None
    finally:
        for each in pending:
            each.cancel()
    return tally


CONNECT_TIMEOUT_SECONDS = 10


_MAX_WORKER_DEATHS = 10
"""How many workers may die over one range before it is given up."""


def play_range(job: SimulationJob, first: int, count: int, device: str) -> Tally:
    """Do a range of a job; this is what a worker runs."""
    return job.play(first, count, device)


class _DaskTask:
    """A range in the hands of the cluster."""

    def __init__(self, future: Any, url: str) -> None:
        self._future, self._url = future, url

    def result(self) -> Tally:
        """Wait for it."""
        from distributed import KilledWorker  # noqa: PLC0415
        from distributed.client import FutureCancelledError  # noqa: PLC0415

        try:
            tally: Tally = self._future.result()
        except KilledWorker:
            raise OperatingFailure(
                f"the workers of {self._url} die over their work, {_MAX_WORKER_DEATHS} of them by now; "
                "see their logs for the reason, such as too little memory"
            ) from None
        except FutureCancelledError:
            raise OperatingFailure(
                f"the cluster at {self._url} went away; go on from the last resume file"
            ) from None
        return tally

    def cancel(self) -> None:
        """Give it up."""
        self._future.cancel()


class DaskWorkerPool:
    """The workers of a Dask scheduler."""

    def __init__(self, client: Any, url: str, device: str) -> None:
        self._client, self._url, self.device = client, url, device

    @property
    def capacity(self) -> int:
        """How many pieces the workers there are now can do at once."""
        return max(int(sum(self._client.nthreads().values())), 1)

    def submit(self, job: SimulationJob, first: int, count: int) -> PendingTask:
        """Send a range out."""
        key = f"threedice-{job_id(job)}-{first}-{count}-{self.device}"
        future = self._client.submit(play_range, job, first, count, self.device, key=key)
        return _DaskTask(future, self._url)


@contextmanager
def dask_pool(url: str, device: str = "cpu") -> Iterator[WorkerPool]:
    """Have the workers of a scheduler, such as tcp://host:8786, at work."""
    require_modules(("distributed", "numba"), "cluster")
    import distributed  # noqa: PLC0415

    try:
        # Dask's client leaves noise behind where it cannot even read the address.
        if not url.startswith("inproc://"):
            distributed.comm.addressing.parse_host_port(url.rpartition("://")[2])
        make: Any = distributed.Client
        client = make(url, timeout=CONNECT_TIMEOUT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidInput(
            f"no Dask scheduler answers at {url!r} ({type(error).__name__}); start one with "
            "`dask scheduler` and give its address, such as tcp://127.0.0.1:8786"
        ) from None
    try:
        if not client.nthreads():
            raise InvalidInput(
                f"the scheduler at {url} has no workers; start some with dask worker"
            )
        yield DaskWorkerPool(client, url, device)
    finally:
        client.close()


PROGRESS_FORMAT = "threedice simulation 2"


def job_fingerprint(job: AnyJob) -> str:
    """Return a name for all jobs that differ in how many sessions there are only."""
    same: Any = job if isinstance(job, FlatJob) else replace(job, sessions=0)
    return sha256(repr(same).encode()).hexdigest()


def save_progress(file: Path, job: AnyJob, tally: Tally) -> None:
    """Write what has been done; the file is whole at every moment."""
    text = msgspec.json.encode(
        {"format": PROGRESS_FORMAT, "job": job_fingerprint(job), **encode_tally(tally)}
    )
    beside = file.with_name(f"{file.name}.new")
    try:
        beside.write_bytes(text)
        beside.replace(file)
    except OSError as error:
        raise InvalidInput(f"cannot write {file}: {error.strerror}") from None


def load_progress(file: Path, job: AnyJob) -> Tally:
    """Read what has been done of a job, nothing where there is no such file yet."""
    if not file.exists():
        return job.empty_tally()
    try:
        kept = msgspec.json.decode(file.read_bytes())
        if kept["format"] != PROGRESS_FORMAT:
            raise InvalidInput("it is of another version")
        if kept["job"] != job_fingerprint(job):
            raise InvalidInput(
                "it belongs to another simulation; ask for the same game, bets, limits and seed, "
                "or name another file"
            )
        tally = decode_tally(kept, job.empty_tally())
    except OSError as error:
        raise InvalidInput(f"cannot read {file}: {error.strerror}") from None
    except InvalidInput as error:
        raise InvalidInput(f"cannot go on from {file}: {error}") from None
    except (msgspec.DecodeError, KeyError, TypeError, ValueError, IndexError):
        raise InvalidInput(f"cannot go on from {file}: it is no file of a simulation") from None
    if tally.units > job.units:
        raise InvalidInput(
            f"{file} has {tally.units} units done already, and {job.units} are asked for"
        )
    return tally


_MEMINFO: Final = Path("/proc/meminfo")


def estimate_memory_bytes(job: SimulationJob, worker_count: int) -> int:
    """Return how many bytes the counts of a job take: each hand's two pieces, and the whole."""
    room = sum(int(each.size) * 8 for each in job.empty_tally().counts.values())
    return room * (2 * worker_count + 2)


def available_memory_bytes() -> int | None:
    """Return how many bytes of memory can be had, where the system says so.

    What Linux keeps of files in memory it gives up when asked, so that it counts as free.
    """
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    told = dict(line.split(":", 1) for line in lines if ":" in line)
    amount = told.get("MemAvailable", "").split()
    return int(amount[0]) * 1024 if amount else None


def check_memory(
    job: SimulationJob, worker_count: int | None = None, free_bytes: int | None = None
) -> None:
    """Refuse a job whose counts take more memory than there is."""
    there = available_memory_bytes() if free_bytes is None else free_bytes
    wanted = estimate_memory_bytes(job, worker_count or os.cpu_count() or 1)
    if there is not None and wanted > there:
        raise InvalidInput(
            f"this would take {wanted / 2**30:.1f} GiB of memory, and {there / 2**30:.1f} GiB are "
            "free; use fewer threads, or simulate fewer players or rounds"
        )
