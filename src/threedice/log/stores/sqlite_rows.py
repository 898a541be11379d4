"""Read the rows of an SQLite file from one snapshot, and find damage in the file itself."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from threedice.db.schema import (
    SELECT_TABLE_NAMES,
    VERSION_TABLE,
    load_migrations,
    prepare_tables,
    read_version,
)
from threedice.db.sqlite import is_locked, is_undecodable, set_common_pragmas
from threedice.db.sqlite_read_only import IMMUTABLE, READ_ONLY, readable_file, sqlite_uri
from threedice.errors import StoreUnavailable, StoreUnusable, TamperedData
from threedice.log.stores import schema
from threedice.log.stores.sql_rows import LogRows, Query, compare_definitions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from threedice.db.schema import Definitions
    from threedice.log.records import StoredRow
    from threedice.log.stores.schema import DatabaseTable
    from threedice.log.stores.sql_rows import SnapshotOpener

CHUNK_ROWS: Final = 250
"""Rows read at a time: few, so that they stay in the processor's cache."""

MMAP_BYTES: Final = 1 << 30
"""Maximum size of the memory map: reading a whole file is a third faster with it."""

_CHECKED_TABLES: Final = {
    VERSION_TABLE,
    *(table.name for table in (*schema.TABLES, *schema.IDENTITY_TABLES)),
}
_ENTRIES_INDEX: Final = "sqlite_autoindex_entries_1"
_DAMAGED_PAGES: Final = "*** in database main ***\n"
"""The heading of SQLite's findings about pages; one line follows for each."""

_READ_ERRORS: Final = (sqlite3.Error, UnicodeDecodeError)
"""Errors of the driver; it raises UnicodeDecodeError for a message that is not UTF-8."""


@contextmanager
def open_house_file(path: Path) -> Iterator[SqliteRows]:
    """Open a snapshot of a house's file without leaving a trace (see `db.sqlite_read_only`)."""
    with readable_file(path) as (file, mode), open_sqlite_rows(file, mode) as rows:
        rows.require_readable_schema(str(path))
        yield rows


@contextmanager
def open_sqlite_rows(path: Path, mode: str = READ_ONLY) -> Iterator[SqliteRows]:
    """Open a snapshot of a file, which others may have open unless it is opened as immutable."""
    if path.is_dir():
        raise StoreUnusable(f"{path} is a folder; give the SQLite file in it")
    try:
        connection = sqlite3.connect(sqlite_uri(path, mode), uri=True, isolation_level=None)
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
    """Keep everybody from committing to a file until the returned connection is closed.

    Nothing is written, and another connection of this process is open, so that closing this one
    checkpoints nothing.
    """
    lock = sqlite3.connect(sqlite_uri(path, "mode=rw"), uri=True, isolation_level=None)
    try:
        set_common_pragmas(lock)
        lock.execute("BEGIN IMMEDIATE")
    except BaseException:
        lock.close()
        raise
    return lock


_SELECT_DEFINITIONS: Final = "SELECT type, name, tbl_name, sql FROM sqlite_master"
_SELECT_COLUMN: Final = "SELECT 1 FROM pragma_table_info(?) WHERE name = ?"


class SqliteRows(LogRows):
    """The rows of an SQLite file, read through a connection in a transaction."""

    NO_BYTES_SQL: ClassVar[str] = "zeroblob(0)"

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
                self._connection.execute, dialect="sqlite", database=database, policy="read"
            )
        except _READ_ERRORS as error:
            raise _read_error(database, error) from error

    def read_schema(self) -> tuple[int, set[str]]:
        """Return the version of the tables and their names."""
        tables = self.table_names()
        try:
            return read_version(self._connection.execute, tables, "the database"), tables
        except _READ_ERRORS as error:
            raise _read_error("the database", error) from error

    def find_damage(self) -> Iterator[str]:
        """Yield the damage that SQLite finds in all pages, also free ones, in indexes and types.

        The rows of most tables are read without their indexes, which other queries use: SQLite
        looks up every row in each index. Entries are read through their index, and only where it
        points to the right row, so `find_unread_entries` must complete this check.
        """
        try:
            tables = self.table_names()
            yield from compare_definitions(
                _read_definitions(self._connection), _own_definitions(self._version()), tables
            )
            indexed = sorted(tables & _CHECKED_TABLES - {"entries"})
            reported = {"ok"}  # the check of the whole file also reports pages of tables
            for check in ("quick_check", *(f"integrity_check({table})" for table in indexed)):
                for (message,) in self._connection.execute(f"PRAGMA {check}"):
                    lines = set(message.removeprefix(_DAMAGED_PAGES).splitlines()) - reported
                    yield from sorted(lines)
                    reported |= lines
        except _READ_ERRORS as error:
            yield str(error)

    def _version(self) -> int:
        """Return the version of the tables, or the latest one if none is stored."""
        try:
            return read_version(self._connection.execute, self.table_names(), "")
        except StoreUnusable:
            return max(load_migrations("sqlite"))

    def table_names(self) -> set[str]:
        """Return the names of all tables."""
        try:
            found = self._connection.execute(SELECT_TABLE_NAMES["sqlite"]).fetchall()
        except _READ_ERRORS as error:
            raise _read_error("the database", error) from error
        return {str(name) for (name,) in found}

    def _has_column(self, table: str, column: str) -> bool:
        """Return whether a table of this file has a column."""
        try:
            found = self._connection.execute(_SELECT_COLUMN, (table, column)).fetchall()
        except _READ_ERRORS as error:
            raise _read_error(f"table {table}", error) from error
        return bool(found)

    def find_unread_entries(self, read_count: int) -> Iterator[str]:
        """Yield a finding if the file holds entries that their index does not lead to."""
        sql = (  # without the condition SQLite could count with any index
            "SELECT (SELECT count(*) FROM entries NOT INDEXED),"
            f" (SELECT count(*) FROM entries INDEXED BY {_ENTRIES_INDEX} WHERE stream >= '')"
        )
        try:
            ((rows, indexed),) = self._connection.execute(sql)
        except _READ_ERRORS as error:
            yield f"entries cannot be counted: {error}"
            return
        if not rows == indexed == read_count:
            yield (
                f"there are {rows} entries, and {indexed} in their index {_ENTRIES_INDEX},"
                f" which leads to {read_count}"
            )

    def _select(self, table: DatabaseTable, condition: str = "") -> Query:
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


@cache
def _own_definitions(version: int) -> Definitions:
    """Return the definitions of this program for a version of the tables."""
    with closing(sqlite3.connect(":memory:")) as reference:
        for number, statements in load_migrations("sqlite").items():
            for statement in statements if number <= version else ():
                reference.execute(statement)
        return _read_definitions(reference)


def _read_definitions(connection: sqlite3.Connection) -> Definitions:
    """Return the definitions of a file, as SQL with single spaces."""
    return {
        (name, kind): (str(table), " ".join(str(sql).split()))
        for kind, name, table, sql in connection.execute(_SELECT_DEFINITIONS)
    }


def _decode_value(kind: str, value: Any) -> Any:
    """Return a value by its SQLite type; invalid UTF-8 keeps its bytes as surrogate escapes."""
    if kind == "text":
        return str(value, encoding="utf-8", errors="surrogateescape")
    return value


def _read_error(where: str, error: Exception) -> TamperedData | StoreUnavailable:
    if is_locked(error):
        return StoreUnavailable(f"{where} is locked by another process; try again: {error}")
    return TamperedData(where, f"cannot be read: {error}")
