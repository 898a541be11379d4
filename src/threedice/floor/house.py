"""A house in service: the floor with everything that runs beside it.

Opens the store, brings tables back, deals the automatic ones, follows other servers, signs
checkpoints, and keeps the books.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from threedice.errors import OperatingFailure
from threedice.floor.bookkeeping import project
from threedice.floor.dealer import Clock, Dealer, SystemClock
from threedice.floor.events import TableEstablished
from threedice.floor.floor import Floor
from threedice.floor.recovery import interrupt_tables
from threedice.log.checkpoints import Notary
from threedice.log.feed import Feed
from threedice.log.keys import open_keys
from threedice.log.listening import Listener
from threedice.log.opening import open_store, state_directory
from threedice.table.events import RoundVoided, WinnersPaid

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType

    from threedice.floor.streams import Asked
    from threedice.log.store import Store

CHECKPOINT_SECONDS = 60.0
"""After how many seconds a checkpoint is signed where no round was settled."""

BOOKS_SECONDS = 1.0
"""How soon after a round is settled its lines are in the books, and a checkpoint is signed."""


class House:
    """A server of a house; several may serve one PostgreSQL database."""

    def __init__(
        self,
        url: str,
        *,
        store: Store | None = None,
        state: Path | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.url, self.clock = url, clock or SystemClock()
        self.holder = f"{os.getpid()}-{secrets.token_hex(4)}"
        self.state = state or state_directory(url)
        self._store = store
        self.dealers: dict[str, Dealer] = {}
        self.interrupted: list[str] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._changed: set[str] = set()
        self._news = asyncio.Event()
        self._closing = asyncio.Event()
        self._listener: Listener | None = None

    async def __aenter__(self) -> Self:
        store = self._store
        if store is None:
            store = await asyncio.to_thread(open_store, self.url, serving=True)
        self.floor = Floor(store, state=self.state, now=self.clock.now, open_again=self._open_again)
        self.feed = Feed(store)
        self.floor.streams.written = self._written
        self.floor.streams.publish = self.feed.publish
        if self.url.startswith(("postgresql:", "postgres:")):
            self._listener = Listener(self.url, _Ears(self))
        self.notary = Notary(store, open_keys(self.state), self.state)
        if await asyncio.to_thread(store.alone) and not self.floor.suspended:
            self.interrupted = await interrupt_tables(self.floor)
        for stream in await asyncio.to_thread(store.streams):
            await self._see_to(stream)
            self._changed.add(stream)
        self._news.set()
        self._tasks.append(asyncio.create_task(self._keep_books()))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._news.set()
        for dealer in self.dealers.values():
            dealer.close()
        await asyncio.gather(*self._tasks)
        if self._listener:
            await asyncio.to_thread(self._listener.close)
        await self.feed.close()
        await self.floor.close()
        with suppress(OperatingFailure):
            await asyncio.to_thread(self._close_books, self._changed)
        if self._store is None:
            self.floor.store.close()

    # --- what is written ------------------------------------------------------------------------

    def _written(self, asked: Asked) -> None:
        """Hear what this server has made durable."""
        for append, events in zip(asked.appends, asked.events, strict=True):
            news = any(isinstance(event, WinnersPaid | RoundVoided) for event in events)
            self.hear(append.stream, news=news)
            if any(isinstance(event, TableEstablished) for event in events):
                self._tasks.append(asyncio.create_task(self._see_to(append.stream)))

    def hear(self, stream: str, *, news: bool) -> None:
        """Note that a stream has changed; with news, see to it soon."""
        self._changed.add(stream)
        if news:
            self._news.set()
        if dealer := self.dealers.get(stream.partition("/")[2]):
            dealer.wake.set()

    async def _see_to(self, stream: str) -> None:
        """Have a table dealt that the house is to deal."""
        kind, _, table = stream.partition("/")
        if kind != "table" or table in self.dealers:
            return
        tended = await self.floor.tended(table)
        if tended.dealt_by_house and not self._closing.is_set():
            dealer = self.dealers[table] = Dealer(self.floor, table, self.holder, self.clock)
            self._tasks.append(asyncio.create_task(dealer.run()))

    # --- books and checkpoints ------------------------------------------------------------------

    async def _keep_books(self) -> None:
        """Keep dealers, projections and checkpoints up with what happens."""
        while not self._closing.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(CHECKPOINT_SECONDS):
                    await self._news.wait()
            self._news.clear()
            streams, self._changed = self._changed, set()
            try:
                for stream in streams:
                    await self._see_to(stream)
                await asyncio.to_thread(self._close_books, streams)
            except OperatingFailure:
                self._changed |= streams  # the next time; the log has everything
            with suppress(TimeoutError):
                async with asyncio.timeout(BOOKS_SECONDS):
                    await self._closing.wait()

    def _close_books(self, streams: set[str]) -> None:
        """Add the lines that are missing, and sign the heads."""
        if not streams or self.floor.suspended:
            return
        for stream in sorted(streams):
            project(self.floor.store, stream, self.floor.streams.games.pinned)
        self.notary.make(self.clock.now())

    def _open_again(self) -> Store:
        store = open_store(self.url, serving=True)
        self.notary = Notary(store, open_keys(self.state), self.state)
        self.feed.use(store)
        return store


class _Ears:
    """Passes on, from the listener's thread, what other servers have written."""

    def __init__(self, house: House) -> None:
        self._house, self._loop = house, asyncio.get_running_loop()

    def heard(self, versions: Mapping[str, int]) -> None:
        """Take a hint that streams have come to these versions."""
        self._house.feed.heard(versions)
        self._soon(lambda: self._hear(versions))

    def look_again(self) -> None:
        """Take a hint that anything may have changed."""
        self._house.feed.look_again()
        self._soon(self._house.floor.streams.look_again)

    def _hear(self, versions: Mapping[str, int]) -> None:
        for stream, version in versions.items():
            self._house.floor.streams.changed(stream, version)
            self._house.hear(stream, news=True)

    def _soon(self, call: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop is closed, and nobody is left to be told
            self._loop.call_soon_threadsafe(call)
