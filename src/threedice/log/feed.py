"""The feed: subscriptions that deliver every entry of a stream, once and in order.

Publications by the writer and notifications from other servers only wake a subscriber. It pulls
from its own cursor: from the stream's cached recent entries if they reach back far enough,
otherwise from the store, and then only entries that the house has written. So a lost notification
loses nothing (a slow poll of the heads finds the entries), and a slow subscriber costs only its
cursor.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, TypeVar

from threedice.errors import (
    ForeignEntries,
    InvariantBroken,
    OperatingFailure,
    StoreUnavailable,
)
from threedice.runtime import SYSTEM_RUNTIME

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
    from types import TracebackType

    from threedice.log.entry import Entry
    from threedice.log.store import Store
    from threedice.runtime import Runtime

T = TypeVar("T")

RETRY_SECONDS = 0.1
"""Wait before retrying a store that did not respond."""


class Feed:
    """Serve subscriptions to the streams of a store, on the event loop that creates it."""

    def __init__(
        self,
        store: Store,
        runtime: Runtime = SYSTEM_RUNTIME,
        *,
        window: int = 1000,
        poll_seconds: float = 5.0,
    ) -> None:
        self._store, self._window, self._poll_seconds = store, window, poll_seconds
        self._runtime = runtime
        self._loop = asyncio.get_running_loop()
        self._followed: dict[str, _FollowedStream] = {}
        self._requests: dict[tuple[asyncio.Event, int], asyncio.Task[Any]] = {}
        self._closed = False
        self._defect: Exception | None = None
        self._poll_due = asyncio.Event()
        self._poller = self._loop.create_task(self._poll())

    async def subscribe(self, stream: str, after: int = 0) -> AsyncGenerator[list[Entry], None]:
        """Yield the entries of a stream after a version, as they arrive, until the feed closes."""
        followed = self._followed.setdefault(stream, _FollowedStream(stream))
        followed.followers += 1
        try:
            while not self._closed:
                news = followed.changed  # taken before reading, so that later entries wake us
                if entries := await self._next(followed, after):
                    after = _check_contiguous(stream, after, entries)
                    yield entries
                else:
                    await news.wait()
        finally:
            followed.followers -= 1
            if not followed.followers:
                del self._followed[stream]

    def publish(self, appended: Mapping[str, Sequence[Entry]]) -> None:
        """Pass on newly written entries; thread-safe."""
        # Subscribers that start after this check find the entries in the store.
        if not self._followed.keys().isdisjoint(appended):
            self._call_on_loop(self._add_entries, appended)

    def notify_versions(self, versions: Mapping[str, int]) -> None:
        """Take hints that streams have reached these versions; thread-safe."""
        if not self._followed.keys().isdisjoint(versions):
            self._call_on_loop(self._apply_hints, versions)

    def set_store(self, store: Store) -> None:
        """Read from another store, such as the same database reopened."""
        self._store = store

    def poll_now(self) -> None:
        """Compare all followed streams with the store now; thread-safe."""
        self._call_on_loop(self._poll_due.set)

    def subscriber_count(self) -> int:
        """Return the number of subscriptions."""
        return sum(followed.followers for followed in list(self._followed.values()))

    def cached_entry_count(self) -> int:
        """Return the number of entries cached in memory."""
        return sum(len(followed.recent) for followed in list(self._followed.values()))

    async def close(self) -> None:
        """End all subscriptions; on return, the feed no longer uses the store."""
        self._closed = True
        self._poll_due.set()
        self._wake_all()
        await asyncio.gather(self._poller, *self._requests.values(), return_exceptions=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    # --- waking subscribers ---------------------------------------------------------------------

    def _call_on_loop(self, call: Callable[..., None], *arguments: object) -> None:
        with suppress(RuntimeError):  # the loop is closed, so there are no subscribers
            self._loop.call_soon_threadsafe(call, *arguments)

    def _add_entries(self, appended: Mapping[str, Sequence[Entry]]) -> None:
        for stream, entries in appended.items():
            if followed := self._followed.get(stream):
                followed.add_entries(entries, self._window)

    def _apply_hints(self, versions: Mapping[str, int]) -> None:
        for stream, version in versions.items():
            if followed := self._followed.get(stream):
                followed.set_hint(version)

    def _wake_all(self) -> None:
        for followed in self._followed.values():
            followed.wake()

    # --- reading from the store -----------------------------------------------------------------

    async def _next(self, followed: _FollowedStream, after: int) -> list[Entry]:
        """Return the next entries, or an empty list if no newer ones are known."""
        if self._defect:
            raise InvariantBroken(
                "the feed has stopped polling for missed entries"
            ) from self._defect
        try:
            if followed.newest is None:
                await self._share_request(followed, -1, self._read_head)
            entries = followed.entries_after(after)
            if entries is None:
                entries = await self._share_request(followed, after, self._read)
        except StoreUnavailable:
            followed.unread = True  # the poll wakes us when the store responds again
            self._loop.call_later(RETRY_SECONDS, self._poll_due.set)
            return []
        return entries

    async def _share_request(
        self,
        followed: _FollowedStream,
        after: int,
        query: Callable[[_FollowedStream, int], Coroutine[Any, Any, T]],
    ) -> T:
        """Query the store once for all subscribers with the same cursor and news."""
        key = (followed.changed, after)
        request: asyncio.Task[T] | None = self._requests.get(key)
        if request is None:
            request = self._requests[key] = self._loop.create_task(query(followed, after))
            request.add_done_callback(lambda done: self._forget_request(key, done))
        return await asyncio.shield(request)  # others may wait when one subscriber leaves

    def _forget_request(self, key: tuple[asyncio.Event, int], done: asyncio.Task[Any]) -> None:
        del self._requests[key]
        if not done.cancelled():
            done.exception()  # retrieved here; the waiting subscribers raise it

    async def _read_head(self, followed: _FollowedStream, _: int) -> None:
        heads = await self._runtime.run_blocking(self._heads, [followed.stream])
        followed.set_newest(heads.get(followed.stream, 0))

    async def _read(self, followed: _FollowedStream, after: int) -> list[Entry]:
        news = followed.changed
        entries = await self._runtime.run_blocking(
            self._read_own, followed.stream, after, followed.newest or 0
        )
        _check_contiguous(followed.stream, after, entries)
        if len(entries) < self._window and followed.changed is news:
            followed.hinted = 0  # the store has no more, so the hint was wrong
        followed.add_entries(entries, self._window)
        return entries

    def _read_own(self, stream: str, after: int, newest: int) -> list[Entry]:
        """Return entries up to a head that the house has written; `newest` is known to be one."""
        entries = self._store.read(stream, after, self._window)
        if entries and entries[-1].version > newest:
            newest = max(newest, self._heads([stream]).get(stream, 0))
        return [entry for entry in entries if entry.version <= newest]

    # --- polling, in case a notification is lost ------------------------------------------------

    async def _poll(self) -> None:
        """Poll the heads periodically; a defect here is raised in every subscriber."""
        wait = self._poll_seconds
        try:
            while not self._closed:
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._poll_due.wait()
                self._poll_due.clear()
                if not self._closed:
                    wait = self._poll_seconds if await self._poll_heads() else RETRY_SECONDS
        except Exception as defect:
            self._defect = defect
            self._wake_all()

    async def _poll_heads(self) -> bool:
        """Fetch the heads of the followed streams; return whether the store responded."""
        try:
            heads = await self._runtime.run_blocking(self._heads, list(self._followed))
        except OperatingFailure:
            return False
        for stream, version in heads.items():
            if followed := self._followed.get(stream):
                followed.set_newest(version)
                if followed.unread:
                    followed.unread = False
                    followed.wake()
        return True

    def _heads(self, streams: list[str]) -> dict[str, int]:
        """Return the versions of streams; those with foreign entries are left out."""
        versions = {}
        for stream in streams:
            with suppress(ForeignEntries):
                versions[stream] = self._store.own_head(stream).version
        return versions


class _FollowedStream:
    """A stream with subscribers: its recent entries and its newest version.

    `newest` comes from the store or the writer and is certain; `hinted` comes from notifications
    and may be wrong. `changed` is set and replaced whenever there is news for waiting subscribers.
    """

    def __init__(self, stream: str) -> None:
        self.stream = stream
        self.followers = 0
        self.newest: int | None = None
        self.hinted = 0
        self.recent: list[Entry] = []
        self.unread = False
        self.changed = asyncio.Event()

    def wake(self) -> None:
        """Wake all waiting subscribers."""
        self.changed.set()
        self.changed = asyncio.Event()

    def set_newest(self, version: int) -> None:
        """Record the version that the stream has reached."""
        if self.newest is None or version > self.newest:
            self.newest = version
            self.wake()

    def set_hint(self, version: int) -> None:
        """Record the version that the stream is reported to have reached."""
        if self.newest is None or version > self.newest:
            self.hinted = max(version, self.hinted)
            self.wake()

    def add_entries(self, entries: Sequence[Entry], window: int) -> None:
        """Cache the new ones among these entries; a gap replaces the cache."""
        last = self.recent[-1].version if self.recent else 0
        if not entries or entries[-1].version <= last:
            return
        if self.recent and entries[0].version <= last + 1:
            self.recent += entries[last + 1 - entries[0].version :]
        else:
            self.recent = list(entries)
        if len(self.recent) > 2 * window:  # not at every entry, since trimming copies the list
            del self.recent[:-window]
        self.set_newest(entries[-1].version)

    def entries_after(self, version: int) -> list[Entry] | None:
        """Return cached entries after a version, if the cache reaches back to it.

        Returns an empty list if no newer entries are known, and None if the store must be read.
        """
        if self.recent and self.recent[0].version <= version + 1 <= self.recent[-1].version:
            return self.recent[version + 1 - self.recent[0].version :]
        return [] if self.newest is not None and version >= max(self.newest, self.hinted) else None


def _check_contiguous(stream: str, after: int, entries: Sequence[Entry]) -> int:
    """Return the last version of entries, each of which must follow the one before."""
    for entry in entries:
        if entry.version != after + 1 or entry.stream != stream:
            raise InvariantBroken(
                f"{stream}: entry {entry.version} of {entry.stream} cannot follow version {after}"
            )
        after = entry.version
    return after
