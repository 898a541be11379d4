"""The rows of a log exactly as they are stored, all as one moment saw them.

What proves or copies a log reads it here, beside whatever is being written and without trusting
that a row is what it should be: a wrong type or damaged text comes out as it is, and what the
database itself cannot read is `Tampered`.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import psycopg

from threedice.errors import InvalidInput, StoreAway, StoreUnfit, Tampered
from threedice.log import schema
from threedice.log.batch import encode_spans
from threedice.log.deadline import connect
from threedice.log.memory import MemoryStore
from threedice.log.postgres import PostgresStore
from threedice.log.schema import OTHERS
from threedice.log.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Table

    from threedice.log.deadline import Connection
    from threedice.log.store import Store

Row = tuple[Any, ...]

CHUNK = 250
"""How many rows are read at a time: few, so that they stay near the processor."""

FETCHED = 1000
"""How many rows PostgreSQL sends at a time."""

BUSY_SECONDS = 5.0
PATIENCE_SECONDS = 60.0
"""How long PostgreSQL may take for a chunk."""

MAPPED_BYTES = 1 << 30
"""How much of an SQLite file is mapped into memory: a third more speed when all of it is read."""

_LINES_KEPT = "SELECT DISTINCT view, stream FROM lines"
_LINES_OF = (
    "SELECT subject, version, place, at, data FROM lines"
    " WHERE view = %s AND stream = %s ORDER BY version, place"
)

_INDEX = "sqlite_autoindex_entries_1"

_lenient = partial(str, encoding="utf-8", errors="surrogateescape")


class Rows(Protocol):
    """What can be read of a log, as it was at one moment."""

    def damage(self) -> Iterator[str]:
        """Yield what is wrong with the database itself: its files, and what is defined in it."""

    def unread(self, read: int) -> Iterator[str]:
        """Yield what is wrong with the entries if all that could be read are so many."""

    def chunks(self, table: Table, streams: Sequence[str] | None = None) -> Iterator[list[Row]]:
        """Yield the rows of a table by its primary key, all or those of some streams."""

    def in_any_order(self, table: Table) -> Iterator[list[Row]]:
        """Yield the rows of a table as they are quickest to read."""

    def lines_kept(self) -> set[tuple[Any, Any]]:
        """Return of which views and streams there are lines."""

    def lines_of(self, view: str, stream: str) -> Iterator[list[Row]]:
        """Yield the lines of a stream in a view: subject, version, place, time and data."""


PROVED = ("streams", "entries", "answers", "games", "checkpoints", "people")
"""The tables that nothing else could make again."""


@contextmanager
def open_rows(store: Store | Path) -> Iterator[Rows]:
    """Read the rows of a store or an SQLite file as they are now, whatever is written meanwhile."""
    match store:
        case Path():
            with open_sqlite(store) as rows:
                yield rows
        case MemoryStore():
            yield MemoryRows(store)
        case SqliteStore():
            with open_sqlite(store.path) as rows:
                yield rows
        case PostgresStore():
            with open_postgres(store.url) as rows:
                yield rows
        case _:
            raise InvalidInput(f"the rows of a {type(store).__name__} cannot be read")


# --- memory -------------------------------------------------------------------------------------


class MemoryRows:
    """The rows that a store in memory would have; it must rest meanwhile."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def damage(self) -> Iterator[str]:
        """Yield nothing: there are no files."""
        yield from ()

    def unread(self, read: int) -> Iterator[str]:  # noqa: ARG002
        """Yield nothing: there is no index."""
        yield from ()

    def chunks(self, table: Table, streams: Sequence[str] | None = None) -> Iterator[list[Row]]:
        """Yield the rows of a table by its primary key, all or those of some streams."""
        named = self._store.streams() if streams is None else sorted(streams)
        match table.name:
            case "entries":
                entries = (each for name in named for each in self._store.scan(name))
                rows: Iterator[Row] = map(msgspec.structs.astuple, entries)
            case "streams":
                heads = self._store.heads()
                rows = (
                    (name, *msgspec.structs.astuple(heads[name])) for name in named if name in heads
                )
            case "answers":
                rows = (
                    (each.account, each.key, each.command_hash, encode_spans(each.spans))
                    for each in self._store.answers()
                )
            case "games":
                rows = iter(sorted(self._store.games().items()))
            case "checkpoints":
                rows = map(msgspec.structs.astuple, self._store.checkpoints())
            case "snapshots":
                rows = (
                    (
                        each.stream,
                        each.name,
                        each.form,
                        each.head.version,
                        each.head.hash,
                        each.data,
                    )
                    for each in self._store.snapshots()
                )
            case "lines":
                rows = map(msgspec.structs.astuple, self._store.every_line())
            case "views":
                rows = iter(self._store.every_view())
            case name:
                raise InvalidInput(f"a store in memory does not give its {name} away")
        while chunk := list(islice(rows, CHUNK)):
            yield chunk

    def in_any_order(self, table: Table) -> Iterator[list[Row]]:
        """Yield the rows of a table as they are quickest to read."""
        return self.chunks(table)

    def lines_kept(self) -> set[tuple[Any, Any]]:
        """Return of which views and streams there are lines."""
        return {(line.view, line.stream) for line in self._store.every_line()}

    def lines_of(self, view: str, stream: str) -> Iterator[list[Row]]:
        """Yield the lines of a stream in a view: subject, version, place, time and data."""
        for chunk in self.chunks(schema.lines):
            yield [
                (subject, version, place, at, data)
                for where, subject, whose, version, place, at, data in chunk
                if (where, whose) == (view, stream)
            ]


