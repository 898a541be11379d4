"""An SQLite file: its connections, pragmas, transactions and errors.

Only `execute`, `executemany` and `close` of a driver's connection are used, so that the same class
also runs on a simulated disk that loses power.
"""

from __future__ import annotations

import ctypes
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from threedice.db.schema import prepare_tables
from threedice.db.sqlite_file import SqliteFile, open_sqlite_file
from threedice.db.sqlite_file import sync_directory as sync_directory  # noqa: PLC0414 -- for others
from threedice.db.sqlite_read_only import read_only_connector, readable_file, sqlite_uri
from threedice.errors import (
    InvalidInput,
    StoreFailed,
    StoreUnavailable,
    StoreUnusable,
    TamperedData,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from threedice.db import Result, SqlRow, SqlRunner, TransactionBody
    from threedice.db.schema import TablePolicy

BUSY_TIMEOUT_SECONDS: Final = 5.0

ERASURE_TIMEOUT_SECONDS: Final = 0.2
"""How long an erasure waits for reads that began before it."""

MIN_SQLITE_VERSION: Final = (3, 37, 0)
"""First SQLite version with STRICT tables."""

CACHE_SIZE_KIBIBYTES: Final = 32 * 1024
"""Page cache of a connection: holds the ends of all streams and the upper levels of the indexes."""

SYNCHRONOUS_FULL, SYNCHRONOUS_NORMAL = 2, 1
"""`PRAGMA synchronous`: FULL fsyncs at each commit, NORMAL leaves that to the next FULL commit."""

SQLITE_BUSY, SQLITE_LOCKED, SQLITE_IOERR, SQLITE_CORRUPT = 5, 6, 10, 11
SQLITE_CONSTRAINT, SQLITE_NOTADB = 19, 26
"""Result codes of SQLite that are handled differently from other failures."""

WAL_CHECKPOINT_EVERY, WAL_TRANSACTION_WEIGHT = 2_000, 4
"""Rows between two checkpoints of the write-ahead log; a transaction counts as four more."""


class SqliteConnection(Protocol):
    """The part of a driver's connection that is used; it must be in autocommit mode."""

    def execute(self, sql: str, params: Sequence[Any] = ..., /) -> Iterable[SqlRow]:
        """Run a statement and return its rows."""

    def executemany(self, sql: str, rows: Sequence[SqlRow], /) -> object:
        """Run a statement for every row of parameters."""

    def close(self) -> None:
        """Close the connection."""


SqliteConnector = Callable[[str], SqliteConnection]


def connect_sqlite(path: str) -> SqliteConnection:
    """Open an existing database file in autocommit mode, for use by any thread."""
    uri = path if path == ":memory:" else sqlite_uri(Path(path), "mode=rw")
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)


