"""People in PostgreSQL: several servers share them.

Whoever changes something holds one lock of the database until it is committed, so that changes are
one after the other as they are in SQLite; they are rare and short. Nothing waits longer than it
may, even where the server has stopped altogether.
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
"""The advisory lock of whoever changes something."""

MAX_IDLE_CONNECTIONS: Final = 8
MAX_ATTEMPTS: Final = 3


class DeadlinePassed(psycopg.OperationalError):
    """The server has not answered in time."""


class DeadlineConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that is given up when its deadline passes."""

    deadline: float = 0.0
    committing: bool = False
    """Whether a commit is under way: if the connection is lost, who knows what became of it."""

    def set_deadline(self, seconds: float) -> None:
        """Let what follows take so long at most, all together."""
        self.deadline, self.committing = monotonic() + seconds, False

    def wait(self, gen: PQGen[Result], *args: Any, **kwargs: Any) -> Result:
        """Wait for the server as psycopg does, but not beyond the deadline."""
        try:
            return super().wait(_generate_until(self.deadline, gen), *args, **kwargs)
        except DeadlinePassed:
            self.pgconn.finish()
            raise


def _generate_until(deadline: float, gen: PQGen[Result]) -> Generator[Any, Any, Result]:
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            wanted = gen.send(ready)
            if monotonic() >= deadline:
                gen.close()
                raise DeadlinePassed("the database does not answer in time")
    except StopIteration as done:
        result: Result = done.value
        return result


class PostgresDatabase:
    """People in a PostgreSQL database, which answers in time or is away."""

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
        """Do something in a transaction that no other is beside; `lasting` waits for the disk."""

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
        """Return what is there."""
        return self._run_with_retry(lambda connection: _sql_runner(connection)(sql, params))

    def close(self) -> None:
        """Let go of the database."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def _run_with_retry(self, work: Callable[[DeadlineConnection], Result]) -> Result:
        """Do something; again on a new connection where the one that was kept turns out lost."""
        if self._closed:
            raise StoreUnavailable(f"{self.name} has been closed")
        left = MAX_ATTEMPTS
        while True:
            connection = self._borrow_connection(fresh=left < MAX_ATTEMPTS)
            connection.set_deadline(self._deadline_seconds)
            left -= 1
            with self._translate_errors():
                try:
                    result = work(connection)
                except BaseException as error:
                    again = left and not connection.committing and _is_connection_lost(error)
                    self._roll_back(connection, error)
                    if again:
                        continue
                    raise
            self._return_connection(connection)
            return result

    def _roll_back(self, connection: DeadlineConnection, error: BaseException) -> None:
        """Roll back, and keep the connection where it is not the one at fault."""
        try:
            connection.execute("ROLLBACK")  # closing alone would let go of the lock a little later
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
            raise InvalidInput(f"{self.name} cannot hold this: {_one_line(error)}") from error
        except psycopg.OperationalError as error:
            raise StoreUnavailable(
                f"{self.name} does not answer in time: {_one_line(error)}"
            ) from error
        except psycopg.Error as error:
            raise StoreFailed(f"{self.name} could not do its work: {_one_line(error)}") from error

    def _prepare_schema(self, run: SqlRunner) -> None:
        named = run("SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()")
        prepare_schema(
            run, [name for (name,) in named], dialect="postgresql", database_name=self.name
        )


def _connect(url: str, seconds: float) -> DeadlineConnection:
    """Connect, with every limit set; the server gives up a little before we do."""
    given = conninfo_to_dict(url)
    milliseconds = max(1, int(seconds * 1000))
    settings = {
        "synchronous_commit": "on",
        "client_encoding": "UTF8",
        "lock_timeout": max(1, milliseconds * 6 // 10),
        "statement_timeout": max(1, milliseconds * 8 // 10),
        "idle_in_transaction_session_timeout": milliseconds,
    }
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    given["options"] = f"{given.get('options') or ''} {options}".strip()
    patience = {"connect_timeout": max(2, ceil(seconds)), "tcp_user_timeout": milliseconds}
    connection = DeadlineConnection.connect(
        make_conninfo("", **(patience | given)), autocommit=True
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
    """Name a database in words that hold no password."""
    try:
        given = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise InvalidInput(
            "this is no PostgreSQL URL; write postgresql://USER@HOST:PORT/DATABASE"
        ) from None
    return (
        f"database {given.get('dbname') or 'of PostgreSQL'} on {given.get('host') or 'this host'}"
    )


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
