"""Run a job on local threads or a Dask cluster; check its memory; save and resume its progress.

Results are added in the order of the tasks, so a tally always covers the first units of a job: a
run that was stopped can be resumed from its tally, and ends in the same tally as one that was not.

A task is (job, first, count) and nothing else, so any worker can run it, and run it again: Dask
reassigns the tasks of a lost worker. A cluster needs the extra `cluster`, and Threedice on every
worker.

A progress file names its job by a hash and is refused for any other. The hash leaves out the number
of sessions, so that a finished study can be extended.
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


CONNECT_TIMEOUT_SECONDS = 10

PROGRESS_FORMAT = "threedice simulation 2"

_MAX_WORKER_DEATHS = 10
"""Number of workers that may die running one task before it fails."""

_MEMINFO: Final = Path("/proc/meminfo")

ProgressCallback = Callable[["Tally"], None]
"""Function that receives the tally so far, after each task."""


class PendingTask(Protocol):
    """A submitted task."""

    def result(self) -> Tally:
        """Wait for the task and return its tally."""
        ...

    def cancel(self) -> Any:
        """Cancel the task if it has not started."""
        ...


class WorkerPool(Protocol):
    """A pool that runs tasks: the threads of this machine, or a cluster."""

    device: str

    @property
    def capacity(self) -> int:
        """Number of tasks that run at the same time."""
        ...

    def submit(self, job: SimulationJob, first: int, count: int) -> PendingTask:
        """Submit a task."""
        ...


class SimulationInterrupt(ThreediceError):
    """A run that was stopped, with the tally so far."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        super().__init__("stopped before the end")


def run_job(
    job: SimulationJob,
    pool: WorkerPool,
    so_far: Tally | None = None,
    report: ProgressCallback = lambda _: None,
) -> Tally:
    """Run the remaining units of a job, and return the tally of all of them."""
    tally = so_far or job.empty_tally()
    task_units, submitted = units_per_task(job, pool.device), tally.units
    pending: deque[PendingTask] = deque()
    try:
        while submitted < job.units or pending:
            while submitted < job.units and len(pending) < 2 * pool.capacity:
                count = min(task_units, job.units - submitted)
                pending.append(pool.submit(job, submitted, count))
                submitted += count
            tally = tally + pending.popleft().result()
            report(tally)
    except KeyboardInterrupt:
        raise SimulationInterrupt(tally) from None
    finally:
        for task in pending:
            task.cancel()
    return tally


# --- threads of this machine --------------------------------------------------------------------


@contextmanager
def thread_pool(thread_count: int | None = None, device: str = "cpu") -> Iterator[WorkerPool]:
    """Provide a pool of threads on this machine, by default one for each processor."""
    if device not in ("cpu", "gpu"):
        raise InvalidInput(f"there is no device {device!r}; choose cpu or gpu")
    if thread_count is not None and thread_count < 1:
        raise InvalidInput(f"{thread_count} threads; give at least one, or leave it out for all")
    pool = ThreadWorkerPool(1 if device == "gpu" else thread_count or os.cpu_count() or 1, device)
    try:
        yield pool
    finally:
        pool.close()


class ThreadWorkerPool:
    """Threads of this machine; the compiled kernels release the GIL, so they run in parallel."""

    def __init__(self, thread_count: int, device: str = "cpu") -> None:
        self._thread_count, self.device = thread_count, device
        self._executor = ThreadPoolExecutor(thread_count, thread_name_prefix="threedice-sim")

    @property
    def capacity(self) -> int:
        """Number of threads."""
        return self._thread_count

    def submit(self, job: SimulationJob, first: int, count: int) -> PendingTask:
        """Submit a task."""
        return self._executor.submit(job.play, first, count, self.device)

    def close(self) -> None:
        """Wait for the running tasks, and end the threads."""
        self._executor.shutdown(cancel_futures=True)


# --- Dask clusters ------------------------------------------------------------------------------


@contextmanager
def dask_pool(url: str, device: str = "cpu") -> Iterator[WorkerPool]:
    """Provide the workers of a Dask scheduler, such as tcp://host:8786, as a pool."""
    require_modules(("distributed", "numba"), "cluster")
    import distributed  # noqa: PLC0415

    try:
        # Dask's client logs errors in the background for a malformed address, so parse it first.
        if not url.startswith("inproc://"):
            distributed.comm.addressing.parse_host_port(url.rpartition("://")[2])
        client_class: Any = distributed.Client
        client = client_class(url, timeout=CONNECT_TIMEOUT_SECONDS, set_as_default=False)
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


