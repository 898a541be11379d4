"""Read the rows of any store exactly as stored, from one snapshot.

Verification and backup read a log through this module, concurrently with writes and without
trusting any row: a wrong type or damaged text is returned as it is stored, and a row that the
database itself cannot read raises `TamperedData`.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
import psycopg

from threedice.db.postgres import connect_postgres
from threedice.errors import InvalidInput, StoreUnavailable, TamperedData
from threedice.log.store import StoredRow, encode_spans
from threedice.log.stores import schema
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.postgres import PostgresStore
from threedice.log.stores.sqlite import SqliteStore
from threedice.log.stores.sqlite_rows import CHUNK_ROWS, SqliteRows, open_sqlite_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from threedice.db.postgres import PostgresConnection
    from threedice.log.store import Store
    from threedice.log.stores.schema import Table


class LogRows(Protocol):
    """The rows of a log in one snapshot."""

    def find_damage(self) -> Iterator[str]:
        """Yield the damage found in the database itself: in its files and its definitions."""

    def find_unread_entries(self, read_count: int) -> Iterator[str]:
        """Yield a finding if the store holds more entries than the `read_count` that were read."""

    def chunks(
        self, table: Table, streams: Sequence[str] | None = None
    ) -> Iterator[list[StoredRow]]:
        """Yield the rows of a table in primary key order, all or those of some streams."""

    def chunks_unordered(self, table: Table) -> Iterator[list[StoredRow]]:
        """Yield the rows of a table in the order that is fastest to read."""

    def projected_streams(self) -> set[tuple[Any, Any]]:
        """Return the pairs of view and stream that have lines."""

    def projection_lines(self, view: str, stream: str) -> Iterator[list[StoredRow]]:
        """Yield the lines of a view and stream: subject, version, place, time and data."""


@contextmanager
def open_rows(store: Store | Path | LogRows) -> Iterator[LogRows]:
    """Open a snapshot of the rows of a store or an SQLite file."""
    match store:
        case MemoryRows() | SqliteRows() | PostgresRows():
            yield store
        case Path():
            with open_sqlite_rows(store) as rows:
                yield rows
        case MemoryStore():
            yield MemoryRows(store)
        case SqliteStore():
            with open_sqlite_rows(store.path) as rows:
                yield rows
        case PostgresStore():
            with open_postgres_rows(store.url) as rows:
                yield rows
        case _:
            raise InvalidInput(f"the rows of a {type(store).__name__} cannot be read")


class MemoryRows:
    """The rows of a store in memory, which must not be written meanwhile."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def find_damage(self) -> Iterator[str]:
        """Yield nothing: a store in memory has no files."""
        yield from ()

    def find_unread_entries(self, read_count: int) -> Iterator[str]:  # noqa: ARG002
        """Yield nothing: a store in memory has no index."""
        yield from ()

    def chunks(
        self, table: Table, streams: Sequence[str] | None = None
    ) -> Iterator[list[StoredRow]]:
        """Yield the rows of a table in primary key order, all or those of some streams."""
        names = self._store.streams() if streams is None else sorted(streams)
        match table.name:
            case "entries":
                entries = (entry for name in names for entry in self._store.scan(name))
                rows: Iterator[StoredRow] = map(msgspec.structs.astuple, entries)
            case "streams":
                heads = self._store.heads()
                rows = (
                    (name, *msgspec.structs.astuple(heads[name])) for name in names if name in heads
                )
            case "answers":
                rows = (
                    (answer.account, answer.key, answer.command_hash, encode_spans(answer.spans))
                    for answer in self._store.answers()
                )
            case "games":
                rows = iter(sorted(self._store.games().items()))
            case "checkpoints":
                rows = map(msgspec.structs.astuple, self._store.checkpoints())
            case "snapshots":
                rows = (
                    (
                        snapshot.stream,
                        snapshot.name,
                        snapshot.form,
                        snapshot.head.version,
                        snapshot.head.hash,
                        snapshot.data,
                    )
                    for snapshot in self._store.snapshots()
                )
            case "lines":
                rows = map(msgspec.structs.astuple, self._store.all_lines())
            case "views":
                rows = iter(self._store.all_view_versions())
            case name:
                raise InvalidInput(f"the table {name} of a store in memory cannot be read")
        while chunk := list(islice(rows, CHUNK_ROWS)):
            yield chunk

    def chunks_unordered(self, table: Table) -> Iterator[list[StoredRow]]:
        """Yield the rows of a table in the order that is fastest to read."""
        return self.chunks(table)

    def projected_streams(self) -> set[tuple[Any, Any]]:
        """Return the pairs of view and stream that have lines."""
        return {(line.view, line.stream) for line in self._store.all_lines()}

    def projection_lines(self, view: str, stream: str) -> Iterator[list[StoredRow]]:
        """Yield the lines of a view and stream: subject, version, place, time and data."""
        for chunk in self.chunks(schema.lines):
            yield [
                (subject, version, place, at, data)
                for line_view, subject, line_stream, version, place, at, data in chunk
                if (line_view, line_stream) == (view, stream)
            ]


