"""Streams held in memory: decided and durable state, loading, refresh, and writing.

The streams that a server has in memory: loaded once, written by one writer, mended on conflict.

Everything here happens on one event loop, so that nothing need be locked; reading the store is done
by other threads, writing it by the writer's.

A stream in memory: as far as it is decided, and as far as it is durable.

Commands are decided one upon the other without waiting for the disk, so that many of them share
one commit. What could not be written takes everything decided upon it along: the stream then starts
over from what is durable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic

import msgspec

from threedice.errors import InvariantBroken, TamperedData
from threedice.house.codec import decode, encode
from threedice.house.events import AnyStreamEvent, TableEstablished
from threedice.house.stream_state import Fold, GameRegistry, HouseTable, State, fold_of
from threedice.log.entry import EMPTY_HEAD, Entry, Head, extend_stream, hash_cause, hash_entry
from threedice.log.store import Acceptance, Append, Proposal, Snapshot
from threedice.log.writer import Writer, WriteResult
from threedice.tags import tag_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from threedice.house.decisions import Decision
    from threedice.log.store import Store
    from threedice.log.writer import PublishCallback


class PendingCommand(msgspec.Struct, frozen=True, gc=False):
    """A command on its way to the disk, the streams it was decided on, and whom to tell."""

    on_result: Callable[[PendingCommand, WriteResult], None]
    streams: list[LiveStream[Any]]
    generations: list[int]
    events: Sequence[Sequence[AnyStreamEvent]]
    appends: tuple[Append, ...]


_NO_GAMES: Mapping[str, bytes] = {}


class LiveStreams:
    """The streams of a store as one server knows them."""

    def __init__(
        self, store: Store, *, state_dir: Path | None, now: Callable[[], int], max_queued: int
    ) -> None:
        self.store, self.now = store, now
        self.games = GameRegistry(store)
        self.on_written: Callable[[PendingCommand], None] = _ignore
        self.publish: PublishCallback | None = None
        self._loop = asyncio.get_running_loop()
        self._streams: dict[str, LiveStream[Any]] = {}
        self._loading: dict[str, asyncio.Task[LiveStream[Any]]] = {}
        self._changed_while_loading: set[str] = (
            set()
        )  # what others wrote to while it was being loaded
        self._snapshot_tasks: set[asyncio.Task[None]] = set()
        self.writer: Writer[PendingCommand] = Writer(
            store,
            deliver=self._deliver,
            state_dir=state_dir,
            max_queued=max_queued,
        )

    # --- reading --------------------------------------------------------------------------------

    def get_if_ready(self, names: Sequence[str]) -> list[LiveStream[Any]] | None:
        """Return streams on which can be decided without waiting, or nothing."""
        running = self._streams
        streams = []
        for name in names:
            each = running.get(name)
            if each is None or each.is_stale:
                return None
            streams.append(each)
        return streams

    async def get(self, names: Sequence[str]) -> list[LiveStream[Any]]:
        """Return streams on which can be decided now."""
        streams = [self._streams.get(name) or await self._load_once(name) for name in names]
        while any(each.is_stale for each in streams):
            for running in streams:
                if running.is_stale:
                    await self._refresh_once(running)
        return streams

    def mark_changed(self, stream: str, version: int) -> None:
        """Take a hint that another server has written to a stream."""
        if running := self._streams.get(stream):
            running.hinted_version = max(version, running.hinted_version)
            running.is_stale = running.is_stale or version > running.head.version
        elif stream in self._loading:
            self._changed_while_loading.add(stream)

    def mark_all_changed(self) -> None:
        """Take a hint that other servers may have written to any stream."""
        for running in self._streams.values():
            running.is_stale = running.is_behind = True
        self._changed_while_loading.update(self._loading)

    async def _load_once(self, name: str) -> LiveStream[Any]:
        """Return a stream, loading it once for all who ask."""
        if name not in self._loading:
            self._loading[name] = loading = self._loop.create_task(self._load_stream(name))
            loading.add_done_callback(lambda _: self._loading.pop(name, None))
        return await asyncio.shield(self._loading[name])

    async def _load_stream(self, name: str) -> LiveStream[Any]:
        self._changed_while_loading.discard(name)
        running = await asyncio.to_thread(self._read_from_store, name)
        running.is_stale = name in self._changed_while_loading
        return self._streams.setdefault(name, running)

    def _read_from_store(self, name: str) -> LiveStream[Any]:
        running = load_stream(self.store, name)
        if isinstance(running.durable, HouseTable) and running.durable.game_hash:
            self.games.load_pinned(running.durable.game_hash)
        return running

    async def _refresh_once(self, stream: LiveStream[Any]) -> None:
        """Take in what others have written and start over from there; once for all who wait."""
        if stream.refresh_task is None:
            stream.refresh_task = self._loop.create_task(self._refresh(stream))
        await asyncio.shield(stream.refresh_task)

    async def _refresh(self, stream: LiveStream[Any]) -> None:
        try:
            while True:
                stream.is_behind, stream.hinted_version = False, 0
                after = stream.durable_head.version
                stream.catch_up(await asyncio.to_thread(self._read_new_entries, stream.name, after))
                if not stream.is_behind and stream.hinted_version <= stream.durable_head.version:
                    break
            stream.reset_to_durable()
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
        """Take what was decided into memory, hand it to the writer, and tell what becomes of it."""
        moment, cause = self.now() if at is None else at, hash_cause(account, key, command_hash)
        try:
            generations = [running.generation for running in streams]
            appends = tuple(
                [
                    running.append(events, moment, cause)
                    for running, events in zip(streams, decision, strict=True)
                ]
            )
            proposal = Proposal(account, key, command_hash, appends, games)
            self.writer.submit(
                proposal, PendingCommand(on_result, streams, generations, decision, appends)
            )
        except BaseException:
            for running in streams:
                running.is_stale = True  # what was taken into memory will not be written
            raise

    def _deliver(self, batch: Sequence[PendingCommand], results: Sequence[WriteResult]) -> None:
        self._loop.call_soon_threadsafe(self._apply_results, batch, results)

    def _apply_results(
        self, batch: Sequence[PendingCommand], results: Sequence[WriteResult]
    ) -> None:
        """Take a batch's results: what is durable now, and what has to be decided again."""
        fresh: dict[str, list[Entry]] = {}
        for asked, result in zip(batch, results, strict=True):
            if isinstance(result, Acceptance):
                for i, running in enumerate(asked.streams):
                    if snapshot := running.mark_durable(asked.appends[i], asked.events[i]):
                        self._save_snapshot(snapshot)
                self.on_written(asked)
                for append in asked.appends if self.publish else ():
                    fresh.setdefault(append.stream, []).extend(append.entries)
            else:
                for running, generation in zip(asked.streams, asked.generations, strict=True):
                    running.is_stale = running.is_stale or running.generation == generation
            asked.on_result(asked, result)
        if self.publish and fresh:
            self.publish(fresh)

    def _save_snapshot(self, snapshot: Snapshot) -> None:
        """Keep the state of a stream in the store, while play goes on."""

        async def save() -> None:
            await asyncio.to_thread(self.store.save_snapshot, snapshot)

        task = self._loop.create_task(save())
        self._snapshot_tasks.add(task)
        task.add_done_callback(self._snapshot_tasks.discard)

    def restart(self, store: Store) -> None:
        """Forget what is in memory and go on with a store that works again."""
        self.writer.resume(store)
        self.store = self.games.store = store
        self._streams.clear()

    async def close(self) -> None:
        """Write what is waiting, keep every state, and stop; the store stays open."""
        await asyncio.to_thread(self.writer.close)
        await asyncio.sleep(0)  # what the writer delivered last
        while self._snapshot_tasks:
            await asyncio.gather(*self._snapshot_tasks)
        for running in self._streams.values() if not self.writer.halt_reason else ():
            if running.durable_head.version > running.snapshot_version:
                await asyncio.to_thread(self.store.save_snapshot, running.take_snapshot())


