"""Replay streams and compare snapshots, balances and statement rows with the stored ones.

The replay uses the functions that ran the house. Statement rows are compared as they are projected,
so that none are held in memory; if any differ, the stream is projected a second time to find out
which.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from threedice.errors import TamperedData
from threedice.house.codec import decode
from threedice.house.events import TableEstablished
from threedice.house.reports.projection import (
    EVENTS_WITHOUT_ROWS,
    FORMER_VIEWS,
    VIEW,
    StatementProjector,
)
from threedice.house.stream_state import Fold, State, StreamBalances, encode_state, fold_of
from threedice.log.entry import Entry
from threedice.log.proof import IntegrityFinding
from threedice.log.stores import schema
from threedice.table.events import RoundStarted, TableOpened

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from threedice.house.events import AnyStreamEvent
    from threedice.log.records import StoredRow
    from threedice.log.stores.rows import LogRows
    from threedice.money import Balances
    from threedice.rulebook import Game


_PINNING_EVENTS: Final = (TableEstablished, TableOpened, RoundStarted)


class StreamReplay:
    """The replay of one stream: its state, its balances and its statement rows.

    `stored_snapshot` is a tuple of form, version, hash and data.
    """

    def __init__(
        self,
        name: str,
        stored_snapshot: StoredRow | None,
        statements: StreamStatementsReplay,
        games: Container[str],
    ) -> None:
        self.name, self._stored_snapshot = name, stored_snapshot
        self._statements, self._games = statements, games
        self._snapshot_version = stored_snapshot[1] if stored_snapshot else 0
        self._fold = fold_of(name)
        self.state: Any = self._fold.state_type()
        self._balances = StreamBalances(name, self._fold, self.state)
        self._findings: list[IntegrityFinding] = []
        self._version = 0
        self.failed = False
        if type(self._snapshot_version) is not int or (
            stored_snapshot and self._snapshot_version < 1
        ):
            self._note(f"snapshot of {name}", f"has an invalid version: {self._snapshot_version!r}")
            self._stored_snapshot, self._snapshot_version = None, 0

    @property
    def balances(self) -> Balances:
        """The balances of the postings replayed so far."""
        return self._balances.balances

    def apply(self, rows: Sequence[StoredRow]) -> None:
        """Fold the next entries; raise `TamperedData` at one that no command can have caused."""
        evolve, post, state = self._fold.evolve, self._balances.post, self.state
        try:
            for row in rows:
                entry = Entry(*row)
                self._version = version = entry.version
                event = decode(entry)
                evolve(state, event, entry.at, version)
                post(event, state)
                if type(event) not in EVENTS_WITHOUT_ROWS:  # which pin no game either
                    self._require_game(event)
                    self._statements.apply(entry, event)
                if version == self._snapshot_version:
                    self._compare_snapshot(entry.hash)
        except TamperedData:
            self.failed = True
            raise
        except Exception as error:  # events that no command could have caused can raise anything
            self.failed = True
            problem = f"cannot follow from the entries before: {str(error) or type(error).__name__}"
            raise TamperedData(f"{self.name} version {self._version}", problem) from None

    def finish(self) -> list[IntegrityFinding]:
        """Return all findings; after a failed replay nothing more is compared."""
        if self.failed:
            return self._findings
        if self._snapshot_version > self._version:
            self._note(f"snapshot of {self.name}", "goes further than the stream")
        self._findings += self._statements.finish(self._version)
        self._balances.compare_all(self.state)
        return self._findings

    def _note(self, where: str, problem: str) -> None:
        self._findings.append(IntegrityFinding(where, problem))

    def _require_game(self, event: AnyStreamEvent) -> None:
        if isinstance(event, _PINNING_EVENTS) and event.game_hash not in self._games:
            where = f"{self.name} version {self._version}"
            raise TamperedData(where, f"the pinned game {event.game_hash} is missing")

    def _compare_snapshot(self, entry_hash: bytes) -> None:
        if self._stored_snapshot is None:
            return
        form, version, snapshot_hash, data = self._stored_snapshot
        where = f"snapshot of {self.name} at version {version}"
        if form != self._fold.form:
            return  # written by another release: ignored, and replaced eventually
        if snapshot_hash != entry_hash:
            self._note(where, "belongs to another entry")
        if difference := find_difference(data, self._fold, self.state):
            self._note(where, difference)


def find_difference(data: bytes, fold: Fold[State], state: State) -> str:
    """Return how the bytes of a snapshot differ from a replayed state; empty if they do not."""
    try:
        if fold.decode_state(data) != state:
            return "differs from the replayed state"
        if _plain_content(data) != _plain_content(encode_state(state)):
            return "has bytes that do not follow from the replayed state"
    except (ValueError, TypeError) as error:
        return f"cannot be read: {error}"
    return ""


def _plain_content(data: bytes) -> Any:
    """Return everything that an encoded state holds, whether or not a state would take it.

    A key that states do not have is ignored when a state is decoded, and the default taken in its
    place. Sets are lists here, in the order of one process, so lists and maps are sorted. Raises
    `ValueError` for bytes that the house would have written otherwise.
    """
    content = msgspec.msgpack.decode(data)
    if msgspec.msgpack.encode(content) != data:
        raise ValueError("its encoding is not the house's")
    return _sort(content)


def _sort(content: Any) -> Any:
    if isinstance(content, dict):
        return sorted([msgspec.msgpack.encode(key), _sort(content[key])] for key in content)
    if isinstance(content, list):
        return sorted(map(_sort, content), key=msgspec.msgpack.encode)
    return msgspec.msgpack.encode(content)


class StatementsReplay:
    """The stored statement rows of a house, for comparison with the replay."""

    def __init__(
        self, rows: LogRows, game_of: Callable[[str], Game], findings: list[IntegrityFinding]
    ) -> None:
        self._rows, self._game_of, self._findings = rows, game_of, findings
        self._stored_versions: dict[Any, Any] = {}
        self._stored_views = defaultdict[Any, set[Any]](set)
        try:
            for view, stream, version in chain.from_iterable(rows.chunks(schema.views)):
                if view == VIEW:
                    self._stored_versions[stream] = version
                elif view not in FORMER_VIEWS:
                    findings.append(IntegrityFinding(_location(stream), f"unknown view {view!r}"))
            for view, stream in rows.projected_streams():
                if view not in FORMER_VIEWS:  # those are of another release and not used
                    self._stored_views[stream].add(view)
        except TamperedData as error:
            findings.append(IntegrityFinding(error.where, error.problem))

    def for_stream(self, stream: str) -> StreamStatementsReplay:
        """Return the comparison of one stream's rows."""
        version, where = self._stored_versions.pop(stream, 0), _location(stream)
        if type(version) is not int:
            self._findings.append(IntegrityFinding(where, f"have an invalid version: {version!r}"))
            version = 0
        views = self._stored_views.pop(stream, set())
        for view in sorted(views - {VIEW}, key=repr):
            self._findings.append(IntegrityFinding(where, f"unknown view {view!r}"))
        stored = self._rows.projection_lines(VIEW, stream) if VIEW in views else ()
        return StreamStatementsReplay(stream, version, stored, self._rows, self._game_of)

    def finish(self, visited: Iterable[str]) -> list[IntegrityFinding]:
        """Return a finding for each stream that has statement rows and no entries."""
        streams = self._stored_views.keys() | self._stored_versions.keys()
        return [
            IntegrityFinding(_location(stream), "the stream has no entries")
            for stream in sorted(streams - set(visited), key=repr)
        ]


