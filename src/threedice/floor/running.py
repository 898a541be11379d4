"""A stream in memory: as far as it is decided, and as far as it is durable.

Commands are decided one upon the other without waiting for the disk, so that many of them share
one commit. What could not be written takes everything decided upon it along: the stream then starts
over from what is durable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic

from threedice.errors import InvariantBroken
from threedice.floor.encoding import decode, encode
from threedice.floor.folds import Fold, State, fold_of
from threedice.log.entry import EMPTY, Entry, Head, chained, extend
from threedice.log.store import Append, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from threedice.floor.events import AnyStreamEvent
    from threedice.log.store import Store


class Running(Generic[State]):
    """One stream that commands are decided on."""

    __slots__ = (
        "at", "behind", "broken", "durable", "durable_head", "fold", "generation", "head",
        "kept_version", "mending", "name", "state",
    )  # fmt: skip

    def __init__(self, name: str, fold: Fold[State], durable: State, head: Head, at: int) -> None:
        self.name, self.fold = name, fold
        self.durable, self.durable_head = durable, head
        self.at = at
        self.generation = 0
        self.kept_version = head.version
        self.broken = self.behind = False
        self.mending: Any = None
        self.start_over()

    def start_over(self) -> None:
        """Decide from what is durable again."""
        self.state = self.fold.thaw(self.fold.freeze(self.durable))
        self.head = self.durable_head
        self.generation += 1
        self.broken = False

    def append(self, events: Sequence[AnyStreamEvent], at: int, cause: bytes) -> Append:
        """Take events as decided, and return them as they are to be written."""
        self.at = at = max(at, self.at)
        expected = self.head
        entries, self.head = extend(expected, self.name, at, cause, map(encode, events))
        evolve, state, version = self.fold.evolve, self.state, expected.version
        for event in events:
            version += 1
            evolve(state, event, at, version)
        return Append(self.name, expected, entries)

    def written(self, append: Append, events: Sequence[AnyStreamEvent]) -> None:
        """Take what was decided as durable, unless it has been read from the store meanwhile.

        Where it follows upon something that was written and nobody heard of (the database was away
        when it should have answered), all of it has to be read.
        """
        last = append.entries[-1]
        if last.version <= self.durable_head.version:
            return
        if append.expected != self.durable_head:
            self.broken = self.behind = True
            return
        for entry, event in zip(append.entries, events, strict=True):
            self.fold.evolve(self.durable, event, entry.at, entry.version)
        self.durable_head = Head(last.version, last.hash)

    def catch_up(self, entries: Iterable[Entry]) -> None:
        """Take entries that others have written as durable; each must follow upon our head."""
        for entry in entries:
            if entry.version > self.durable_head.version:
                follow(self.durable_head, entry)
                self.fold.evolve(self.durable, decode(entry), entry.at, entry.version)
                self.durable_head = Head(entry.version, entry.hash)
                self.at = max(self.at, entry.at)


def follow(head: Head, entry: Entry) -> None:
    """Stop at an entry that does not follow upon a head."""
    digest = chained(
        head.hash, entry.stream, entry.version, entry.at, entry.kind, entry.schema, entry.data,
        entry.cause,
    )  # fmt: skip
    if entry.version != head.version + 1 or digest != entry.hash:
        raise InvariantBroken(f"{entry.stream}: version {entry.version} breaks the chain")


SNAPSHOT: Final = "state"
"""The name under which the state of a stream is kept in the store."""


def load(store: Store, name: str) -> Running[Any]:
    """Return a stream as the store has it: from its snapshot on, where there is a good one."""
    fold = fold_of(name)
    state, head, at = _kept(store, name, fold) or (fold.kind(), EMPTY, 0)
    kept_version = head.version
    for entry in store.scan(name, head.version):
        follow(head, entry)
        fold.evolve(state, decode(entry), entry.at, entry.version)
        head, at = Head(entry.version, entry.hash), entry.at
    running = Running(name, fold, state, head, at)
    running.kept_version = kept_version
    return running


def _kept(store: Store, name: str, fold: Fold[State]) -> tuple[State, Head, int] | None:
    """Return the snapshot of a stream with the time it stands for, unless it fits no entry."""
    snapshot = store.snapshot(name, SNAPSHOT)
    if snapshot is None or snapshot.form != fold.form:
        return None
    last = store.read(name, snapshot.head.version - 1, 1)
    if not last or last[0].hash != snapshot.head.hash:
        return None
    return fold.thaw(snapshot.data), snapshot.head, last[0].at


def kept(running: Running[Any]) -> Snapshot:
    """Return what is durable of a stream as a snapshot."""
    fold = running.fold
    running.kept_version = running.durable_head.version
    data = fold.freeze(running.durable)
    return Snapshot(running.name, SNAPSHOT, fold.form, running.durable_head, data)
