"""A stream in memory: as far as it is decided, and as far as it is durable.

Commands are decided one upon the other without waiting for the disk, so that many of them share
one commit. What could not be written takes everything decided upon it along: the stream then starts
over from what is durable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic

from threedice.errors import InvariantBroken, Tampered
from threedice.floor.encoding import decode, encode
from threedice.floor.folds import Fold, State, fold_of
from threedice.log.entry import EMPTY, Entry, Head, chained, extend
from threedice.log.store import Append, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from threedice.floor.events import AnyStreamEvent
    from threedice.log.store import Store


SNAPSHOT: Final = "state"
"""The name under which the state of a stream is kept in the store."""

KEEP_EVERY: Final = 5_000
BYTES_AN_ENTRY: Final = 200
"""After how many entries the state of a stream is kept anew, or one for so many bytes of it."""


class Running(Generic[State]):
    """One stream that commands are decided on.

    What is durable is folded only when somebody asks for it: until then it is what was frozen last,
    and the events since.
    """

    __slots__ = (
        "_durable", "_frozen", "_keep_at", "_mark", "_since", "at", "behind", "broken",
        "durable_at", "durable_head", "fold", "generation", "head", "hinted", "kept_version",
        "mending", "name", "state",
    )  # fmt: skip

    def __init__(
        self, name: str, fold: Fold[State], durable: State, head: Head, at: int, kept_version: int
    ) -> None:
        self.name, self.fold = name, fold
        self.durable_head = head
        self._durable: State | None = durable
        self._frozen = b""
        self._since: list[tuple[Sequence[AnyStreamEvent], int, int]] = []
        self._mark: tuple[Head, bytes] | None = None
        self.durable_at = at
        self.generation = 0
        self.kept_version = kept_version
        self._keep_at = kept_version + KEEP_EVERY
        self.broken = self.behind = False
        self.hinted = 0  # how far others say that it has come, which may be wrong
        self.mending: Any = None
        self.start_over()

    @property
    def durable(self) -> State:
        """The state as far as it is durable."""
        if self._durable is None:
            self._durable = self.fold.thaw(self._frozen)
        evolve, state = self.fold.evolve, self._durable
        for events, at, version in self._since:
            for place, event in enumerate(events, version - len(events) + 1):
                evolve(state, event, at, place)
        self._since.clear()
        return state

    def start_over(self) -> None:
        """Decide from what is durable again."""
        self.state = self.fold.thaw(self.fold.freeze(self.durable))
        self.head, self.at = self.durable_head, self.durable_at
        self._mark = None
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
        if version >= self._keep_at and self._mark is None:
            self._mark = (self.head, self.fold.freeze(state))
        return Append(self.name, expected, entries)

    def written(self, append: Append, events: Sequence[AnyStreamEvent]) -> Snapshot | None:
        """Take what was decided as durable, unless it has been read from the store meanwhile.

        Where it follows upon something that was written and nobody heard of (the database was away
        when it should have answered), all of it has to be read. Returns the state to be kept, when
        it is time for it.
        """
        last = append.entries[-1]
        if last.version <= self.durable_head.version:
            return None
        if append.expected != self.durable_head:
            self.broken = self.behind = True
            return None
        self._since.append((events, last.at, last.version))
        self.durable_head, self.durable_at = Head(last.version, last.hash), last.at
        if self._mark is None or self._mark[0] != self.durable_head:
            return None
        _, self._frozen = self._mark
        self._mark, self._durable = None, None
        self._since.clear()
        return self._kept(self._frozen)

    def catch_up(self, entries: Iterable[Entry]) -> None:
        """Take entries that others have written as durable; each must follow upon our head."""
        durable = self.durable
        for entry in entries:
            if entry.version > self.durable_head.version:
                follow(self.durable_head, entry)
                self.fold.evolve(durable, decode(entry), entry.at, entry.version)
                self.durable_head, self.durable_at = Head(entry.version, entry.hash), entry.at

    def kept(self) -> Snapshot:
        """Return what is durable as a snapshot."""
        return self._kept(self.fold.freeze(self.durable))

    def _kept(self, data: bytes) -> Snapshot:
        self.kept_version = version = self.durable_head.version
        # the larger a state, the more entries pass before all of it is kept again
        self._keep_at = version + max(KEEP_EVERY, len(data) // BYTES_AN_ENTRY)
        return Snapshot(self.name, SNAPSHOT, self.fold.form, self.durable_head, data)


def follow(head: Head, entry: Entry) -> None:
    """Stop at an entry that does not follow upon a head."""
    digest = chained(
        head.hash, entry.stream, entry.version, entry.at, entry.kind, entry.schema, entry.data,
        entry.cause,
    )  # fmt: skip
    if entry.version != head.version + 1 or digest != entry.hash:
        raise InvariantBroken(f"{entry.stream}: version {entry.version} breaks the chain")


def load(store: Store, name: str) -> Running[Any]:
    """Return a stream as the store has it: from its snapshot on, where there is a good one."""
    fold, noted = fold_of(name), store.head(name).version
    state, head, at = _kept(store, name, fold) or (fold.kind(), EMPTY, 0)
    kept_version = head.version
    for entry in store.scan(name, head.version):
        follow(head, entry)
        fold.evolve(state, decode(entry), entry.at, entry.version)
        head, at = Head(entry.version, entry.hash), entry.at
    if head.version < noted:
        raise Tampered(f"head of {name}", f"is version {noted}, its entries end at {head.version}")
    return Running(name, fold, state, head, at, kept_version)


def _kept(store: Store, name: str, fold: Fold[State]) -> tuple[State, Head, int] | None:
    """Return the snapshot of a stream with the time it stands for, unless it fits no entry.

    One that cannot be read is as good as none: everything in it follows from the entries.
    """
    snapshot = store.snapshot(name, SNAPSHOT)
    if snapshot is None or snapshot.form != fold.form:
        return None
    last = store.read(name, snapshot.head.version - 1, 1)
    if not last or Head(last[0].version, last[0].hash) != snapshot.head:
        return None
    try:
        return fold.thaw(snapshot.data), snapshot.head, last[0].at
    except (ValueError, TypeError):
        return None
