"""Open the rows of any store, to be read exactly as they are stored, from one snapshot."""

from __future__ import annotations

from contextlib import closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg.sql import SQL

from threedice.db.postgres import connect_postgres
from threedice.errors import StoreUnavailable, TamperedData
from threedice.log.stores import schema
from threedice.log.stores.sql_rows import LogRows, Query
from threedice.log.stores.sqlite_rows import open_sqlite_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from threedice.db.postgres import PostgresConnection
    from threedice.log.records import StoredRow
    from threedice.log.store import Store
    from threedice.log.stores.sql_rows import SnapshotOpener

__all__ = ["LogRows", "PostgresRows", "open_rows"]


def open_rows(source: Store | Path | LogRows) -> AbstractContextManager[LogRows]:
    """Open a snapshot of the rows of a store or an SQLite file."""
    match source:
        case LogRows():
            return nullcontext(source)
        case Path():
            return open_sqlite_rows(source)
    return source.open_rows()


# --- PostgreSQL ---------------------------------------------------------------------------------

FETCH_ROWS: Final = 1000
"""Rows fetched from PostgreSQL at a time."""

READ_TIMEOUT_SECONDS: Final = 60.0
"""Time limit for each fetch from PostgreSQL."""


@contextmanager
def open_postgres_rows(url: str, snapshot: str = "") -> Iterator[PostgresRows]:
    """Open a snapshot of the rows of a PostgreSQL database: the present one, or a shared one."""
    with (
        _translate_errors("the database"),
        closing(connect_postgres(url, READ_TIMEOUT_SECONDS)) as connection,
    ):
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        if snapshot:
            connection.execute(SQL("SET TRANSACTION SNAPSHOT {}").format(snapshot))
        connection.execute("SELECT count(*) FROM meta")  # the first read fixes the snapshot
        yield PostgresRows(connection, url)


class PostgresRows(LogRows):
    """The rows of a PostgreSQL database, read in a repeatable-read transaction."""

    def __init__(self, connection: PostgresConnection, url: str = "") -> None:
        self._connection, self._url, self._cursors = connection, url, 0

    @contextmanager
    def shared(self) -> Iterator[SnapshotOpener | None]:
        """Let other processes open this snapshot, which lasts as long as this transaction."""
        self._connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        exported = self._connection.execute("SELECT pg_export_snapshot()").fetchall()
        yield partial(open_postgres_rows, self._url, exported[0][0]) if self._url else None

    def find_damage(self) -> Iterator[str]:
        """Yield triggers on the log's tables: it defines none. The server checks its own pages."""
        triggers = self._connection.execute(
            "SELECT tgname, relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid"
            " WHERE NOT tgisinternal AND relname = ANY(%s) ORDER BY tgname",
            ([table.name for table in schema.TABLES],),
        )
        for trigger, table in triggers.fetchall():
            yield f"the trigger {trigger} on {table} is not defined by this program"

    def _read(self, query: Query, params: Sequence[Any] = ()) -> Iterator[list[StoredRow]]:
        self._connection.set_deadline(READ_TIMEOUT_SECONDS)
        self._cursors += 1  # several cursors on one table may be open at the same time
        with (
            _translate_errors(f"table {query.table}"),
            self._connection.cursor(f"rows_{self._cursors}") as cursor,
        ):
            cursor.execute(str(query).replace("?", "%s"), params or None, binary=True)
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
