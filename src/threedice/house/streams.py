"""Streams held in memory: decided and durable state, loading, refresh, and writing.

Each command is decided on the state that the previous command left in memory, without waiting for
the disk, so that many commands share one commit. If a write fails or conflicts, every later
decision on that stream is invalid too: the stream is reset to its durable state.

Beside its state, each stream has the balances of its postings. A stream whose state and balances
disagree stops: its commands are neither written nor acknowledged, and it is named in `stopped`.

All state changes happen on one event loop, so nothing is locked. Worker threads read the store, and
the writer's thread writes to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Generic

import msgspec

from threedice.errors import BalanceMismatch, InvariantBroken, TamperedData
from threedice.house.codec import decode, encode, tag_of
from threedice.house.events import AnyStreamEvent, TableEstablished
from threedice.house.reports.projection import VIEW
from threedice.house.reports.statements import (
    StatementReader,
    StatementTail,
    find_round_at,
    update_statements,
)
from threedice.house.stream_state import (
    Fold,
    GameRegistry,
    HouseTable,
    State,
    StreamBalances,
    fold_of,
)
from threedice.log.entry import EMPTY_HEAD, Entry, Head, extend_stream, hash_cause, hash_entry
from threedice.log.store import Acceptance, Append, Proposal, Snapshot
from threedice.log.writer import Writer, WriteResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from threedice.house.decisions import Decision
    from threedice.log.store import Store
    from threedice.log.writer import PublishCallback
    from threedice.runtime import Runtime


SNAPSHOT_NAME: Final = "state"
"""The name of a stream's snapshot in the store."""

SNAPSHOT_INTERVAL_ENTRIES: Final = 5_000
"""The minimum number of entries between two snapshots of a stream."""

SNAPSHOT_BYTES_PER_ENTRY: Final = 200
"""For larger states, one more entry between two snapshots for each of this many bytes."""

_NO_GAMES: Mapping[str, bytes] = {}


class PendingCommand(msgspec.Struct, frozen=True, gc=False):
    """A decided command in the writer's queue, with its streams and the callback for the result."""

    on_result: Callable[[PendingCommand, WriteResult], None]
    streams: list[LiveStream[Any]]
    generations: list[int]
    events: Sequence[Sequence[AnyStreamEvent]]
    appends: tuple[Append, ...]


