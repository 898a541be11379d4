"""Somebody who follows a stream, for the tests of the feed."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from tests.log.proposing import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from threedice.log.entry import Entry
    from threedice.log.feed import Feed

T = TypeVar("T")


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
