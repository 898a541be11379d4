"""The log in PostgreSQL, which several servers can share.

An append first locks the rows of its streams in name order, so that the heads it has read still
hold when it writes. A lost connection is replaced, and the batch is written again unless it turns
out to have been committed.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from secrets import token_hex
from threading import RLock
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, ClassVar, Final

import psycopg

from threedice.db.postgres import SELECT_TABLE_NAMES, describe_url, one_line, sql_runner
from threedice.errors import (
    InvalidInput,
    StoreFailed,
    StoreUnavailable,
    StreamConflict,
    ThreediceError,
)
from threedice.log.conflicts import check_proposal
from threedice.log.stores.postgres_connection import (
    DatabaseErrorKind,
    RetryBudget,
    classify_error,
    connect_postgres,
)
from threedice.log.stores.postgres_streams import append_batch
from threedice.log.stores.schema import prepare_schema
from threedice.log.stores.sql import SELECT_SUSPENSION, SqlStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from threedice.db import Result, SqlRunner
    from threedice.db.postgres import PostgresConnection
    from threedice.log.store import Proposal, ProposalOutcome, StoredRow

POLL_PAUSE_SECONDS: Final = 0.05
MAX_IDLE_CONNECTIONS: Final = 8
"""Maximum number of idle connections kept for reads and small transactions."""

RECOVERY_WAIT_SECONDS = 60.0
"""How long a server waits for the recovery of another server before it gives up."""

ACTIVE_LEASE_SECONDS = 5.0
"""How long a server counts as active after losing its connection, and with it its advisory lock.

