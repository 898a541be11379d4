"""The streams of a house in memory: load them, refresh them, and write decisions to them.

Each command is decided on the state that the previous command left in memory, without waiting for
the disk, so that many commands share one commit. If a write fails or conflicts, every later
decision on that stream is invalid too: the stream is reset to its durable state.

A stream whose state and balances disagree stops, as does one whose end the house has not written:
its commands are neither written nor acknowledged, and it is named in `stopped`.

All state changes happen on one event loop, so nothing is locked. Worker threads read the store, and
the writer's thread writes to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import msgspec

from threedice.errors import (
    BalanceMismatch,
    ForeignEntries,
    InvariantBroken,
    Refusal,
    StoreFailed,
    TamperedData,
)
from threedice.house.codec import decode, encode_refusal, tag_of
from threedice.house.events import AnyStreamEvent, TableEstablished
from threedice.house.live_stream import LiveStream, load_stream, read_new_entries
from threedice.house.reports.projection import VIEW
from threedice.house.reports.statements import (
    StatementReader,
    StatementTail,
    find_round_at,
    update_statements,
)
from threedice.house.stream_state import GameRegistry, HouseTable
from threedice.log.entry import Entry, Head, hash_cause
from threedice.log.records import Acceptance, Append, HeadConflict, Proposal, Snapshot
from threedice.log.writer import Writer, WriteResult

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from threedice.house.decisions import Decision
    from threedice.log.store import Store
    from threedice.log.writer import PublishCallback
    from threedice.runtime import Runtime


_NO_GAMES: Mapping[str, bytes] = {}
_NO_HEADS: Mapping[str, Head] = {}


class PendingCommand(msgspec.Struct, frozen=True, gc=False):
    """A decided command in the writer's queue, with its streams and its future result."""

    written: asyncio.Future[WriteResult]
    streams: list[LiveStream[Any]]
    generations: list[int]
    events: Sequence[Sequence[AnyStreamEvent]]
    appends: tuple[Append, ...]
    refusal: Refusal | None = None


