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
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from threedice.errors import InvalidInput, OperatingFailure, ThreediceError
from threedice.extras import require_extra
from threedice.sim.jobs import FlatJob, decode_tally, encode_tally, units_per_task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.sim.jobs import AnyJob, Tally

CONNECT_TIMEOUT_SECONDS = 10

PROGRESS_FORMAT = "threedice simulation 2"

MEMINFO: Final = Path("/proc/meminfo")

ProgressCallback = Callable[["Tally"], None]
"""Function that receives the tally so far, after each task."""


class SimulationInterrupt(ThreediceError):
    """A run that was stopped, with the tally so far."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        super().__init__("stopped before the end")


def run_job(
    job: AnyJob,
    pool: WorkerPool,
    so_far: Tally | None = None,
    report: ProgressCallback = lambda _: None,
) -> Tally:
    """Run the remaining units of a job, and return the tally of all of them."""
    tally = so_far or job.empty_tally()
    task_units, submitted = units_per_task(job, pool.device), tally.units
    pending: deque[Future[Tally]] = deque()
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
    threads = 1 if device == "gpu" else thread_count or os.cpu_count() or 1
    with ThreadPoolExecutor(threads, thread_name_prefix="threedice-sim") as executor:
        yield ThreadWorkerPool(executor, threads, device)


@dataclass(frozen=True, slots=True)
class ThreadWorkerPool:
    """Threads of this machine; the compiled kernels release the GIL, so they run in parallel."""

    executor: ThreadPoolExecutor
    capacity: int
    device: str

    def submit(self, job: AnyJob, first: int, count: int) -> Future[Tally]:
        """Submit a task."""
        return self.executor.submit(job.play, first, count, self.device)


# --- Dask clusters ------------------------------------------------------------------------------


@contextmanager
def dask_pool(url: str, device: str = "cpu") -> Iterator[WorkerPool]:
    """Provide the workers of a Dask scheduler, such as tcp://host:8786, as a pool."""
    require_extra("cluster", "a Dask cluster")
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
        yield DaskWorkerPool(client, device)
    except distributed.KilledWorker as killed:
        raise OperatingFailure(
            f"{killed.allowed_failures + 1} workers of {url} died running the same task; "
            "see their logs for the reason, such as too little memory"
        ) from None
    except distributed.client.FutureCancelledError:
        raise OperatingFailure(
            f"the connection to the cluster at {url} was lost; resume from the last progress file"
        ) from None
    finally:
        client.close()


@dataclass(frozen=True, slots=True)
class DaskWorkerPool:
    """The workers of a Dask scheduler; a task is a Dask future."""

    client: Any
    device: str

    @property
    def capacity(self) -> int:
        """Number of tasks that the present workers run at the same time."""
        return max(int(sum(self.client.nthreads().values())), 1)

    def submit(self, job: AnyJob, first: int, count: int) -> Any:
        """Submit a task to the scheduler."""
        key = f"threedice-{job_fingerprint(job)}-{first}-{count}-{self.device}"
        return self.client.submit(play_range, job, first, count, self.device, key=key)


def play_range(job: AnyJob, first: int, count: int, device: str) -> Tally:
    """Play a range of a job; this function runs on the worker."""
    return job.play(first, count, device)


WorkerPool = ThreadWorkerPool | DaskWorkerPool


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
    """Return a hash of a job, the same on every machine, that leaves out the number of sessions."""
    normalised: Any = job if isinstance(job, FlatJob) else replace(job, sessions=0)
    return sha256(repr(normalised).encode()).hexdigest()


# --- memory -------------------------------------------------------------------------------------


def check_memory(
    job: AnyJob, worker_count: int | None = None, free_bytes: int | None = None
) -> None:
    """Raise `InvalidInput` for a job whose tallies take more memory than is available."""
    available = available_memory_bytes() if free_bytes is None else free_bytes
    needed = estimate_memory_bytes(job, worker_count or os.cpu_count() or 1)
    if available is not None and needed > available:
        raise InvalidInput(
            f"this would take {needed / 2**30:.1f} GiB of memory, and {available / 2**30:.1f} GiB "
            "are free; use fewer threads, or simulate fewer players or rounds"
        )


def estimate_memory_bytes(job: AnyJob, worker_count: int) -> int:
    """Return the bytes of a job's tallies: two for each worker, and two for the sum."""
    tally_bytes = sum(int(array.size) * 8 for array in job.empty_tally().counts.values())
    return tally_bytes * (2 * worker_count + 2)


def available_memory_bytes(meminfo: Path = MEMINFO) -> int | None:
    """Return the available memory, None if the system does not report it.

    Linux's MemAvailable includes the page cache, which is released on demand.
    """
    try:
        lines = meminfo.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    amount = fields.get("MemAvailable", "").split()
    return int(amount[0]) * 1024 if amount else None
