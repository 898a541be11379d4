"""One stream in memory: its decided and its durable state, its balances, and its snapshots.

Beside its state, a stream has the balances of its postings. `append` and `catch_up` raise
`BalanceMismatch` if the two disagree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic

from threedice.errors import ForeignEntries, InvariantBroken, TamperedData
from threedice.house.codec import decode, encode
from threedice.house.reports.statements import StatementTail
from threedice.house.stream_state import Fold, State, StreamBalances, encode_state, fold_of
from threedice.log.entry import EMPTY_HEAD, Entry, Head, extend_stream, hash_entry
from threedice.log.records import Append, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from threedice.house.events import AnyStreamEvent
    from threedice.log.store import Store

SNAPSHOT_NAME: Final = "state"
"""The name of a stream's snapshot in the store."""

SNAPSHOT_INTERVAL_ENTRIES: Final = 5_000
"""The minimum number of entries between two snapshots of a stream."""

SNAPSHOT_BYTES_PER_ENTRY: Final = 200
"""For larger states, one more entry between two snapshots for each of this many bytes."""


ENTRIES_PER_READ: Final = 1_000


class LiveStream(Generic[State]):
    """A stream in memory: `state` includes every decided event, `durable` only written ones.

    The durable state is computed lazily, from the last snapshot and the events written since.
    """

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
        self.state = self.fold.decode_state(encode_state(self.durable))
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
            self._pending_snapshot = (self.head, encode_state(state))
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
        return self._make_snapshot(encode_state(self.durable))

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


def load_stream(
    store: Store, name: str, *, from_snapshot: bool = True, accepted: Head | None = None
) -> LiveStream[Any]:
    """Load a stream from the store, starting from its snapshot if that is valid.

    Raises `ForeignEntries` unless the house has written its end, or a person has accepted it.
    """
    fold = fold_of(name)
    snapshot = _load_snapshot(store, name, fold) if from_snapshot else None
    state, head, at = snapshot or (fold.state_type(), EMPTY_HEAD, 0)
    stream = LiveStream(name, fold, state, head, at, head.version)
    stream.catch_up(read_own_entries(store, name, head, accepted))
    stream.reset_to_durable()
    return stream


def read_own_entries(
    store: Store, name: str, since: Head, accepted: Head | None = None
) -> Iterator[Entry]:
    """Yield the entries of a stream after a head, up to one that the house has written.

    The stored head and its MAC are read together, and then only entries up to that head: entries
    that another server adds meanwhile are read with their own head.
    """
    last, head = since, accepted or store.own_head(name)
    while True:
        page = store.read(name, last.version, ENTRIES_PER_READ)
        own = [entry for entry in page if entry.version <= head.version]
        yield from own
        if own:
            last = Head(own[-1].version, own[-1].hash)
        if len(own) == len(page) == ENTRIES_PER_READ:
            continue
        if last != head:
            store.require_extension(name, head, since)
            raise TamperedData(
                f"head of {name}", f"is version {head.version}, its entries end at {last.version}"
            )
        if len(own) == len(page):
            return
        if accepted or (newer := store.own_head(name)) == head:
            raise ForeignEntries(name, f"has entries after version {head.version}, its head")
        head = newer


def read_new_entries(store: Store, name: str, since: Head) -> list[Entry]:
    """Return the entries of a stream after a head, checked as a whole before any is applied."""
    entries, last = list(read_own_entries(store, name, since)), since
    for entry in entries:
        require_next_entry(last, entry)
        last = Head(entry.version, entry.hash)
    return entries


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
