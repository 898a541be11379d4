"""Test doubles of the log: stores that block, fail or count, writers, callers and followers."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from threading import Semaphore
from typing import TYPE_CHECKING, Any, Self, TypeVar

from tests.log.proposals import PATIENCE, propose
from threedice.errors import StoreFailed
from threedice.log.records import ProposalOutcome
from threedice.log.stores.memory import MemoryStore
from threedice.log.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence
    from typing import Any

    from threedice.log.entry import Entry, Head
    from threedice.log.feed import Feed
    from threedice.log.records import Proposal
    from threedice.log.store import Store
    from threedice.log.writer import WriteResult


class GatedStore(MemoryStore):
    """A store that reports the start of each write and blocks until released."""

    def __init__(self) -> None:
        super().__init__()
        self.started = SimpleQueue[int]()
        self.gate = Semaphore(0)

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        self.started.put(len(proposals))
        assert self.gate.acquire(timeout=PATIENCE)
        return super().write(proposals)

    def let_writes_finish(self, writes: int) -> None:
        self.gate.release(writes)

    def next_batch_size(self) -> int:
        """Wait for the next write to start and return the size of its batch."""
        return self.started.get(timeout=PATIENCE)


class FailingStore(MemoryStore):
    """A store whose writes raise the given errors, one each, before anything is written."""

    def __init__(self, *failures: Exception, notes: bool = True) -> None:
        super().__init__()
        self.failures, self.notes, self.writes = list(failures), notes, 0

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        self.writes += 1
        if self.failures:
            raise self.failures.pop(0)
        return super().write(proposals)

    def suspend(self, reason: str) -> None:
        if not self.notes:
            raise StoreFailed("no space left on device")
        super().suspend(reason)


class Callers:
    """Callers of a writer; records the results delivered to them, batch by batch."""

    def __init__(self) -> None:
        self.batches = SimpleQueue[list[tuple[int, "WriteResult"]]]()

    def deliver(self, tokens: Sequence[int], results: Sequence[WriteResult]) -> None:
        self.batches.put(list(zip(tokens, results, strict=True)))

    def next_batch(self) -> list[tuple[int, WriteResult]]:
        return self.batches.get(timeout=PATIENCE)


class WaitingWriter(Writer[Future[ProposalOutcome]]):
    """A writer whose callers wait for the outcomes of their proposals."""

    def __init__(self, store: Store, **options: Any) -> None:
        super().__init__(store, deliver=_resolve, **options)

    def write_and_wait(self, proposal: Proposal) -> ProposalOutcome:
        future = Future[ProposalOutcome]()
        self.submit(proposal, future)
        return future.result(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _resolve(futures: Sequence[Future[ProposalOutcome]], results: Sequence[WriteResult]) -> None:
    for future, result in zip(futures, results, strict=True):
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)


T = TypeVar("T")

NEVER = 1e6
"""Seconds between polls in tests that must not depend on a poll."""

TABLE = "table/1"


def run(scenario: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in a new event loop."""
    return asyncio.run(asyncio.wait_for(scenario, PATIENCE))


class Follower:
    """A subscriber that follows a stream from a version and records its entries."""

    def __init__(self, feed: Feed, stream: str, after: int = 0) -> None:
        self.stream, self.after = stream, after
        self.seen: list[Entry] = []
        self._moved = asyncio.Event()
        self.task = asyncio.get_running_loop().create_task(self._follow(feed))

    async def _follow(self, feed: Feed) -> None:
        try:
            async for entries in feed.subscribe(self.stream, self.after):
                self.seen += entries
                self._moved.set()
        finally:
            self._moved.set()

    async def wait_for(self, version: int) -> None:
        """Wait for a version, or raise the error that ended the subscription."""
        while self.version < version:
            if self.task.done():
                self.task.result()
                raise AssertionError(f"{self.stream} ended at {self.version}, not {version}")
            await self._moved.wait()
            self._moved.clear()

    @property
    def version(self) -> int:
        return self.seen[-1].version if self.seen else self.after

    async def stop(self) -> None:
        """Stop following."""
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task


class CountingStore(MemoryStore):
    """A store that counts its reads, and whose first reads raise the given errors."""

    def __init__(self, *failures: Exception) -> None:
        super().__init__()
        self.reads = self.looks = 0
        self.failures = list(failures)

    def read(self, stream: str, after: int = 0, limit: int = 1000) -> list[Entry]:
        self.reads += 1
        if self.failures:
            raise self.failures.pop()
        return super().read(stream, after, limit)

    def head(self, stream: str) -> Head:
        self.looks += 1
        return super().head(stream)


def append_entries(store: MemoryStore, stream: str, entries: int = 1) -> dict[str, list[Entry]]:
    """Append to a stream and return the entries that the writer would publish."""
    proposal = propose(stream, MemoryStore.head(store, stream), entries)
    store.write([proposal])
    return {stream: list(proposal.appends[0].entries)}


def read_all(store: MemoryStore, stream: str, after: int = 0) -> list[Entry]:
    """Return all entries of a stream without counting the read."""
    return MemoryStore.read(store, stream, after, 10**9)
