"""The log in PostgreSQL: several servers may serve one database.

Whoever appends to a stream locks its row first, in the order of the names; what was read before is
then still true when it is written. A lost connection is made anew, and the batch is written again
unless it turns out to have been written before.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import cache
from secrets import token_hex
from threading import RLock
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, ClassVar, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from threedice.errors import (
    InvalidInput,
    StoreFailed,
    StoreUnavailable,
    StreamConflict,
    ThreediceError,
)
from threedice.log.conflicts import check_proposal
from threedice.log.stores.files import WriteLock
from threedice.log.stores.postgres_connection import (
    DatabaseErrorKind,
    PostgresConnection,
    RetryBudget,
    classify_error,
    connect_postgres,
)
from threedice.log.stores.postgres_streams import append_batch
from threedice.log.stores.schema import prepare_schema
from threedice.log.stores.sql import SELECT_SUSPENSION, SqlStore, StatementRunner, WorkResult
from threedice.log.writer_process import WriterProcess, WriterProcessTarget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from threedice.log.store import Proposal, ProposalOutcome, StoredRow

POLL_PAUSE_SECONDS: Final = 0.05
MAX_IDLE_CONNECTIONS: Final = 8
"""How many connections are kept for those who read."""

WRITER_PROCESS_TIMEOUT_SECONDS, WRITER_PROCESS_TIMEOUT_DEADLINES = 60.0, 12
"""How long a scribe may take: twice as many deadlines as its store needs where all goes wrong (two
of trying, one more for each of waiting for the server, connecting, looking and the work), and time
for a busy machine to start a process."""

RECOVERY_WAIT_SECONDS = 60.0
"""How long a server waits for another that comes back, and marks tables, before it gives up."""

ACTIVE_LEASE_SECONDS = 5.0
"""How long a server still counts as playing whose connection was lost, with the lock that it had;
twice as long as it takes until it asks again and connects anew."""

SERVING_LOCK, SCHEMA_LOCK, RECOVERY_LOCK, ACTIVE_LOCK = (
    "31, 6661",
    "31, 6662",
    "31, 6663",
    "31, 6664",
)
"""The advisory locks of those who serve, of who makes the tables, of who comes back, and of those
who have: a server that is suspended from its start serves, but does not play."""


class PostgresStore(SqlStore):
    """A store in a PostgreSQL database, which answers in time or is away."""

    CLOCK_SQL: ClassVar[str] = "extract(epoch FROM clock_timestamp())::double precision"

    def __init__(
        self,
        url: str,
        *,
        deadline_seconds: float = 5.0,
        serving: bool = False,
        use_writer_process: bool = False,
    ) -> None:
        self.url, self._deadline_seconds, self._serving = url, deadline_seconds, serving
        self._name = _describe_url(url)
        self._failed = ""
        self._closed, self._ready = False, False
        self._write_lock = RLock()
        self._writer: PostgresConnection | None = None
        self._idle: list[PostgresConnection] = []
        self._locks = [SERVING_LOCK] if serving else []
        self._lease_name = f"playing/{token_hex(8)}"
        self.writer_process: WriterProcess | None = None
        try:
            self._run_on_writer(self._prepare)
            if use_writer_process:
                self.writer_process = WriterProcess(
                    WriterProcessTarget("postgres", url, deadline_seconds),
                    note_failure=self._note_failure,
                    write_lock=WriteLock(),
                    timeout_seconds=max(
                        WRITER_PROCESS_TIMEOUT_SECONDS,
                        WRITER_PROCESS_TIMEOUT_DEADLINES * deadline_seconds,
                    ),
                )
        except BaseException:
            self.close()
            raise
        self._ready = True

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        """Write a batch in one durable transaction; each proposal as a whole or not at all."""
        for proposal in proposals:
            check_proposal(proposal)
        sent: set[int] = set()
        return self._run_on_writer(lambda connection: append_batch(connection, proposals, sent))

    def suspension_reason(self) -> str:
        """Return why nothing may be written, or nothing.

        A server asks now and then, on the connection by which it serves: where that was lost, and
        another process writes, nobody else would make it anew.
        """
        if not self._serving or self._failed:
            return super().suspension_reason()

        def ask(connection: PostgresConnection) -> str:
            cause = _read_suspension(_statement_runner(connection))
            self._renew_lease(connection)
            return cause

        return self._run_on_writer(ask)

    def is_sole_server(self) -> bool:
        """Tell whether no other server is connected to this database."""

        return self._run_on_writer(lambda connection: _can_lock(connection, SERVING_LOCK))

    @contextmanager
    def recovery_lock(self) -> Iterator[bool]:
        """Come back while no other server does; from the end of it on, this one plays."""
        if not self._serving:
            yield False
            return
        connection = self._connect()  # its own: if this process dies, the lock goes with it
        try:
            self._wait_for_recovery_lock(connection)
            yield self._has_no_active_server(connection)
            self._run_on_writer(lambda serving: serving.execute(_LOCK_SHARED.format(ACTIVE_LOCK)))
            self._locks = [SERVING_LOCK, ACTIVE_LOCK]
            self._run_on_writer(self._renew_lease)
        finally:
            connection.close()

    def close(self) -> None:
        """Let go of the database."""
        with self._write_lock:
            self._closed = True
            if self.writer_process is not None:
                self.writer_process.close()
            if self._writer is not None:
                with suppress(psycopg.Error):  # the server itself would notice only a little later
                    self._writer.set_deadline(self._deadline_seconds)
                    self._writer.execute("SELECT pg_advisory_unlock_all()")
                    if ACTIVE_LOCK in self._locks:
                        self._writer.execute(
                            "DELETE FROM leases WHERE name = %s", (self._lease_name,)
                        )
                self._writer.close()
            self._close_idle()

    # how statements are run

    def _run_on_writer(self, work: Callable[[PostgresConnection], WorkResult]) -> WorkResult:
        """Do something on the connection that writes, again where that may help."""
        with self._write_lock:
            self._require_usable(writing=True)
            tries = RetryBudget(2 * self._deadline_seconds)
            while True:
                connection = self._writer = self._writer or self._connect(self._locks)
                connection.set_deadline(self._deadline_seconds)
                try:
                    return work(connection)
                except BaseException as error:
                    self._discard_writer(connection)
                    self._raise_unless_retryable(error, tries)

    def _transact(
        self,
        work: Callable[[StatementRunner], WorkResult],
        *,
        durable: bool = True,
        even_if_failed: bool = False,
    ) -> WorkResult:
        def transaction(connection: PostgresConnection) -> WorkResult:
            run = _statement_runner(connection)
            run("BEGIN", ())
            if not durable:
                run("SET LOCAL synchronous_commit = off", ())
            result = work(run)
            connection.is_committing = True
            run("COMMIT", ())
            return result

        return self._run_pooled(transaction, writing=not even_if_failed)

    def _query(self, sql: str, params: Sequence[Any] = ()) -> list[StoredRow]:
        return self._run_pooled(
            lambda connection: _statement_runner(connection)(sql, params), writing=False
        )

    def _run_pooled(
        self, work: Callable[[PostgresConnection], WorkResult], *, writing: bool
    ) -> WorkResult:
        """Do something on a connection of one's own, while others write."""
        self._require_usable(writing=writing)
        tries = RetryBudget(2 * self._deadline_seconds)
        while True:
            connection = self._borrow_connection()
            connection.set_deadline(self._deadline_seconds)
            try:
                result = work(connection)
            except BaseException as error:
                connection.close()
                if connection.is_committing:  # it may have happened: whoever asked must look
                    tries.exhaust()
                self._raise_unless_retryable(error, tries)
            else:
                self._return_connection(connection)
                return result

    def _require_usable(self, *, writing: bool) -> None:
        if self._closed:
            raise StoreUnavailable(f"{self._name} has been closed")
        if self._failed and writing:
            raise StoreFailed(self._failed)

    def _raise_unless_retryable(self, error: BaseException, tries: RetryBudget) -> None:
        """Return if the same should be tried again; otherwise raise what the error means."""
        if isinstance(error, ThreediceError) or not isinstance(error, Exception):
            raise error
        meaning = classify_error(error)
        if (
            meaning in (DatabaseErrorKind.CONNECTION_LOST, DatabaseErrorKind.RETRYABLE)
            and tries.take_attempt()
        ):
            return
        if meaning is DatabaseErrorKind.INVALID_INPUT:
            raise InvalidInput(f"{self._name} cannot hold this: {error}") from error
        if meaning in (DatabaseErrorKind.CONNECTION_LOST, DatabaseErrorKind.TIMED_OUT):
            raise StoreUnavailable(
                f"{self._name} does not answer in time: {_one_line(error)}"
            ) from error
        if meaning is DatabaseErrorKind.RETRYABLE and not isinstance(
            error, psycopg.errors.UniqueViolation
        ):
            raise StreamConflict(f"{self._name} is written by others again and again") from error
        self._note_failure(
            f"{self._name} could not do its work ({_one_line(error)}); look at it, then start again"
        )
        raise StoreFailed(self._failed) from error

    def _note_failure(self, cause: str) -> str:
        """Note a failure, and return the first."""
        self._failed = self._failed or cause
        return self._failed

    # connections

    def _connect(self, locks: Sequence[str] = ()) -> PostgresConnection:
        """Connect; once the database has been there, try for a while until it is back."""
        until = monotonic() + (self._deadline_seconds if self._ready else 0.0)
        while True:
            try:
                return _connect_with_locks(self.url, self._deadline_seconds, locks)
            except psycopg.Error as error:
                if monotonic() >= until:
                    raise StoreUnavailable(
                        f"{self._name} is not there: {_one_line(error)}"
                    ) from error
            sleep(POLL_PAUSE_SECONDS)

    def _wait_for_recovery_lock(self, connection: PostgresConnection) -> None:
        """Wait until no other server comes back."""
        until = monotonic() + RECOVERY_WAIT_SECONDS
        while True:
            connection.set_deadline(self._deadline_seconds)
            try:
                connection.execute(f"SELECT pg_advisory_lock({RECOVERY_LOCK})")
            except psycopg.errors.LockNotAvailable as error:
                if monotonic() >= until:
                    raise StoreUnavailable(
                        f"another server on {self._name} has not finished coming back; "
                        "look at that one, then start again"
                    ) from error
            except psycopg.Error as error:
                raise StoreUnavailable(
                    f"{self._name} does not answer: {_one_line(error)}"
                ) from error
            else:
                return

    def _has_no_active_server(self, connection: PostgresConnection) -> bool:
        """Tell whether nobody holds the lock, nor held it so lately that he may take it again."""
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
            raise StoreUnavailable(f"{self._name} does not answer: {_one_line(error)}") from error

    def _renew_lease(self, connection: PostgresConnection) -> None:
        """Note that this server plays; where that cannot be written, its lock must do."""
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
        if self._closed:  # perhaps only since: whoever closed did not see this one
            self._close_idle()

    def _close_idle(self) -> None:
        with suppress(IndexError):  # several may be at it together
            while True:
                self._idle.pop().close()

    def _discard_writer(self, connection: PostgresConnection) -> None:
        """Give up the connection that writes: it does not know any more what is prepared on it."""
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK")  # closing alone would let go of the locks a little later
        connection.close()
        self._writer = None

    def _prepare(self, connection: PostgresConnection) -> None:
        run = _statement_runner(connection)
        run("BEGIN", ())
        run(f"SELECT pg_advisory_xact_lock({SCHEMA_LOCK})", ())
        named = run("SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()", ())
        prepare_schema(
            lambda sql: run(sql, ()),
            [name for (name,) in named],
            dialect="postgresql",
            database=self._name,
        )
        run("COMMIT", ())


