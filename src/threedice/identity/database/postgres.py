"""The identity database in PostgreSQL, which several servers can share.

Every write transaction holds one advisory lock until it commits, so that they run one at a time as
in SQLite; they are rare and short. Every operation has a deadline, even if the server has stopped
altogether.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import psycopg

from threedice.db.postgres import (
    SELECT_TABLE_NAMES,
    DeadlinePassed,
    connect_with_deadline,
    describe_url,
    one_line,
    sql_runner,
)
from threedice.errors import InvalidInput, StoreFailed, StoreUnavailable
from threedice.identity.database import prepare_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from threedice.db import Result, SqlRow, SqlRunner
    from threedice.db.postgres import PostgresConnection
    from threedice.identity.database import TransactionBody

WRITE_LOCK_KEYS: Final = "31, 6663"
"""Keys of the advisory lock that every write transaction takes."""

MAX_IDLE_CONNECTIONS: Final = 8
MAX_ATTEMPTS: Final = 3


class PostgresDatabase:
    """Identity database in PostgreSQL; raises `StoreUnavailable` when the deadline passes."""

    def __init__(self, url: str, *, deadline_seconds: float = 5.0) -> None:
        self._url, self._deadline_seconds = url, deadline_seconds
        self.name = describe_url(url)
        self._closed = False
        self._idle: list[PostgresConnection] = []
        try:
            self.transact(self._prepare_schema)
        except BaseException:
            self.close()
            raise

    def transact(self, work: TransactionBody[Result], *, durable: bool = True) -> Result:
        """Run a write transaction, one at a time; `durable` waits until it is on disk."""

        def transaction(connection: PostgresConnection) -> Result:
            run = sql_runner(connection)
            run("BEGIN")
            run(f"SELECT pg_advisory_xact_lock({WRITE_LOCK_KEYS})")
            if not durable:
                run("SET LOCAL synchronous_commit = off")
            result = work(run)
            connection.is_committing = True
            run("COMMIT")
            return result

        return self._run_with_retry(transaction)

    def query(self, sql: str, params: Sequence[Any] = ()) -> list[SqlRow]:
        """Run a read-only statement and return its rows."""
        return self._run_with_retry(lambda connection: sql_runner(connection)(sql, params))

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def _run_with_retry(self, work: Callable[[PostgresConnection], Result]) -> Result:
        """Run some work; retry on a new connection if the pooled one turns out to be lost."""
        if self._closed:
            raise StoreUnavailable(f"{self.name} has been closed")
        attempts_left = MAX_ATTEMPTS
        while True:
            connection = self._borrow_connection(fresh=attempts_left < MAX_ATTEMPTS)
            connection.set_deadline(self._deadline_seconds)
            attempts_left -= 1
            with self._translate_errors():
                try:
                    result = work(connection)
                except BaseException as error:
                    retry = not connection.is_committing and _is_connection_lost(error)
                    self._roll_back(connection, error)
                    if retry and attempts_left:
                        continue
                    raise
            self._return_connection(connection)
            return result

    def _roll_back(self, connection: PostgresConnection, error: BaseException) -> None:
        """Roll back; keep the connection unless the error came from the database."""
        try:
            connection.execute("ROLLBACK")  # releases the lock sooner than closing
        except psycopg.Error:
            connection.close()
            return
        if isinstance(error, psycopg.Error):
            connection.close()
        else:
            self._return_connection(connection)

    def _borrow_connection(self, *, fresh: bool) -> PostgresConnection:
        while self._idle:
            connection = self._idle.pop()
            if not fresh:
                return connection
            connection.close()
        with self._translate_errors():
            return _connect(self._url, self._deadline_seconds)

    def _return_connection(self, connection: PostgresConnection) -> None:
        if self._closed or len(self._idle) >= MAX_IDLE_CONNECTIONS:
            connection.close()
        else:
            self._idle.append(connection)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (UnicodeEncodeError, OverflowError, psycopg.DataError) as error:
            raise InvalidInput(f"{self.name} cannot store this: {one_line(error)}") from error
        except psycopg.OperationalError as error:
            raise StoreUnavailable(
                f"{self.name} does not respond in time: {one_line(error)}"
            ) from error
        except psycopg.Error as error:
            raise StoreFailed(f"{self.name} reported an error: {one_line(error)}") from error

    def _prepare_schema(self, run: SqlRunner) -> None:
        rows = run(SELECT_TABLE_NAMES)
        prepare_schema(
            run, [name for (name,) in rows], dialect="postgresql", database_name=self.name
        )


def _connect(url: str, seconds: float) -> PostgresConnection:
    settings = {"synchronous_commit": "on", "client_encoding": "UTF8"}
    return connect_with_deadline(url, seconds, settings, defaults={})


def _is_connection_lost(error: BaseException) -> bool:
    if isinstance(error, DeadlinePassed):
        return False
    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    return not error.sqlstate or error.sqlstate.startswith(("08", "57P", "25P03", "40"))
