"""The rows of an SQLite file as they are at one moment, and what is wrong with the file itself.

Two drivers can read it. The standard one writes, too, so a process that has the file open reads it
with that one. APSW makes rows in half the time, and has an SQLite of its own, of which the other
knows nothing: it is for a process that has the file open in no other way.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing, contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import apsw

from threedice.errors import StoreUnavailable, StoreUnusable, TamperedData
from threedice.log.stores import schema
from threedice.log.stores.files import BUSY_TIMEOUT_SECONDS, SQLITE_BUSY, SQLITE_LOCKED, result_code
from threedice.log.stores.schema import IDENTITY_TABLE_PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from sqlalchemy import Table

    from threedice.log.store import StoredRow
    from threedice.log.stores.files import SqliteConnection

CHUNK_ROWS: Final = 250
"""How many rows are read at a time: few, so that they stay near the processor."""

MMAP_BYTES: Final = 1 << 30
"""How much of an SQLite file is mapped into memory: a third more speed when all of it is read."""

IRREPLACEABLE_TABLES: Final = ("streams", "entries", "answers", "games", "checkpoints", "people")
"""The tables that nothing else could make again."""

_ENTRIES_INDEX: Final = "sqlite_autoindex_entries_1"
_LINES_INDEX: Final = "sqlite_autoindex_lines_1"
_DRIVER_ERRORS: Final = (sqlite3.Error, apsw.Error, UnicodeDecodeError)
"""What either driver raises; where SQLite gives no text for some, APSW raises what Python does."""

_REFUSING_TRIGGER: Final = re.compile(r"[^;]* BEGIN SELECT RAISE\(ABORT, '[^']*'\); END")
"""A trigger that only refuses."""


@contextmanager
def open_sqlite_rows(path: Path) -> Iterator[SqliteRows]:
    """Read the rows of a file that this process may have open, with the standard driver."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with _open_rows(path, lambda: sqlite3.connect(uri, uri=True, isolation_level=None)) as rows:
        yield rows


@contextmanager
def open_sqlite_rows_with_apsw(path: Path) -> Iterator[SqliteRows]:
    """Read the rows of a house's file that this process has open in no other way, with APSW.

    Else the locks of the other SQLite would be gone with the first file that this one closes. A
    file that nobody has open is read as one that does not change, which leaves no trace beside it:
    SQLite would make files there that the house, if it is another user, could not open any more.
    """
    path = path.resolve()  # the files beside it are beside what a link leads to
    resting = _idle_fingerprint(path)
    uri = f"{path.absolute().as_uri()}?{'immutable=1' if resting else 'mode=ro'}"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with _open_rows(path, lambda: apsw.Connection(uri, flags=flags)) as rows:
        rows.require_current_schema(str(path))
        yield rows
    if resting and _idle_fingerprint(path) != resting:
        raise StoreUnavailable(f"a house began to use {path} while it was being read; try again")


def _idle_fingerprint(path: Path) -> tuple[int, int, int] | None:
    """Return what would be other of a file that was changed, or nothing if not all is in it."""
    log, shared, journal = (
        path.with_name(f"{path.name}-{each}") for each in ("wal", "shm", "journal")
    )
    empty = log.exists() and not log.stat().st_size and not shared.exists()
    if not path.exists() or journal.exists() or (log.exists() and not empty):
        return None
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


@contextmanager
def _open_rows(path: Path, connect: Callable[[], SqliteConnection]) -> Iterator[SqliteRows]:
    if path.is_dir():
        raise StoreUnusable(f"{path} is a folder; name the SQLite file in it")
    try:
        connection = connect()
    except _DRIVER_ERRORS as error:
        raise StoreUnusable(f"{path} cannot be opened: {error}; is it there?") from error
    with closing(connection):
        try:
            for statement in (
                f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_SECONDS * 1000)}",
                f"PRAGMA mmap_size = {MMAP_BYTES}",
                "PRAGMA trusted_schema = OFF",
                "BEGIN",
                "SELECT count(*) FROM sqlite_master",  # the moment is that of the first read
            ):
                list(connection.execute(statement))
        except _DRIVER_ERRORS as error:
            raise _read_error(str(path), error) from error
        yield SqliteRows(connection)


