"""Read the rows of an SQLite file from one snapshot, and find damage in the file itself."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing, contextmanager
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from threedice.db.schema import (
    IDENTITY_TABLE_PREFIX,
    VERSION_TABLE,
    load_migrations,
    prepare_tables,
)
from threedice.db.sqlite import is_locked, is_undecodable, set_common_pragmas
from threedice.errors import StoreUnavailable, StoreUnusable, TamperedData
from threedice.log.stores import schema
from threedice.log.stores.sql_rows import LogRows, Query

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from threedice.log.records import StoredRow
    from threedice.log.stores.schema import Table
    from threedice.log.stores.sql_rows import SnapshotOpener

IMMUTABLE: Final = "immutable=1"
"""How to open a file that nobody changes."""

CHUNK_ROWS: Final = 250
"""Rows read at a time: few, so that they stay in the processor's cache."""

MMAP_BYTES: Final = 1 << 30
"""Maximum size of the memory map: reading a whole file is a third faster with it."""

IRREPLACEABLE_TABLES: Final = ("streams", "entries", "answers", "games", "checkpoints", "people")
"""Tables that cannot be rebuilt from others."""

_ENTRIES_INDEX: Final = "sqlite_autoindex_entries_1"
_LINES_INDEX: Final = "sqlite_autoindex_lines_1"
_READ_ERRORS: Final = (sqlite3.Error, UnicodeDecodeError)
"""Errors of the driver; it raises UnicodeDecodeError for a message that is not UTF-8."""

_REFUSING_TRIGGER: Final = re.compile(r"[^;]* BEGIN SELECT RAISE\(ABORT, '[^']*'\); END")
"""Definition of a trigger that does nothing but abort."""


@contextmanager
def open_house_file(path: Path) -> Iterator[SqliteRows]:
    """Open a snapshot of a house's file without leaving a trace.

    A file that no process has open is opened as immutable, so that SQLite creates no `-wal` and
    `-shm` files: the house could not open those if it runs as another user.
    """
    path = path.resolve()  # -wal and -shm lie next to the file itself, not to a link
    idle_fingerprint = _idle_fingerprint(path)
    with open_sqlite_rows(path, IMMUTABLE if idle_fingerprint else "mode=ro") as rows:
        rows.require_readable_schema(str(path))
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
def open_sqlite_rows(path: Path, mode: str = "mode=ro") -> Iterator[SqliteRows]:
    """Open a snapshot of a file, which others may have open unless it is opened as immutable."""
    if path.is_dir():
        raise StoreUnusable(f"{path} is a folder; give the SQLite file in it")
    uri = f"{path.absolute().as_uri()}?{mode}"
    try:
        connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    except _READ_ERRORS as error:
        raise StoreUnusable(f"{path} cannot be opened: {error}; does it exist?") from error
    with closing(connection):
        rows = SqliteRows(connection, path.absolute(), mode)
        try:
            set_common_pragmas(connection)
            connection.execute(f"PRAGMA mmap_size = {MMAP_BYTES}")
            rows.begin()
        except _READ_ERRORS as error:
            raise _read_error(str(path), error) from error
        yield rows


def _lock_writes(path: Path) -> sqlite3.Connection:
    """Keep everybody from committing to a file until the returned connection is closed."""
    lock = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, isolation_level=None)
    try:
        set_common_pragmas(lock)
        lock.execute("BEGIN IMMEDIATE")
    except BaseException:
        lock.close()
        raise
    return lock


_SELECT_DEFINITIONS: Final = "SELECT type, name, tbl_name, sql FROM sqlite_master"
_COUNT_FRACTIONS: Final = (
    "SELECT count(*) FROM lines NOT INDEXED"
    " WHERE typeof(version) = 'real' OR typeof(place) = 'real' OR typeof(at) = 'real'"
)