class LiveStreams:
    """The streams that one server has loaded from a store: loaded once, refreshed on conflict."""

    def __init__(
        self, store: Store, *, state_dir: Path | None, runtime: Runtime, max_queued: int
    ) -> None:
        self.store, self.runtime = store, runtime
        self.games = GameRegistry(store)
        self.stopped: dict[str, str] = {}
        """Streams whose state and balances disagree, and the difference."""
        self.on_written: Callable[[PendingCommand], None] = _ignore
        self.publish: PublishCallback | None = None
        self._loop = asyncio.get_running_loop()
        self._streams: dict[str, LiveStream[Any]] = {}
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

    def get_if_ready(self, names: Sequence[str]) -> list[LiveStream[Any]] | None:
        """Return the streams if all are loaded and current, else None."""
        loaded, stopped = self._streams, self.stopped
        streams = []
        for name in names:
            stream = loaded.get(name)
            if stream is None or stream.is_stale or name in stopped:
                return None
            streams.append(stream)
        return streams

    async def get(self, names: Sequence[str]) -> list[LiveStream[Any]]:
        """Return streams that are current, loading or refreshing them as needed.

        Raises `InvariantBroken` for a stream that has stopped.
        """
        for name in self.stopped.keys() & set(names):
            raise InvariantBroken(self.stopped[name])
        streams = [self._streams.get(name) or await self._load_once(name) for name in names]
        while any(stream.is_stale for stream in streams):
            for stream in streams:
                if stream.is_stale:
                    await self._refresh_once(stream)
        return streams

    def mark_changed(self, name: str, version: int) -> None:
        """Mark a stream stale if another server may have written up to a version of it."""
        if stream := self._streams.get(name):
            stream.hinted_version = max(version, stream.hinted_version)
            stream.is_stale = stream.is_stale or version > stream.head.version
        elif name in self._loading:
            self._changed_while_loading.add(name)

    def mark_all_changed(self) -> None:
        """Mark every stream stale, because other servers may have written to any of them."""
        for stream in self._streams.values():
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
        stream = await self.runtime.run_blocking(self._read_from_store, name)
        stream.is_stale = name in self._changed_while_loading
        return self._streams.setdefault(name, stream)

    def _read_from_store(self, name: str) -> LiveStream[Any]:
        stream = load_stream(self.store, name)
        if isinstance(stream.durable, HouseTable) and stream.durable.game_hash:
            self.games.load_pinned(stream.durable.game_hash)
        stream.tail = self._read_tail(name, stream.durable_head.version)
        return stream

    def _read_tail(self, name: str, head_version: int) -> StatementTail:
        """Store the missing statement rows of a stream, and return the events after them."""
        if not self.writer.halt_reason:
            update_statements(self.store, name, self.games.load_pinned)
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
        stale = [name for name, stream in self._streams.items() if stream.is_stale]
        for name in dict.fromkeys([*names, *stale]):
            with suppress(InvariantBroken, TamperedData):
                await self.get([name])
        game_of = self.games.load_pinned
        tails = [stream.tail.lines(game_of) for stream in self._streams.values()]
        return StatementReader(self.store, [line for tail in tails for line in tail])

    def drop_stored_rows(self, name: str, version: int) -> None:
        """Drop the events of a stream up to a version, because their statement rows are stored."""
        if stream := self._streams.get(name):
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
                after = stream.durable_head.version
                stream.catch_up(
                    await self.runtime.run_blocking(self._read_new_entries, stream.name, after)
                )
                if not stream.is_behind and stream.hinted_version <= stream.durable_head.version:
                    break
            stream.reset_to_durable()
        except BalanceMismatch as mismatch:
            self.stopped[stream.name] = str(mismatch)
            raise
        finally:
            stream.refresh_task = None

    def _read_new_entries(self, name: str, after: int) -> list[Entry]:
        entries = list(self.store.scan(name, after))
        for entry in entries:
            if entry.kind == tag_of(TableEstablished):
                event = decode(entry)
                if isinstance(event, TableEstablished):
                    self.games.load_pinned(event.game_hash)
        return entries

    # --- writing --------------------------------------------------------------------------------

    def propose(
        self,
        decision: Decision,
        streams: list[LiveStream[Any]],
        account: str,
        key: str,
        command_hash: bytes,
        *,
        on_result: Callable[[PendingCommand, WriteResult], None],
        games: Mapping[str, bytes] = _NO_GAMES,
        at: int | None = None,
    ) -> None:
        """Apply a decision in memory and queue it for writing; `on_result` receives the outcome."""
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
            proposal = Proposal(account, key, command_hash, appends, games)
            self.writer.submit(
                proposal, PendingCommand(on_result, streams, generations, decision, appends)
            )
        except BaseException as error:
            for stream in streams:
                stream.is_stale = True  # the memory holds events that will not be written
            if isinstance(error, BalanceMismatch):
                self.stopped[error.stream] = str(error)
            raise

    def _deliver(self, batch: Sequence[PendingCommand], results: Sequence[WriteResult]) -> None:
        self._loop.call_soon_threadsafe(self._apply_results, batch, results)

    def _apply_results(
        self, batch: Sequence[PendingCommand], results: Sequence[WriteResult]
    ) -> None:
        """Process a batch's results: mark entries durable, or streams stale; then publish."""
        new_entries: dict[str, list[Entry]] = {}
        for pending, result in zip(batch, results, strict=True):
            if isinstance(result, Acceptance):
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
            pending.on_result(pending, result)
        if self.publish and new_entries:
            self.publish(new_entries)

    def _save_snapshot(self, snapshot: Snapshot) -> None:
        """Save a snapshot in the background."""

        async def save() -> None:
            await self.runtime.run_blocking(self.store.save_snapshot, snapshot)

        task = self._loop.create_task(save())
        self._snapshot_tasks.add(task)
        task.add_done_callback(self._snapshot_tasks.discard)

    def restart(self, store: Store) -> None:
        """Drop all streams from memory and resume writing to a working store."""
        self.writer.resume(store)
        self.store = self.games.store = store
        self._streams.clear()

    async def close(self) -> None:
        """Write the queued commands, save snapshots, and stop; the store stays open."""
        await self.runtime.run_blocking(self.writer.close)
        await asyncio.sleep(0)  # let the loop process the last delivery
        while self._snapshot_tasks:
            await asyncio.gather(*self._snapshot_tasks)
        for stream in self._streams.values() if not self.writer.halt_reason else ():
            if stream.durable_head.version > stream.snapshot_version:
                await self.runtime.run_blocking(self.store.save_snapshot, stream.take_snapshot())


