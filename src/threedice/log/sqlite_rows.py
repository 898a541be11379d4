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

from threedice.errors import StoreAway, StoreUnfit, Tampered
from threedice.log import schema
from threedice.log.schema import OTHERS
from threedice.log.sqlite import BUSY, BUSY_SECONDS, LOCKED, code_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from sqlalchemy import Table

    from threedice.log.rows import Row
    from threedice.log.sqlite import Connection

CHUNK: Final = 250
"""How many rows are read at a time: few, so that they stay near the processor."""

MAPPED_BYTES: Final = 1 << 30
"""How much of an SQLite file is mapped into memory: a third more speed when all of it is read."""

PROVED: Final = ("streams", "entries", "answers", "games", "checkpoints", "people")
"""The tables that nothing else could make again."""

_INDEX: Final = "sqlite_autoindex_entries_1"
_LINES_INDEX: Final = "sqlite_autoindex_lines_1"
_FAILURES: Final = (sqlite3.Error, apsw.Error, UnicodeDecodeError)
"""What either driver raises; where SQLite gives no text for some, APSW raises what Python does."""

_REFUSING: Final = re.compile(r"[^;]* BEGIN SELECT RAISE\(ABORT, '[^']*'\); END")
"""A trigger that only refuses."""


@contextmanager
def open_sqlite(path: Path) -> Iterator[SqliteRows]:
    """Read the rows of a file that this process may have open, with the standard driver."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with _opened(path, lambda: sqlite3.connect(uri, uri=True, isolation_level=None)) as rows:
        yield rows


@contextmanager
def open_alone(path: Path) -> Iterator[SqliteRows]:
    """Read the rows of a house's file that this process has open in no other way, with APSW.

    Else the locks of the other SQLite would be gone with the first file that this one closes. A
    file that nobody has open is read as one that does not change, which leaves no trace beside it:
    SQLite would make files there that the house, if it is another user, could not open any more.
    """
    path = path.resolve()  # the files beside it are beside what a link leads to
    resting = _resting(path)
    uri = f"{path.absolute().as_uri()}?{'immutable=1' if resting else 'mode=ro'}"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with _opened(path, lambda: apsw.Connection(uri, flags=flags)) as rows:
        rows.refuse_foreign(str(path))
        yield rows
    if resting and _resting(path) != resting:
        raise StoreAway(f"a house began to use {path} while it was being read; try again")


def _resting(path: Path) -> tuple[int, int, int] | None:
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
def _opened(path: Path, connect: Callable[[], Connection]) -> Iterator[SqliteRows]:
    if path.is_dir():
        raise StoreUnfit(f"{path} is a folder; name the SQLite file in it")
    try:
        connection = connect()
    except _FAILURES as error:
        raise StoreUnfit(f"{path} cannot be opened: {error}; is it there?") from error
    with closing(connection):
        try:
            for statement in (
                f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}",
                f"PRAGMA mmap_size = {MAPPED_BYTES}",
                "PRAGMA trusted_schema = OFF",
                "BEGIN",
                "SELECT count(*) FROM sqlite_master",  # the moment is that of the first read
            ):
                list(connection.execute(statement))
        except _FAILURES as error:
            raise _unreadable(str(path), error) from error
        yield SqliteRows(connection)


class _Query(NamedTuple):
    """What is read, and of what."""

    columns: Sequence[str]
    rest: str

    @property
    def plain(self) -> str:
        return f"SELECT {', '.join(self.columns)} {self.rest}"

    @property
    def careful(self) -> str:
        """The same, with what each value says it is, and text by its bytes."""
        told = (
            f"typeof({column}), iif(typeof({column}) = 'text', CAST({column} AS BLOB), {column})"
            for column in self.columns
        )
        return f"SELECT {', '.join(told)} {self.rest}"


_DEFINED: Final = "SELECT type, name, tbl_name, sql FROM sqlite_master"
_FRACTIONS: Final = (
    "SELECT count(*) FROM lines NOT INDEXED"
    " WHERE typeof(version) = 'real' OR typeof(place) = 'real' OR typeof(at) = 'real'"
)
_LINES_KEPT: Final = _Query(("view", "stream"), "FROM lines GROUP BY view, stream")
_LINES_OF: Final = _Query(
    ("subject", "version", "place", "at", "data"),
    "FROM lines WHERE view = ? AND stream = ? ORDER BY version, place",
)


class SqliteRows:
    """The rows of an SQLite file, by a connection within a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def refuse_foreign(self, where: str) -> None:
        """Refuse a file that is not a house's, or not of this version."""
        try:
            named = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            tables = {name for (name,) in named}
            stored = schema.stored_version(self._connection.execute, tables, where)
        except _FAILURES as error:
            raise _unreadable(where, error) from error
        if stored < schema.VERSION:
            raise StoreUnfit(
                f"{where} has tables of version {stored}, this program those of version"
                f" {schema.VERSION}; serve the house once, which brings them up to date"
            )

    def damage(self) -> Iterator[str]:
        """Yield what SQLite finds wrong with pages, indexes and types of all that is proved.

        What can be made again is compared line by line elsewhere, which finds more, but for the
        indexes of lines: those must at least have all of them; and for numbers that are equal and
        not of the same kind. Entries are read by their index, each only if it is the one that the
        index says: `unread` is what is left to find.
        """
        try:
            yield from self._defined()
            for table in PROVED:
                check = "quick_check" if table == "entries" else "integrity_check"
                for (message,) in self._connection.execute(f"PRAGMA {check}({table})"):
                    if message != "ok":
                        yield message
            indexes = sorted(str(each.name) for each in schema.lines.indexes)
            for index in (*indexes, _LINES_INDEX):
                yield from self._counted("lines", index, "view")
            ((fractions,),) = self._connection.execute(_FRACTIONS)
            if fractions:
                yield f"there are {fractions} lines with a number that is not stored as a whole one"
        except _FAILURES as error:
            yield str(error)

    def _defined(self) -> Iterator[str]:
        """Yield what was defined in this database that this program does not define."""
        ours = {
            (name, kind): sql
            for kind, name, whose, sql in self._connection.execute(_DEFINED)
            if not (str(whose).startswith(OTHERS) and _is_harmless(kind, str(sql)))
        }
        with closing(sqlite3.connect(":memory:")) as made:
            for statement in schema.creation("sqlite"):
                made.execute(statement)
            expected = {(name, kind): sql for kind, name, _, sql in made.execute(_DEFINED)}
        for name, kind in sorted(ours.keys() | expected.keys(), key=repr):
            if (name, kind) not in expected:
                yield f"{kind} {name} is defined, and is none of this program's"
            elif (name, kind) not in ours:
                yield f"{kind} {name} is not defined"
            elif ours[name, kind] != expected[name, kind]:
                yield f"{kind} {name} is defined otherwise than by this program"

    def unread(self, read: int) -> Iterator[str]:
        """Yield whether entries lie in the file that their index does not lead to."""
        yield from self._counted("entries", _INDEX, "stream", read)

    def _counted(
        self, table: str, index: str, first: str, read: int | None = None
    ) -> Iterator[str]:
        """Yield whether an index, by its first column, has as many rows as there are."""
        sql = (  # without a condition any index would do to count
            f"SELECT (SELECT count(*) FROM {table} NOT INDEXED),"
            f" (SELECT count(*) FROM {table} INDEXED BY {index} WHERE {first} >= '')"
        )
        try:
            ((rows, indexed),) = self._connection.execute(sql)
        except _FAILURES as error:
            yield f"{table} cannot be counted: {error}"
            return
        if not rows == indexed == (rows if read is None else read):
            led = "" if read is None else f", which leads to {read}"
            yield f"there are {rows} {table}, and {indexed} in their index {index}{led}"

    def chunks(self, table: Table, streams: Sequence[str] | None = None) -> Iterator[list[Row]]:
        """Yield the rows of a table by its primary key, all or those of some streams."""
        if streams is None:
            yield from self._chunks(table.name, _by_key(table))
        else:
            for stream in sorted(streams):
                yield from self._chunks(table.name, _by_key(table, "stream = ?"), (stream,))

    def in_any_order(self, table: Table) -> Iterator[list[Row]]:
        """Yield the rows of a table as they lie in the file, without going by its index."""
        query = _Query(table.columns.keys(), f"FROM {table.name} ORDER BY rowid")
        return self._chunks(table.name, query)

    def lines_kept(self) -> set[tuple[Any, Any]]:
        """Return of which views and streams there are lines."""
        return set(chain.from_iterable(self._chunks("lines", _LINES_KEPT)))

    def lines_of(self, view: str, stream: str) -> Iterator[list[Row]]:
        """Yield the lines of a stream in a view: subject, version, place, time and data."""
        return self._chunks("lines", _LINES_OF, (view, stream))

    def _chunks(self, name: str, query: _Query, params: Row = ()) -> Iterator[list[Row]]:
        """Read text as it should be; from where some is not, by its bytes, more slowly."""
        given = 0
        try:
            for chunk in self._read(query.plain, params):
                yield chunk
                given += len(chunk)
        except _FAILURES as error:
            if not _undecodable(error):
                raise _unreadable(f"table {name}", error) from error
        else:
            return
        try:
            for chunk in self._read(f"{query.careful} LIMIT -1 OFFSET {given}", params):
                yield [tuple(map(_value, row[::2], row[1::2])) for row in chunk]
        except _FAILURES as error:
            raise _unreadable(f"table {name}", error) from error

    def _read(self, sql: str, params: Row) -> Iterator[list[Row]]:
        rows = iter(self._connection.execute(sql, params))
        while chunk := list(islice(rows, CHUNK)):
            yield chunk