class SqliteDatabase:
    """Connections to an SQLite file, one of which writes at a time; without a path, in memory.

    With `single_connection`, reads share the writing connection. With `create`, a missing file is
    created. With `read_only` nothing is created or changed, also not next to the file. After a
    failed write, nothing more is written: `failure` says why. If the disk failed, or the file was
    removed or replaced, that holds for all databases on this file.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        *,
        connect: SqliteConnector = connect_sqlite,
        single_connection: bool = False,
        wal_checkpoint_every: int = WAL_CHECKPOINT_EVERY,
        create: bool = True,
        read_only: bool = False,
    ) -> None:
        self.name = "memory" if path is None else str(path)
        self._path = ":memory:" if path is None else str(Path(path).absolute())
        self._is_read_only, self._exits = read_only and path is not None, ExitStack()
        self._connect, self._single_connection = connect, single_connection or path is None
        self._wal_checkpoint_every, self.rows_since_checkpoint = wal_checkpoint_every, 0
        self._has_traces = False
        self._closed = False
        self._readers: list[SqliteConnection] = []
        self.writers: list[SqliteConnection] = []
        if self._is_read_only:
            self._open_to_read()
            return
        self.file = self._open_file(create=create)
        try:
            with self.file:
                self.writers.append(self._open(SYNCHRONOUS_FULL))
                if not self._single_connection:
                    self.writers.append(self._open(SYNCHRONOUS_NORMAL))
        except BaseException:
            with suppress(StoreFailed, StoreUnavailable):
                self.close()
            raise

    def _open_file(self, *, create: bool) -> SqliteFile:
        if self._path == ":memory:":
            return SqliteFile(self.name, None)
        try:
            return open_sqlite_file(Path(self._path), create=create)
        except OSError as error:
            raise StoreUnusable(
                f"{self.name} cannot be opened: {error.strerror}; does its directory exist?"
            ) from error

    def _open_to_read(self) -> None:
        self.file = SqliteFile(self.name, None)
        if not Path(self._path).is_file():
            raise StoreUnusable(f"{self.name} cannot be opened: there is no such file")
        path, mode = self._exits.enter_context(readable_file(Path(self._path)))
        self._path, self._connect = str(path), read_only_connector(mode)

    @property
    def failure(self) -> str:
        """Why nothing is written any more; empty if nothing has failed."""
        return self.file.failure or self.file.failures.get(id(self), "")

    def forget_failure(self) -> None:
        """Write again, with all databases on this file, after a person has looked into a failure.

        The write-ahead log is copied into the file first. So a disk that still fails is noticed.
        """
        with self.file:
            self.file.check()
            self.checkpoint_wal("TRUNCATE")
            self.file.failure = ""
            self.file.failures.clear()

    def check_storage(self) -> None:
        """Raise `StoreFailed` if the file was removed, replaced or cut off, or a write failed."""
        self._check_file()
        if self.failure:
            raise StoreFailed(self.failure)

    def _check_file(self) -> None:
        try:
            self.file.check_all()
        except StoreFailed:
            if not self._closed:  # closing the last connection removes the write-ahead log
                raise

    def prepare_tables(self, policy: TablePolicy, needed: str) -> None:
        """Check the tables, and create or migrate them if the policy allows it."""

        def prepare(run: SqlRunner) -> None:
            prepare_tables(run, dialect="sqlite", database=self.name, policy=policy, needed=needed)

        if self._is_read_only:
            prepare(self.query)
        else:
            self.transact(prepare)

    def query(self, sql: str, params: Sequence[Any] = ()) -> list[SqlRow]:
        """Run a read-only statement, concurrently with writes, and return its rows."""
        with self._read_connection() as connection, self._translate_errors("read"):
            return list(connection.execute(sql, params))

    def transact(
        self,
        work: TransactionBody[Result],
        *,
        durable: bool = True,
        even_if_failed: bool = False,
        is_long: bool = False,  # noqa: ARG002  # there is no deadline
    ) -> Result:
        """Run some work in one transaction (see `Database.transact`)."""
        self._refuse_if_closed()
        if self._is_read_only:
            raise StoreUnusable(f"{self.name} is opened for reading only")
        with self.file:
            self._refuse_if_closed()
            if self.failure and not even_if_failed:
                raise StoreFailed(self.failure)
            self.rows_since_checkpoint += WAL_TRANSACTION_WEIGHT
            if self.rows_since_checkpoint >= self._wal_checkpoint_every:
                self.checkpoint_wal("PASSIVE")
                self.rows_since_checkpoint = 0
            if self._has_traces:
                self._truncate_wal(wait_seconds=0)
            with self._translate_errors("written"):
                result = _run_transaction(self.writers[0 if durable else -1], work)
            self.file.check()
            return result

    def checkpoint_wal(self, mode: str) -> None:
        """Copy the write-ahead log into the file, as far as readers allow.

        SQLite's automatic checkpoint runs after a commit and does not report errors: a failed fsync
        would go unnoticed, and later acknowledged commits could be lost.
        """
        with self.file, self._translate_errors("written"):
            self.file.check()  # before the log makes a file that was cut off as long as before
            list(self.writers[0].execute(f"PRAGMA wal_checkpoint({mode})"))

    def erase_traces(self) -> None:
        """Remove deleted data from the write-ahead log; `secure_delete` overwrites it in the file.

        A read that began before, such as a backup, may need the old pages of the log. Then they are
        removed before the next transaction after it.
        """
        self._refuse_if_closed()
        with self.file:
            self._has_traces = True
            self._truncate_wal(wait_seconds=ERASURE_TIMEOUT_SECONDS)

    def _truncate_wal(self, wait_seconds: float) -> None:
        with self._translate_errors("written"):
            self.file.check()
            writer = self.writers[0]
            list(writer.execute(f"PRAGMA busy_timeout = {int(wait_seconds * 1000)}"))
            try:
                ((is_busy, *_),) = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                set_common_pragmas(writer)
            self._has_traces = bool(is_busy)

    def close(self) -> None:
        """Close all connections, and copy the write-ahead log into the file before.

        Closing the last connection would copy it too, and delete it, but report no error. After a
        failure nobody knows what is in the file, so the log is kept for the next start.
        """
        if self._closed:
            return
        if self._is_read_only:
            self._closed = True
            self._close_readers()
            self._exits.close()
            return
        self._closed, keeps_log = True, True
        try:
            with self.file:
                try:
                    if self.writers and not self.failure and self._path != ":memory:":
                        self.file.check()
                        self.checkpoint_wal("PASSIVE")
                    keeps_log = bool(self.failure)
                finally:
                    self._close_connections(keeps_log=keeps_log)
        finally:
            self._close_connections(keeps_log=True)  # if the lock was not to be had
            self.file.close()

    def _close_connections(self, *, keeps_log: bool) -> None:
        self._close_readers()
        while len(self.writers) > 1:
            self.writers.pop().close()
        while self.writers:
            _close_last(self.writers.pop(), keeps_log=keeps_log)

    @contextmanager
    def _read_connection(self) -> Iterator[SqliteConnection]:
        self._refuse_if_closed()
        if self._single_connection:
            with self.file:
                yield self.writers[0]
            return
        try:
            connection = self._readers.pop()
        except IndexError:
            connection = self._open(SYNCHRONOUS_NORMAL)
        is_usable = False
        try:
            yield connection
            is_usable = True
        finally:
            if is_usable:
                self._readers.append(connection)
            else:
                connection.close()
            if self._closed:  # closed meanwhile: close() did not see this connection
                self._close_readers()

    def _close_readers(self) -> None:
        with suppress(IndexError):  # other threads may be closing readers too
            while True:
                self._readers.pop().close()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise StoreUnavailable(f"{self.name} has been closed")

    @contextmanager
    def _translate_errors(self, operation: str) -> Iterator[None]:
        """Raise the matching store error for an error of the driver."""
        try:
            yield
        except (UnicodeEncodeError, OverflowError) as error:
            raise InvalidInput(f"{self.name} cannot hold this: {error}") from error
        except Exception as error:
            if not is_driver_error(error):  # raised by the work itself
                raise
            code = result_code(error)
            is_damage = is_undecodable(error) or code in (SQLITE_CORRUPT, SQLITE_NOTADB)
            if operation == "opened" and code == SQLITE_NOTADB:
                raise StoreUnusable(
                    f"{self.name} is not an SQLite database; use another file"
                ) from error
            if operation == "read" and is_damage:
                raise TamperedData(self.name, f"cannot be read: {error}") from error
            if is_locked(error):
                raise StoreUnavailable(
                    f"{self.name} is locked by another process; try again: {error}"
                ) from error
            if code == SQLITE_CONSTRAINT:
                raise StoreFailed(f"{self.name} cannot hold this: {error}") from error
            # After a failed fsync, reads may not match the disk, so nothing is written any more.
            problem = (
                f"{self.name} could not be {operation} ({error}); check the disk, then restart"
            )
            if code == SQLITE_IOERR:
                self.file.failure = self.file.failure or problem
            else:
                self.file.failures.setdefault(id(self), problem)
            raise StoreFailed(self.failure) from error

    def _open(self, synchronous: int) -> SqliteConnection:
        self._check_file()
        try:
            connection = self._connect(self._path)
        except Exception as error:
            raise StoreUnusable(
                f"{self.name} cannot be opened: {error}; does its directory exist?"
            ) from error
        try:
            with self._translate_errors("opened"):
                if self._is_read_only:
                    set_common_pragmas(connection)
                    return connection
                journal = "MEMORY" if self._path == ":memory:" else "WAL"
                _configure(connection, self.name, synchronous, journal)
            self._check_file()  # so it is the file that the others have open
            self.file.watch_companions()
        except BaseException:
            connection.close()
            raise
        return connection


def _run_transaction(connection: SqliteConnection, work: TransactionBody[Result]) -> Result:
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


def _close_last(connection: SqliteConnection, *, keeps_log: bool) -> None:
    """Close what may be the last connection to a file, or leave its log as it is.

    Before Python 3.12 the driver cannot close a last connection without checkpointing and deleting
    the write-ahead log, which it finds by its name: that may be the log of another file by now. So
    the connection is left open until the process ends.
    """
    if not keeps_log or not isinstance(connection, sqlite3.Connection):
        connection.close()
        return
    with suppress(sqlite3.Error):
        connection.execute("ROLLBACK")
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def _configure(connection: SqliteConnection, database: str, synchronous: int, journal: str) -> None:
    """Set the pragmas that make commits durable, and check that they took effect."""

    def execute(sql: str) -> Any:
        return next((row[0] for row in list(connection.execute(sql))), None)

    if tuple(map(int, execute("SELECT sqlite_version()").split("."))) < MIN_SQLITE_VERSION:
        needed = ".".join(map(str, MIN_SQLITE_VERSION))
        raise StoreUnusable(f"{database}: SQLite {needed} or later is needed")
    set_common_pragmas(connection)
    execute(f"PRAGMA cache_size = {-CACHE_SIZE_KIBIBYTES}")
    execute("PRAGMA secure_delete = ON")  # overwrite deleted secrets and personal data
    if (mode := execute(f"PRAGMA journal_mode = {journal}")) != journal.lower():
        raise StoreUnusable(
            f"{database}: its journal is {mode!r}, not a write-ahead log; use a local file system"
        )
    execute(f"PRAGMA synchronous = {synchronous}")
    if (level := execute("PRAGMA synchronous")) != synchronous:
        raise StoreUnusable(
            f"{database}: synchronous is {level}, not {synchronous};"
            " use an SQLite build that obeys it"
        )
    execute("SELECT 1 FROM sqlite_master")  # opens the write-ahead log


def set_common_pragmas(connection: SqliteConnection) -> None:
    """Set the busy timeout, distrust the schema's functions, and checkpoint only when asked to."""
    list(connection.execute(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_SECONDS * 1000)}"))
    list(connection.execute("PRAGMA wal_autocheckpoint = 0"))  # see checkpoint_wal
    list(connection.execute("PRAGMA trusted_schema = OFF"))


def is_driver_error(error: Exception) -> bool:
    """Return whether an error comes from either driver, sqlite3 or APSW, or from the disk."""
    kinds = (sqlite3.Error, OSError, UnicodeDecodeError)
    return isinstance(error, kinds) or hasattr(error, "extendedresult")


def result_code(error: Exception) -> int:
    """Return SQLite's primary result code from an error of either driver, sqlite3 or APSW."""
    code = getattr(error, "sqlite_errorcode", None) or getattr(error, "result", None) or 0
    return int(code) & 0xFF


def is_locked(error: Exception) -> bool:
    """Return whether another connection had locked the database for too long."""
    return result_code(error) in (SQLITE_BUSY, SQLITE_LOCKED)


def is_undecodable(error: Exception) -> bool:
    """Return whether an error of either driver means that stored text is not valid UTF-8."""
    return isinstance(error, UnicodeDecodeError) or "decode to UTF-8" in str(error)
