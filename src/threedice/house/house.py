"""Run a house: the command handler with all its background tasks.

Opens the store, recovers tables, runs the automatic dealers, follows the writes of other servers,
updates statements, and signs checkpoints.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Self

from threedice.errors import StoreFailed, ThreediceError
from threedice.house.command_handler import CommandHandler
from threedice.house.dealer.automatic import AutomaticDealer
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
from threedice.runtime import SYSTEM_RUNTIME
from threedice.table.events import RoundVoided, WinnersPaid

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from threedice.house.streams import PendingCommand
    from threedice.log.entry import Head
    from threedice.log.store import Store
    from threedice.runtime import Runtime

CHECKPOINT_SECONDS = 60.0
"""Seconds between checkpoints when no round is settled, and between checks for entries of other
servers whose notifications were missed."""

STATEMENT_DELAY_SECONDS = 1.0
"""Seconds between maintenance passes: the delay of statements and checkpoints after a round."""

SUSPENSION_POLL_SECONDS = 2.0
"""Seconds between checks whether another server has suspended or released the house."""


class House:
    """One server of a house; several can share one PostgreSQL database."""

    def __init__(
        self,
        url: str,
        *,
        store: Store | None = None,
        state_dir: Path | None = None,
        runtime: Runtime = SYSTEM_RUNTIME,
    ) -> None:
        self.url, self.runtime = url, runtime
        self.holder = f"{os.getpid()}-{runtime.random_bytes(4).hex()}"
        self.state_dir = state_dir or state_directory(url)
        self._given_store = store
        self._is_serving, self._has_former_views = False, True
        self.background_error = ""
        self._damaged: dict[str, str] = {}
        self.dealers: dict[str, AutomaticDealer] = {}
        self.interrupted: list[str] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._changed: set[str] = set()
        self._lagging: dict[str, str] = {}
        self._heads: dict[str, Head] = {}
        self._next_head_check = 0.0
        self._wake = asyncio.Event()
        self._closing = asyncio.Event()
        self._suspension_lock, self._known_releases = asyncio.Lock(), 0

    @property
    def damaged(self) -> dict[str, str]:
        """The streams that have stopped, and why: unreadable, or money that does not add up."""
        return self._damaged | self.command_handler.streams.stopped

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as exits:
            await self._open(exits)
            self._exits = exits.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exits.aclose()

    async def _open(self, exits: AsyncExitStack) -> None:
        """Start all parts; `exits` stops them in reverse order."""
        exits.enter_context(serving_settings())
        store = self._given_store
        if store is None:
            store = await self.runtime.run_blocking(open_store, self.url, serving=True)
            self._own_store = store
            exits.callback(self._close_store)
        keys = await self.runtime.run_blocking(open_keys, self.state_dir)
        self.checkpoint_signer = CheckpointSigner(store, keys, self.state_dir)
        # counted before the writer looks for a halt: a release in between must not be missed
        self._known_releases = await self.runtime.run_blocking(_count_releases, store)
        self.command_handler = CommandHandler(
            store,
            state_dir=self.state_dir,
            runtime=self.runtime,
            reopen_store=self._reopen_store if self._given_store is None else None,
        )
        exits.push_async_callback(self._close_handler)
        self.feed = await exits.enter_async_context(Feed(store, self.runtime))
        self.command_handler.streams.on_written = self._on_written
        self.command_handler.streams.publish = self.feed.publish
        exits.push_async_callback(self._stop)
        if self.url.startswith(("postgresql:", "postgres:")):
            listener = NotificationListener(self.url, _RemoteChanges(self))
            exits.push_async_callback(self.runtime.run_blocking, listener.close)
            self._tasks.append(asyncio.create_task(self._watch_suspension()))
        await self._recover()
        self._heads = await self.runtime.run_blocking(store.heads)
        for stream in await self.runtime.run_blocking(store.streams):
            with isolate_failures(stream, self._damaged):  # the other tables go on
                await self._ensure_dealer(stream)
            self._changed.add(stream)
        self._wake.set()
        self._tasks.append(asyncio.create_task(self._run_maintenance()))

    async def _stop(self) -> None:
        """Stop the dealers and the maintenance task."""
        self._closing.set()
        self._wake.set()
        for dealer in self.dealers.values():
            dealer.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _close_store(self) -> None:
        self._own_store.close()

    async def _close_handler(self) -> None:
        """Write the queued commands, then update statements and sign a last checkpoint."""
        await self.command_handler.close()
        if not self.command_handler.suspension_reason:
            with suppress(ThreediceError):
                await self.runtime.run_blocking(
                    self._update_and_sign, self._changed, dict(self._lagging)
                )

    async def _recover(self) -> None:
        """Mark tables in mid-round as interrupted, unless this or another server kept serving.

        While the house is suspended nothing is marked, and this server does not serve yet.
        """
        if self.command_handler.streams.writer.halt_reason:
            return
        recovery_lock = self.command_handler.store.recovery_lock()
        async with _entered_in_thread(self.runtime, recovery_lock) as none_serving:
            if none_serving and not self._is_serving:
                self.interrupted = await interrupt_tables(self.command_handler)
        self._is_serving = True

    async def release(self, by: str, reason: str) -> None:
        """Let the house write again after a person has inspected the failure.

        A release applies to the database: its other servers notice it and resume by themselves.
        """
        async with self._suspension_lock:
            await self.command_handler.suspension.release(by, reason, recover=self._recover)
            store = self.command_handler.store
            self._known_releases = await self.runtime.run_blocking(_count_releases, store)
        self._wake_dealers()

    def _wake_dealers(self) -> None:
        for dealer in self.dealers.values():
            dealer.wake.set()

    # --- changed streams and dealers ------------------------------------------------------------

    def _on_written(self, pending: PendingCommand) -> None:
        """Note the streams of a durable command, and start a dealer for a table just set up."""
        for append, events in zip(pending.appends, pending.events, strict=True):
            round_ended = any(isinstance(event, WinnersPaid | RoundVoided) for event in events)
            self.note_change(append.stream, is_urgent=round_ended)
            if any(isinstance(event, TableEstablished) for event in events):
                self._tasks.append(asyncio.create_task(self._ensure_dealer(append.stream)))

    def note_change(self, stream: str, *, is_urgent: bool) -> None:
        """Note that a stream has changed; if urgent, wake the maintenance task."""
        self._changed.add(stream)
        if is_urgent:
            self._wake.set()
        if dealer := self.dealers.get(stream.partition("/")[2]):
            dealer.wake.set()

    def refresh_soon(self) -> None:
        """Check all streams soon, because notifications of other servers may have been missed."""
        self.command_handler.streams.mark_all_changed()
        self._next_head_check = 0.0
        self._wake.set()

    async def _ensure_dealer(self, stream: str) -> None:
        """Start the dealer of a table that the house deals, unless it has one.

        Calls can overlap, so the check is repeated after the await: of two dealers one would never
        be closed, and each would void the other's rounds.
        """
        kind, _, table = stream.partition("/")
        if kind != "table" or table in self.dealers:
            return
        house_table = await self.command_handler.table(table)
        needs_dealer = house_table.dealt_by_house and table not in self.dealers
        if needs_dealer and not self._closing.is_set():
            dealer = self.dealers[table] = AutomaticDealer(self.command_handler, table, self.holder)
            self._tasks.append(asyncio.create_task(dealer.run()))

    # --- statements and checkpoints -------------------------------------------------------------

    async def _run_maintenance(self) -> None:
        """Update dealers, statements and checkpoints as streams change, until closed."""
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
            except Exception as error:  # any type: if this task ended, nobody would notice
                # reported and retried; the log has everything
                self.background_error = str(error) or type(error).__name__
                self._changed |= changed
                self._next_head_check = 0.0
            await self._pause(STATEMENT_DELAY_SECONDS)

    async def _find_moved_streams(self) -> set[str]:
        """Return the streams that changed since the last check, with or without a notification.

        Runs every `CHECKPOINT_SECONDS`; also finds tables that another server has set up.
        """
        now = asyncio.get_running_loop().time()
        if now < self._next_head_check:
            return set()
        self._next_head_check = now + CHECKPOINT_SECONDS
        heads = await self.runtime.run_blocking(self.command_handler.store.heads)
        moved = {stream for stream, head in heads.items() if self._heads.get(stream) != head}
        for stream in moved:
            self.command_handler.streams.mark_changed(stream, heads[stream].version)
        self._heads = heads
        return moved

    async def _update_streams(self, changed: set[str]) -> None:
        """Update the streams that changed, and retry those that failed before.

        A stream that cannot be read or projected does not hold up the others.
        """
        streams, lagging = changed | self._lagging.keys(), dict[str, str]()
        for stream in streams:
            with isolate_failures(stream, lagging):
                await self._ensure_dealer(stream)
        if self.command_handler.suspension_reason:
            self._changed |= changed
            return
        stored = await self.runtime.run_blocking(self._update_and_sign, changed, lagging)
        for stream, version in stored.items():
            self.command_handler.streams.drop_stored_rows(stream, version)
        self._lagging = lagging
        for stream in streams - lagging.keys():
            self._damaged.pop(stream, None)

    def _update_and_sign(self, changed: set[str], lagging: dict[str, str]) -> dict[str, int]:
        """Add the missing statement rows, and sign a checkpoint with the current key.

        Returns the version of each stream up to which its rows are stored now.
        """
        stored: dict[str, int] = {}
        for stream in sorted((changed | self._lagging.keys()) - lagging.keys()):
            with isolate_failures(stream, lagging):
                stored[stream] = update_statements(
                    self.command_handler.store,
                    stream,
                    self.command_handler.streams.games.load_pinned,
                )
        if not changed:
            return stored
        if self._has_former_views and not lagging:
            delete_former_views(self.command_handler.store)
            self._has_former_views = False
        self.checkpoint_signer.set_keys(open_keys(self.state_dir))
        self.checkpoint_signer.create_checkpoint(self.runtime.now())
        return stored

    async def _watch_suspension(self) -> None:
        """Suspend when another server suspends the database, and resume after its release."""
        while not self._closing.is_set():
            with suppress(Exception):  # checked again soon
                async with self._suspension_lock:
                    await self._check_suspension()
            await self._pause(SUSPENSION_POLL_SECONDS)

    async def _check_suspension(self) -> None:
        """Check whether the database was suspended, or released, by another server."""
        releases = await self.runtime.run_blocking(_count_releases, self.command_handler.store)
        cause = await self.runtime.run_blocking(self.command_handler.store.suspension_reason)
        writer = self.command_handler.streams.writer
        if not self.command_handler.suspension_reason:
            self._known_releases = releases
            if cause:
                writer.suspend(cause)
        elif not cause and releases > self._known_releases and not writer.halted_by_defect:
            with suppress(StoreFailed):  # halted again; needs another release
                await self.command_handler.suspension.resume(self._recover)
            self._known_releases = releases
            self._wake_dealers()

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()

    def _reopen_store(self) -> Store:
        store = self._own_store = open_store(self.url, serving=True)
        self.checkpoint_signer = CheckpointSigner(store, open_keys(self.state_dir), self.state_dir)
        self.feed.set_store(store)
        return store


def _count_releases(store: Store) -> int:
    """Return the number of releases recorded in the house's stream."""
    return store.head(HOUSE_STREAM).version


