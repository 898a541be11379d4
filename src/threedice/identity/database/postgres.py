"""The identity database in PostgreSQL, which several servers can share.

Every write transaction holds one advisory lock until it commits, so that they run one at a time as
in SQLite; they are rare and short. Every operation has a deadline, even if the server has stopped
altogether.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from threedice.errors import InvalidInput, StoreFailed, StoreUnavailable
from threedice.identity.database import prepare_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from psycopg.abc import PQGen

    from threedice.identity.database import Result, SqlRow, SqlRunner, TransactionBody

WRITE_LOCK_KEYS: Final = "31, 6663"
"""Keys of the advisory lock that every write transaction takes."""

MAX_IDLE_CONNECTIONS: Final = 8
MAX_ATTEMPTS: Final = 3


class DeadlinePassed(psycopg.OperationalError):
    """The server did not respond before the deadline."""


class DeadlineConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that closes when its deadline passes."""

    deadline: float = 0.0
    committing: bool = False
    """Whether a commit was sent: if the connection is lost then, its outcome is unknown."""

    def set_deadline(self, seconds: float) -> None:
        """Set the deadline for all following operations together."""
        self.deadline, self.committing = monotonic() + seconds, False

    def wait(self, gen: PQGen[Result], *args: Any, **kwargs: Any) -> Result:
        """Wait for the server as psycopg does, but raise at the deadline."""
        try:
            return super().wait(_generate_until(self.deadline, gen), *args, **kwargs)
        except DeadlinePassed:
            self.pgconn.finish()
            raise


def _generate_until(deadline: float, gen: PQGen[Result]) -> Generator[Any, Any, Result]:
    try:
        wait_for = next(gen)
        while True:
            ready = yield wait_for
            wait_for = gen.send(ready)
            if monotonic() >= deadline:
                gen.close()
                raise DeadlinePassed("the database does not respond in time")
    except StopIteration as done:
        result: Result = done.value
        return result


class PostgresDatabase:
    """Identity database in PostgreSQL; raises `StoreUnavailable` when the deadline passes."""

    def __init__(self, url: str, *, deadline_seconds: float = 5.0) -> None:
        self._url, self._deadline_seconds = url, deadline_seconds
        self.name = _describe_url(url)
        self._closed = False
        self._idle: list[DeadlineConnection] = []
        try:
            self.transact(self._prepare_schema)
        except BaseException:
            self.close()
            raise

    def transact(self, work: TransactionBody[Result], *, durable: bool = True) -> Result:
        """Run a write transaction, one at a time; `durable` waits until it is on disk."""

        def transaction(connection: DeadlineConnection) -> Result:
            run = _sql_runner(connection)
            run("BEGIN")
            run(f"SELECT pg_advisory_xact_lock({WRITE_LOCK_KEYS})")
            if not durable:
                run("SET LOCAL synchronous_commit = off")
            result = work(run)
            connection.committing = True
            run("COMMIT")
            return result

        return self._run_with_retry(transaction)

    def query(self, sql: str, params: Sequence[Any] = ()) -> list[SqlRow]:
        """Run a read-only statement and return its rows."""
        return self._run_with_retry(lambda connection: _sql_runner(connection)(sql, params))

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def _run_with_retry(self, work: Callable[[DeadlineConnection], Result]) -> Result:
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
                    retry = (
                        attempts_left and not connection.committing and _is_connection_lost(error)
                    )
                    self._roll_back(connection, error)
                    if retry:
                        continue
                    raise
            self._return_connection(connection)
            return result

    def _roll_back(self, connection: DeadlineConnection, error: BaseException) -> None:
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

    def _borrow_connection(self, *, fresh: bool) -> DeadlineConnection:
        while self._idle:
            connection = self._idle.pop()
            if not fresh:
                return connection
            connection.close()
        with self._translate_errors():
            return _connect(self._url, self._deadline_seconds)

    def _return_connection(self, connection: DeadlineConnection) -> None:
        if self._closed or len(self._idle) >= MAX_IDLE_CONNECTIONS:
            connection.close()
        else:
            self._idle.append(connection)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (UnicodeEncodeError, OverflowError, psycopg.DataError) as error:
            raise InvalidInput(f"{self.name} cannot store this: {_one_line(error)}") from error
        except psycopg.OperationalError as error:
            raise StoreUnavailable(
                f"{self.name} does not respond in time: {_one_line(error)}"
            ) from error
        except psycopg.Error as error:
            raise StoreFailed(f"{self.name} reported an error: {_one_line(error)}") from error

    def _prepare_schema(self, run: SqlRunner) -> None:
        rows = run("SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()")
        prepare_schema(
            run, [name for (name,) in rows], dialect="postgresql", database_name=self.name
        )


def _connect(url: str, seconds: float) -> DeadlineConnection:
    """Connect with all timeouts set; those of the server expire a little before ours."""
    parameters = conninfo_to_dict(url)
    milliseconds = max(1, int(seconds * 1000))
    settings = {
        "synchronous_commit": "on",
        "client_encoding": "UTF8",
        "lock_timeout": max(1, milliseconds * 6 // 10),
        "statement_timeout": max(1, milliseconds * 8 // 10),
        "idle_in_transaction_session_timeout": milliseconds,
    }
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    parameters["options"] = f"{parameters.get('options') or ''} {options}".strip()
    timeouts = {"connect_timeout": max(2, ceil(seconds)), "tcp_user_timeout": milliseconds}
    connection = DeadlineConnection.connect(
        make_conninfo("", **(timeouts | parameters)), autocommit=True
    )
    connection.set_deadline(seconds)
    return connection


def _is_connection_lost(error: BaseException) -> bool:
    if isinstance(error, DeadlinePassed):
        return False
    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    return not error.sqlstate or error.sqlstate.startswith(("08", "57P", "25P03", "40"))


def _sql_runner(connection: DeadlineConnection) -> SqlRunner:
    def run(sql: str, params: Sequence[Any] = (), /) -> list[SqlRow]:
        cursor = connection.execute(_with_psycopg_placeholders(sql), params or None, binary=True)
        return cursor.fetchall() if cursor.description else []

    return run


@cache
def _with_psycopg_placeholders(sql: str) -> str:
    return sql.replace("?", "%s")


def _describe_url(url: str) -> str:
    """Describe a database for messages, without the password of its URL."""
    try:
        parameters = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise InvalidInput(
            "this is not a PostgreSQL URL; write postgresql://USER@HOST:PORT/DATABASE"
        ) from None
    name, host = parameters.get("dbname"), parameters.get("host")
    return f"database {name or 'of PostgreSQL'} on {host or 'this host'}"


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
