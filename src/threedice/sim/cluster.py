"""A Dask cluster as crew: ranges of a job go out, tallies come back, lost ranges go out again.

A piece of work is (job, first, count) and nothing else, so it does not matter which worker does it,
nor how often: Dask gives what a lost worker had in hand to another, and the answer is the same.
Needs the extra `cluster`, and Threedice on every worker.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from threedice.errors import InvalidInput, OperatingFailure
from threedice.sim import require
from threedice.sim.jobs import name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.sim.jobs import Job
    from threedice.sim.running import Crew, Pending
    from threedice.sim.tallies import Tally

CONNECT_SECONDS = 10
_LOSSES = 10
"""How many workers may die over one range before it is given up."""


def play_range(job: Job, first: int, count: int, device: str) -> Tally:
    """Do a range of a job; this is what a worker runs."""
    return job.play(first, count, device)


class _Range:
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
                f"the workers of {self._url} die over their work, {_LOSSES} of them by now; "
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


class Cluster:
    """The workers of a Dask scheduler."""

    def __init__(self, client: Any, url: str, device: str) -> None:
        self._client, self._url, self.device = client, url, device

    @property
    def hands(self) -> int:
        """How many pieces the workers there are now can do at once."""
        return max(int(sum(self._client.nthreads().values())), 1)

    def begin(self, job: Job, first: int, count: int) -> Pending:
        """Send a range out."""
        key = f"threedice-{name_of(job)}-{first}-{count}-{self.device}"
        future = self._client.submit(play_range, job, first, count, self.device, key=key)
        return _Range(future, self._url)


@contextmanager
def cluster(url: str, device: str = "cpu") -> Iterator[Crew]:
    """Have the workers of a scheduler, such as tcp://host:8786, at work."""
    require(("distributed", "numba"), "cluster")
    import distributed  # noqa: PLC0415

    try:
        # Dask's client leaves noise behind where it cannot even read the address.
        if not url.startswith("inproc://"):
            distributed.comm.addressing.parse_host_port(url.rpartition("://")[2])
        make: Any = distributed.Client
        client = make(url, timeout=CONNECT_SECONDS, set_as_default=False)
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
        yield Cluster(client, url, device)
    finally:
        client.close()
