"""Read the rows of a database exactly as stored, from one snapshot.

Verification and backup read a log through this class, concurrently with writes and without
trusting any row: a wrong type or damaged text is returned as it is stored, and a row that the
database itself cannot read raises `TamperedData`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from threedice.db.schema import IDENTITY_TABLE_PREFIX, VERSION_TABLE
from threedice.log.stores import schema
from threedice.log.stores.schema import ADDED_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from threedice.db.schema import Definitions
    from threedice.log.records import StoredRow
    from threedice.log.stores.schema import DatabaseTable

    SnapshotOpener = Callable[[], AbstractContextManager["LogRows"]]
    """Function that opens a snapshot; it can be pickled, to read the same rows elsewhere."""


class Query(NamedTuple):
    """A SELECT: its table and columns, and the rest of the statement."""

    table: str
    columns: Sequence[str]
    rest: str = ""

    def __str__(self) -> str:
        return f"SELECT {', '.join(self.columns)} FROM {self.table} {self.rest}"


_ENTRY_STREAMS: Final = Query("entries", ["stream"], "GROUP BY stream")
_ENTRY_TIMES: Final = Query(
    "entries", ["at"], "WHERE stream = ? AND version IN (?, ?) ORDER BY version"
)
_NEWEST_CHECKPOINTS: Final = Query(
    "checkpoints", schema.checkpoints.columns, "ORDER BY number DESC"
)
_PROJECTED_STREAMS: Final = Query("lines", ["view", "stream"], "GROUP BY view, stream")
_PROJECTION_LINES: Final = Query(
    "lines",
    ["subject", "version", "place", "at", "data"],
    "WHERE view = ? AND stream = ? ORDER BY version, place",
)


class LogRows(ABC):
    """The rows of a log in one snapshot of a database."""

    NO_BYTES_SQL: ClassVar[str]
    """SQL expression for an empty value of bytes."""

    @abstractmethod
    def shared(self) -> AbstractContextManager[SnapshotOpener | None]:
        """Let other processes open a snapshot while the context lasts.

        These rows are read from that snapshot too. Yields None if others cannot read the same.
        """

    @abstractmethod
    def find_damage(self) -> Iterator[str]:
        """Yield the damage found in the database itself: in its files and its definitions."""

    @abstractmethod
    def read_schema(self) -> tuple[int, set[str]]:
        """Return the version of the tables and their names."""

    @abstractmethod
    def table_names(self) -> set[str]:
        """Return the names of all tables."""

    def find_unread_entries(self, read_count: int) -> Iterator[str]:  # noqa: ARG002
        """Yield a finding if the store holds more entries than the `read_count` that were read."""
        yield from ()

    @abstractmethod
    def _read(self, query: Query, params: Sequence[Any] = ()) -> Iterator[list[StoredRow]]:
        """Yield the rows of a query."""

    @abstractmethod
    def _has_column(self, table: str, column: str) -> bool:
        """Return whether a table of this database has a column."""

    def _columns(self, table: DatabaseTable) -> list[str]:
        """Return what to select for the columns of a table, some of which may not exist yet."""
        added = ADDED_COLUMNS.get(table.name, ())
        missing = {column for column in added if not self._has_column(table.name, column)}
        return [self.NO_BYTES_SQL if name in missing else name for name in table.columns]

    def select(self, query: Query, params: Sequence[Any] = ()) -> list[StoredRow]:
        """Return the rows of a query."""
        return list(chain.from_iterable(self._read(query, params)))

    def chunks(
        self, table: DatabaseTable, streams: Sequence[str] | None = None
    ) -> Iterator[list[StoredRow]]:
        """Yield the rows of a table in primary key order, all or those of some streams."""
        if streams is None:
            yield from self._read(self._select(table))
        else:
            for stream in sorted(streams):
                yield from self._read(self._select(table, "stream = ?"), (stream,))

    def chunks_unordered(self, table: DatabaseTable) -> Iterator[list[StoredRow]]:
        """Yield the rows of a table in the order that is fastest to read."""
        return self._read(Query(table.name, self._columns(table)))

    def newest_checkpoints(self) -> Iterator[StoredRow]:
        """Yield the checkpoints, the last one first."""
        return chain.from_iterable(self._read(_NEWEST_CHECKPOINTS))

    def checkpoints_after(self, number: int) -> Iterator[list[StoredRow]]:
        """Yield the checkpoints after a number in order."""
        return self._read(self._select(schema.checkpoints, "number > ?"), (number,))

    def entry_streams(self) -> set[Any]:
        """Return the streams that have entries."""
        return {stream for (stream,) in chain.from_iterable(self._read(_ENTRY_STREAMS))}

    def entry_times(self, stream: str, first: int, last: int) -> list[Any]:
        """Return the times of two entries of a stream, or of one if they are the same."""
        return [
            at for (at,) in chain.from_iterable(self._read(_ENTRY_TIMES, (stream, first, last)))
        ]

    def projected_streams(self) -> set[StoredRow]:
        """Return the pairs of view and stream that have lines."""
        return set(chain.from_iterable(self._read(_PROJECTED_STREAMS)))

    def projection_lines(self, view: str, stream: str) -> Iterator[list[StoredRow]]:
        """Yield the lines of a view and stream: subject, version, place, time and data."""
        return self._read(_PROJECTION_LINES, (view, stream))

    def _select(self, table: DatabaseTable, condition: str = "") -> Query:
        """Return the query for the rows of a table in primary key order."""
        where = f"WHERE {condition} " if condition else ""
        return Query(table.name, self._columns(table), f"{where}ORDER BY {', '.join(table.key)}")


def compare_definitions(
    actual: Definitions, expected: Definitions, tables: set[str]
) -> Iterator[str]:
    """Yield the definitions that differ from those of this program for the same version."""
    if VERSION_TABLE not in tables:  # a database written before there was one, or a copy
        has_identity = any(name.startswith(IDENTITY_TABLE_PREFIX) for name in tables)
        expected = {
            key: (table, definition)
            for key, (table, definition) in expected.items()
            if table != VERSION_TABLE
            and (has_identity or not table.startswith(IDENTITY_TABLE_PREFIX))
        }
    for name, kind in sorted(actual.keys() | expected.keys(), key=repr):
        if (name, kind) not in expected:
            yield f"{kind} {name} is not defined by this program"
        elif (name, kind) not in actual:
            yield f"{kind} {name} is not defined"
        elif actual[name, kind] != expected[name, kind]:
            yield f"{kind} {name} differs from this program's definition"
