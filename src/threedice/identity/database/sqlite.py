"""The identity database in an SQLite file, which may be the file of the log.

It has its own connections. The log waits during a write transaction, so nothing slow may happen
inside one.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from threedice.db.sqlite import (
    SELECT_TABLE_NAMES,
    SYNCHRONOUS_FULL,
    SYNCHRONOUS_NORMAL,
    connect_file,
    create_file,
    is_locked,
    run_transaction,
    set_common_pragmas,
)
from threedice.errors import InvalidInput, StoreFailed, StoreUnavailable, StoreUnusable
from threedice.identity.database import prepare_schema

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from threedice.db import Result, SqlRow, SqlRunner
    from threedice.identity.database import TransactionBody


class SqliteDatabase:
    """Identity database in an SQLite file; without a path, in memory."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._path = None if path is None else Path(path)
        self.name = str(path or "memory")
        self._lock = RLock()
        self._closed, self._failure = False, ""
        self._readers: list[sqlite3.Connection] = []
        self._writer = self._open()
        try:
            self.transact(self._prepare_schema)
        except BaseException:
            self.close()
            raise

    def transact(self, work: TransactionBody[Result], *, durable: bool = True) -> Result:
        """Run a write transaction, one at a time; `durable` waits until it is on disk."""
        with self._lock:
            self._refuse_if_closed()
            if self._failure:
                raise StoreFailed(self._failure)
            with self._translate_errors("written"):
                self._writer.execute(
                    f"PRAGMA synchronous = {SYNCHRONOUS_FULL if durable else SYNCHRONOUS_NORMAL}"
                )
                try:
                    return run_transaction(self._writer, work)
                except sqlite3.IntegrityError as error:
                    raise StoreFailed(f"this cannot be stored: {error}") from error

    def query(self, sql: str, params: Sequence[Any] = ()) -> list[SqlRow]:
        """Run a read-only statement and return its rows."""
        with self._borrow_reader() as connection, self._translate_errors("read"):
            return connection.execute(sql, params).fetchall()

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            self._closed = True
            while self._readers:
                self._readers.pop().close()
            self._writer.close()

    @contextmanager
    def _borrow_reader(self) -> Iterator[sqlite3.Connection]:
        self._refuse_if_closed()
        if self._path is None:
            with self._lock:
                yield self._writer
            return
        try:
            connection = self._readers.pop()
        except IndexError:
            connection = self._open()
        try:
            yield connection
        finally:
            with self._lock:
                if self._closed:
                    connection.close()
                else:
                    self._readers.append(connection)

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise StoreUnavailable(f"{self.name} has been closed")

    @contextmanager
    def _translate_errors(self, operation: str) -> Iterator[None]:
        try:
            yield
        except (UnicodeEncodeError, OverflowError) as error:
            raise InvalidInput(f"{self.name} cannot store this: {error}") from error
        except sqlite3.Error as error:
            if is_locked(error):
                raise StoreUnavailable(
                    f"{self.name} is locked by another process; try again"
                ) from error
            # After a failed fsync the file may differ from what is read from it.
            self._failure = self._failure or (
                f"{self.name} could not be {operation} ({error}); look at the disk, then restart"
            )
            raise StoreFailed(self._failure) from error

    def _open(self) -> sqlite3.Connection:
        try:
            return _connect(self._path)
        except (OSError, sqlite3.Error) as error:
            raise StoreUnusable(
                f"{self.name} cannot be opened: {error}; check that its folder exists"
            ) from error

    def _prepare_schema(self, run: SqlRunner) -> None:
        rows = run(SELECT_TABLE_NAMES)
        prepare_schema(run, [name for (name,) in rows], dialect="sqlite", database_name=self.name)


def _connect(path: Path | None) -> sqlite3.Connection:
    """Open a database file; a new file gets mode 0600."""
    if path is not None:
        create_file(path)
    connection = connect_file(path or ":memory:")
    try:
        set_common_pragmas(connection)
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection
