"""Somebody who follows a stream, and a store to follow, for the tests of the feed."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from tests.log.proposing import PATIENCE, propose
from threedice.log.stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from threedice.log.entry import Entry, Head
    from threedice.log.feed import Feed

T = TypeVar("T")

NEVER = 1e6
"""Seconds between polls, for those who do not want to be saved by one."""

TABLE = "table/1"


def run(story: Coroutine[Any, Any, T]) -> T:
    """Run a story to its end, on a loop of its own."""
    return asyncio.run(asyncio.wait_for(story, PATIENCE))


class Follower:
    """Follows a stream from a version and keeps what it sees."""

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

    async def reaches(self, version: int) -> None:
        """Wait until the stream has been seen up to a version; raises what ended it before."""
        while self.version < version:
            if self.task.done():
                self.task.result()
                raise AssertionError(f"{self.stream} ended at {self.version}, not {version}")
            await self._moved.wait()
            self._moved.clear()

    @property
    def version(self) -> int:
        return self.seen[-1].version if self.seen else self.after

    async def leaves(self) -> None:
        """Stop following."""
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task


class CountingStore(MemoryStore):
    """Counts how often it is asked, and fails at first if it is told to."""

    def __init__(self, *failures: Exception) -> None:
        super().__init__()
        self.reads = self.looks = 0
        self.failures = list(failures)

    def read(self, stream: str, after: int = 0, most: int = 1000) -> list[Entry]:
        self.reads += 1
        if self.failures:
            raise self.failures.pop()
        return super().read(stream, after, most)

    def head(self, stream: str) -> Head:
        self.looks += 1
        return super().head(stream)


def append(store: MemoryStore, stream: str, entries: int = 1) -> dict[str, list[Entry]]:
    """Append to a stream, and return what the writer would publish."""
    proposal = propose(stream, MemoryStore.head(store, stream), entries)
    store.write([proposal])
    return {stream: list(proposal.appends[0].entries)}


def whole(store: MemoryStore, stream: str, after: int = 0) -> list[Entry]:
    return MemoryStore.read(store, stream, after, 10**9)