class SqliteRows(LogRows):
    """The rows of an SQLite file, read through a connection in a transaction."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path | None = None, mode: str = ""
    ) -> None:
        self._connection, self._path, self._mode = connection, path, mode

    def begin(self) -> None:
        """Begin a transaction and fix its snapshot."""
        self._connection.execute("BEGIN")
        self._connection.execute("SELECT count(*) FROM sqlite_master").fetchall()

    @contextmanager
    def shared(self) -> Iterator[SnapshotOpener | None]:
        """Move to the present state of the file, and let other processes open the same.

        SQLite cannot name a snapshot. So for the moment that the others need to open theirs, a
        write lock keeps everybody from committing. Without the right to write the file there is
        nothing to share.
        """
        # this process will read hardly any page twice: a map would only add to its size
        self._connection.execute("PRAGMA mmap_size = 0")
        if self._path is None:
            yield None
            return
        opener = partial(open_sqlite_rows, self._path, self._mode)
        if self._mode == IMMUTABLE:
            yield opener
            return
        try:
            lock = _lock_writes(self._path)
        except sqlite3.Error:
            yield None
            return
        with closing(lock):
            try:
                self._connection.execute("COMMIT")
                self.begin()
            except _READ_ERRORS as error:
                raise _read_error(str(self._path), error) from error
            yield opener

    def require_readable_schema(self, database: str) -> None:
        """Refuse a file that is not a house's database, or whose log has another schema version."""
        try:
            prepare_tables(
                self._connection.execute, dialect="sqlite", database=database, policy="require"
            )
        except _READ_ERRORS as error:
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
        except _READ_ERRORS as error:
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
        except _READ_ERRORS as error:
            yield f"{table} cannot be counted: {error}"
            return
        if not rows == indexed == (rows if read_count is None else read_count):
            reached = "" if read_count is None else f", which leads to {read_count}"
            yield f"there are {rows} {table}, and {indexed} in their index {index}{reached}"

    def _select(self, table: Table, condition: str = "") -> Query:
        """Read each entry through its index, and only if the index points to the right row."""
        if table.name != "entries":
            return super()._select(table, condition)
        where = f" AND indexed.{condition}" if condition else ""
        return Query(
            "entries",
            [f"stored.{name}" for name in table.columns],
            f"AS indexed INDEXED BY {_ENTRIES_INDEX}"
            " CROSS JOIN entries AS stored NOT INDEXED ON stored.rowid = indexed.rowid"
            f" WHERE stored.stream IS indexed.stream AND stored.version IS indexed.version{where}"
            " ORDER BY indexed.stream, indexed.version",
        )

    def _read(self, query: Query, params: Sequence[Any] = ()) -> Iterator[list[StoredRow]]:
        """Read rows; from the first one with invalid UTF-8 on, read text as bytes, more slowly."""
        yielded = 0
        try:
            for chunk in self._fetch(str(query), params):
                yield chunk
                yielded += len(chunk)
        except _READ_ERRORS as error:
            if not is_undecodable(error):
                raise _read_error(f"table {query.table}", error) from error
        else:
            return
        try:
            for chunk in self._fetch(f"{_with_types(query)} LIMIT -1 OFFSET {yielded}", params):
                yield [tuple(map(_decode_value, row[::2], row[1::2])) for row in chunk]
        except _READ_ERRORS as error:
            raise _read_error(f"table {query.table}", error) from error

    def _fetch(self, sql: str, params: Sequence[Any]) -> Iterator[list[StoredRow]]:
        cursor = self._connection.execute(sql, params)
        while chunk := cursor.fetchmany(CHUNK_ROWS):
            yield chunk


def _with_types(query: Query) -> Query:
    """Return a query with each value preceded by its type, and with text as bytes."""
    columns = [
        f"typeof({column}), iif(typeof({column}) = 'text', CAST({column} AS BLOB), {column})"
        for column in query.columns
    ]
    return query._replace(columns=columns)


def _read_definitions(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
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
