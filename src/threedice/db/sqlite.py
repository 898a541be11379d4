"""SQLite connections: opening a file, pragmas, transactions and result codes."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from threedice.db import Result, SqlRow, SqlRunner

BUSY_TIMEOUT_SECONDS: Final = 5.0

SYNCHRONOUS_FULL, SYNCHRONOUS_NORMAL = 2, 1
"""`PRAGMA synchronous`: FULL fsyncs at each commit, NORMAL leaves that to the next FULL commit."""

SQLITE_BUSY, SQLITE_LOCKED = 5, 6
"""Result codes of SQLite for a database locked by another connection."""

SELECT_TABLE_NAMES: Final = "SELECT name FROM sqlite_master WHERE type = 'table'"


class SqliteConnection(Protocol):
    """The part of a driver's connection that is used; it must be in autocommit mode."""

    def execute(self, sql: str, params: Sequence[Any] = ..., /) -> Iterable[SqlRow]:
        """Run a statement and return its rows."""

    def executemany(self, sql: str, rows: Sequence[SqlRow], /) -> object:
        """Run a statement for every row of parameters."""

    def close(self) -> None:
        """Close the connection."""


def create_file(path: str | Path) -> bool:
    """Create an empty file that only its owner may read, and return whether there was none."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True


def connect_file(path: str | Path) -> sqlite3.Connection:
    """Open a database file in autocommit mode, for use by any thread."""
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False)


def set_common_pragmas(connection: SqliteConnection) -> None:
    """Set the busy timeout, and distrust functions that the schema calls."""
    list(connection.execute(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_SECONDS * 1000)}"))
    list(connection.execute("PRAGMA trusted_schema = OFF"))


def run_transaction(connection: SqliteConnection, work: Callable[[SqlRunner], Result]) -> Result:
    """Run some work in one transaction, rolled back if it raises."""

    def run(sql: str, params: Sequence[Any] = (), /) -> list[SqlRow]:
        return list(connection.execute(sql, params))

    run("BEGIN IMMEDIATE")
    try:
        result = work(run)
        run("COMMIT")
    except BaseException:
        with suppress(Exception):  # SQLite may have rolled back already
            run("ROLLBACK")
        raise
    return result


def result_code(error: Exception) -> int:
    """Return SQLite's primary result code from an error of either driver, sqlite3 or APSW."""
    code = getattr(error, "sqlite_errorcode", None) or getattr(error, "result", None) or 0
    return int(code) & 0xFF


def is_locked(error: Exception) -> bool:
    """Return whether another connection had locked the database for too long."""
    return result_code(error) in (SQLITE_BUSY, SQLITE_LOCKED)