class DaskWorkerPool:
    """The workers of a Dask scheduler."""

    def __init__(self, client: Any, url: str, device: str) -> None:
        self._client, self._url, self.device = client, url, device

    @property
    def capacity(self) -> int:
        """Number of tasks that the present workers run at the same time."""
        return max(int(sum(self._client.nthreads().values())), 1)

    def submit(self, job: SimulationJob, first: int, count: int) -> PendingTask:
        """Submit a task to the scheduler."""
        key = f"threedice-{job_id(job)}-{first}-{count}-{self.device}"
        future = self._client.submit(play_range, job, first, count, self.device, key=key)
        return _DaskTask(future, self._url)


def play_range(job: SimulationJob, first: int, count: int, device: str) -> Tally:
    """Play a range of a job; this function runs on the worker."""
    return job.play(first, count, device)


class _DaskTask:
    """A task on the cluster."""

    def __init__(self, future: Any, url: str) -> None:
        self._future, self._url = future, url

    def result(self) -> Tally:
        """Wait for the task and return its tally."""
        from distributed import KilledWorker  # noqa: PLC0415
        from distributed.client import FutureCancelledError  # noqa: PLC0415

        try:
            tally: Tally = self._future.result()
        except KilledWorker:
            raise OperatingFailure(
                f"{_MAX_WORKER_DEATHS} workers of {self._url} died running the same task; "
                "see their logs for the reason, such as too little memory"
            ) from None
        except FutureCancelledError:
            raise OperatingFailure(
                f"the connection to the cluster at {self._url} was lost; "
                "resume from the last progress file"
            ) from None
        return tally

    def cancel(self) -> None:
        """Cancel the task."""
        self._future.cancel()


# --- progress files -----------------------------------------------------------------------------


def save_progress(file: Path, job: AnyJob, tally: Tally) -> None:
    """Write the tally of a job to its progress file, atomically."""
    text = msgspec.json.encode(
        {"format": PROGRESS_FORMAT, "job": job_fingerprint(job), **encode_tally(tally)}
    )
    temporary = file.with_name(f"{file.name}.new")
    try:
        temporary.write_bytes(text)
        temporary.replace(file)
    except OSError as error:
        raise InvalidInput(f"cannot write {file}: {error.strerror}") from None


def load_progress(file: Path, job: AnyJob) -> Tally:
    """Read the tally of a job from its progress file, or return an empty one if there is none."""
    if not file.exists():
        return job.empty_tally()
    try:
        stored = msgspec.json.decode(file.read_bytes())
        if stored["format"] != PROGRESS_FORMAT:
            raise InvalidInput("it is of another version")
        if stored["job"] != job_fingerprint(job):
            raise InvalidInput(
                "it belongs to another simulation; give the same game, bets, limits and seed, "
                "or name another file"
            )
        tally = decode_tally(stored, job.empty_tally())
    except OSError as error:
        raise InvalidInput(f"cannot read {file}: {error.strerror}") from None
    except InvalidInput as error:
        raise InvalidInput(f"cannot resume from {file}: {error}") from None
    except (msgspec.DecodeError, KeyError, TypeError, ValueError, IndexError):
        raise InvalidInput(
            f"cannot resume from {file}: it is not a progress file of a simulation"
        ) from None
    if tally.units > job.units:
        raise InvalidInput(
            f"{file} already has {tally.units} units, and the job has only {job.units}; "
            "simulate more of them, or name another file"
        )
    return tally


def job_fingerprint(job: AnyJob) -> str:
    """Return a hash of a job that leaves out its number of sessions."""
    normalised: Any = job if isinstance(job, FlatJob) else replace(job, sessions=0)
    return sha256(repr(normalised).encode()).hexdigest()


# --- memory -------------------------------------------------------------------------------------


def check_memory(
    job: SimulationJob, worker_count: int | None = None, free_bytes: int | None = None
) -> None:
    """Raise `InvalidInput` for a job whose tallies take more memory than is available."""
    available = available_memory_bytes() if free_bytes is None else free_bytes
    needed = estimate_memory_bytes(job, worker_count or os.cpu_count() or 1)
    if available is not None and needed > available:
        raise InvalidInput(
            f"this would take {needed / 2**30:.1f} GiB of memory, and {available / 2**30:.1f} GiB "
            "are free; use fewer threads, or simulate fewer players or rounds"
        )


def estimate_memory_bytes(job: SimulationJob, worker_count: int) -> int:
    """Return the bytes of a job's tallies: two for each worker, and two for the sum."""
    tally_bytes = sum(int(array.size) * 8 for array in job.empty_tally().counts.values())
    return tally_bytes * (2 * worker_count + 2)


def available_memory_bytes() -> int | None:
    """Return the available memory, None if the system does not report it.

    Linux's MemAvailable includes the page cache, which is released on demand.
    """
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    amount = fields.get("MemAvailable", "").split()
    return int(amount[0]) * 1024 if amount else None