def _ignore(_: object) -> None:
    """Nobody listens."""


SNAPSHOT_NAME: Final = "state"
"""The name under which the state of a stream is kept in the store."""


SNAPSHOT_INTERVAL_ENTRIES: Final = 5_000


SNAPSHOT_BYTES_PER_ENTRY: Final = 200
"""After how many entries the state of a stream is kept anew, or one for so many bytes of it."""


class LiveStream(Generic[State]):
    """One stream that commands are decided on.

    What is durable is folded only when somebody asks for it: until then it is what was frozen last,
    and the events since.
    """

    __slots__ = (
        "_durable", "_durable_bytes", "_next_snapshot_version", "_pending_snapshot", "_unfolded",
        "at", "durable_at", "durable_head", "fold", "generation", "head", "hinted_version",
        "is_behind", "is_stale", "name", "refresh_task", "snapshot_version", "state",
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
        self.hinted_version = 0  # how far others say that it has come, which may be wrong
        self.refresh_task: Any = None
        self.reset_to_durable()

    @property
    def durable(self) -> State:
        """The state as far as it is durable."""
        if self._durable is None:
            self._durable = self.fold.decode_state(self._durable_bytes)
        evolve, state = self.fold.evolve, self._durable
        for events, at, version in self._unfolded:
            for place, event in enumerate(events, version - len(events) + 1):
                evolve(state, event, at, place)
        self._unfolded.clear()
        return state

    def reset_to_durable(self) -> None:
        """Decide from what is durable again."""
        self.state = self.fold.decode_state(self.fold.encode_state(self.durable))
        self.head, self.at = self.durable_head, self.durable_at
        self._pending_snapshot = None
        self.generation += 1
        self.is_stale = False

    def append(self, events: Sequence[AnyStreamEvent], at: int, cause: bytes) -> Append:
        """Take events as decided, and return them as they are to be written."""
        self.at = at = max(at, self.at)
        expected = self.head
        entries, self.head = extend_stream(expected, self.name, at, cause, map(encode, events))
        evolve, state, version = self.fold.evolve, self.state, expected.version
        for event in events:
            version += 1
            evolve(state, event, at, version)
        if version >= self._next_snapshot_version and self._pending_snapshot is None:
            self._pending_snapshot = (self.head, self.fold.encode_state(state))
        return Append(self.name, expected, entries)

    def mark_durable(self, append: Append, events: Sequence[AnyStreamEvent]) -> Snapshot | None:
        """Take what was decided as durable, unless it has been read from the store meanwhile.

        Where it follows upon something that was written and nobody heard of (the database was away
        when it should have answered), all of it has to be read. Returns the state to be kept, when
        it is time for it.
        """
        last = append.entries[-1]
        if last.version <= self.durable_head.version:
            return None
        if append.expected != self.durable_head:
            self.is_stale = self.is_behind = True
            return None
        self._unfolded.append((events, last.at, last.version))
        self.durable_head, self.durable_at = Head(last.version, last.hash), last.at
        if self._pending_snapshot is None or self._pending_snapshot[0] != self.durable_head:
            return None
        _, self._durable_bytes = self._pending_snapshot
        self._pending_snapshot, self._durable = None, None
        self._unfolded.clear()
        return self._make_snapshot(self._durable_bytes)

    def catch_up(self, entries: Iterable[Entry]) -> None:
        """Take entries that others have written as durable; each must follow upon our head."""
        durable = self.durable
        for entry in entries:
            if entry.version > self.durable_head.version:
                require_next_entry(self.durable_head, entry)
                self.fold.evolve(durable, decode(entry), entry.at, entry.version)
                self.durable_head, self.durable_at = Head(entry.version, entry.hash), entry.at

    def take_snapshot(self) -> Snapshot:
        """Return what is durable as a snapshot."""
        return self._make_snapshot(self.fold.encode_state(self.durable))

    def _make_snapshot(self, data: bytes) -> Snapshot:
        self.snapshot_version = version = self.durable_head.version
        # the larger a state, the more entries pass before all of it is kept again
        self._next_snapshot_version = version + max(
            SNAPSHOT_INTERVAL_ENTRIES, len(data) // SNAPSHOT_BYTES_PER_ENTRY
        )
        return Snapshot(self.name, SNAPSHOT_NAME, self.fold.form, self.durable_head, data)


def require_next_entry(head: Head, entry: Entry) -> None:
    """Stop at an entry that does not follow upon a head."""
    digest = hash_entry(
        head.hash, entry.stream, entry.version, entry.at, entry.kind, entry.schema, entry.data,
        entry.cause,
    )  # fmt: skip
    if entry.version != head.version + 1 or digest != entry.hash:
        raise InvariantBroken(f"{entry.stream}: version {entry.version} breaks the chain")


def load_stream(store: Store, name: str) -> LiveStream[Any]:
    """Return a stream as the store has it: from its snapshot on, where there is a good one."""
    fold, noted = fold_of(name), store.head(name).version
    state, head, at = _load_snapshot(store, name, fold) or (fold.state_type(), EMPTY_HEAD, 0)
    kept_version = head.version
    for entry in store.scan(name, head.version):
        require_next_entry(head, entry)
        fold.evolve(state, decode(entry), entry.at, entry.version)
        head, at = Head(entry.version, entry.hash), entry.at
    if head.version < noted:
        raise TamperedData(
            f"head of {name}", f"is version {noted}, its entries end at {head.version}"
        )
    return LiveStream(name, fold, state, head, at, kept_version)


def _load_snapshot(store: Store, name: str, fold: Fold[State]) -> tuple[State, Head, int] | None:
    """Return the snapshot of a stream with the time it stands for, unless it fits no entry.

    One that cannot be read is as good as none: everything in it follows from the entries.
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