def _location(stream: str) -> str:
    """Return where a finding about the statement rows of a stream is."""
    return f"books of {stream}"


class StreamStatementsReplay:
    """Compare the stored statement rows of one stream with those of its replay."""

    def __init__(
        self,
        stream: str,
        stored_version: int,
        stored: Iterable[Sequence[StoredRow]],
        rows: LogRows,
        game_of: Callable[[str], Game],
    ) -> None:
        self._stream, self._stored_version = stream, stored_version
        self._rows, self._game_of = rows, game_of
        self._projector = StatementProjector(stream, game_of)
        self._stored, self._agree = chain.from_iterable(stored), True
        self._unreadable: list[IntegrityFinding] = []

    def apply(self, entry: Entry, event: AnyStreamEvent) -> None:
        """Project an entry, up to the version that the stored rows reach, and compare."""
        if entry.version <= self._stored_version:
            rows = _project_rows(self._projector, entry, event)
            if rows and self._agree:
                self._agree = self._next_stored(len(rows)) == rows

    def _next_stored(self, count: int) -> list[StoredRow]:
        """Return the next stored rows; an unreadable row is a finding and ends them."""
        try:
            return list(islice(self._stored, count))
        except TamperedData as error:
            self._unreadable.append(IntegrityFinding(error.where, error.problem))
            return []

    def finish(self, last_version: int) -> list[IntegrityFinding]:
        """Return how the stored rows differ from the replayed ones."""
        where = _location(self._stream)
        agree = self._agree and not self._next_stored(1)
        findings = [*self._unreadable]
        if self._stored_version > last_version:
            findings.append(IntegrityFinding(where, "go further than the stream"))
        elif not self._projector.is_resumable:
            problem = f"end at version {self._stored_version}, in the middle of a settlement"
            findings.append(IntegrityFinding(where, problem))
        if not agree and not self._unreadable:
            differences = list(self._differences(where))
            findings += differences or [IntegrityFinding(where, "differ from the replayed rows")]
        return findings

    def _differences(self, where: str) -> Iterator[IntegrityFinding]:
        """Yield which rows differ, by projecting the stream a second time."""
        projector = StatementProjector(self._stream, self._game_of)
        replayed: dict[tuple[int, int], StoredRow] = {}
        for row in chain.from_iterable(self._rows.chunks(schema.entries, [self._stream])):
            entry = Entry(*row)
            if entry.version <= self._stored_version:
                rows = _project_rows(projector, entry, decode(entry))
                replayed.update(((row[1], row[2]), row) for row in rows)
        for row in chain.from_iterable(self._rows.projection_lines(VIEW, self._stream)):
            _, version, place, _, _ = row
            if replayed.pop((version, place), None) != row:
                yield IntegrityFinding(
                    f"{where} version {version}", f"line {place} does not follow from the entries"
                )
        for version, place in replayed:
            yield IntegrityFinding(f"{where} version {version}", f"line {place} is missing")


def _project_rows(
    projector: StatementProjector, entry: Entry, event: AnyStreamEvent
) -> list[StoredRow]:
    """Return the rows of an entry in the form of `LogRows.projection_lines`."""
    return [
        (line.subject, line.version, line.place, line.at, line.data)
        for line in projector.project(entry, event)
    ]