class _Query(NamedTuple):
    """What is read, and of what."""

    columns: Sequence[str]
    rest: str

    @property
    def plain(self) -> str:
        return f"SELECT {', '.join(self.columns)} {self.rest}"

    @property
    def with_types(self) -> str:
        """The same, with what each value says it is, and text by its bytes."""
        told = (
            f"typeof({column}), iif(typeof({column}) = 'text', CAST({column} AS BLOB), {column})"
            for column in self.columns
        )
        return f"SELECT {', '.join(told)} {self.rest}"


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
    """The rows of an SQLite file, by a connection within a transaction."""

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection

    def require_current_schema(self, database: str) -> None:
        """Refuse a file that is not a house's, or not of this version."""
        try:
            named = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            tables = {name for (name,) in named}
            stored = schema.read_schema_version(self._connection.execute, tables, database)
        except _DRIVER_ERRORS as error:
            raise _read_error(database, error) from error
        if stored < schema.SCHEMA_VERSION:
            raise StoreUnusable(
                f"{database} has tables of version {stored}, this program those of version"
                f" {schema.SCHEMA_VERSION}; serve the house once, which brings them up to date"
            )

    def find_damage(self) -> Iterator[str]:
        """Yield what SQLite finds wrong with pages, indexes and types of all that is proved.

        What can be made again is compared line by line elsewhere, which finds more, but for the
        indexes of lines: those must at least have all of them; and for numbers that are equal and
        not of the same kind. Entries are read by their index, each only if it is the one that the
        index says: `unread` is what is left to find.
        """
        try:
            yield from self._find_foreign_definitions()
            for table in IRREPLACEABLE_TABLES:
                check = "quick_check" if table == "entries" else "integrity_check"
                for (message,) in self._connection.execute(f"PRAGMA {check}({table})"):
                    if message != "ok":
                        yield message
            indexes = sorted(str(each.name) for each in schema.lines.indexes)
            for index in (*indexes, _LINES_INDEX):
                yield from self._compare_index("lines", index, "view")
            ((fractions,),) = self._connection.execute(_COUNT_FRACTIONS)
            if fractions:
                yield f"there are {fractions} lines with a number that is not stored as a whole one"
        except _DRIVER_ERRORS as error:
            yield str(error)

    def _find_foreign_definitions(self) -> Iterator[str]:
        """Yield what was defined in this database that this program does not define."""
        ours = {
            (name, kind): sql
            for kind, name, whose, sql in self._connection.execute(_SELECT_DEFINITIONS)
            if not (str(whose).startswith(IDENTITY_TABLE_PREFIX) and _is_harmless(kind, str(sql)))
        }
        with closing(sqlite3.connect(":memory:")) as made:
            for statement in schema.creation_statements("sqlite"):
                made.execute(statement)
            expected = {
                (name, kind): sql for kind, name, _, sql in made.execute(_SELECT_DEFINITIONS)
            }
        for name, kind in sorted(ours.keys() | expected.keys(), key=repr):
            if (name, kind) not in expected:
                yield f"{kind} {name} is defined, and is none of this program's"
            elif (name, kind) not in ours:
                yield f"{kind} {name} is not defined"
            elif ours[name, kind] != expected[name, kind]:
                yield f"{kind} {name} is defined otherwise than by this program"

    def find_unread_entries(self, read_count: int) -> Iterator[str]:
        """Yield whether entries lie in the file that their index does not lead to."""
        yield from self._compare_index("entries", _ENTRIES_INDEX, "stream", read_count)

    def _compare_index(
        self, table: str, index: str, first: str, read: int | None = None
    ) -> Iterator[str]:
        """Yield whether an index, by its first column, has as many rows as there are."""
        sql = (  # without a condition any index would do to count
            f"SELECT (SELECT count(*) FROM {table} NOT INDEXED),"
            f" (SELECT count(*) FROM {table} INDEXED BY {index} WHERE {first} >= '')"
        )
        try:
            ((rows, indexed),) = self._connection.execute(sql)
        except _DRIVER_ERRORS as error:
            yield f"{table} cannot be counted: {error}"
            return
        if not rows == indexed == (rows if read is None else read):
            led = "" if read is None else f", which leads to {read}"
            yield f"there are {rows} {table}, and {indexed} in their index {index}{led}"

    def chunks(
        self, table: Table, streams: Sequence[str] | None = None
    ) -> Iterator[list[StoredRow]]:
        """Yield the rows of a table by its primary key, all or those of some streams."""
        if streams is None:
            yield from self._chunks(table.name, _query_by_key(table))
        else:
            for stream in sorted(streams):
                yield from self._chunks(table.name, _query_by_key(table, "stream = ?"), (stream,))

    def chunks_unordered(self, table: Table) -> Iterator[list[StoredRow]]:
        """Yield the rows of a table as they lie in the file, without going by its index."""
        query = _Query(table.columns.keys(), f"FROM {table.name} ORDER BY rowid")
        return self._chunks(table.name, query)

    def projected_streams(self) -> set[tuple[Any, Any]]:
        """Return of which views and streams there are lines."""
        return set(chain.from_iterable(self._chunks("lines", _PROJECTED_STREAMS)))

    def projection_lines(self, view: str, stream: str) -> Iterator[list[StoredRow]]:
        """Yield the lines of a stream in a view: subject, version, place, time and data."""
        return self._chunks("lines", _PROJECTION_LINES, (view, stream))

    def _chunks(
        self, name: str, query: _Query, params: StoredRow = ()
    ) -> Iterator[list[StoredRow]]:
        """Read text as it should be; from where some is not, by its bytes, more slowly."""
        given = 0
        try:
            for chunk in self._read(query.plain, params):
                yield chunk
                given += len(chunk)
        except _DRIVER_ERRORS as error:
            if not _is_undecodable(error):
                raise _read_error(f"table {name}", error) from error
        else:
            return
        try:
            for chunk in self._read(f"{query.with_types} LIMIT -1 OFFSET {given}", params):
                yield [tuple(map(_decode_value, row[::2], row[1::2])) for row in chunk]
        except _DRIVER_ERRORS as error:
            raise _read_error(f"table {name}", error) from error

    def _read(self, sql: str, params: StoredRow) -> Iterator[list[StoredRow]]:
        rows = iter(self._connection.execute(sql, params))
        while chunk := list(islice(rows, CHUNK_ROWS)):
            yield chunk