# --- SQLite -------------------------------------------------------------------------------------


@contextmanager
def open_sqlite(path: Path) -> Iterator[SqliteRows]:
    """Read the rows of an SQLite file as they are at this moment."""
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro",
            uri=True,
            isolation_level=None,
            timeout=BUSY_SECONDS,
        )
    except sqlite3.OperationalError as error:
        raise StoreUnfit(f"{path} cannot be opened: {error}; is it there?") from error
    with closing(connection):
        try:
            connection.execute(f"PRAGMA mmap_size = {MAPPED_BYTES}")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("BEGIN")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.DatabaseError as error:
            raise _unreadable(str(path), error) from error
        yield SqliteRows(connection)


class SqliteRows:
    """The rows of an SQLite file, by a connection within a transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def damage(self) -> Iterator[str]:
        """Yield what SQLite finds wrong with pages, indexes and types of all that is proved.

        What can be made again is compared line by line elsewhere, which finds more, but for the
        indexes of lines: those must at least have all of them. Entries are read by their index,
        each only if it is the one that the index says: `unread` is what is left to find.
        """
        try:
            yield from self._defined()
            for table in PROVED:
                check = "quick_check" if table == "entries" else "integrity_check"
                for (message,) in self._connection.execute(f"PRAGMA {check}({table})"):
                    if message != "ok":
                        yield message
            for index in sorted(str(each.name) for each in schema.lines.indexes):
                yield from self._counted("lines", index, "view")
        except sqlite3.DatabaseError as error:
            yield str(error)

    def _defined(self) -> Iterator[str]:
        """Yield what was defined in this database that this program does not define."""
        found = dict(self._connection.execute("SELECT name, sql FROM sqlite_master"))
        whose = dict(self._connection.execute("SELECT name, tbl_name FROM sqlite_master"))
        ours = {name: sql for name, sql in found.items() if not whose[name].startswith(OTHERS)}
        with closing(sqlite3.connect(":memory:")) as made:
            for statement in schema.creation("sqlite"):
                made.execute(statement)
            expected = dict(made.execute("SELECT name, sql FROM sqlite_master"))
        for name in sorted(ours.keys() | expected.keys()):
            if name not in expected:
                yield f"{name} is defined, and is none of this program's"
            elif name not in ours:
                yield f"{name} is not defined"
            elif ours[name] != expected[name]:
                yield f"{name} is defined otherwise than by this program"

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
        except sqlite3.DatabaseError as error:
            yield f"{table} cannot be counted: {error}"
            return
        if not rows == indexed == (rows if read is None else read):
            led = "" if read is None else f", which leads to {read}"
            yield f"there are {rows} {table}, and {indexed} in their index {index}{led}"

    def chunks(self, table: Table, streams: Sequence[str] | None = None) -> Iterator[list[Row]]:
        """Yield the rows of a table by its primary key, all or those of some streams."""
        query = _entries_by_index if table.name == "entries" else partial(_query, table)
        if streams is None:
            yield from self._chunks(table.name, query(), ())
        else:
            for stream in sorted(streams):
                yield from self._chunks(table.name, query("stream = ?"), (stream,))

    def in_any_order(self, table: Table) -> Iterator[list[Row]]:
        """Yield the rows of a table as they lie in the file, without going by its index."""
        yield from self._chunks(table.name, f"{_all_of(table)} ORDER BY rowid", ())

    def lines_kept(self) -> set[tuple[Any, Any]]:
        """Return of which views and streams there are lines."""
        return set(chain.from_iterable(self._chunks("lines", _LINES_KEPT, ())))

    def lines_of(self, view: str, stream: str) -> Iterator[list[Row]]:
        """Yield the lines of a stream in a view: subject, version, place, time and data."""
        return self._chunks("lines", _LINES_OF % ("?", "?"), (view, stream))

    def _chunks(self, name: str, sql: str, params: Row) -> Iterator[list[Row]]:
        """Read text as it should be; from where some is not, as the bytes it has, more slowly.

        What is read in between may have another mind about text.
        """
        given = 0
        for factory in (str, _lenient):
            try:
                cursor = self._connection.execute(f"{sql} LIMIT -1 OFFSET {given}", params)
                self._connection.text_factory = factory
                while chunk := cursor.fetchmany(CHUNK):
                    yield chunk
                    given += len(chunk)
                    self._connection.text_factory = factory
            except sqlite3.DatabaseError as error:
                if "decode to UTF-8" not in str(error):
                    raise _unreadable(f"table {name}", error) from error
            else:
                return


def _unreadable(where: str, error: sqlite3.DatabaseError) -> Tampered | StoreAway:
    if error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreAway(f"{where} is held by another process; try again: {error}")
    return Tampered(where, f"cannot be read: {error}")


def _entries_by_index(condition: str = "") -> str:
    where = f" AND named.{condition}" if condition else ""
    return (
        f"SELECT {', '.join(f'kept.{column.name}' for column in schema.entries.columns)}"
        f" FROM entries AS named INDEXED BY {_INDEX} CROSS JOIN entries AS kept NOT INDEXED"
        " ON kept.rowid = named.rowid"
        f" WHERE kept.stream IS named.stream AND kept.version IS named.version{where}"
        " ORDER BY named.stream, named.version"
    )


def _query(table: Table, condition: str = "") -> str:
    where = f" WHERE {condition}" if condition else ""
    return f"{_all_of(table)}{where} ORDER BY {', '.join(each.name for each in table.primary_key)}"


def _all_of(table: Table) -> str:
    return f"SELECT {', '.join(column.name for column in table.columns)} FROM {table.name}"


# --- PostgreSQL ---------------------------------------------------------------------------------


@contextmanager
def open_postgres(url: str) -> Iterator[PostgresRows]:
    """Read the rows of a PostgreSQL database as they are at this moment."""
    with _answering("the database"), closing(connect(url, PATIENCE_SECONDS)) as connection:
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        connection.execute("SELECT count(*) FROM meta")  # the moment is that of the first read
        yield PostgresRows(connection)


class PostgresRows:
    """The rows of a PostgreSQL database, by a connection whose transaction sees one moment."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._cursors = connection, 0

    def damage(self) -> Iterator[str]:
        """Yield triggers, which the program has none of; the server checks its own pages."""
        found = self._connection.execute(
            "SELECT tgname, relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid"
            " WHERE NOT tgisinternal AND relname = ANY(%s) ORDER BY tgname",
            (list(schema.metadata.tables),),
        )
        for trigger, table in found.fetchall():
            yield f"{trigger} is defined on {table}, and is none of this program's"

    def unread(self, read: int) -> Iterator[str]:  # noqa: ARG002
        """Yield nothing: the server keeps its indexes."""
        yield from ()

    def chunks(self, table: Table, streams: Sequence[str] | None = None) -> Iterator[list[Row]]:
        """Yield the rows of a table by its primary key, all or those of some streams."""
        sql = _query(table, "" if streams is None else "stream = ANY(%s)")
        return self._chunks(table.name, sql, None if streams is None else (sorted(streams),))

    def in_any_order(self, table: Table) -> Iterator[list[Row]]:
        """Yield the rows of a table as they lie in the files, without going by its index."""
        return self._chunks(table.name, _all_of(table), None)

    def lines_kept(self) -> set[tuple[Any, Any]]:
        """Return of which views and streams there are lines."""
        return set(chain.from_iterable(self._chunks("lines", _LINES_KEPT, None)))

    def lines_of(self, view: str, stream: str) -> Iterator[list[Row]]:
        """Yield the lines of a stream in a view: subject, version, place, time and data."""
        return self._chunks("lines", _LINES_OF % ("%s", "%s"), (view, stream))

    def _chunks(self, name: str, sql: str, params: Row | None) -> Iterator[list[Row]]:
        self._connection.allow(PATIENCE_SECONDS)
        self._cursors += 1  # one may be read while another of the same table is open
        with (
            _answering(f"table {name}"),
            self._connection.cursor(f"rows_{self._cursors}") as cursor,
        ):
            cursor.execute(sql, params, binary=True)
            while chunk := cursor.fetchmany(FETCHED):
                yield chunk
                self._connection.allow(PATIENCE_SECONDS)


@contextmanager
def _answering(where: str) -> Iterator[None]:
    try:
        yield
    except psycopg.OperationalError as error:
        raise StoreAway(f"the database does not answer: {error}; try again") from error
    except psycopg.Error as error:
        raise Tampered(where, f"cannot be read: {error}") from error