@asynccontextmanager
async def _entered_in_thread(
    runtime: Runtime, context: AbstractContextManager[bool]
) -> AsyncIterator[bool]:
    """Enter and exit a blocking context manager in a thread."""
    entered = await runtime.run_blocking(context.__enter__)
    try:
        yield entered
    except BaseException as error:
        await runtime.run_blocking(context.__exit__, type(error), error, error.__traceback__)
        raise
    await runtime.run_blocking(context.__exit__, None, None, None)


class _RemoteChanges:
    """Forward notifications of other servers from the listener's thread to the event loop."""

    def __init__(self, house: House) -> None:
        self._house, self._loop = house, asyncio.get_running_loop()

    def notify_versions(self, versions: Mapping[str, int]) -> None:
        """Note that streams may have reached these versions."""
        self._house.feed.notify_versions(versions)
        self._call_soon(lambda: self._apply(versions))

    def poll_now(self) -> None:
        """Note that any stream may have changed."""
        self._house.feed.poll_now()
        self._call_soon(self._house.refresh_soon)

    def _apply(self, versions: Mapping[str, int]) -> None:
        for stream, version in versions.items():
            self._house.command_handler.streams.mark_changed(stream, version)
            self._house.note_change(stream, is_urgent=True)

    def _call_soon(self, callback: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop is closed; nothing to notify
            self._loop.call_soon_threadsafe(callback)