_LOCK_SHARED: Final = "SELECT pg_advisory_lock_shared({})"


_RENEW_LEASE: Final = (
    f"INSERT INTO leases (name, holder, until) VALUES (%s, %s, {PostgresStore.CLOCK_SQL} + %s)"
    " ON CONFLICT (name) DO UPDATE SET until = excluded.until"
)
# a server that was away with the database has its time from when that is back
_SELECT_RECENT_LEASES: Final = (
    "SELECT name FROM leases WHERE name LIKE 'playing/%%' AND greatest("
    f"until, extract(epoch FROM pg_postmaster_start_time()) + %s) > {PostgresStore.CLOCK_SQL}"
)


def _can_lock(connection: PostgresConnection, lock: str) -> bool:
    """Tell whether a lock could be taken from which all others are shut out."""
    ((taken,),) = connection.execute(f"SELECT pg_try_advisory_lock({lock})").fetchall()
    if taken:
        connection.execute(f"SELECT pg_advisory_unlock({lock})")
    return bool(taken)


def _connect_with_locks(url: str, seconds: float, locks: Sequence[str]) -> PostgresConnection:
    connection = connect_postgres(url, seconds)
    try:
        for lock in locks:
            connection.execute(_LOCK_SHARED.format(lock))
    except BaseException:
        connection.close()
        raise
    return connection


def _read_suspension(run: StatementRunner) -> str:
    return next((cause for (cause,) in run(SELECT_SUSPENSION, ())), "")


def _statement_runner(connection: PostgresConnection) -> StatementRunner:
    def run(sql: str, params: Sequence[Any]) -> list[StoredRow]:
        cursor = connection.execute(_with_psycopg_placeholders(sql), params, binary=True)
        return cursor.fetchall() if cursor.description else []

    return run


@cache
def _with_psycopg_placeholders(sql: str) -> str:
    return sql.replace("?", "%s")


def _describe_url(url: str) -> str:
    """Name a database in words that hold no password."""
    given = conninfo_to_dict(url)
    return (
        f"database {given.get('dbname') or 'of PostgreSQL'} on {given.get('host') or 'this host'}"
    )


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