class LiveStreams:
    """The streams that one server has loaded from a store: loaded once, refreshed on conflict."""

    def __init__(
        self, store: Store, *, state_dir: Path | None, runtime: Runtime, max_queued: int
    ) -> None:
        self.store, self.runtime = store, runtime
        self.games = GameRegistry(store)
        self.stopped: dict[str, str] = {}
        """Streams that have stopped, and why: balances that disagree, or foreign entries."""
        self.foreign: set[str] = set()
        """Streams that have stopped because the house has not written all their entries."""
        self.on_written: Callable[[PendingCommand], None] = lambda _: None
        self.publish: PublishCallback | None = None
        self._loop = asyncio.get_running_loop()
        self.loaded: dict[str, LiveStream[Any]] = {}
        self._loading: dict[str, asyncio.Task[LiveStream[Any]]] = {}
        self._changed_while_loading: set[str] = set()
        self._snapshot_tasks: set[asyncio.Task[None]] = set()
        self.writer: Writer[PendingCommand] = Writer(
            store,
            deliver=self._deliver,
            state_dir=state_dir,
            max_queued=max_queued,
            runtime=runtime,
        )

    # --- reading --------------------------------------------------------------------------------

    async def get(self, names: Sequence[str]) -> list[LiveStream[Any]]:
        """Return streams that are current, loading or refreshing them as needed.

        Raises `InvariantBroken` for a stream that has stopped.
        """
        streams = []
        for name in names:
            if name in self.stopped:
                raise InvariantBroken(self.stopped[name])
            streams.append(self.loaded.get(name) or await self._load_once(name))
        while stale := [stream for stream in streams if stream.is_stale]:
            for stream in stale:
                await self._refresh_once(stream)
        return streams

    def mark_changed(self, name: str, version: int) -> None:
        """Mark a stream stale if another server may have written up to a version of it."""
        if stream := self.loaded.get(name):
            stream.hinted_version = max(version, stream.hinted_version)
            stream.is_stale = stream.is_stale or version > stream.head.version
        elif name in self._loading:
            self._changed_while_loading.add(name)

    def mark_all_changed(self) -> None:
        """Mark every stream stale, because other servers may have written to any of them."""
        for stream in self.loaded.values():
            stream.is_stale = stream.is_behind = True
        self._changed_while_loading.update(self._loading)

    async def _load_once(self, name: str) -> LiveStream[Any]:
        """Load a stream; concurrent callers share one load."""
        if name not in self._loading:
            self._loading[name] = loading = self._loop.create_task(self._load_stream(name))
            loading.add_done_callback(lambda _: self._loading.pop(name, None))
        return await asyncio.shield(self._loading[name])

    async def _load_stream(self, name: str) -> LiveStream[Any]:
        self._changed_while_loading.discard(name)
        try:
            stream = await self.runtime.run_blocking(self._read_from_store, name)
        except ForeignEntries as foreign:
            self.stop_foreign(foreign)
            raise
        stream.is_stale = name in self._changed_while_loading
        return self.loaded.setdefault(name, stream)

    def _read_from_store(self, name: str) -> LiveStream[Any]:
        stream = load_stream(self.store, name)
        if isinstance(stream.durable, HouseTable) and stream.durable.game_hash:
            self.games.load_pinned(stream.durable.game_hash)
        stream.tail = self._read_tail(name, stream.durable_head.version)
        return stream

    def _read_tail(self, name: str, head_version: int) -> StatementTail:
        """Store the missing statement rows of a stream, and return the events after them."""
        if not self.writer.halt_reason:
            update_statements(self.store, name, self.games.load_pinned, head_version)
        stored = self.store.projected_version(VIEW, name)
        tail = StatementTail(name, find_round_at(self.store, name, stored))
        for entry in self.store.scan(name, stored):
            if entry.version <= head_version:
                tail.add(entry, decode(entry))
        return tail

    async def statements(self, *names: str) -> StatementReader:
        """Return a reader of all rows up to the last acknowledged command.

        Rows of the named streams are included even if only other servers have used them; other
        streams are included if this server has loaded them. A damaged stream has its stored rows.
        """
        stale = [name for name, stream in self.loaded.items() if stream.is_stale]
        for name in dict.fromkeys([*names, *stale]):
            with suppress(InvariantBroken, TamperedData):
                await self.get([name])
        game_of = self.games.load_pinned
        tails = [stream.tail.lines(game_of) for stream in self.loaded.values()]
        return StatementReader(self.store, [line for tail in tails for line in tail])

    def drop_stored_rows(self, name: str, version: int) -> None:
        """Drop the events of a stream up to a version, because their statement rows are stored."""
        if stream := self.loaded.get(name):
            stream.tail.drop_stored(version)

    async def _refresh_once(self, stream: LiveStream[Any]) -> None:
        """Read the entries that others wrote and reset; concurrent callers share one read."""
        if stream.refresh_task is None:
            stream.refresh_task = self._loop.create_task(self._refresh(stream))
        await asyncio.shield(stream.refresh_task)

    async def _refresh(self, stream: LiveStream[Any]) -> None:
        try:
            while True:
                stream.is_behind, stream.hinted_version = False, 0
                since = stream.durable_head
                stream.catch_up(
                    await self.runtime.run_blocking(self._read_new_entries, stream.name, since)
                )
                if not stream.is_behind and stream.hinted_version <= stream.durable_head.version:
                    break
            stream.reset_to_durable()
        except BalanceMismatch as mismatch:
            self.stopped[stream.name] = str(mismatch)
            raise
        except ForeignEntries as foreign:
            self.stop_foreign(foreign)
            raise
        finally:
            stream.refresh_task = None

    def _read_new_entries(self, name: str, since: Head) -> list[Entry]:
        entries = read_new_entries(self.store, name, since)
        for entry in entries:
            if entry.kind == tag_of(TableEstablished):
                established = cast("TableEstablished", decode(entry))
                self.games.load_pinned(established.game_hash)
        return entries

    # --- foreign entries ------------------------------------------------------------------------

    def stop_foreign(self, foreign: ForeignEntries) -> None:
        """Stop a stream because the house has not written its end."""
        self.stopped.setdefault(foreign.stream, str(foreign))
        self.foreign.add(foreign.stream)

    def resume_foreign(self, name: str) -> None:
        """Let a stream be loaded again whose foreign entries a person has accepted."""
        if name in self.foreign:
            self.foreign.remove(name)
            self.stopped.pop(name, None)
            self.loaded.pop(name, None)

    async def load_accepted(self, name: str, head: Head) -> None:
        """Load a stream up to a foreign head that a person has accepted."""
        stream = await self.runtime.run_blocking(
            partial(load_stream, self.store, name, accepted=head)
        )
        self.resume_foreign(name)
        self.loaded[name] = stream

    # --- writing --------------------------------------------------------------------------------

    def propose(
        self,
        decision: Decision,
        streams: list[LiveStream[Any]],
        account: str,
        key: str,
        command_hash: bytes,
        *,
        games: Mapping[str, bytes] = _NO_GAMES,
        at: int | None = None,
        accepted: Mapping[str, Head] = _NO_HEADS,
    ) -> PendingCommand:
        """Apply a decision in memory and queue it for writing."""
        timestamp = self.runtime.now() if at is None else at
        cause = hash_cause(account, key, command_hash)
        try:
            generations = [stream.generation for stream in streams]
            appends = tuple(
                [
                    stream.append(events, timestamp, cause)
                    for stream, events in zip(streams, decision, strict=True)
                ]
            )
            written = self._loop.create_future()
            pending = PendingCommand(written, streams, generations, decision, appends)
            proposal = Proposal(account, key, command_hash, appends, games, accepted)
            self.writer.submit(proposal, pending)
        except BaseException as error:
            for stream in streams:
                stream.is_stale = True  # the memory holds events that will not be written
            if isinstance(error, BalanceMismatch):
                self.stopped[error.stream] = str(error)
            raise
        return pending

    def propose_refusal(
        self,
        refusal: Refusal,
        streams: list[LiveStream[Any]],
        account: str,
        key: str,
        command_hash: bytes,
    ) -> PendingCommand:
        """Queue a refusal for writing; it holds for the state it was decided on."""
        appends = tuple([Append(stream.name, stream.head, ()) for stream in streams])
        pending = PendingCommand(
            self._loop.create_future(),
            streams,
            [stream.generation for stream in streams],
            [() for _ in streams],
            appends,
            refusal,
        )
        proposal = Proposal(account, key, command_hash, appends, refusal=encode_refusal(refusal))
        self.writer.submit(proposal, pending)
        return pending

    def _deliver(self, batch: Sequence[PendingCommand], results: Sequence[WriteResult]) -> None:
        self._loop.call_soon_threadsafe(self._apply_results, batch, results)

    def _apply_results(
        self, batch: Sequence[PendingCommand], results: Sequence[WriteResult]
    ) -> None:
        """Process a batch's results: mark entries durable, or streams stale; then publish."""
        new_entries: dict[str, list[Entry]] = {}
        for pending, result in zip(batch, results, strict=True):
            if pending.refusal is not None and not isinstance(result, HeadConflict):
                pass  # a refusal changes no stream
            elif isinstance(result, Acceptance):
                for i, stream in enumerate(pending.streams):
                    if snapshot := stream.mark_durable(pending.appends[i], pending.events[i]):
                        self._save_snapshot(snapshot)
                self.on_written(pending)
                for append in pending.appends if self.publish else ():
                    new_entries.setdefault(append.stream, []).extend(append.entries)
            else:
                for stream, generation in zip(pending.streams, pending.generations, strict=True):
                    # a stream that was reset since no longer contains the failed decision
                    stream.is_stale = stream.is_stale or stream.generation == generation
            if not pending.written.done():
                pending.written.set_result(result)
        if self.publish and new_entries:
            self.publish(new_entries)

    def _save_snapshot(self, snapshot: Snapshot) -> None:
        """Save a snapshot in the background."""
        saving = self.runtime.run_blocking(self.store.save_snapshot, snapshot)
        task = self._loop.create_task(saving)
        self._snapshot_tasks.add(task)
        task.add_done_callback(self._snapshot_tasks.discard)

    def restart(self, store: Store) -> None:
        """Drop all streams from memory and resume writing to a working store."""
        self.writer.resume(store)
        self.store = self.games.store = store
        self.loaded.clear()

    def require_acknowledged_entries(self, store: Store) -> None:
        """Refuse a reopened store that lacks an entry which this server has acknowledged."""
        for name, stream in self.loaded.items():
            if name in self.foreign:
                continue  # stands still, and the others may go on
            head = stream.durable_head
            stored = store.read(name, head.version - 1, 1) if head.version else []
            if head.version and [Head(each.version, each.hash) for each in stored] != [head]:
                raise StoreFailed(
                    f"the database does not hold version {head.version} of {name}, which was"
                    " acknowledged: it is an older copy or another database; put the right one back"
                )

    async def close(self) -> None:
        """Write the queued commands, save snapshots, and stop; the store stays open."""
        await self.runtime.run_blocking(self.writer.close)
        await asyncio.sleep(0)  # let the loop process the last delivery
        while self._snapshot_tasks:
            await asyncio.gather(*self._snapshot_tasks)
        for stream in self.loaded.values() if not self.writer.halt_reason else ():
            if stream.durable_head.version > stream.snapshot_version:
                await self.runtime.run_blocking(self.store.save_snapshot, stream.take_snapshot())
