"""Read the rows of an SQLite file from one snapshot, and find damage in the file itself.

There are two drivers. The standard one is the one that writes, so a process that has the file open
must read it with that one. APSW decodes rows in half the time, but brings an SQLite library of its
own that does not know the locks of the other, so it is only for a process that has the file open
in no other way.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing, contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import apsw

from threedice.db.schema import VERSION_TABLE, load_migrations, prepare_tables
from threedice.db.sqlite import SELECT_TABLE_NAMES, is_locked, is_undecodable, set_common_pragmas
from threedice.errors import StoreUnavailable, StoreUnusable, TamperedData
from threedice.log.stores import schema
from threedice.log.stores.schema import IDENTITY_TABLE_PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from threedice.db.sqlite import SqliteConnection
    from threedice.log.store import StoredRow
    from threedice.log.stores.schema import Table

CHUNK_ROWS: Final = 250
"""Rows read at a time: few, so that they stay in the processor's cache."""

MMAP_BYTES: Final = 1 << 30
"""Maximum size of the memory map: reading a whole file is a third faster with it."""

IRREPLACEABLE_TABLES: Final = ("streams", "entries", "answers", "games", "checkpoints", "people")
"""Tables that cannot be rebuilt from others."""

_ENTRIES_INDEX: Final = "sqlite_autoindex_entries_1"
_LINES_INDEX: Final = "sqlite_autoindex_lines_1"
_DRIVER_ERRORS: Final = (sqlite3.Error, apsw.Error, UnicodeDecodeError)
"""Errors of both drivers; APSW raises UnicodeDecodeError for text that is not UTF-8."""

_REFUSING_TRIGGER: Final = re.compile(r"[^;]* BEGIN SELECT RAISE\(ABORT, '[^']*'\); END")
"""Definition of a trigger that does nothing but abort."""


