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
from threedice.house.command_handler import CommandHandler
from threedice.house.dealer.automatic import AutomaticDealer, Clock, SystemClock
from threedice.house.events import TableEstablished
from threedice.house.interpreter import serving_settings
from threedice.house.recovery import interrupt_tables, isolate_failures
from threedice.house.reports.statements import delete_former_views, update_statements
from threedice.house.stream_state import HOUSE_STREAM
from threedice.log.feed import Feed
from threedice.log.proof.checkpoints import CheckpointSigner
from threedice.log.proof.keys import open_keys
from threedice.log.stores.postgres_streams import NotificationListener
from threedice.log.stores.urls import open_store, state_directory
from threedice.table.events import RoundVoided, WinnersPaid

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path
    from types import TracebackType

    from threedice.house.streams import PendingCommand
    from threedice.log.entry import Head
    from threedice.log.store import Store

CHECKPOINT_SECONDS = 60.0
"""After how many seconds a checkpoint is signed where no round was settled, and how soon is found
what another server has written and nobody told of."""

STATEMENT_DELAY_SECONDS = 1.0
"""How soon after a round is settled its lines are in the books, and a checkpoint is signed."""

SUSPENSION_POLL_SECONDS = 2.0
"""How soon a server hears that another has found the database failing."""


class House:
    """A server of a house; several may serve one PostgreSQL database."""

    def __init__(
        self,
        url: str,
        *,
        store: Store | None = None,
        state_dir: Path | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.url, self.clock = url, clock or SystemClock()
        self.holder = f"{os.getpid()}-{secrets.token_hex(4)}"
        self.state_dir = state_dir or state_directory(url)
        self._given_store = store
        self._is_playing, self._has_former_views = False, True
        self.background_error = ""
        self.damaged: dict[str, str] = {}
        self.dealers: dict[str, AutomaticDealer] = {}
        self.interrupted: list[str] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._changed: set[str] = set()
        self._lagging: dict[str, str] = {}
        self._heads: dict[str, Head] = {}
        self._next_head_check = 0.0
        self._wake = asyncio.Event()
        self._closing = asyncio.Event()
        self._suspension_lock, self._releases_seen = asyncio.Lock(), 0

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
        exits.enter_context(serving_settings())
        store = self._given_store
        if store is None:
            store = await asyncio.to_thread(open_store, self.url, serving=True)
            self._own_store = store
            exits.callback(self._close_store)
        self.notary = CheckpointSigner(
            store, await asyncio.to_thread(open_keys, self.state_dir), self.state_dir
        )
        self._releases_seen = await asyncio.to_thread(
            _count_releases, store
        )  # before the halt is looked for
        again = self._reopen_store if self._given_store is None else None
        self.command_handler = CommandHandler(
            store, state_dir=self.state_dir, now=self.clock.now, reopen_store=again
        )
        exits.push_async_callback(self._close_handler)
        self.feed = await exits.enter_async_context(Feed(store))
        self.command_handler.streams.on_written = self._on_written
        self.command_handler.streams.publish = self.feed.publish
        exits.push_async_callback(self._stop)
        if self.url.startswith(("postgresql:", "postgres:")):
            listener = NotificationListener(self.url, _RemoteChanges(self))
            exits.push_async_callback(asyncio.to_thread, listener.close)
            self._tasks.append(asyncio.create_task(self._watch_suspension()))
        await self._recover()
        self._heads = await asyncio.to_thread(store.heads)
        for stream in await asyncio.to_thread(store.streams):
            with isolate_failures(stream, self.damaged):  # this one stands still, the others play
                await self._ensure_dealer(stream)
            self._changed.add(stream)
        self._wake.set()
        self._tasks.append(asyncio.create_task(self._run_maintenance()))

    async def _stop(self) -> None:
        """Have dealers and books come to an end."""
        self._closing.set()
        self._wake.set()
        for dealer in self.dealers.values():
            dealer.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _close_store(self) -> None:
        self._own_store.close()

    async def _close_handler(self) -> None:
        """Write what is waiting, and close the books over it."""
        await self.command_handler.close()
        if not self.command_handler.suspension_reason:
            with suppress(ThreediceError):
                await asyncio.to_thread(self._update_and_sign, self._changed, dict(self._lagging))

    async def _recover(self) -> None:
        """Begin to play: mark what was broken off, unless this server or another played on.

        Where nothing can be written, nothing is marked, and this server does not play yet.
        """
        if self.command_handler.streams.writer.halt_reason:
            return
        async with _entered_in_thread(self.command_handler.store.recovery_lock()) as nobody_plays:
            if nobody_plays and not self._is_playing:
                self.interrupted = await interrupt_tables(self.command_handler)
        self._is_playing = True

    async def release(self, by: str, reason: str) -> None:
        """Let the house write again, now that a person has looked at what failed.

        That is of the database: its other servers hear of it and go on by themselves.
        """
        async with self._suspension_lock:
            await self.command_handler.release(by, reason, recover=self._recover)
            self._releases_seen = await asyncio.to_thread(
                _count_releases, self.command_handler.store
            )
        self._wake_dealers()

    def _wake_dealers(self) -> None:
        for dealer in self.dealers.values():
            dealer.wake.set()

    # --- what is written ------------------------------------------------------------------------

    def _on_written(self, pending: PendingCommand) -> None:
        """Hear what this server has made durable."""
        for append, events in zip(pending.appends, pending.events, strict=True):
            news = any(isinstance(event, WinnersPaid | RoundVoided) for event in events)
            self.note_change(append.stream, is_urgent=news)
            if any(isinstance(event, TableEstablished) for event in events):
                self._tasks.append(asyncio.create_task(self._ensure_dealer(append.stream)))

    def note_change(self, stream: str, *, is_urgent: bool) -> None:
        """Note that a stream has changed; with news, see to it soon."""
        self._changed.add(stream)
        if is_urgent:
            self._wake.set()
        if dealer := self.dealers.get(stream.partition("/")[2]):
            dealer.wake.set()

    def refresh_soon(self) -> None:
        """Find out soon what others have written, as some of it may not have been heard of."""
        self.command_handler.streams.mark_all_changed()
        self._next_head_check = 0.0
        self._wake.set()

    async def _ensure_dealer(self, stream: str) -> None:
        """Have a table dealt that the house is to deal.

        Several may be at it together, so whether it has a dealer is asked last: of two dealers one
        would never be closed, and each would call the other's rounds off.
        """
        kind, _, table = stream.partition("/")
        if kind != "table" or table in self.dealers:
            return
        house_table = await self.command_handler.table(table)
        wanted = house_table.dealt_by_house and table not in self.dealers
        if wanted and not self._closing.is_set():
            dealer = self.dealers[table] = AutomaticDealer(
                self.command_handler, table, self.holder, self.clock
            )
            self._tasks.append(asyncio.create_task(dealer.run()))

    # --- books and checkpoints ------------------------------------------------------------------

    async def _run_maintenance(self) -> None:
        """Keep dealers, projections and checkpoints up with what happens."""
        while not self._closing.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(CHECKPOINT_SECONDS):
                    await self._wake.wait()
            self._wake.clear()
            changed, self._changed = self._changed, set()
            try:
                changed |= await self._find_moved_streams()
                await self._update_streams(changed)
                self.background_error = "; ".join(self._lagging.values())
            except Exception as trouble:  # of whatever kind: nobody would miss books that ended
                # shown; the log has everything, and it is tried again
                self.background_error = str(trouble) or type(trouble).__name__
                self._changed |= changed
                self._next_head_check = 0.0
            await self._pause(STATEMENT_DELAY_SECONDS)

    async def _find_moved_streams(self) -> set[str]:
        """Return every now and then which streams have moved since, whoever told of it or not.

        A table may be among them that another server has set up while this one heard nothing.
        """
        now = asyncio.get_running_loop().time()
        if now < self._next_head_check:
            return set()
        self._next_head_check = now + CHECKPOINT_SECONDS
        heads = await asyncio.to_thread(self.command_handler.store.heads)
        moved = {stream for stream, head in heads.items() if self._heads.get(stream) != head}
        for stream in moved:
            self.command_handler.streams.mark_changed(stream, heads[stream].version)
        self._heads = heads
        return moved

    async def _update_streams(self, changed: set[str]) -> None:
        """See to the streams that have changed, and to those that have stayed behind.

        One that cannot be read or added up stays behind alone, until it can.
        """
        streams, behind = changed | self._lagging.keys(), dict[str, str]()
        for stream in streams:
            with isolate_failures(stream, behind):
                await self._ensure_dealer(stream)
        if self.command_handler.suspension_reason:
            self._changed |= changed
            return
        await asyncio.to_thread(self._update_and_sign, changed, behind)
        self._lagging = behind
        for stream in streams - behind.keys():
            self.damaged.pop(stream, None)

    def _update_and_sign(self, changed: set[str], lagging: dict[str, str]) -> None:
        """Add the lines that are missing, and sign the heads with the key in use."""
        for stream in sorted((changed | self._lagging.keys()) - lagging.keys()):
            with isolate_failures(stream, lagging):
                update_statements(
                    self.command_handler.store,
                    stream,
                    self.command_handler.streams.games.load_pinned,
                )
        if not changed:
            return
        if self._has_former_views and not lagging:
            delete_former_views(self.command_handler.store)
            self._has_former_views = False
        self.notary.set_keys(open_keys(self.state_dir))
        self.notary.create_checkpoint(self.clock.now())

    async def _watch_suspension(self) -> None:
        """Stop when another server has found the database failing; go on when it is released."""
        while not self._closing.is_set():
            with suppress(Exception):  # it is asked again soon
                async with self._suspension_lock:
                    await self._check_suspension()
            await self._pause(SUSPENSION_POLL_SECONDS)

    async def _check_suspension(self) -> None:
        """See whether the database is suspended, and whether somebody has released it since."""
        releases = await asyncio.to_thread(_count_releases, self.command_handler.store)
        cause = await asyncio.to_thread(self.command_handler.store.suspension_reason)
        writer = self.command_handler.streams.writer
        if not self.command_handler.suspension_reason:
            self._releases_seen = releases
            if cause:
                writer.suspend(cause)
        elif not cause and releases > self._releases_seen and not writer.halted_by_defect:
            with suppress(StoreFailed):  # it has halted anew, and has to be released anew
                await self.command_handler.resume(self._recover)
            self._releases_seen = releases
            self._wake_dealers()

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()

    def _reopen_store(self) -> Store:
        store = self._own_store = open_store(self.url, serving=True)
        self.notary = CheckpointSigner(store, open_keys(self.state_dir), self.state_dir)
        self.feed.set_store(store)
        return store


def _count_releases(store: Store) -> int:
    """Return how often people have let the house write again."""
    return store.head(HOUSE_STREAM).version


@asynccontextmanager
async def _entered_in_thread(context: AbstractContextManager[bool]) -> AsyncIterator[bool]:
    """Enter and leave what may have to wait, while the loop goes on."""
    entered = await asyncio.to_thread(context.__enter__)
    try:
        yield entered
    except BaseException as error:
        await asyncio.to_thread(context.__exit__, type(error), error, error.__traceback__)
        raise
    await asyncio.to_thread(context.__exit__, None, None, None)


class _RemoteChanges:
    """Passes on, from the listener's thread, what other servers have written."""

    def __init__(self, house: House) -> None:
        self._house, self._loop = house, asyncio.get_running_loop()

    def notify_versions(self, versions: Mapping[str, int]) -> None:
        """Take a hint that streams have come to these versions."""
        self._house.feed.notify_versions(versions)
        self._call_soon(lambda: self._apply(versions))

    def poll_now(self) -> None:
        """Take a hint that anything may have changed."""
        self._house.feed.poll_now()
        self._call_soon(self._house.refresh_soon)

    def _apply(self, versions: Mapping[str, int]) -> None:
        for stream, version in versions.items():
            self._house.command_handler.streams.mark_changed(stream, version)
            self._house.note_change(stream, is_urgent=True)

    def _call_soon(self, call: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop is closed, and nobody is left to be told
            self._loop.call_soon_threadsafe(call)
