"""The rows of a PostgreSQL database as they are at one moment."""

from __future__ import annotations

from contextlib import closing, contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import psycopg

from threedice.errors import StoreAway, Tampered
from threedice.log import schema
from threedice.log.deadline import connect

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Table

    from threedice.log.deadline import Connection
    from threedice.log.rows import Row

FETCHED: Final = 1000
"""How many rows PostgreSQL sends at a time."""

PATIENCE_SECONDS: Final = 60.0
"""How long PostgreSQL may take for a chunk."""

_LINES_KEPT: Final = "SELECT DISTINCT view, stream FROM lines"
_LINES_OF: Final = (
    "SELECT subject, version, place, at, data FROM lines"
    " WHERE view = %s AND stream = %s ORDER BY version, place"
)


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
        return self._chunks("lines", _LINES_OF, (view, stream))

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


def _query(table: Table, condition: str = "") -> str:
    where = f" WHERE {condition}" if condition else ""
    return f"{_all_of(table)}{where} ORDER BY {', '.join(each.name for each in table.primary_key)}"


def _all_of(table: Table) -> str:
    return f"SELECT {', '.join(column.name for column in table.columns)} FROM {table.name}"