def _ignore(_: object) -> None:
    """Do nothing: the default callback."""


class LiveStream(Generic[State]):
    """A stream in memory: `state` includes every decided event, `durable` only written ones.

    The durable state is computed lazily, from the last snapshot and the events written since.
    """

    __slots__ = (
        "_durable", "_durable_bytes", "_next_snapshot_version", "_pending_snapshot", "_unfolded",
        "at", "balances", "durable_at", "durable_head", "fold", "generation", "head",
        "hinted_version", "is_behind", "is_stale", "name", "refresh_task", "snapshot_version",
        "state", "tail",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        fold: Fold[State],
        durable: State,
        head: Head,
        at: int,
        snapshot_version: int,
    ) -> None:
        self.name, self.fold = name, fold
        self.durable_head = head
        self._durable: State | None = durable
        self._durable_bytes = b""
        self._unfolded: list[tuple[Sequence[AnyStreamEvent], int, int]] = []
        self._pending_snapshot: tuple[Head, bytes] | None = None
        self.durable_at = at
        self.generation = 0
        self.snapshot_version = snapshot_version
        self._next_snapshot_version = snapshot_version + SNAPSHOT_INTERVAL_ENTRIES
        self.is_stale = self.is_behind = False
        self.hinted_version = 0  # a version that another server announced; unverified
        self.refresh_task: Any = None
        self.tail = StatementTail(name)
        self.reset_to_durable()

    @property
    def durable(self) -> State:
        """The state after the last durable entry."""
        if self._durable is None:
            self._durable = self.fold.decode_state(self._durable_bytes)
        evolve, state = self.fold.evolve, self._durable
        for events, at, version in self._unfolded:
            for event_version, event in enumerate(events, version - len(events) + 1):
                evolve(state, event, at, event_version)
        self._unfolded.clear()
        return state

    def reset_to_durable(self) -> None:
        """Discard decisions that are not durable."""
        self.state = self.fold.decode_state(self.fold.encode_state(self.durable))
        self.balances = StreamBalances(self.name, self.fold, self.state)
        self.head, self.at = self.durable_head, self.durable_at
        self._pending_snapshot = None
        self.generation += 1
        self.is_stale = False

    def append(self, events: Sequence[AnyStreamEvent], at: int, cause: bytes) -> Append:
        """Apply decided events to state and balances, and return the append that writes them.

        Raises `BalanceMismatch` if state and balances disagree afterwards.
        """
        self.at = at = max(at, self.at)
        expected = self.head
        entries, self.head = extend_stream(expected, self.name, at, cause, map(encode, events))
        evolve, state, version = self.fold.evolve, self.state, expected.version
        post = self.balances.post
        for event in events:
            version += 1
            evolve(state, event, at, version)
            post(event, state)
        if version >= self._next_snapshot_version and self._pending_snapshot is None:
            self._pending_snapshot = (self.head, self.fold.encode_state(state))
        return Append(self.name, expected, entries)

    def mark_durable(self, append: Append, events: Sequence[AnyStreamEvent]) -> Snapshot | None:
        """Mark an append durable, unless it has already been read from the store.

        An append that does not follow the durable head shows that an earlier one was committed
        without this server hearing of it (the connection was lost before the reply); the stream is
        then marked stale, to be read from the store. Returns a snapshot to save when one is due.
        """
        last = append.entries[-1]
        if last.version <= self.durable_head.version:
            return None
        if append.expected != self.durable_head:
            self.is_stale = self.is_behind = True
            return None
        self._unfolded.append((events, last.at, last.version))
        for entry, event in zip(append.entries, events, strict=True):
            self.tail.add(entry, event)
        self.durable_head, self.durable_at = Head(last.version, last.hash), last.at
        if self._pending_snapshot is None or self._pending_snapshot[0] != self.durable_head:
            return None
        _, self._durable_bytes = self._pending_snapshot
        self._pending_snapshot, self._durable = None, None
        self._unfolded.clear()
        return self._make_snapshot(self._durable_bytes)

    def catch_up(self, entries: Iterable[Entry]) -> None:
        """Apply entries that others wrote; each must extend the durable head.

        Raises `BalanceMismatch` if state and balances disagree afterwards.
        """
        durable = self.durable
        balances = StreamBalances(self.name, self.fold, durable)
        for entry in entries:
            if entry.version > self.durable_head.version:
                require_next_entry(self.durable_head, entry)
                event = decode(entry)
                self.fold.evolve(durable, event, entry.at, entry.version)
                balances.post(event, durable)
                self.tail.add(entry, event)
                self.durable_head, self.durable_at = Head(entry.version, entry.hash), entry.at

    def take_snapshot(self) -> Snapshot:
        """Return a snapshot of the durable state."""
        return self._make_snapshot(self.fold.encode_state(self.durable))

    def _make_snapshot(self, data: bytes) -> Snapshot:
        self.snapshot_version = version = self.durable_head.version
        # the larger the state, the more entries between two snapshots
        self._next_snapshot_version = version + max(
            SNAPSHOT_INTERVAL_ENTRIES, len(data) // SNAPSHOT_BYTES_PER_ENTRY
        )
        return Snapshot(self.name, SNAPSHOT_NAME, self.fold.form, self.durable_head, data)


