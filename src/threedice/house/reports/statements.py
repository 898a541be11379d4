"""Statement rows: store them as the log grows, and read them up to the last acknowledged command.

Stored rows lag behind the log, because a bet's transaction writes none. They are added up to the
last entry at which no part of the current round was settled; the next update then needs to know
only which round that is. A `StatementTail` keeps the events of a live stream that have no stored
rows yet, and a `StatementReader` combines both.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Final, cast

import msgspec

from threedice.house.codec import decode, tag_of
from threedice.house.events import TableEstablished
from threedice.house.reports.projection import (
    EVENTS_WITHOUT_ROWS,
    FORMER_VIEWS,
    VIEW,
    StatementProjector,
    StatementRow,
)
from threedice.house.stream_state import HouseTable, fold_of
from threedice.log.records import ProjectionLine
from threedice.table import events

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from threedice.house.events import AnyStreamEvent
    from threedice.log.entry import Entry
    from threedice.log.store import Store
    from threedice.rulebook import Game


MAX_ROWS_PER_UPDATE = 2_000
"""How many rows one store call adds; the rows of one round are never split."""


LOOKBACK_ENTRIES = 100
"""How many entries one read covers when searching backwards for the current round."""


_EVENTS_BETWEEN_ROUNDS: Final = (
    TableEstablished,
    events.TableOpened,
    events.WinnersPaid,
    events.RoundVoided,
    events.TableClosed,
)
"""Events after which no round is in progress."""

_KINDS_BETWEEN_ROUNDS: Final = frozenset(tag_of(kind) for kind in _EVENTS_BETWEEN_ROUNDS)


def update_statements(
    store: Store, stream: str, game_of: Callable[[str], Game], up_to: int | None = None
) -> int:
    """Add the missing statement rows of a stream; return the version they now reach.

    Entries after version `up_to` are left out, which the house may not have written.
    """
    projector, stored = StatementProjector(stream, game_of), store.projected_version(VIEW, stream)
    if started := find_round_at(store, stream, stored):
        projector.resume_round(started)
    resumable, lines = stored, list[ProjectionLine]()
    for entry in store.scan(stream, stored):
        if up_to is not None and entry.version > up_to:
            break
        lines += projector.project(entry, decode(entry))
        if projector.is_between_rounds or (lines and projector.is_resumable):
            resumable = entry.version
            if len(lines) >= MAX_ROWS_PER_UPDATE:
                if not store.project(VIEW, stream, stored, resumable, lines):
                    return stored  # another server was faster
                stored, lines = resumable, []
    ready = [line for line in lines if line.version <= resumable]
    if resumable > stored and store.project(VIEW, stream, stored, resumable, ready):
        stored = resumable
    return stored


def find_round_at(store: Store, stream: str, version: int) -> events.RoundStarted | None:
    """Return the start of the round in progress at a version; None between rounds."""
    while version > 0 and fold_of(stream).state_type is HouseTable:
        after = max(version - LOOKBACK_ENTRIES, 0)
        for entry in reversed(store.read(stream, after, version - after)):
            if entry.kind == tag_of(events.RoundStarted):
                return cast("events.RoundStarted", decode(entry))
            if entry.kind in _KINDS_BETWEEN_ROUNDS:
                return None
        version = after
    return None


def delete_former_views(store: Store) -> None:
    """Delete the rows of earlier forms of the view."""
    for view in FORMER_VIEWS:
        store.delete_view(view)


class StatementTail:
    """The durable events of a stream in memory that have no stored statement rows yet.

    They are projected when somebody reads a statement. `started` is the start of the round in
    progress before the first of them.
    """

    def __init__(self, stream: str, started: events.RoundStarted | None = None) -> None:
        self._stream, self._started = stream, started
        self._events: list[tuple[Entry, AnyStreamEvent]] = []
        self._forget_lines()

    def _forget_lines(self) -> None:
        self._projector: StatementProjector | None = None
        self._lines: list[ProjectionLine] = []
        self._projected_count = 0

    def add(self, entry: Entry, event: AnyStreamEvent) -> None:
        """Add an event that was written to the stream."""
        if type(event) not in EVENTS_WITHOUT_ROWS:
            self._events.append((entry, event))

    def drop_stored(self, version: int) -> None:
        """Drop the events up to a version, whose rows are stored now."""
        for entry, event in self._events:
            if entry.version <= version:
                if isinstance(event, events.RoundStarted):
                    self._started = event
                elif isinstance(event, _EVENTS_BETWEEN_ROUNDS):
                    self._started = None
        self._events = [each for each in self._events if each[0].version > version]
        self._forget_lines()

    def lines(self, game_of: Callable[[str], Game]) -> Sequence[ProjectionLine]:
        """Return the rows of the events."""
        if self._projector is None:
            self._projector = StatementProjector(self._stream, game_of)
            if self._started:
                self._projector.resume_round(self._started)
        for entry, event in self._events[self._projected_count :]:
            self._lines += self._projector.project(entry, event)
        self._projected_count = len(self._events)
        return self._lines


@dataclass(frozen=True, slots=True)
class DatedStatementRow:
    """A statement row with its time, stream and version."""

    at: int
    stream: str
    version: int
    row: StatementRow


_ROW_DECODER: Final = msgspec.json.Decoder(StatementRow)
_line_id: Final = attrgetter("stream", "version", "place")
_line_order: Final = attrgetter("at", "stream", "version", "place")


class StatementReader:
    """Read statement rows: the stored ones, and those of the tails of live streams.

    The tails must have been read before the stored rows, so that every row is in one of them.
    """

    def __init__(self, store: Store, tail: Sequence[ProjectionLine] = ()) -> None:
        self._store, self._tail = store, tail

    def rows(
        self,
        subject: str,
        *,
        since: int | None = None,
        until: int | None = None,
        limit: int | None = None,
    ) -> list[DatedStatementRow]:
        """Return the rows about a table's stream or a player, in order of time.

        `since` (inclusive) and `until` (exclusive) bound the time; `limit` selects the last rows.
        """
        stored = self._store.lines(VIEW, subject=subject, since=since, until=until, limit=limit)
        lines = {
            _line_id(line): line
            for line in self._tail
            if line.subject == subject
            and (since is None or line.at >= since)
            and (until is None or line.at < until)
        }
        if not lines:
            return list(map(_decode_line, stored))
        lines |= {_line_id(line): line for line in stored}
        ordered = sorted(lines.values(), key=_line_order)
        return list(map(_decode_line, ordered[-limit:] if limit else ordered))


def _decode_line(line: ProjectionLine) -> DatedStatementRow:
    return DatedStatementRow(line.at, line.stream, line.version, _ROW_DECODER.decode(line.data))
