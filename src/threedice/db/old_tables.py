"""Read the identity tables of an older version without migrating them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.db.schema import (
    IDENTITY_TABLE_PREFIX,
    SELECT_TABLE_NAMES,
    load_migrations,
    prepare_tables,
    read_version,
)
from threedice.db.sqlite import SqliteDatabase
from threedice.errors import StoreUnusable

if TYPE_CHECKING:
    from threedice.db import Database, SqlRunner
    from threedice.db.schema import Dialect


def copy_migrated(database: Database, dialect: Dialect) -> SqliteDatabase | None:
    """Return a migrated copy of the identity tables, in memory; None if they need no migration."""
    stored = _require_version(database, dialect)
    migrations = load_migrations("sqlite")
    if stored == max(migrations):
        return None

    def copy(run: SqlRunner) -> None:
        for version in range(1, stored + 1):
            _apply(run, version)
        for (table,) in run(SELECT_TABLE_NAMES["sqlite"]):
            if table.startswith(IDENTITY_TABLE_PREFIX):
                _copy_table(database, run, table)
        for version in range(stored + 1, max(migrations) + 1):
            _apply(run, version)

    migrated = SqliteDatabase(None)
    migrated.transact(copy)
    return migrated


def _require_version(database: Database, dialect: Dialect) -> int:
    """Return the version of the tables; refuse those of another program or a newer version."""
    prepare_tables(database.query, dialect=dialect, database=database.name, policy="read")
    tables = {name for (name,) in database.query(SELECT_TABLE_NAMES[dialect])}
    if f"{IDENTITY_TABLE_PREFIX}accounts" not in tables:
        raise StoreUnusable(f"{database.name} holds no accounts; is it a copy of the log alone?")
    return read_version(database.query, tables, database.name)


def _apply(run: SqlRunner, version: int) -> None:
    for statement in load_migrations("sqlite")[version]:
        run(statement)


def _copy_table(database: Database, run: SqlRunner, table: str) -> None:
    columns = [name for (name,) in run("SELECT name FROM pragma_table_info(?)", (table,))]
    names, marks = ", ".join(f'"{each}"' for each in columns), ", ".join("?" * len(columns))
    run(f"DELETE FROM {table}")
    for row in database.query(f"SELECT {names} FROM {table}"):
        run(f"INSERT INTO {table} ({names}) VALUES ({marks})", row)
