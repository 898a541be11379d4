"""The feed: whoever follows a stream gets every entry of it, once and in order.

What others say (`publish` the writer, `heard` the listener) only wakes: a subscriber pulls from its
own cursor, out of the stream's recent entries where they reach back to it, else out of the store.
So a lost word loses nothing, for a slow poll of the heads finds what it was about, and a slow
subscriber costs nothing but its cursor.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, TypeVar

from threedice.errors import InvariantBroken, OperatingFailure, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
    from types import TracebackType

    from threedice.log.entry import Entry
    from threedice.log.store import Store

T = TypeVar("T")

RETRY_SECONDS = 0.1
"""How soon a store that did not answer is asked again."""


class Feed:
    """Hands out the streams of a store on one event loop, the one it is made on."""

    def __init__(self, store: Store, *, window: int = 1000, poll_seconds: float = 5.0) -> None:
        self._store, self._window, self._poll_seconds = store, window, poll_seconds
        self._loop = asyncio.get_running_loop()
        self._followed: dict[str, _FollowedStream] = {}
        self._requests: dict[tuple[asyncio.Event, int], asyncio.Task[Any]] = {}
        self._closed = False
        self._defect: Exception | None = None
        self._poll_due = asyncio.Event()
        self._poller = self._loop.create_task(self._poll())

    async def subscribe(self, stream: str, after: int = 0) -> AsyncGenerator[list[Entry], None]:
        """Yield the entries of a stream after a version, as they come, until the feed closes."""
        followed = self._followed.setdefault(stream, _FollowedStream(stream))
        followed.followers += 1
        try:
            while not self._closed:
                news = followed.changed  # taken before looking: what comes meanwhile wakes us
                if entries := await self._next(followed, after):
                    after = _check_contiguous(stream, after, entries)
                    yield entries
                else:
                    await news.wait()
        finally:
            followed.followers -= 1
            if not followed.followers:
                del self._followed[stream]

    def publish(self, fresh: Mapping[str, Sequence[Entry]]) -> None:
        """Hand on what has just been written, from any thread."""
        # Whoever follows a stream only after this look finds the entries in the store.
        wanted = {stream: each for stream, each in fresh.items() if stream in self._followed}
        if wanted:
            self._call_on_loop(self._add_entries, wanted)

    def notify_versions(self, versions: Mapping[str, int]) -> None:
        """Take a hint that streams have come to these versions, from any thread."""
        wanted = {stream: each for stream, each in versions.items() if stream in self._followed}
        if wanted:
            self._call_on_loop(self._apply_hints, wanted)

    def set_store(self, store: Store) -> None:
        """Read from another store from now on, such as the same database opened again."""
        self._store = store

    def poll_now(self) -> None:
        """Compare all that is followed with the store now, from any thread."""
        self._call_on_loop(self._poll_due.set)

    def subscriber_count(self) -> int:
        """Return how many subscriptions there are."""
        return sum(followed.followers for followed in list(self._followed.values()))

    def cached_entry_count(self) -> int:
        """Return how many entries are kept in memory."""
        return sum(len(followed.recent) for followed in list(self._followed.values()))

    async def close(self) -> None:
        """End all subscriptions; when it returns nothing of the feed uses the store any more."""
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

    # --- what subscribers are told --------------------------------------------------------------

    def _call_on_loop(self, call: Callable[..., None], *arguments: object) -> None:
        with suppress(RuntimeError):  # the loop is closed, and nobody is left to be told
            self._loop.call_soon_threadsafe(call, *arguments)

    def _add_entries(self, fresh: Mapping[str, Sequence[Entry]]) -> None:
        for stream, entries in fresh.items():
            if followed := self._followed.get(stream):
                followed.add_entries(entries, self._window)

    def _apply_hints(self, versions: Mapping[str, int]) -> None:
        for stream, version in versions.items():
            if followed := self._followed.get(stream):
                followed.set_hint(version)

    def _wake_all(self) -> None:
        for followed in self._followed.values():
            followed.wake()

    # --- what they ask of the store -------------------------------------------------------------

    async def _next(self, followed: _FollowedStream, after: int) -> list[Entry]:
        """Return the entries that come next, or none where none are known of yet."""
        if self._defect:
            raise InvariantBroken("the feed no longer looks for what it missed") from self._defect
        try:
            if followed.newest is None:
                await self._share_request(followed, -1, self._read_head)
            entries = followed.entries_after(after)
            if entries is None:
                entries = await self._share_request(followed, after, self._read)
        except StoreUnavailable:
            followed.unread = True  # so that the poll wakes us when the store answers again
            self._loop.call_later(RETRY_SECONDS, self._poll_due.set)
            return []
        return entries

    async def _share_request(
        self,
        followed: _FollowedStream,
        after: int,
        ask: Callable[[_FollowedStream, int], Coroutine[Any, Any, T]],
    ) -> T:
        """Ask the store once for all who want the same, unless there has been news since."""
        what = (followed.changed, after)
        asked: asyncio.Task[T] | None = self._requests.get(what)
        if asked is None:
            asked = self._requests[what] = self._loop.create_task(ask(followed, after))
            asked.add_done_callback(lambda done: self._forget_request(what, done))
        return await asyncio.shield(asked)  # one who goes away does not take the answer along

    def _forget_request(self, what: tuple[asyncio.Event, int], done: asyncio.Task[Any]) -> None:
        del self._requests[what]
        if not done.cancelled():
            done.exception()  # whoever still waits raises it

    async def _read_head(self, followed: _FollowedStream, _: int) -> None:
        head = await asyncio.to_thread(self._store.head, followed.stream)
        followed.set_newest(head.version)

    async def _read(self, followed: _FollowedStream, after: int) -> list[Entry]:
        news = followed.changed
        entries = await asyncio.to_thread(self._store.read, followed.stream, after, self._window)
        _check_contiguous(followed.stream, after, entries)
        if len(entries) < self._window and followed.changed is news:
            followed.hinted = 0  # there is no more than this, whatever we were told
        followed.add_entries(entries, self._window)
        return entries

    # --- the safety net -------------------------------------------------------------------------

    async def _poll(self) -> None:
        """Compare heads every now and then; a defect in it is every subscriber's."""
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
        """Hear from the store how far each followed stream has come; tells whether it answered."""
        try:
            heads = await asyncio.to_thread(self._heads, list(self._followed))
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
        return {stream: self._store.head(stream).version for stream in streams}