def _is_harmless(kind: str, sql: str) -> bool:
    """Tell whether what is defined of a table that is not the log's can change nothing in it."""
    return kind in ("table", "index") or (
        kind == "trigger" and _REFUSING_TRIGGER.fullmatch(sql) is not None
    )


def _is_undecodable(error: Exception) -> bool:
    return isinstance(error, UnicodeDecodeError) or "decode to UTF-8" in str(error)


def _decode_value(kind: str, value: Any) -> Any:
    """Return a value by what it says it is; text that is none keeps its bytes."""
    if kind == "text":
        return str(value, encoding="utf-8", errors="surrogateescape")
    return value


def _read_error(where: str, error: Exception) -> TamperedData | StoreUnavailable:
    if result_code(error) in (SQLITE_BUSY, SQLITE_LOCKED):
        return StoreUnavailable(f"{where} is held by another process; try again: {error}")
    return TamperedData(where, f"cannot be read: {error}")


def _query_by_key(table: Table, condition: str = "") -> _Query:
    key = [each.name for each in table.primary_key]
    if table.name == "entries":
        where = f" AND named.{condition}" if condition else ""
        return _Query(
            [f"kept.{name}" for name in table.columns.keys()],  # noqa: SIM118
            f"FROM entries AS named INDEXED BY {_ENTRIES_INDEX} CROSS JOIN entries AS kept NOT INDEXED"
            " ON kept.rowid = named.rowid"
            f" WHERE kept.stream IS named.stream AND kept.version IS named.version{where}"
            f" ORDER BY {', '.join(f'named.{name}' for name in key)}",
        )
    where = f" WHERE {condition}" if condition else ""
    return _Query(table.columns.keys(), f"FROM {table.name}{where} ORDER BY {', '.join(key)}")
