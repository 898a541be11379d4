"""The log in PostgreSQL, which several servers can share.

An append first locks the rows of its streams in name order, so that the heads it has read still
hold when it writes. A lost connection is replaced, and the batch is written again unless it turns
out to have been committed.
"""

from __future__ import annotations

from contextlib import closing, contextmanager, suppress
from secrets import token_hex
from threading import RLock
from time import monotonic, sleep
from typing import TYPE_CHECKING, ClassVar, Final

import psycopg

from threedice.db.postgres import (
    ACTIVE_LOCK,
    FORMER_IDENTITY_LOCKS,
    POLL_PAUSE_SECONDS,
    RECOVERY_LOCK,
    SERVING_LOCK,
    PostgresDatabase,
    RetryBudget,
    can_lock,
    one_line,
    sql_runner,
)
from threedice.db.schema import SELECT_VERSION, describe_newer, load_migrations
from threedice.errors import StoreUnavailable
from threedice.log.store import SELECT_SUSPENSION, Store
from threedice.log.stores.postgres_streams import append_batch
from threedice.log.stores.rows import open_postgres_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from threedice.db import Result
    from threedice.db.postgres import PostgresConnection
    from threedice.db.schema import TablePolicy
    from threedice.log.records import Proposal, ProposalOutcome
    from threedice.log.stores.sql_rows import LogRows

RECOVERY_WAIT_SECONDS = 60.0
"""How long a server waits for the recovery of another server before it gives up."""

ACTIVE_LEASE_SECONDS = 5.0
"""How long a server counts as active after losing its connection, and with it its advisory lock.

Twice the time that it takes to poll again and reconnect.
"""