def require_next_entry(head: Head, entry: Entry) -> None:
    """Raise `InvariantBroken` for an entry that does not extend a head."""
    digest = hash_entry(
        head.hash, entry.stream, entry.version, entry.at, entry.kind, entry.schema, entry.data,
        entry.cause,
    )  # fmt: skip
    if entry.version != head.version + 1 or digest != entry.hash:
        raise InvariantBroken(f"{entry.stream}: version {entry.version} breaks the chain")


def load_stream(store: Store, name: str) -> LiveStream[Any]:
    """Load a stream from the store, starting from its snapshot if that is valid."""
    fold, head_version = fold_of(name), store.head(name).version
    state, head, at = _load_snapshot(store, name, fold) or (fold.state_type(), EMPTY_HEAD, 0)
    stream = LiveStream(name, fold, state, head, at, head.version)
    stream.catch_up(store.scan(name, head.version))
    if (version := stream.durable_head.version) < head_version:
        raise TamperedData(
            f"head of {name}", f"is version {head_version}, its entries end at {version}"
        )
    stream.reset_to_durable()
    return stream


def _load_snapshot(store: Store, name: str, fold: Fold[State]) -> tuple[State, Head, int] | None:
    """Load a stream's snapshot with its head and time; None unless it matches an entry.

    An unreadable snapshot is ignored, because everything in it can be recomputed from the entries.
    """
    snapshot = store.snapshot(name, SNAPSHOT_NAME)
    if snapshot is None or snapshot.form != fold.form:
        return None
    last = store.read(name, snapshot.head.version - 1, 1)
    if not last or Head(last[0].version, last[0].hash) != snapshot.head:
        return None
    try:
        return fold.decode_state(snapshot.data), snapshot.head, last[0].at
    except (ValueError, TypeError):
        return None
