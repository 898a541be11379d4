"""Read the rows of a database exactly as stored, from one snapshot.

Verification and backup read a log through this class, concurrently with writes and without
trusting any row: a wrong type or damaged text is returned as it is stored, and a row that the
database itself cannot read raises `TamperedData`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from threedice.log.records import StoredRow
    from threedice.log.stores.schema import Table

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
_PROJECTED_STREAMS: Final = Query("lines", ["view", "stream"], "GROUP BY view, stream")
_PROJECTION_LINES: Final = Query(
    "lines",
    ["subject", "version", "place", "at", "data"],
    "WHERE view = ? AND stream = ? ORDER BY version, place",
)


class LogRows(ABC):
    """The rows of a log in one snapshot of a database."""

    @abstractmethod
    def shared(self) -> AbstractContextManager[SnapshotOpener | None]:
        """Let other processes open a snapshot while the context lasts.

        These rows are read from that snapshot too. Yields None if others cannot read the same.
        """

    @abstractmethod
    def find_damage(self) -> Iterator[str]:
        """Yield the damage found in the database itself: in its files and its definitions."""

    def find_unread_entries(self, read_count: int) -> Iterator[str]:  # noqa: ARG002
        """Yield a finding if the store holds more entries than the `read_count` that were read."""
        yield from ()

    @abstractmethod
    def _read(self, query: Query, params: Sequence[Any] = ()) -> Iterator[list[StoredRow]]:
        """Yield the rows of a query."""

    def chunks(
        self, table: Table, streams: Sequence[str] | None = None
    ) -> Iterator[list[StoredRow]]:
        """Yield the rows of a table in primary key order, all or those of some streams."""
        if streams is None:
            yield from self._read(self._select(table))
        else:
            for stream in sorted(streams):
                yield from self._read(self._select(table, "stream = ?"), (stream,))

    def chunks_unordered(self, table: Table) -> Iterator[list[StoredRow]]:
        """Yield the rows of a table in the order that is fastest to read."""
        return self._read(Query(table.name, table.columns))

    def entry_streams(self) -> set[Any]:
        """Return the streams that have entries."""
        return {stream for (stream,) in chain.from_iterable(self._read(_ENTRY_STREAMS))}

    def projected_streams(self) -> set[StoredRow]:
        """Return the pairs of view and stream that have lines."""
        return set(chain.from_iterable(self._read(_PROJECTED_STREAMS)))

    def projection_lines(self, view: str, stream: str) -> Iterator[list[StoredRow]]:
        """Yield the lines of a view and stream: subject, version, place, time and data."""
        return self._read(_PROJECTION_LINES, (view, stream))

    def _select(self, table: Table, condition: str = "") -> Query:
        """Return the query for the rows of a table in primary key order."""
        where = f"WHERE {condition} " if condition else ""
        return Query(table.name, table.columns, f"{where}ORDER BY {', '.join(table.key)}")