class PostgresStore(Store):
    """A store in a PostgreSQL database, which responds in time or counts as unavailable."""

    CLOCK_SQL: ClassVar[str] = "extract(epoch FROM clock_timestamp())::double precision"

    def __init__(
        self,
        url: str,
        *,
        deadline_seconds: float = 5.0,
        serving: bool = False,
        tables: TablePolicy | None = None,
    ) -> None:
        self.url, self._serving = url, serving
        self._database = PostgresDatabase(url, deadline_seconds=deadline_seconds)
        super().__init__(self._database)
        self._write_lock = RLock()
        self._writer: PostgresConnection | None = None
        self._locks = [SERVING_LOCK, *FORMER_IDENTITY_LOCKS] if serving else []
        self._lease_name = f"playing/{token_hex(8)}"
        try:
            self._database.prepare_tables(
                tables or ("migrate" if serving else "create"), needed="streams"
            )
            if serving:
                self._run_on_writer(lambda _: None)  # connects, which takes the serving lock
        except BaseException:
            self.close()
            raise

    def _write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        """Write a batch of valid proposals."""
        sent: set[int] = set()
        return self._run_on_writer(
            lambda connection: append_batch(connection, proposals, sent, self._head_rows)
        )

    def suspension_reason(self) -> str:
        """Return why writing is suspended, or an empty string.

        It is while the database is newer than this program, after a newer server has migrated it.
        A server polls this on the connection that holds its locks and writes its batches, and so
        replaces that connection when it is lost and no batch is written.
        """
        if not self._serving or self._database.failure:
            return super().suspension_reason()

        def read(connection: PostgresConnection) -> str:
            run = sql_runner(connection)
            ((stored,),) = run(SELECT_VERSION)
            reasons = [reason for (reason,) in run(SELECT_SUSPENSION)]
            if stored > (known := max(load_migrations("postgresql"))):
                reasons.append(describe_newer(self._database.name, stored, known))
            self._renew_lease(connection)
            return "; ".join(reasons)

        return self._run_on_writer(read)

    def open_rows(self) -> AbstractContextManager[LogRows]:
        """Open a snapshot of the rows in the database."""
        return open_postgres_rows(self.url)

    def is_sole_server(self) -> bool:
        """Return whether no other server is connected to this database."""
        return self._run_on_writer(lambda writer: can_lock(sql_runner(writer), SERVING_LOCK))

    @contextmanager
    def recovery_lock(self) -> Iterator[bool]:
        """Hold the recovery lock, and yield whether no server is active; afterwards this one is."""
        if not self._serving:
            yield False
            return
        # a separate connection: if this process dies, so does the lock
        with closing(self._database.connect()) as connection:
            try:
                self._wait_for_recovery_lock(connection)
                is_first = self._has_no_active_server(connection)
            except psycopg.Error as error:
                raise StoreUnavailable(
                    f"{self._database.name} does not respond: {one_line(error)}"
                ) from error
            yield is_first
            lock = f"SELECT pg_advisory_lock_shared({ACTIVE_LOCK})"
            self._run_on_writer(lambda writer: writer.execute(lock))
            self._locks = [SERVING_LOCK, *FORMER_IDENTITY_LOCKS, ACTIVE_LOCK]
            self._run_on_writer(self._renew_lease)

    def close(self) -> None:
        """Release all locks and close all connections."""
        with self._write_lock:
            if self._writer is not None:
                with suppress(psycopg.Error):  # the server would notice the closed connection later
                    self._writer.set_deadline(self._database.deadline_seconds)
                    self._writer.execute("SELECT pg_advisory_unlock_all()")
                    if ACTIVE_LOCK in self._locks:
                        self._writer.execute(
                            "DELETE FROM leases WHERE name = %s", (self._lease_name,)
                        )
                self._writer.close()
            self._database.close()

    # --- running statements

    def _run_on_writer(self, work: Callable[[PostgresConnection], Result]) -> Result:
        """Run some work on the writing connection, with retries on a new one."""
        database = self._database
        with self._write_lock:
            database.require_usable(writing=True)
            budget = RetryBudget(2 * database.deadline_seconds)
            while True:
                connection = self._writer = self._writer or database.connect(self._locks)
                connection.set_deadline(database.deadline_seconds)
                try:
                    return work(connection)
                except BaseException as error:
                    self._discard_writer(connection)
                    database.raise_unless_retryable(error, budget)

    def _discard_writer(self, connection: PostgresConnection) -> None:
        """Close the writing connection: after an error its prepared statements are uncertain."""
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK")  # releases the locks sooner than closing alone
        connection.close()
        self._writer = None

    def _wait_for_recovery_lock(self, connection: PostgresConnection) -> None:
        """Acquire the recovery lock, waiting for other servers to finish theirs."""
        until = monotonic() + RECOVERY_WAIT_SECONDS
        while True:
            connection.set_deadline(self._database.deadline_seconds)
            try:
                connection.execute(f"SELECT pg_advisory_lock({RECOVERY_LOCK})")
            except psycopg.errors.LockNotAvailable as error:
                if monotonic() >= until:
                    raise StoreUnavailable(
                        f"another server on {self._database.name} has not finished its recovery; "
                        "look at that server, then start this one again"
                    ) from error
            else:
                return

    def _has_no_active_server(self, connection: PostgresConnection) -> bool:
        """Return whether no server holds the active lock, or may still reconnect to take it."""
        while True:
            connection.set_deadline(self._database.deadline_seconds)
            if not can_lock(sql_runner(connection), ACTIVE_LOCK):
                return False
            recent = connection.execute(_SELECT_RECENT_LEASES, (ACTIVE_LEASE_SECONDS,))
            if not recent.fetchall():
                connection.execute("DELETE FROM leases WHERE name LIKE 'playing/%'")
                return True
            sleep(POLL_PAUSE_SECONDS)

    def _renew_lease(self, connection: PostgresConnection) -> None:
        """Record that this server is active; if that fails, its advisory lock still shows it."""
        if ACTIVE_LOCK in self._locks:
            with suppress(psycopg.Error):
                connection.execute(
                    _RENEW_LEASE, (self._lease_name, self._lease_name, ACTIVE_LEASE_SECONDS)
                )


_RENEW_LEASE: Final = (
    f"INSERT INTO leases (name, holder, until) VALUES (%s, %s, {PostgresStore.CLOCK_SQL} + %s)"
    " ON CONFLICT (name) DO UPDATE SET until = excluded.until"
)
# After a restart of the database, a server has the full time to reconnect.
_SELECT_RECENT_LEASES: Final = (
    "SELECT name FROM leases WHERE name LIKE 'playing/%%' AND greatest("
    f"until, extract(epoch FROM pg_postmaster_start_time()) + %s) > {PostgresStore.CLOCK_SQL}"
)