Twice the time that it takes to poll again and reconnect.
"""

SERVING_LOCK, SCHEMA_LOCK, RECOVERY_LOCK, ACTIVE_LOCK = (
    "31, 6661",
    "31, 6662",
    "31, 6663",
    "31, 6664",
)
"""Advisory locks, in this order: shared by all serving servers; of the server that prepares the
tables; of the server that recovers; shared by all servers that have recovered and are active. A
server that has been suspended since its start serves, but is not active."""


class PostgresStore(SqlStore):
    """A store in a PostgreSQL database, which responds in time or counts as unavailable."""

    CLOCK_SQL: ClassVar[str] = "extract(epoch FROM clock_timestamp())::double precision"

    def __init__(self, url: str, *, deadline_seconds: float = 5.0, serving: bool = False) -> None:
        self.url, self._deadline_seconds, self._serving = url, deadline_seconds, serving
        self._name = describe_url(url)
        self._failed = ""
        self._closed, self._ready = False, False
        self._write_lock = RLock()
        self._writer: PostgresConnection | None = None
        self._idle: list[PostgresConnection] = []
        self._locks = [SERVING_LOCK] if serving else []
        self._lease_name = f"playing/{token_hex(8)}"
        try:
            self._run_on_writer(self._prepare)
        except BaseException:
            self.close()
            raise
        self._ready = True

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        """Write a batch in one durable transaction; each proposal completely or not at all."""
        for proposal in proposals:
            check_proposal(proposal)
        sent: set[int] = set()
        return self._run_on_writer(lambda connection: append_batch(connection, proposals, sent))

    def suspension_reason(self) -> str:
        """Return why writing is suspended, or an empty string.

        A server polls this on the connection that holds its locks and writes its batches, and so
        replaces that connection when it is lost and no batch is written.
        """
        if not self._serving or self._failed:
            return super().suspension_reason()

        def read(connection: PostgresConnection) -> str:
            reason = _read_suspension(sql_runner(connection))
            self._renew_lease(connection)
            return reason

        return self._run_on_writer(read)

    def is_sole_server(self) -> bool:
        """Return whether no other server is connected to this database."""
        return self._run_on_writer(lambda connection: _can_lock(connection, SERVING_LOCK))

    @contextmanager
    def recovery_lock(self) -> Iterator[bool]:
        """Hold the recovery lock, and yield whether no server is active; afterwards this one is."""
        if not self._serving:
            yield False
            return
        connection = self._connect()  # a separate one: if this process dies, so does the lock
        try:
            self._wait_for_recovery_lock(connection)
            yield self._has_no_active_server(connection)
            self._run_on_writer(lambda writer: writer.execute(_LOCK_SHARED.format(ACTIVE_LOCK)))
            self._locks = [SERVING_LOCK, ACTIVE_LOCK]
            self._run_on_writer(self._renew_lease)
        finally:
            connection.close()

    def close(self) -> None:
        """Release all locks and close all connections."""
        with self._write_lock:
            self._closed = True
            if self._writer is not None:
                with suppress(psycopg.Error):  # the server would notice the closed connection later
                    self._writer.set_deadline(self._deadline_seconds)
                    self._writer.execute("SELECT pg_advisory_unlock_all()")
                    if ACTIVE_LOCK in self._locks:
                        self._writer.execute(
                            "DELETE FROM leases WHERE name = %s", (self._lease_name,)
                        )
                self._writer.close()
            self._close_idle()

    # --- running statements

    def _run_on_writer(self, work: Callable[[PostgresConnection], Result]) -> Result:
        """Run some work on the writing connection, with retries on a new one."""
        with self._write_lock:
            self._require_usable(writing=True)
            budget = RetryBudget(2 * self._deadline_seconds)
            while True:
                connection = self._writer = self._writer or self._connect(self._locks)
                connection.set_deadline(self._deadline_seconds)
                try:
                    return work(connection)
                except BaseException as error:
                    self._discard_writer(connection)
                    self._raise_unless_retryable(error, budget)

    def _transact(
        self,
        work: Callable[[SqlRunner], Result],
        *,
        durable: bool = True,
        even_if_failed: bool = False,
    ) -> Result:
        def transaction(connection: PostgresConnection) -> Result:
            run = sql_runner(connection)
            run("BEGIN")
            if not durable:
                run("SET LOCAL synchronous_commit = off")
            result = work(run)
            connection.is_committing = True
            run("COMMIT")
            return result

        return self._run_pooled(transaction, writing=not even_if_failed)

    def _query(self, sql: str, params: Sequence[Any] = ()) -> list[StoredRow]:
        return self._run_pooled(
            lambda connection: sql_runner(connection)(sql, params), writing=False
        )

    def _run_pooled(self, work: Callable[[PostgresConnection], Result], *, writing: bool) -> Result:
        """Run some work on an idle connection, concurrently with the writing one."""
        self._require_usable(writing=writing)
        budget = RetryBudget(2 * self._deadline_seconds)
        while True:
            connection = self._borrow_connection()
            connection.set_deadline(self._deadline_seconds)
            try:
                result = work(connection)
            except BaseException as error:
                connection.close()
                if connection.is_committing:  # perhaps committed: the caller must find out
                    budget.exhaust()
                self._raise_unless_retryable(error, budget)
            else:
                self._return_connection(connection)
                return result

    def _require_usable(self, *, writing: bool) -> None:
        if self._closed:
            raise StoreUnavailable(f"{self._name} has been closed")
        if self._failed and writing:
            raise StoreFailed(self._failed)

    def _raise_unless_retryable(self, error: BaseException, budget: RetryBudget) -> None:
        """Return if the work should be retried; otherwise raise the matching store error."""
        if isinstance(error, ThreediceError) or not isinstance(error, Exception):
            raise error
        kind = classify_error(error)
        if (
            kind in (DatabaseErrorKind.CONNECTION_LOST, DatabaseErrorKind.RETRYABLE)
            and budget.take_attempt()
        ):
            return
        if kind is DatabaseErrorKind.INVALID_INPUT:
            raise InvalidInput(f"{self._name} cannot hold this: {error}") from error
        if kind in (DatabaseErrorKind.CONNECTION_LOST, DatabaseErrorKind.TIMED_OUT):
            raise StoreUnavailable(
                f"{self._name} does not respond in time: {one_line(error)}"
            ) from error
        if kind is DatabaseErrorKind.RETRYABLE and not isinstance(
            error, psycopg.errors.UniqueViolation
        ):
            raise StreamConflict(
                f"{self._name}: concurrent transactions kept interfering; try again"
            ) from error
        self._failed = self._failed or (
            f"{self._name} could not be written ({one_line(error)}); "
            "check the database, then restart"
        )
        raise StoreFailed(self._failed) from error

    # --- connections and locks

    def _connect(self, locks: Sequence[str] = ()) -> PostgresConnection:
        """Connect; after the first success, retry for a while when the database is down."""
        until = monotonic() + (self._deadline_seconds if self._ready else 0.0)
        while True:
            try:
                return _connect_with_locks(self.url, self._deadline_seconds, locks)
            except psycopg.Error as error:
                if monotonic() >= until:
                    raise StoreUnavailable(
                        f"{self._name} cannot be reached: {one_line(error)}"
                    ) from error
            sleep(POLL_PAUSE_SECONDS)

    def _wait_for_recovery_lock(self, connection: PostgresConnection) -> None:
        """Acquire the recovery lock, waiting for other servers to finish theirs."""
        until = monotonic() + RECOVERY_WAIT_SECONDS
        while True:
            connection.set_deadline(self._deadline_seconds)
            try:
                connection.execute(f"SELECT pg_advisory_lock({RECOVERY_LOCK})")
            except psycopg.errors.LockNotAvailable as error:
                if monotonic() >= until:
                    raise StoreUnavailable(
                        f"another server on {self._name} has not finished its recovery; "
                        "look at that server, then start this one again"
                    ) from error
            except psycopg.Error as error:
                raise StoreUnavailable(
                    f"{self._name} does not respond: {one_line(error)}"
                ) from error
            else:
                return

    def _has_no_active_server(self, connection: PostgresConnection) -> bool:
        """Return whether no server holds the active lock, or may still reconnect to take it."""
        try:
            while True:
                connection.set_deadline(self._deadline_seconds)
                if not _can_lock(connection, ACTIVE_LOCK):
                    return False
                if not connection.execute(
                    _SELECT_RECENT_LEASES, (ACTIVE_LEASE_SECONDS,)
                ).fetchall():
                    connection.execute("DELETE FROM leases WHERE name LIKE 'playing/%'")
                    return True
                sleep(POLL_PAUSE_SECONDS)
        except psycopg.Error as error:
            raise StoreUnavailable(f"{self._name} does not respond: {one_line(error)}") from error

    def _renew_lease(self, connection: PostgresConnection) -> None:
        """Record that this server is active; if that fails, its advisory lock still shows it."""
        if ACTIVE_LOCK in self._locks:
            with suppress(psycopg.Error):
                connection.execute(
                    _RENEW_LEASE, (self._lease_name, self._lease_name, ACTIVE_LEASE_SECONDS)
                )

    def _borrow_connection(self) -> PostgresConnection:
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()

    def _return_connection(self, connection: PostgresConnection) -> None:
        if len(self._idle) >= MAX_IDLE_CONNECTIONS:
            connection.close()
        else:
            self._idle.append(connection)
        if self._closed:  # closed meanwhile: close() did not see this connection
            self._close_idle()

    def _close_idle(self) -> None:
        with suppress(IndexError):  # other threads may be closing connections too
            while True:
                self._idle.pop().close()

    def _discard_writer(self, connection: PostgresConnection) -> None:
        """Close the writing connection: after an error its prepared statements are uncertain."""
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK")  # releases the locks sooner than closing alone
        connection.close()
        self._writer = None

    def _prepare(self, connection: PostgresConnection) -> None:
        run = sql_runner(connection)
        run("BEGIN")
        run(f"SELECT pg_advisory_xact_lock({SCHEMA_LOCK})")
        tables = [name for (name,) in run(SELECT_TABLE_NAMES)]
        prepare_schema(run, tables, dialect="postgresql", database=self._name)
        run("COMMIT")


_LOCK_SHARED: Final = "SELECT pg_advisory_lock_shared({})"
_RENEW_LEASE: Final = (
    f"INSERT INTO leases (name, holder, until) VALUES (%s, %s, {PostgresStore.CLOCK_SQL} + %s)"
    " ON CONFLICT (name) DO UPDATE SET until = excluded.until"
)
# After a restart of the database, a server has the full time to reconnect.
_SELECT_RECENT_LEASES: Final = (
    "SELECT name FROM leases WHERE name LIKE 'playing/%%' AND greatest("
    f"until, extract(epoch FROM pg_postmaster_start_time()) + %s) > {PostgresStore.CLOCK_SQL}"
)


def _can_lock(connection: PostgresConnection, lock: str) -> bool:
    """Return whether the exclusive lock can be taken: whether no other session holds it."""
    ((acquired,),) = connection.execute(f"SELECT pg_try_advisory_lock({lock})").fetchall()
    if acquired:
        connection.execute(f"SELECT pg_advisory_unlock({lock})")
    return bool(acquired)


def _connect_with_locks(url: str, seconds: float, locks: Sequence[str]) -> PostgresConnection:
    connection = connect_postgres(url, seconds)
    try:
        for lock in locks:
            connection.execute(_LOCK_SHARED.format(lock))
    except BaseException:
        connection.close()
        raise
    return connection


def _read_suspension(run: SqlRunner) -> str:
    return next((reason for (reason,) in run(SELECT_SUSPENSION)), "")