@contextmanager
def open_sqlite_rows(path: Path) -> Iterator[SqliteRows]:
    """Open a snapshot of a file with the standard driver; this process may have the file open."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with _open_rows(path, lambda: sqlite3.connect(uri, uri=True, isolation_level=None)) as rows:
        yield rows


@contextmanager
def open_sqlite_rows_with_apsw(path: Path) -> Iterator[SqliteRows]:
    """Open a snapshot of a house's file with APSW; this process must not have the file open.

    Otherwise closing it here would release the POSIX locks of the other SQLite library. A file that
    no process has open is opened as immutable, so that SQLite creates no `-wal` and `-shm` files:
    the house could not open those if it runs as another user.
    """
    path = path.resolve()  # -wal and -shm lie next to the file itself, not to a link
    idle_fingerprint = _idle_fingerprint(path)
    uri = f"{path.absolute().as_uri()}?{'immutable=1' if idle_fingerprint else 'mode=ro'}"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with _open_rows(path, lambda: apsw.Connection(uri, flags=flags)) as rows:
        rows.require_current_schema(str(path))
        yield rows
    if idle_fingerprint and _idle_fingerprint(path) != idle_fingerprint:
        raise StoreUnavailable(f"a house began to use {path} while it was being read; try again")


def _idle_fingerprint(path: Path) -> tuple[int, int, int] | None:
    """Return inode, size and time of a file, or None if a journal or log may hold more of it."""
    wal, shm, journal = (
        path.with_name(f"{path.name}-{suffix}") for suffix in ("wal", "shm", "journal")
    )
    is_empty = wal.exists() and not wal.stat().st_size and not shm.exists()
    if not path.exists() or journal.exists() or (wal.exists() and not is_empty):
        return None
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


@contextmanager
def _open_rows(path: Path, connect: Callable[[], SqliteConnection]) -> Iterator[SqliteRows]:
    if path.is_dir():
        raise StoreUnusable(f"{path} is a folder; give the SQLite file in it")
    try:
        connection = connect()
    except _DRIVER_ERRORS as error:
        raise StoreUnusable(f"{path} cannot be opened: {error}; does it exist?") from error
    with closing(connection):
        try:
            set_common_pragmas(connection)
            for statement in (
                f"PRAGMA mmap_size = {MMAP_BYTES}",
                "BEGIN",
                "SELECT count(*) FROM sqlite_master",  # the first read fixes the snapshot
            ):
                list(connection.execute(statement))
        except _DRIVER_ERRORS as error:
            raise _read_error(str(path), error) from error
        yield SqliteRows(connection)


class _Query(NamedTuple):
    """A SELECT: its columns, and the statement from FROM on."""

    columns: Sequence[str]
    rest: str

    @property
    def plain(self) -> str:
        return f"SELECT {', '.join(self.columns)} {self.rest}"

    @property
    def with_types(self) -> str:
        """The query with each value preceded by its type, and with text as bytes."""
        columns = (
            f"typeof({column}), iif(typeof({column}) = 'text', CAST({column} AS BLOB), {column})"
            for column in self.columns
        )
        return f"SELECT {', '.join(columns)} {self.rest}"


_SELECT_DEFINITIONS: Final = "SELECT type, name, tbl_name, sql FROM sqlite_master"
_COUNT_FRACTIONS: Final = (
    "SELECT count(*) FROM lines NOT INDEXED"
    " WHERE typeof(version) = 'real' OR typeof(place) = 'real' OR typeof(at) = 'real'"
)
_PROJECTED_STREAMS: Final = _Query(("view", "stream"), "FROM lines GROUP BY view, stream")
_PROJECTION_LINES: Final = _Query(
    ("subject", "version", "place", "at", "data"),
    "FROM lines WHERE view = ? AND stream = ? ORDER BY version, place",
)


class SqliteRows:
    """The rows of an SQLite file, read through a connection in a transaction."""

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection

    def require_current_schema(self, database: str) -> None:
        """Refuse a file that is not a house's database, or has another schema version."""
        try:
            tables = [name for (name,) in self._connection.execute(SELECT_TABLE_NAMES)]
            prepare_tables(
                self._connection.execute,
                tables,
                dialect="sqlite",
                database=database,
                policy="require",
            )
        except _DRIVER_ERRORS as error:
            raise _read_error(database, error) from error

    def find_damage(self) -> Iterator[str]:
        """Yield the damage that SQLite finds in pages, indexes and types of the verified tables.

        Derived tables are compared row by row elsewhere, which finds more, except for two things
        checked here: the indexes of `lines` must be complete, and its numbers must be integers, as
        a real number would compare as equal. Entries are read through their index, and only where
        it points to the right row, so `find_unread_entries` must complete this check.
        """
        try:
            yield from self._find_foreign_definitions()
            for table in IRREPLACEABLE_TABLES:
                check = "quick_check" if table == "entries" else "integrity_check"
                for (message,) in self._connection.execute(f"PRAGMA {check}({table})"):
                    if message != "ok":
                        yield message
            for index in (*schema.LINE_INDEXES, _LINES_INDEX):
                yield from self._compare_index("lines", index, "view")
            ((fractions,),) = self._connection.execute(_COUNT_FRACTIONS)
            if fractions:
                yield f"there are {fractions} lines with a number that is not stored as a whole one"
        except _DRIVER_ERRORS as error:
            yield str(error)

    def _find_foreign_definitions(self) -> Iterator[str]:
        """Yield definitions in this database that differ from those of this program."""
        actual = _read_definitions(self._connection)
        with closing(sqlite3.connect(":memory:")) as reference:
            for statement in chain.from_iterable(load_migrations("sqlite").values()):
                reference.execute(statement)
            expected = _read_definitions(reference)
        if (VERSION_TABLE, "table") not in actual:  # a database written before there was one
            del expected[VERSION_TABLE, "table"]
        for name, kind in sorted(actual.keys() | expected.keys(), key=repr):
            if (name, kind) not in expected:
                yield f"{kind} {name} is not defined by this program"
            elif (name, kind) not in actual:
                yield f"{kind} {name} is not defined"
            elif actual[name, kind] != expected[name, kind]:
                yield f"{kind} {name} differs from this program's definition"

    def find_unread_entries(self, read_count: int) -> Iterator[str]:
        """Yield a finding if the file holds entries that their index does not lead to."""
        yield from self._compare_index("entries", _ENTRIES_INDEX, "stream", read_count)

    def _compare_index(
        self, table: str, index: str, first_column: str, read_count: int | None = None
    ) -> Iterator[str]:
        """Yield a finding if an index does not have as many rows as its table."""
        sql = (  # without the condition SQLite could count with any index
            f"SELECT (SELECT count(*) FROM {table} NOT INDEXED),"
            f" (SELECT count(*) FROM {table} INDEXED BY {index} WHERE {first_column} >= '')"
        )
        try:
            ((rows, indexed),) = self._connection.execute(sql)
        except _DRIVER_ERRORS as error:
            yield f"{table} cannot be counted: {error}"
            return
        if not rows == indexed == (rows if read_count is None else read_count):
            reached = "" if read_count is None else f", which leads to {read_count}"
            yield f"there are {rows} {table}, and {indexed} in their index {index}{reached}"

    def chunks(
        self, table: Table, streams: Sequence[str] | None = None
    ) -> Iterator[list[StoredRow]]:
        """Yield the rows of a table in primary key order, all or those of some streams."""
        if streams is None:
            yield from self._chunks(table.name, _query_by_key(table))
        else:
            for stream in sorted(streams):
                yield from self._chunks(table.name, _query_by_key(table, "stream = ?"), (stream,))

    def chunks_unordered(self, table: Table) -> Iterator[list[StoredRow]]:
        """Yield the rows of a table in file order, without using an index."""
        query = _Query(table.columns, f"FROM {table.name} ORDER BY rowid")
        return self._chunks(table.name, query)

    def projected_streams(self) -> set[tuple[Any, Any]]:
        """Return the pairs of view and stream that have lines."""
        return set(chain.from_iterable(self._chunks("lines", _PROJECTED_STREAMS)))

    def projection_lines(self, view: str, stream: str) -> Iterator[list[StoredRow]]:
        """Yield the lines of a view and stream: subject, version, place, time and data."""
        return self._chunks("lines", _PROJECTION_LINES, (view, stream))

    def _chunks(
        self, name: str, query: _Query, params: StoredRow = ()
    ) -> Iterator[list[StoredRow]]:
        """Read rows; from the first one with invalid UTF-8 on, read text as bytes, more slowly."""
        yielded = 0
        try:
            for chunk in self._read(query.plain, params):
                yield chunk
                yielded += len(chunk)
        except _DRIVER_ERRORS as error:
            if not is_undecodable(error):
                raise _read_error(f"table {name}", error) from error
        else:
            return
        try:
            for chunk in self._read(f"{query.with_types} LIMIT -1 OFFSET {yielded}", params):
                yield [tuple(map(_decode_value, row[::2], row[1::2])) for row in chunk]
        except _DRIVER_ERRORS as error:
            raise _read_error(f"table {name}", error) from error

    def _read(self, sql: str, params: StoredRow) -> Iterator[list[StoredRow]]:
        rows = iter(self._connection.execute(sql, params))
        while chunk := list(islice(rows, CHUNK_ROWS)):
            yield chunk