class _FollowedStream:
    """A stream that somebody follows: its recent entries, and how far it has come.

    `newest` is true, from the store or from who wrote it; `hinted` is what others say, who may be
    wrong. `news` is set and replaced whenever something comes that somebody may wait for.
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
        """Let all who wait look again."""
        self.changed.set()
        self.changed = asyncio.Event()

    def set_newest(self, version: int) -> None:
        """Note how far the stream has come."""
        if self.newest is None or version > self.newest:
            self.newest = version
            self.wake()

    def set_hint(self, version: int) -> None:
        """Note how far it is said to have come."""
        if self.newest is None or version > self.newest:
            self.hinted = max(version, self.hinted)
            self.wake()

    def add_entries(self, entries: Sequence[Entry], window: int) -> None:
        """Keep what is new of these entries, if only without gap."""
        last = self.recent[-1].version if self.recent else 0
        if not entries or entries[-1].version <= last:
            return
        if self.recent and entries[0].version <= last + 1:
            self.recent += entries[last + 1 - entries[0].version :]
        else:
            self.recent = list(entries)
        if len(self.recent) > 2 * window:  # not at every entry: what is cut off is copied
            del self.recent[:-window]
        self.set_newest(entries[-1].version)

    def entries_after(self, version: int) -> list[Entry] | None:
        """Return recent entries after a version; none if no newer are known of; else ask."""
        if self.recent and self.recent[0].version <= version + 1 <= self.recent[-1].version:
            return self.recent[version + 1 - self.recent[0].version :]
        return [] if self.newest is not None and version >= max(self.newest, self.hinted) else None


def _check_contiguous(stream: str, after: int, entries: Sequence[Entry]) -> int:
    """Return the version that entries lead to, if each follows upon the one before it."""
    for entry in entries:
        if entry.version != after + 1 or entry.stream != stream:
            raise InvariantBroken(
                f"{stream}: entry {entry.version} of {entry.stream} cannot follow version {after}"
            )
        after = entry.version
    return after
