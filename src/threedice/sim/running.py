"""Doing a job: in pieces, on several threads, with a word after each piece, and to be gone on with.

Pieces are added in their order, so that what has been done is always the first so many units: a run
that is stopped can be resumed from its tally, and ends in the same tally as one that was not.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from threedice.errors import InvalidInput, ThreediceError
from threedice.sim.jobs import at_once

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.sim.jobs import Job
    from threedice.sim.tallies import Tally

Report = Callable[["Tally"], None]
"""Told what has been done so far, after each piece."""


class Pending(Protocol):
    """A piece of work under way."""

    def result(self) -> Tally:
        """Wait for it."""
        ...

    def cancel(self) -> Any:
        """Give it up if it has not begun."""
        ...


class Crew(Protocol):
    """Whoever does pieces of work: threads of this machine, or a cluster."""

    device: str

    @property
    def hands(self) -> int:
        """How many pieces it can do at once."""
        ...

    def begin(self, job: Job, first: int, count: int) -> Pending:
        """Begin a piece."""
        ...


class Interrupted(ThreediceError):
    """A run that was stopped, with what it had done."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        super().__init__("stopped before the end")


class Threads:
    """The threads of this machine; machine code runs on all of them at once."""

    def __init__(self, hands: int, device: str = "cpu") -> None:
        self._hands, self.device = hands, device
        self._pool = ThreadPoolExecutor(hands, thread_name_prefix="threedice-sim")

    @property
    def hands(self) -> int:
        """How many threads there are."""
        return self._hands

    def begin(self, job: Job, first: int, count: int) -> Pending:
        """Begin a piece."""
        return self._pool.submit(job.play, first, count, self.device)

    def close(self) -> None:
        """Wait for what is under way, and end the threads."""
        self._pool.shutdown(cancel_futures=True)


@contextmanager
def threads(hands: int | None = None, device: str = "cpu") -> Iterator[Crew]:
    """Have the threads of this machine at work: all of its processors unless told otherwise."""
    if device not in ("cpu", "gpu"):
        raise InvalidInput(f"there is no device {device!r}; choose cpu or gpu")
    if hands is not None and hands < 1:
        raise InvalidInput(f"{hands} threads; give at least one, or leave it out for all")
    crew = Threads(1 if device == "gpu" else hands or os.cpu_count() or 1, device)
    try:
        yield crew
    finally:
        crew.close()


def run(
    job: Job, crew: Crew, so_far: Tally | None = None, report: Report = lambda _: None
) -> Tally:
    """Do what is left of a job, and return the tally of all of it."""
    tally = so_far or job.blank()
    piece, begun = at_once(job, crew.device), tally.units
    pending: deque[Pending] = deque()
    try:
        while begun < job.units or pending:
            while begun < job.units and len(pending) < 2 * crew.hands:
                count = min(piece, job.units - begun)
                pending.append(crew.begin(job, begun, count))
                begun += count
            tally = tally + pending.popleft().result()
            report(tally)
    except KeyboardInterrupt:
        raise Interrupted(tally) from None
    finally:
        for each in pending:
            each.cancel()
    return tally