# --- PostgreSQL ---------------------------------------------------------------------------------

FETCH_ROWS: Final = 1000
"""Rows fetched from PostgreSQL at a time."""

READ_TIMEOUT_SECONDS: Final = 60.0
"""Time limit for each fetch from PostgreSQL."""

_SELECT_PROJECTED_STREAMS: Final = "SELECT DISTINCT view, stream FROM lines"
_SELECT_PROJECTION_LINES: Final = (
    "SELECT subject, version, place, at, data FROM lines"
    " WHERE view = %s AND stream = %s ORDER BY version, place"
)


@contextmanager
def open_postgres_rows(url: str) -> Iterator[PostgresRows]:
    """Open a snapshot of the rows of a PostgreSQL database."""
    with (
        _translate_errors("the database"),
        closing(connect_postgres(url, READ_TIMEOUT_SECONDS)) as connection,
    ):
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        connection.execute("SELECT count(*) FROM meta")  # the first read fixes the snapshot
        yield PostgresRows(connection)


class PostgresRows:
    """The rows of a PostgreSQL database, read in a repeatable-read transaction."""

    def __init__(self, connection: PostgresConnection) -> None:
        self._connection, self._cursors = connection, 0

    def find_damage(self) -> Iterator[str]:
        """Yield triggers on the log's tables: it defines none. The server checks its own pages."""
        triggers = self._connection.execute(
            "SELECT tgname, relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid"
            " WHERE NOT tgisinternal AND relname = ANY(%s) ORDER BY tgname",
            ([table.name for table in schema.TABLES],),
        )
        for trigger, table in triggers.fetchall():
            yield f"the trigger {trigger} on {table} is not defined by this program"

    def find_unread_entries(self, read_count: int) -> Iterator[str]:  # noqa: ARG002
        """Yield nothing: the server maintains its own indexes."""
        yield from ()

    def chunks(
        self, table: Table, streams: Sequence[str] | None = None
    ) -> Iterator[list[StoredRow]]:
        """Yield the rows of a table in primary key order, all or those of some streams."""
        sql = _select_by_key(table, "" if streams is None else "stream = ANY(%s)")
        return self._chunks(table.name, sql, None if streams is None else (sorted(streams),))

    def chunks_unordered(self, table: Table) -> Iterator[list[StoredRow]]:
        """Yield the rows of a table in file order, without using an index."""
        return self._chunks(table.name, _select_all(table), None)

    def projected_streams(self) -> set[tuple[Any, Any]]:
        """Return the pairs of view and stream that have lines."""
        return set(chain.from_iterable(self._chunks("lines", _SELECT_PROJECTED_STREAMS, None)))

    def projection_lines(self, view: str, stream: str) -> Iterator[list[StoredRow]]:
        """Yield the lines of a view and stream: subject, version, place, time and data."""
        return self._chunks("lines", _SELECT_PROJECTION_LINES, (view, stream))

    def _chunks(self, name: str, sql: str, params: StoredRow | None) -> Iterator[list[StoredRow]]:
        self._connection.set_deadline(READ_TIMEOUT_SECONDS)
        self._cursors += 1  # several cursors on one table may be open at the same time
        with (
            _translate_errors(f"table {name}"),
            self._connection.cursor(f"rows_{self._cursors}") as cursor,
        ):
            cursor.execute(sql, params, binary=True)
            while chunk := cursor.fetchmany(FETCH_ROWS):
                yield chunk
                self._connection.set_deadline(READ_TIMEOUT_SECONDS)


@contextmanager
def _translate_errors(where: str) -> Iterator[None]:
    try:
        yield
    except psycopg.OperationalError as error:
        raise StoreUnavailable(f"the database does not respond: {error}; try again") from error
    except psycopg.Error as error:
        raise TamperedData(where, f"cannot be read: {error}") from error


def _select_by_key(table: Table, condition: str = "") -> str:
    where = f" WHERE {condition}" if condition else ""
    return f"{_select_all(table)}{where} ORDER BY {table.key_list}"


def _select_all(table: Table) -> str:
    return f"SELECT {table.column_list} FROM {table.name}"
