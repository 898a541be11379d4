"""Run a house: the command handler with all its background tasks.

Opens the store, recovers tables, runs the automatic dealers, follows the writes of other servers,
updates statements, and signs checkpoints.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Self

from threedice.db.urls import is_postgres_url
from threedice.errors import (
    EntriesMissing,
    ForeignEntries,
    InvalidInput,
    OperatingFailure,
    StoreFailed,
    ThreediceError,
)
from threedice.house.codec import tag_of
from threedice.house.command_handler import CommandHandler
from threedice.house.dealer.automatic import AutomaticDealer
from threedice.house.events import TableEstablished, WritingReleased
from threedice.house.interpreter import serving_settings
from threedice.house.live_stream import read_own_entries, require_next_entry
from threedice.house.recovery import (
    build_acceptance,
    interrupt_tables,
    isolate_failures,
    record_release,
)
from threedice.house.reports.statements import delete_former_views, update_statements
from threedice.house.stream_state import HOUSE_STREAM
from threedice.log.entry import EMPTY_HEAD, Head
from threedice.log.feed import Feed
from threedice.log.proof.checkpoints import CheckpointSigner
from threedice.log.proof.head_macs import open_head_macs
from threedice.log.proof.keys import open_house_keys, read_keys
from threedice.log.record_chain import PEOPLE_STREAM
from threedice.log.stores.files import mark_halted
from threedice.log.stores.postgres_streams import NotificationListener
from threedice.log.stores.urls import open_store, refuse_lost_database, state_directory
from threedice.runtime import SYSTEM_RUNTIME
from threedice.table.events import RoundVoided, WinnersPaid

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from threedice.house.streams import PendingCommand
    from threedice.log.store import Store
    from threedice.runtime import Runtime

CHECKPOINT_SECONDS = 60.0
"""Seconds between checkpoints when no round is settled, and between checks for entries of other
servers whose notifications were missed."""

STATEMENT_DELAY_SECONDS = 1.0
"""Seconds between maintenance passes: the delay of statements and checkpoints after a round."""

SUSPENSION_POLL_SECONDS = 2.0
"""Seconds between checks whether another server has suspended or released the house."""

_ROUND_ENDS = frozenset({WinnersPaid, RoundVoided})


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
        self.lagging: dict[str, str] = {}
        """Streams whose statements are behind, and why."""
        self._heads: dict[str, tuple[Head, bytes]] = {}
        self._next_head_check = 0.0
        self._wake = asyncio.Event()
        self._closing = asyncio.Event()
        self._signing = asyncio.Lock()
        self._suspension_lock, self._last_release = asyncio.Lock(), 0

    @property
    def damaged(self) -> dict[str, str]:
        """The streams that have stopped, and why.

        Unreadable, money that does not add up, or entries that the house has not written.
        """
        return self._damaged | self.command_handler.streams.stopped

    @property
    def foreign(self) -> set[str]:
        """The streams that have stopped because the house has not written all their entries."""
        return self.command_handler.streams.foreign

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
            refuse_lost_database(self.url, self.state_dir)
            store = await self.runtime.run_blocking(open_store, self.url, serving=True)
            self._own_store = store
            exits.callback(self._close_store)
        keys = await self.runtime.run_blocking(open_house_keys, store.database, self.state_dir)
        store.head_macs = await self.runtime.run_blocking(
            open_head_macs, store.database, self.state_dir
        )
        self.checkpoint_signer = CheckpointSigner(store, keys, self.state_dir)
        await self.runtime.run_blocking(self.checkpoint_signer.load)
        # read before the writer looks for a halt: a release in between must not be missed
        self._last_release = await self.runtime.run_blocking(_find_last_release, store)
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
        if is_postgres_url(self.url):
            listener = NotificationListener(self.url, _RemoteChanges(self))
            exits.push_async_callback(self.runtime.run_blocking, listener.close)
        if self._given_store is None:
            self._tasks.append(asyncio.create_task(self._watch_store()))
        await self._check_heads()
        await self._recover()
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
        try:
            self._own_store.close()
        finally:
            if failure := self._own_store.database.failure:  # perhaps of the identity store
                mark_halted(self.state_dir, failure)

    async def _close_handler(self) -> None:
        """Write the queued commands, then update statements and sign a last checkpoint."""
        await self.command_handler.close()
        if not self.command_handler.suspension_reason:
            with suppress(ThreediceError):
                self._next_head_check = 0.0
                changed = self._changed | await self._find_moved_streams()
                await self.runtime.run_blocking(self._update_and_sign, changed, dict(self.lagging))

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
            self._last_release = await self.runtime.run_blocking(_find_last_release, store)
        self._wake_dealers()

    async def accept_entries(self, stream: str, by: str, reason: str) -> None:
        """Let a stream go on whose entries the house has not written, after a person's inspection.

        One transaction records it in the house's stream and writes a valid MAC for the head.
        """
        streams = self.command_handler.streams
        if stream not in streams.foreign:
            raise OperatingFailure(f"{stream} has no foreign entries; there is nothing to release")
        if not reason.strip():
            raise InvalidInput("give the reason why the entries are accepted")
        if cause := self.command_handler.suspension_reason:
            raise StoreFailed(cause)
        async with self._signing:  # so that no earlier comparison of heads stops the stream again
            base, head = await self.runtime.run_blocking(self._find_foreign_entries, stream)
            event = build_acceptance(stream, base, head, by=by, reason=reason)
            subject = f"{stream} {head.version} {reason}"
            if stream == HOUSE_STREAM:  # the record extends the accepted entries
                await streams.load_accepted(stream, head)
                await record_release(streams, event, subject)
            else:
                await record_release(streams, event, subject, {stream: head})
                streams.resume_foreign(stream)
        self._damaged.pop(stream, None)
        self._changed.add(stream)
        self.feed.poll_now()
        self._wake.set()
        self._wake_dealers()

    def _find_foreign_entries(self, stream: str) -> tuple[Head, Head]:
        """Return the last head of a stream known to be the house's, and its present head.

        Raises `TamperedData` or `InvariantBroken` unless the entries between the two are a chain,
        and `EntriesMissing` if entries before them are missing.
        """
        store = self.command_handler.store
        last = base = store.known_heads.get(stream, EMPTY_HEAD)
        head = store.head(stream)
        for known in (self.checkpoint_signer.signed_head(stream), base):
            store.require_extension(stream, head, known)
        for entry in read_own_entries(store, stream, base, accepted=head):
            require_next_entry(last, entry)
            last = Head(entry.version, entry.hash)
        return base, head

    def _wake_dealers(self) -> None:
        for dealer in self.dealers.values():
            dealer.wake.set()

    # --- changed streams and dealers ------------------------------------------------------------

    def _on_written(self, pending: PendingCommand) -> None:
        """Note the streams of a durable command, and start a dealer for a table just set up."""
        for append, events in zip(pending.appends, pending.events, strict=True):
            kinds = set(map(type, events))
            self.note_change(append.stream, is_urgent=not kinds.isdisjoint(_ROUND_ENDS))
            if TableEstablished in kinds:
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
                self.background_error = "; ".join(self.lagging.values())
                if self.checkpoint_signer.has_rolled_up:
                    self._wake.set()
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
        return await self._check_heads()

    async def _check_heads(self) -> set[str]:
        """Return the streams whose heads have moved; stop those that are foreign or went back."""
        streams = self.command_handler.streams
        async with self._signing:
            moved, refused = await self.runtime.run_blocking(self._compare_heads)
            for foreign in refused:
                streams.stop_foreign(foreign)
            for stream, head in moved.items():
                streams.resume_foreign(stream)  # accepted at another server
                streams.mark_changed(stream, head.version)
        return set(moved)

    def _compare_heads(self) -> tuple[dict[str, Head], list[ForeignEntries]]:
        """Return the heads that have moved since the last comparison, and why some are refused."""
        store, moved, refused = self.command_handler.store, dict[str, Head](), []
        known, heads = store.known_heads.copy(), store.heads_with_macs()
        for stream in sorted(heads.keys() | known.keys()):
            head, mac = heads.get(stream, (EMPTY_HEAD, b""))
            is_moved = self._heads.get(stream) != (head, mac)
            last_known = known.get(stream, EMPTY_HEAD)
            if not is_moved and head == last_known:
                continue
            try:
                store.require_own(stream, head, mac, last_known)
            except ForeignEntries as foreign:
                refused.append(foreign)
            else:
                if is_moved:
                    moved[stream] = head
        self._heads = heads
        return moved, refused

    async def _update_streams(self, changed: set[str]) -> None:
        """Update the streams that changed, and retry those that failed before.

        A stream that cannot be read or projected does not hold up the others.
        """
        streams, lagging = changed | self.lagging.keys(), dict[str, str]()
        streams -= self.command_handler.streams.foreign
        for stream in streams:
            with isolate_failures(stream, lagging):
                await self._ensure_dealer(stream)
        if self.command_handler.suspension_reason:
            self._changed |= changed
            return
        async with self._signing:
            stored = await self.runtime.run_blocking(self._update_and_sign, changed, lagging)
        if self.checkpoint_signer.foreign.keys() - self.command_handler.streams.foreign:
            await self._check_heads()
        for foreign in self.checkpoint_signer.foreign.values():
            if isinstance(foreign, EntriesMissing):
                self.command_handler.streams.stop_foreign(foreign)
        for stream in self.command_handler.streams.foreign:
            lagging.pop(stream, None)
        for stream, version in stored.items():
            self.command_handler.streams.drop_stored_rows(stream, version)
        self.lagging = lagging
        for stream in streams - lagging.keys():
            self._damaged.pop(stream, None)

    def _update_and_sign(self, changed: set[str], lagging: dict[str, str]) -> dict[str, int]:
        """Add the missing statement rows, and sign a checkpoint with the current key.

        Returns the version of each stream up to which its rows are stored now.
        """
        stored: dict[str, int] = {}
        streams = (changed | self.lagging.keys()) - self.command_handler.streams.foreign
        for stream in sorted(streams - lagging.keys() - {PEOPLE_STREAM}):
            with isolate_failures(stream, lagging):
                stored[stream] = update_statements(
                    self.command_handler.store,
                    stream,
                    self.command_handler.streams.games.load_pinned,
                    self.command_handler.store.own_head(stream).version,
                )
        if not changed:
            self.checkpoint_signer.delete_rolled_up()
            return stored
        if self._has_former_views and not lagging:
            delete_former_views(self.command_handler.store)
            self._has_former_views = False
        self.checkpoint_signer.set_keys(read_keys(self.state_dir))
        self.checkpoint_signer.create_checkpoint(self.runtime.now())
        return stored

    async def _watch_store(self) -> None:
        """Suspend when the database is lost or another server suspends it; resume with others.

        The command line may release it as well.
        """
        while not self._closing.is_set():
            with suppress(Exception):  # checked again soon
                async with self._suspension_lock:
                    await self.check_storage()
                    await self._check_suspension()
            await self._pause(SUSPENSION_POLL_SECONDS)

    async def check_storage(self) -> None:
        """Halt the writer if the database file was removed or replaced, or its disk has failed."""
        try:
            await self.runtime.run_blocking(self.command_handler.store.check_storage)
        except StoreFailed as failure:
            writer = self.command_handler.streams.writer
            await self.runtime.run_blocking(writer.halt, failure)

    async def _check_suspension(self) -> None:
        """Check whether the database was suspended, or released, by another server."""
        if self.foreign:  # perhaps a person accepts the entries elsewhere
            self._next_head_check = 0.0
            self._wake.set()
        store = self.command_handler.store
        release = await self.runtime.run_blocking(_find_last_release, store, self._last_release)
        cause = await self.runtime.run_blocking(store.suspension_reason)
        writer = self.command_handler.streams.writer
        if not self.command_handler.suspension_reason:
            self._last_release = release
            if cause:
                writer.suspend(cause)
        elif not cause and release > self._last_release and not writer.halted_by_defect:
            with suppress(StoreFailed):  # halted again; needs another release
                await self.command_handler.suspension.resume(self._recover)
            self._last_release = release
            self._wake_dealers()

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()

    def _reopen_store(self) -> Store:
        """Open the store again; its tables must be there."""
        if not is_postgres_url(self.url):
            with suppress(StoreFailed):
                self._own_store.close()  # which has the serving lock of the file
        store = self._own_store = open_store(self.url, serving=True, tables="require")
        try:
            self.command_handler.streams.require_acknowledged_entries(store)
            store.head_macs = open_head_macs(store.database, self.state_dir)
            store.known_heads = self.command_handler.store.known_heads.copy()
            signer = CheckpointSigner(store, read_keys(self.state_dir), self.state_dir)
            signer.load()
        except BaseException:
            store.close()
            raise
        self.checkpoint_signer = signer
        self.feed.set_store(store)
        return store


def _find_last_release(store: Store, after: int = 0) -> int:
    """Return the version of the last release in the house's stream; `after` if none follows it.

    Foreign entries release nothing.
    """
    kind, since = tag_of(WritingReleased), after
    with suppress(ForeignEntries):
        last = store.own_head(HOUSE_STREAM).version
        for entry in store.scan(HOUSE_STREAM, since):
            if entry.kind == kind and entry.version <= last:
                after = entry.version
    return after


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
        if HOUSE_STREAM in versions:  # perhaps a person has accepted foreign entries
            self._house.refresh_soon()

    def _call_soon(self, callback: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop is closed; nothing to notify
            self._loop.call_soon_threadsafe(callback)