def _read_definitions(connection: SqliteConnection) -> dict[tuple[str, str], str]:
    """Return the definitions that concern the log, by name and kind, with single spaces."""
    return {
        (name, kind): " ".join(str(sql).split())
        for kind, name, table, sql in connection.execute(_SELECT_DEFINITIONS)
        if not (str(table).startswith(IDENTITY_TABLE_PREFIX) and _is_harmless(kind, str(sql)))
    }


def _is_harmless(kind: str, sql: str) -> bool:
    """Return whether a definition on an identity table cannot change the tables of the log."""
    return kind in ("table", "index") or (
        kind == "trigger" and _REFUSING_TRIGGER.fullmatch(sql) is not None
    )


def _decode_value(kind: str, value: Any) -> Any:
    """Return a value by its SQLite type; invalid UTF-8 keeps its bytes as surrogate escapes."""
    if kind == "text":
        return str(value, encoding="utf-8", errors="surrogateescape")
    return value


def _read_error(where: str, error: Exception) -> TamperedData | StoreUnavailable:
    if is_locked(error):
        return StoreUnavailable(f"{where} is locked by another process; try again: {error}")
    return TamperedData(where, f"cannot be read: {error}")


def _query_by_key(table: Table, condition: str = "") -> _Query:
    if table.name == "entries":
        where = f" AND indexed.{condition}" if condition else ""
        # Read each entry through its index, and only if the index points to the right row.
        return _Query(
            [f"stored.{name}" for name in table.columns],
            f"FROM entries AS indexed INDEXED BY {_ENTRIES_INDEX}"
            " CROSS JOIN entries AS stored NOT INDEXED ON stored.rowid = indexed.rowid"
            f" WHERE stored.stream IS indexed.stream AND stored.version IS indexed.version{where}"
            f" ORDER BY {', '.join(f'indexed.{name}' for name in table.key)}",
        )
    where = f" WHERE {condition}" if condition else ""
    return _Query(table.columns, f"FROM {table.name}{where} ORDER BY {table.key_list}")