def _is_harmless(kind: str, sql: str) -> bool:
    """Tell whether what is defined of a table that is not the log's can change nothing in it."""
    return kind in ("table", "index") or (
        kind == "trigger" and _REFUSING.fullmatch(sql) is not None
    )


def _undecodable(error: Exception) -> bool:
    return isinstance(error, UnicodeDecodeError) or "decode to UTF-8" in str(error)


def _value(kind: str, value: Any) -> Any:
    """Return a value by what it says it is; text that is none keeps its bytes."""
    if kind == "text":
        return str(value, encoding="utf-8", errors="surrogateescape")
    return value


def _unreadable(where: str, error: Exception) -> Tampered | StoreAway:
    if code_of(error) in (BUSY, LOCKED):
        return StoreAway(f"{where} is held by another process; try again: {error}")
    return Tampered(where, f"cannot be read: {error}")


def _by_key(table: Table, condition: str = "") -> _Query:
    key = [each.name for each in table.primary_key]
    if table.name == "entries":
        where = f" AND named.{condition}" if condition else ""
        return _Query(
            [f"kept.{name}" for name in table.columns.keys()],  # noqa: SIM118
            f"FROM entries AS named INDEXED BY {_INDEX} CROSS JOIN entries AS kept NOT INDEXED"
            " ON kept.rowid = named.rowid"
            f" WHERE kept.stream IS named.stream AND kept.version IS named.version{where}"
            f" ORDER BY {', '.join(f'named.{name}' for name in key)}",
        )
    where = f" WHERE {condition}" if condition else ""
    return _Query(table.columns.keys(), f"FROM {table.name}{where} ORDER BY {', '.join(key)}")
