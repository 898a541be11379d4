"""A house in service: the floor with everything that runs beside it.

Opens the store, brings tables back, deals the automatic ones, follows other servers, signs
checkpoints, and keeps the books.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Self

from threedice.errors import StoreFailed, ThreediceError
from threedice.floor.bookkeeping import apart, forget_former, project
from threedice.floor.dealer import Clock, Dealer, SystemClock
from threedice.floor.events import TableEstablished
from threedice.floor.floor import Floor
from threedice.floor.folds import HOUSE_STREAM
from threedice.floor.interpreter import set_for_service
from threedice.floor.recovery import interrupt_tables
from threedice.log.checkpoints import Notary
from threedice.log.feed import Feed
from threedice.log.keys import open_keys
from threedice.log.listening import Listener
from threedice.log.opening import open_store, state_directory
from threedice.table.events import RoundVoided, WinnersPaid

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path
    from types import TracebackType

    from threedice.floor.streams import Asked
    from threedice.log.entry import Head
    from threedice.log.store import Store

CHECKPOINT_SECONDS = 60.0
"""After how many seconds a checkpoint is signed where no round was settled, and how soon is found
what another server has written and nobody told of."""

BOOKS_SECONDS = 1.0
"""How soon after a round is settled its lines are in the books, and a checkpoint is signed."""

WATCH_SECONDS = 2.0
"""How soon a server hears that another has found the database failing."""


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
        self._given = store
        self._plays, self._former = False, True
        self.trouble = ""
        self.damaged: dict[str, str] = {}
        self.dealers: dict[str, Dealer] = {}
        self.interrupted: list[str] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._changed: set[str] = set()
        self._behind: dict[str, str] = {}
        self._heads: dict[str, Head] = {}
        self._look_at = 0.0
        self._news = asyncio.Event()
        self._closing = asyncio.Event()
        self._looking, self._releases = asyncio.Lock(), 0

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as exits:
            await self._open(exits)
            self._exits = exits.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._exits.aclose()

    async def _open(self, exits: AsyncExitStack) -> None:
        """Start everything; what was started is stopped again in the opposite order."""
        exits.enter_context(set_for_service())
        store = self._given
        if store is None:
            store = await asyncio.to_thread(open_store, self.url, serving=True)
            self._own = store
            exits.callback(self._close_store)
        self.notary = Notary(store, await asyncio.to_thread(open_keys, self.state), self.state)
        self._releases = await asyncio.to_thread(_releases, store)  # before the halt is looked for
        again = self._open_again if self._given is None else None
        self.floor = Floor(store, state=self.state, now=self.clock.now, open_again=again)
        exits.push_async_callback(self._close_floor)
        self.feed = await exits.enter_async_context(Feed(store))
        self.floor.streams.written = self._written
        self.floor.streams.publish = self.feed.publish
        exits.push_async_callback(self._stop)
        if self.url.startswith(("postgresql:", "postgres:")):
            listener = Listener(self.url, _Ears(self))
            exits.push_async_callback(asyncio.to_thread, listener.close)
            self._tasks.append(asyncio.create_task(self._watch()))
        await self._come_back()
        self._heads = await asyncio.to_thread(store.heads)
        for stream in await asyncio.to_thread(store.streams):
            with apart(stream, self.damaged):  # this one stands still, the others play
                await self._see_to(stream)
            self._changed.add(stream)
        self._news.set()
        self._tasks.append(asyncio.create_task(self._keep_books()))

    async def _stop(self) -> None:
        """Have dealers and books come to an end."""
        self._closing.set()
        self._news.set()
        for dealer in self.dealers.values():
            dealer.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _close_store(self) -> None:
        self._own.close()

    async def _close_floor(self) -> None:
        """Write what is waiting, and close the books over it."""
        await self.floor.close()
        if not self.floor.suspended:
            with suppress(ThreediceError):
                await asyncio.to_thread(self._close_books, self._changed, dict(self._behind))

    async def _come_back(self) -> None:
        """Begin to play: mark what was broken off, unless this server or another played on.

        Where nothing can be written, nothing is marked, and this server does not play yet.
        """
        if self.floor.streams.writer.halted:
            return
        async with _in_threads(self.floor.store.coming_back()) as nobody_plays:
            if nobody_plays and not self._plays:
                self.interrupted = await interrupt_tables(self.floor)
        self._plays = True

    async def release(self, by: str, reason: str) -> None:
        """Let the house write again, now that a person has looked at what failed.

        That is of the database: its other servers hear of it and go on by themselves.
        """
        async with self._looking:
            await self.floor.release(by, reason, then=self._come_back)
            self._releases = await asyncio.to_thread(_releases, self.floor.store)
        self._wake_dealers()

    def _wake_dealers(self) -> None:
        for dealer in self.dealers.values():
            dealer.wake.set()

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

    def look_again(self) -> None:
        """Find out soon what others have written, as some of it may not have been heard of."""
        self.floor.streams.look_again()
        self._look_at = 0.0
        self._news.set()

    async def _see_to(self, stream: str) -> None:
        """Have a table dealt that the house is to deal.

        Several may be at it together, so whether it has a dealer is asked last: of two dealers one
        would never be closed, and each would call the other's rounds off.
        """
        kind, _, table = stream.partition("/")
        if kind != "table" or table in self.dealers:
            return
        tended = await self.floor.tended(table)
        wanted = tended.dealt_by_house and table not in self.dealers
        if wanted and not self._closing.is_set():
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
            changed, self._changed = self._changed, set()
            try:
                changed |= await self._moved()
                await self._keep_up(changed)
                self.trouble = "; ".join(self._behind.values())
            except Exception as trouble:  # of whatever kind: nobody would miss books that ended
                # shown; the log has everything, and it is tried again
                self.trouble = str(trouble) or type(trouble).__name__
                self._changed |= changed
                self._look_at = 0.0
            await self._pause(BOOKS_SECONDS)

    async def _moved(self) -> set[str]:
        """Return every now and then which streams have moved since, whoever told of it or not.

        A table may be among them that another server has set up while this one heard nothing.
        """
        now = asyncio.get_running_loop().time()
        if now < self._look_at:
            return set()
        self._look_at = now + CHECKPOINT_SECONDS
        heads = await asyncio.to_thread(self.floor.store.heads)
        moved = {stream for stream, head in heads.items() if self._heads.get(stream) != head}
        for stream in moved:
            self.floor.streams.changed(stream, heads[stream].version)
        self._heads = heads
        return moved

    async def _keep_up(self, changed: set[str]) -> None:
        """See to the streams that have changed, and to those that have stayed behind.

        One that cannot be read or added up stays behind alone, until it can.
        """
        streams, behind = changed | self._behind.keys(), dict[str, str]()
        for stream in streams:
            with apart(stream, behind):
                await self._see_to(stream)
        if self.floor.suspended:
            self._changed |= changed
            return
        await asyncio.to_thread(self._close_books, changed, behind)
        self._behind = behind
        for stream in streams - behind.keys():
            self.damaged.pop(stream, None)

    def _close_books(self, changed: set[str], behind: dict[str, str]) -> None:
        """Add the lines that are missing, and sign the heads with the key in use."""
        for stream in sorted((changed | self._behind.keys()) - behind.keys()):
            with apart(stream, behind):
                project(self.floor.store, stream, self.floor.streams.games.pinned)
        if not changed:
            return
        if self._former and not behind:
            forget_former(self.floor.store)
            self._former = False
        self.notary.use(open_keys(self.state))
        self.notary.make(self.clock.now())

    async def _watch(self) -> None:
        """Stop when another server has found the database failing; go on when it is released."""
        while not self._closing.is_set():
            with suppress(Exception):  # it is asked again soon
                async with self._looking:
                    await self._look()
            await self._pause(WATCH_SECONDS)

    async def _look(self) -> None:
        """See whether the database is suspended, and whether somebody has released it since."""
        releases = await asyncio.to_thread(_releases, self.floor.store)
        cause = await asyncio.to_thread(self.floor.store.suspended)
        writer = self.floor.streams.writer
        if not self.floor.suspended:
            self._releases = releases
            if cause:
                writer.hold(cause)
        elif not cause and releases > self._releases and not writer.defect:
            with suppress(StoreFailed):  # it has halted anew, and has to be released anew
                await self.floor.go_on(self._come_back)
            self._releases = releases
            self._wake_dealers()

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()

    def _open_again(self) -> Store:
        store = self._own = open_store(self.url, serving=True)
        self.notary = Notary(store, open_keys(self.state), self.state)
        self.feed.use(store)
        return store


def _releases(store: Store) -> int:
    """Return how often people have let the house write again."""
    return store.head(HOUSE_STREAM).version


@asynccontextmanager
async def _in_threads(context: AbstractContextManager[bool]) -> AsyncIterator[bool]:
    """Enter and leave what may have to wait, while the loop goes on."""
    entered = await asyncio.to_thread(context.__enter__)
    try:
        yield entered
    except BaseException as error:
        await asyncio.to_thread(context.__exit__, type(error), error, error.__traceback__)
        raise
    await asyncio.to_thread(context.__exit__, None, None, None)


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
        self._soon(self._house.look_again)

    def _hear(self, versions: Mapping[str, int]) -> None:
        for stream, version in versions.items():
            self._house.floor.streams.changed(stream, version)
            self._house.hear(stream, news=True)

    def _soon(self, call: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop is closed, and nobody is left to be told
            self._loop.call_soon_threadsafe(call)
