"""Copy tables row by row: into a new SQLite file, or into an empty database of either kind.

The rows are copied exactly as they are stored, so that hashes and signatures still hold.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, cast

import psycopg

from threedice.db.postgres import connect_postgres
from threedice.db.schema import VERSION_TABLE, load_migrations, prepare_tables
from threedice.errors import (
    InvalidInput,
    StoreFailed,
    StoreUnavailable,
    StoreUnusable,
    TamperedData,
)
from threedice.log.stores import schema
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.postgres import PostgresStore
from threedice.log.stores.rows import READ_TIMEOUT_SECONDS, PostgresRows
from threedice.log.stores.schema import DatabaseTable
from threedice.log.stores.sqlite import SqliteStore
from threedice.log.stores.sqlite_rows import SqliteRows
from threedice.log.stores.urls import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from threedice.db import SqlRow, SqlRunner
    from threedice.db.postgres import PostgresConnection
    from threedice.db.sqlite import SqliteDatabase
    from threedice.log.records import StoredRow
    from threedice.log.stores.rows import LogRows

    TableFiller = Callable[[DatabaseTable, list[StoredRow]], None]
    """Function that inserts rows into a table."""

DERIVED_TABLES: Final = (schema.snapshots, schema.lines, schema.views)
"""The tables that can be rebuilt from the log."""

META_TABLES: Final = ("meta", "people_meta")
OWN_FACTS: Final = ("program", "schema", "suspended", "mac-key")
"""Facts in these tables about one database, which are not copied."""

_UNCOPIED_TABLES: Final = frozenset(
    {VERSION_TABLE, schema.leases.name, *(table.name for table in DERIVED_TABLES)}
)


# --- a new SQLite file --------------------------------------------------------------------------


@contextmanager
def fill_sqlite_file(file: Path) -> Iterator[sqlite3.Connection]:
    """Fill a new SQLite file in one transaction; the caller syncs it."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        yield connection
        connection.execute("COMMIT")


def create_tables_of_version(connection: sqlite3.Connection, version: int) -> None:
    """Create all tables as they were in a version."""
    for number, statements in load_migrations("sqlite").items():
        if number <= version:
            for statement in statements:
                connection.execute(statement)
            connection.execute(f"INSERT INTO {VERSION_TABLE} (version) VALUES (?)", (number,))


def migrate_sqlite_file(file: Path) -> None:
    """Bring the tables of a file that nobody else uses to the present version."""
    with (
        translate_copy_errors(),
        closing(sqlite3.connect(file, isolation_level=None)) as connection,
    ):
        connection.execute("BEGIN")
        prepare_tables(connection.execute, dialect="sqlite", database=file.name, policy="migrate")
        connection.execute("COMMIT")


def list_copied_tables(connection: sqlite3.Connection) -> list[DatabaseTable]:
    """Return the tables of a file that a copy of the whole house needs, as they are defined there.

    Projections and snapshots are rebuilt, leases end with their servers.
    """
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    return [
        _read_definition(connection, name)
        for (name,) in names.fetchall()
        if name not in _UNCOPIED_TABLES
    ]


def _read_definition(connection: sqlite3.Connection, name: str) -> DatabaseTable:
    columns = connection.execute(f'PRAGMA table_info("{name}")').fetchall()
    key = {place: column for _, column, *_, place in columns if place}
    return DatabaseTable(
        name, tuple(column for _, column, *_ in columns), tuple(key[each] for each in sorted(key))
    )


def select_copied_rows(table: DatabaseTable, chunk: list[StoredRow]) -> list[StoredRow]:
    """Leave out the facts about the database that is copied."""
    if table.name not in META_TABLES:
        return chunk
    return [row for row in chunk if row[0] not in OWN_FACTS]


def insert_rows(
    connection: sqlite3.Connection, table: DatabaseTable, chunk: list[StoredRow]
) -> None:
    """Insert rows into a table of an SQLite file."""
    placeholders = ", ".join("?" * len(table.columns))
    try:
        connection.executemany(
            f"INSERT INTO {table.name} ({table.column_list}) VALUES ({placeholders})", chunk
        )
    except (sqlite3.IntegrityError, UnicodeEncodeError) as error:
        raise TamperedData(
            f"table {table.name}", f"holds a row that cannot be copied: {error}"
        ) from error


