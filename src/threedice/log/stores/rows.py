"""Open the rows of any store, to be read exactly as they are stored, from one snapshot."""

from __future__ import annotations

from contextlib import closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import psycopg
from psycopg.sql import SQL

from threedice.db.postgres import connect_postgres, sql_runner
from threedice.db.postgres_definitions import load_definitions, read_definitions
from threedice.db.schema import SELECT_TABLE_NAMES, load_migrations, read_version
from threedice.errors import StoreUnavailable, StoreUnusable, TamperedData
from threedice.log.stores.sql_rows import LogRows, Query, compare_definitions
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

    NO_BYTES_SQL: ClassVar[str] = "''::bytea"

    def __init__(self, connection: PostgresConnection, url: str = "") -> None:
        self._connection, self._url, self._cursors = connection, url, 0

    @contextmanager
    def shared(self) -> Iterator[SnapshotOpener | None]:
        """Let other processes open this snapshot, which lasts as long as this transaction."""
        self._connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        exported = self._connection.execute("SELECT pg_export_snapshot()").fetchall()
        yield partial(open_postgres_rows, self._url, exported[0][0]) if self._url else None

    def find_damage(self) -> Iterator[str]:
        """Yield foreign definitions; the server checks its own pages."""
        tables = self.table_names()
        with _translate_errors("the database"):
            run = sql_runner(self._connection)
            try:
                version = read_version(run, tables, "the database")
            except StoreUnusable:
                version = max(load_migrations("postgresql"))
            expected = load_definitions(min(version, max(load_migrations("postgresql"))))
            yield from compare_definitions(read_definitions(run), expected, tables)

    def table_names(self) -> set[str]:
        """Return the names of all tables."""
        with _translate_errors("the database"):
            found = self._connection.execute(SELECT_TABLE_NAMES["postgresql"]).fetchall()
        return {name for (name,) in found}

    def _has_column(self, table: str, column: str) -> bool:
        """Return whether a table of this database has a column."""
        with _translate_errors(f"table {table}"):
            return bool(self._connection.execute(_SELECT_COLUMN, (table, column)).fetchall())

    def read_schema(self) -> tuple[int, set[str]]:
        """Return the version of the tables and their names."""
        tables = self.table_names()
        return read_version(sql_runner(self._connection), tables, "the database"), tables

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


_SELECT_COLUMN: Final = (
    "SELECT 1 FROM information_schema.columns WHERE table_schema = current_schema()"
    " AND table_name = %s AND column_name = %s"
)


@contextmanager
def _translate_errors(where: str) -> Iterator[None]:
    try:
        yield
    except psycopg.OperationalError as error:
        raise StoreUnavailable(f"the database does not respond: {error}; try again") from error
    except psycopg.Error as error:
        raise TamperedData(where, f"cannot be read: {error}") from error