# --- an empty database --------------------------------------------------------------------------


def fill_empty(
    url: str,
    work: Callable[[EmptyDatabase], None],
    *,
    unless: Callable[[LogRows], bool],
) -> None:
    """Run some work that fills an empty database, in one transaction.

    A database that is not empty is refused, `unless` says that it holds what it should already.
    """
    store = open_store(url, serving=True, tables="create")
    with closing(store):
        if not store.is_sole_server():
            raise StoreUnusable("another server has this database open; stop it first")
        match store:
            case MemoryStore():
                raise InvalidInput("a backup can be restored into SQLite or PostgreSQL, not memory")
            case SqliteStore():
                _fill_sqlite(store, partial(_work_if_empty, work, unless))
            case PostgresStore():
                _fill_postgres(url, partial(_work_if_empty, work, unless))


def _work_if_empty(
    work: Callable[[EmptyDatabase], None],
    unless: Callable[[LogRows], bool],
    target: EmptyDatabase,
) -> None:
    if not (filled := target.find_filled_table()):
        work(target)
    elif not unless(target.rows):
        raise StoreUnusable(
            f"the database is not empty: it has {filled}; restore into a new one, or move this one"
            " away"
        )


class EmptyDatabase:
    """A database in a transaction that fills it."""

    def __init__(
        self,
        rows: LogRows,
        fill: TableFiller,
        run: Callable[[str], Iterable[SqlRow]],
    ) -> None:
        self.rows, self.fill = rows, fill
        self._run = run

    def find_filled_table(self) -> str:
        """Return the name of a table that has rows; empty if none has."""
        tables = [table for table in all_tables() if table.name not in META_TABLES]
        for table in (*tables, *DERIVED_TABLES):
            if list(self._run(f"SELECT 1 FROM {table.name} LIMIT 1")):
                return table.name
        return ""

    def clear_facts(self) -> None:
        """Delete the facts that the copied rows replace."""
        for name in META_TABLES:
            self._run(f"DELETE FROM {name} WHERE name NOT IN ('program', 'schema')")


def all_tables() -> list[DatabaseTable]:
    """Return the tables that a copy of the whole house has, in the present version."""
    with closing(sqlite3.connect(":memory:")) as connection:
        create_tables_of_version(connection, max(load_migrations("sqlite")))
        return list_copied_tables(connection)


def _fill_sqlite(store: SqliteStore, work: Callable[[EmptyDatabase], None]) -> None:
    def run_work(run: SqlRunner) -> None:
        connection = cast("SqliteDatabase", store.database).writers[0]
        assert isinstance(connection, sqlite3.Connection)
        work(EmptyDatabase(SqliteRows(connection), partial(insert_rows, connection), run))

    store.database.transact(run_work)


def _fill_postgres(url: str, work: Callable[[EmptyDatabase], None]) -> None:
    with closing(connect_postgres(url, READ_TIMEOUT_SECONDS)) as connection:
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        connection.execute("LOCK TABLE streams IN EXCLUSIVE MODE")

        def run(sql: str) -> list[SqlRow]:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

        work(EmptyDatabase(PostgresRows(connection), partial(_copy, connection), run))
        connection.set_deadline(READ_TIMEOUT_SECONDS)
        connection.execute("COMMIT")


def _copy(connection: PostgresConnection, table: DatabaseTable, chunk: list[StoredRow]) -> None:
    connection.set_deadline(READ_TIMEOUT_SECONDS)  # for each chunk, not for the whole table
    sql = f"COPY {table.name} ({table.column_list}) FROM STDIN"
    with connection.cursor().copy(sql.encode()) as copy:
        for row in chunk:
            copy.write_row(row)


@contextmanager
def translate_copy_errors() -> Iterator[None]:
    """Translate database errors during a copy into store errors."""
    try:
        yield
    except psycopg.OperationalError as error:
        raise StoreUnavailable(f"the database does not respond: {error}; try again") from error
    except (psycopg.Error, sqlite3.Error, OSError) as error:
        raise StoreFailed(
            f"the copy cannot be written: {error}; check the free disk space"
        ) from error


def read_rows(rows: LogRows, table: DatabaseTable) -> Iterator[StoredRow]:
    """Yield the rows of a table one by one."""
    return chain.from_iterable(rows.chunks(table))
