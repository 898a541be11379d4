"""A PostgreSQL database: pooled connections with deadlines, retries, and the kinds of errors.

Server-side timeouts end a statement first. The deadline on the client's side also holds when the
server, or the backend process of a connection, has stopped completely. Connections that hold locks
or listen are not pooled: `PostgresDatabase.connect` makes them.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import cache
from math import ceil
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolClosed

from threedice.db import Result, SqlRow
from threedice.db.schema import (
    SELECT_TABLE_NAMES,
    load_migrations,
    prepare_tables,
    read_version,
)
from threedice.errors import (
    InvalidInput,
    StoreFailed,
    StoreUnavailable,
    StoreUnusable,
    StreamConflict,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from psycopg.abc import PQGen

    from threedice.db import SqlRunner, TransactionBody
    from threedice.db.schema import TablePolicy

SERVING_LOCK, SCHEMA_LOCK, RECOVERY_LOCK, ACTIVE_LOCK = (
    "31, 6661",
    "31, 6662",
    "31, 6663",
    "31, 6664",
)
"""Advisory locks, in this order: shared by all serving servers; held by the server that creates or
migrates the tables; held by the server that recovers; shared by all servers that have recovered and
are active. A server that has been suspended since its start serves, but is not active."""

*FORMER_IDENTITY_LOCKS, IDENTITY_LOCK = (
    f"31, {6663 + version}" for version in range(2, max(load_migrations("postgresql")) + 1)
)
"""The advisory lock that a write transaction of the identity store holds is another one in each
version of the tables, from version 2 on. All serving servers share those of earlier versions, whose
servers would otherwise change accounts without recording it as this version does."""

MAX_POOLED_CONNECTIONS: Final = 8
MAX_ATTEMPTS: Final = 5
MIGRATION_SECONDS: Final = 3600.0
MIGRATION_LOCK_MILLISECONDS: Final = 60_000
"""Longest wait of a migration for reads that began before it, such as a backup."""

POLL_PAUSE_SECONDS: Final = 0.05

MIGRATION_NOTICE: Final = (
    "a newer program is migrating the tables, and this program knows versions up to the present one"
    " only; stop this server and start the newer program"
)
"""Why older servers are suspended during a migration.

By "this program knows version", programs tell that a newer one is the reason (`log.halt_causes`).
"""

SUSPENSION_SECONDS = 6.0
"""Wait of a migration for older servers to suspend: they poll every two seconds."""

# Its warnings repeat the errors that callers get, once for each connection.
logging.getLogger("psycopg.pool").setLevel(logging.ERROR)


class PostgresDatabase:
    """Pooled connections to a PostgreSQL database, which responds in time or is unavailable.

    With `write_lock`, every transaction holds that advisory lock until it commits, so that
    transactions run one at a time, as in SQLite. After a failed write, nothing more is written:
    `failure` says why.
    """

    def __init__(self, url: str, *, deadline_seconds: float = 5.0, write_lock: str = "") -> None:
        self.url, self.deadline_seconds = url, deadline_seconds
        self.name = describe_url(url)
        self.failure = ""
        self._write_lock, self._is_reachable = write_lock, False
        self._pool = ConnectionPool(
            _connection_string(url, deadline_seconds),
            connection_class=PostgresConnection,
            kwargs={"autocommit": True},
            configure=self._configure,
            min_size=0,
            max_size=MAX_POOLED_CONNECTIONS,
            timeout=deadline_seconds,
            reconnect_timeout=deadline_seconds,
            num_workers=1,
            open=True,
        )

    def prepare_tables(self, policy: TablePolicy, needed: str) -> None:
        """Check the tables, and create or migrate them if the policy allows it.

        Servers of the older version are suspended first, as their writes would not suit the new
        tables. They notice it as they notice a halt, and stay suspended because of the new version.
        """
        connection = self.connect()
        run = sql_runner(connection)
        try:
            if policy == "migrate" and self._suspend_older_servers(run):
                sleep(SUSPENSION_SECONDS)
                connection.set_deadline(self.deadline_seconds)
            run("BEGIN")
            run(f"SELECT pg_advisory_xact_lock({SCHEMA_LOCK})")
            if policy == "migrate":  # which may rewrite a large table
                run("SET LOCAL statement_timeout = 0")
                run(f"SET LOCAL lock_timeout = {MIGRATION_LOCK_MILLISECONDS}")
                connection.set_deadline(MIGRATION_SECONDS)
            prepare_tables(
                run, dialect="postgresql", database=self.name, policy=policy, needed=needed
            )
            if policy == "migrate":
                run("DELETE FROM meta WHERE name = 'suspended' AND value = ?", (MIGRATION_NOTICE,))
            run("COMMIT")
        except psycopg.Error as error:
            self.raise_unless_retryable(error, RetryBudget(0.0))
        finally:
            connection.close()

    def _suspend_older_servers(self, run: SqlRunner) -> bool:
        """Suspend the servers of an older version; return whether there are any.

        A halt that is recorded already is left as it is: it stays until a person releases it.
        """
        tables = {name for (name,) in run(SELECT_TABLE_NAMES["postgresql"])}
        stored = read_version(run, tables, self.name)
        if not 0 < stored < max(load_migrations("postgresql")) or can_lock(run, SERVING_LOCK):
            return False
        run(
            "INSERT INTO meta (name, value) VALUES ('suspended', ?) ON CONFLICT DO NOTHING",
            (MIGRATION_NOTICE,),
        )
        return True

    def query(self, sql: str, params: Sequence[Any] = ()) -> list[SqlRow]:
        """Run a read-only statement, concurrently with writes, and return its rows."""
        return self._run_pooled(
            lambda connection: sql_runner(connection)(sql, params), writing=False
        )

    def transact(
        self,
        work: TransactionBody[Result],
        *,
        durable: bool = True,
        even_if_failed: bool = False,
        is_long: bool = False,
    ) -> Result:
        """Run some work in one transaction (see `Database.transact`)."""

        def transaction(connection: PostgresConnection) -> Result:
            run = sql_runner(connection)
            run("BEGIN")
            if is_long:
                run("SET LOCAL statement_timeout = 0")
                connection.set_deadline(MIGRATION_SECONDS)
            if self._write_lock:
                run(f"SELECT pg_advisory_xact_lock({self._write_lock})")
            if not durable:
                run("SET LOCAL synchronous_commit = off")
            result = work(run)
            connection.is_committing = True
            run("COMMIT")
            return result

        return self._run_pooled(transaction, writing=not even_if_failed)

    def check_storage(self) -> None:
        """Do nothing: the server looks after its own files."""

    def erase_traces(self) -> None:
        """Do nothing: PostgreSQL keeps old rows and its log until it needs the space.

        See docs/security.md for what an operator can do.
        """

    def connect(self, locks: Sequence[str] = ()) -> PostgresConnection:
        """Connect outside the pool and take advisory locks, shared with others.

        After the first success, retry for a while when the database is down.
        """
        until = monotonic() + (self.deadline_seconds if self._is_reachable else 0.0)
        while True:
            try:
                connection = connect_postgres(self.url, self.deadline_seconds, locks)
            except psycopg.Error as error:
                if monotonic() >= until:
                    raise StoreUnavailable(
                        f"{self.name} cannot be reached: {one_line(error)}"
                    ) from error
            else:
                self._is_reachable = True
                return connection
            sleep(POLL_PAUSE_SECONDS)

    def close(self) -> None:
        """Close all pooled connections."""
        self._pool.close()

    def require_usable(self, *, writing: bool) -> None:
        """Refuse to use a closed database, or to write after a failed write."""
        if self._pool.closed:
            raise StoreUnavailable(f"{self.name} has been closed")
        if self.failure and writing:
            raise StoreFailed(self.failure)

    def raise_unless_retryable(self, error: BaseException, budget: RetryBudget) -> None:
        """Return if the work should be retried; otherwise raise the matching store error."""
        if not isinstance(error, psycopg.Error | UnicodeEncodeError | OverflowError):
            raise error  # raised by the work itself
        if not isinstance(error, psycopg.Error) or isinstance(error, psycopg.DataError):
            raise InvalidInput(f"{self.name} cannot hold this: {one_line(error)}") from error
        is_lost = _is_connection_lost(error)
        is_conflict = _sqlstate(error).startswith(CONFLICT_STATES)
        if (is_lost or is_conflict) and budget.take_attempt():
            return
        if is_lost or _sqlstate(error).startswith(TIMEOUT_STATES):
            raise StoreUnavailable(
                f"{self.name} does not respond in time: {one_line(error)}"
            ) from error
        if is_conflict and not isinstance(error, psycopg.IntegrityError):
            raise StreamConflict(
                f"{self.name}: concurrent transactions kept interfering; try again"
            ) from error
        reason = f"{self.name} could not be written ({one_line(error)}); check it, then restart"
        if not isinstance(error, psycopg.IntegrityError | psycopg.errors.RaiseException):
            self.failure = self.failure or reason
        raise StoreFailed(self.failure or reason) from error

    def _run_pooled(self, work: Callable[[PostgresConnection], Result], *, writing: bool) -> Result:
        """Run some work on a pooled connection, with retries."""
        self.require_usable(writing=writing)
        budget = RetryBudget(2 * self.deadline_seconds)
        while True:
            connection = self._take_connection()
            try:
                connection.set_deadline(self.deadline_seconds)
                return work(connection)
            except BaseException as error:
                with suppress(psycopg.Error):
                    connection.execute("ROLLBACK")  # releases the locks sooner than closing
                if isinstance(error, psycopg.Error):
                    connection.close()  # its prepared statements are uncertain
                if connection.is_committing:  # perhaps committed: the caller must find out
                    budget = RetryBudget(0.0)
                self.raise_unless_retryable(error, budget)
                if _is_connection_lost(error):
                    self._pool.drain()  # what ended this connection has probably ended the others
            finally:
                self._pool.putconn(connection)

    def _take_connection(self) -> PostgresConnection:
        try:
            return self._pool.getconn()
        except PoolClosed as error:
            raise StoreUnavailable(f"{self.name} has been closed") from error
        except psycopg.OperationalError as error:
            raise StoreUnavailable(f"{self.name} cannot be reached: {one_line(error)}") from error

    def _configure(self, connection: PostgresConnection) -> None:
        connection.set_deadline(self.deadline_seconds)
        _require_durable_settings(connection)


# --- connections --------------------------------------------------------------------------------


class DeadlinePassed(psycopg.OperationalError):
    """The server has not responded before the deadline."""


class PostgresConnection(psycopg.Connection[SqlRow]):
    """A connection that is closed when its deadline passes."""

    deadline: float = 0.0
    is_committing: bool = False
    """True if a COMMIT has been sent: if the connection is lost now, its outcome is unknown."""

    def set_deadline(self, seconds: float) -> None:
        """Set the deadline for all statements that follow, together."""
        self.deadline, self.is_committing = monotonic() + seconds, False

    def wait(self, gen: PQGen[Result], *args: Any, **kwargs: Any) -> Result:
        """Wait for the server as psycopg does, but not beyond the deadline."""
        try:
            return super().wait(_wait_until(self.deadline, gen), *args, **kwargs)
        except DeadlinePassed:
            self.pgconn.finish()
            raise


def _wait_until(deadline: float, gen: PQGen[Result]) -> Generator[Any, Any, Result]:
    try:
        event = next(gen)
        while True:
            ready = yield event
            event = gen.send(ready)
            if monotonic() >= deadline:
                gen.close()
                raise DeadlinePassed("the database does not respond in time")
    except StopIteration as stop:
        result: Result = stop.value
        return result


def connect_postgres(url: str, seconds: float, locks: Sequence[str] = ()) -> PostgresConnection:
    """Connect with all timeouts and durability settings, and check that the server has them.

    The connection is in autocommit mode, has a first deadline, and takes the advisory locks, shared
    with others.
    """
    connection = PostgresConnection.connect(_connection_string(url, seconds), autocommit=True)
    connection.set_deadline(seconds)
    try:
        _require_durable_settings(connection)
        for lock in locks:
            connection.execute(f"SELECT pg_advisory_lock_shared({lock})")
    except BaseException:
        connection.close()
        raise
    return connection


SEARCH_PATH: Final = "public,pg_temp"
"""Schema of the tables, unless the URL names another.

It is fixed, so that a schema of the user's name or a setting of the role or the database cannot put
other tables in front of the house's. Temporary tables would come first if they were not named.
"""

# Only index scans: statements must find their few rows quickly even before the first ANALYZE.
_SESSION_SETTINGS: Final[dict[str, str | int]] = {
    "synchronous_commit": "on",
    "default_transaction_isolation": r"read\ committed",
    "client_encoding": "UTF8",
    "bytea_output": "hex",  # in definitions too
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
}

_REQUIRED_SETTINGS: Final = {
    "synchronous_commit": "on",
    "fsync": "on",
    "full_page_writes": "on",
    "server_encoding": "UTF8",
}


def _connection_string(url: str, seconds: float) -> str:
    """Return a URL's parameters with all settings and timeouts; the URL overrides keepalives."""
    params = conninfo_to_dict(url)
    milliseconds = max(1, int(seconds * 1000))
    server_timeouts = {  # shorter, so that the server gives up before the client's deadline
        "lock_timeout": max(1, milliseconds * 6 // 10),
        "statement_timeout": max(1, milliseconds * 8 // 10),
        "idle_in_transaction_session_timeout": milliseconds,
    }
    session = _SESSION_SETTINGS | server_timeouts
    own_options = str(params.get("options") or "")
    if "search_path" not in own_options:
        session["search_path"] = SEARCH_PATH
    options = " ".join(f"-c {name}={value}" for name, value in session.items())
    params["options"] = f"{own_options} {options}".strip()
    defaults = {
        "keepalives": 1,
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "connect_timeout": max(2, ceil(seconds)),
        "tcp_user_timeout": milliseconds,
    }
    return make_conninfo("", **{**defaults, **params})


def _require_durable_settings(connection: PostgresConnection) -> None:
    columns = ", ".join(f"current_setting('{name}')" for name in _REQUIRED_SETTINGS)
    values = connection.execute(f"SELECT {columns}").fetchone() or ()
    for (name, required), value in zip(_REQUIRED_SETTINGS.items(), values, strict=True):
        if value != required:
            raise StoreUnusable(
                f"PostgreSQL has {name} = {value}, with which committed data is not safe; "
                f"set {name} = {required} in its configuration"
            )


def sql_runner(connection: PostgresConnection) -> SqlRunner:
    """Return a function that runs statements on a connection."""

    def run(sql: str, params: Sequence[Any] = (), /) -> list[SqlRow]:
        cursor = connection.execute(_with_psycopg_placeholders(sql), params or None, binary=True)
        return cursor.fetchall() if cursor.description else []

    return run


@cache
def _with_psycopg_placeholders(sql: str) -> str:
    return sql.replace("?", "%s")


def can_lock(run: SqlRunner, lock: str) -> bool:
    """Return whether the exclusive lock can be taken: whether no other session holds it."""
    ((acquired,),) = run(f"SELECT pg_try_advisory_lock({lock})")
    if acquired:
        run(f"SELECT pg_advisory_unlock({lock})")
    return bool(acquired)


def describe_url(url: str) -> str:
    """Describe a database by its name and host, without the password."""
    try:
        params = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise InvalidInput(
            "this is not a PostgreSQL URL; write postgresql://USER@HOST:PORT/DATABASE"
        ) from None
    name, host = params.get("dbname") or "of PostgreSQL", params.get("host") or "this host"
    return f"database {name} on {host}"


def one_line(error: BaseException) -> str:
    """Return the text of an error on one line."""
    return " ".join(str(error).split())


# --- errors and retries -------------------------------------------------------------------------


CONFLICT_STATES: Final = ("40P01", "40001", "23505")
"""SQLSTATEs of interference by a concurrent transaction; an immediate retry may succeed."""

LOST_STATES: Final = ("08", "57P", "25P03", "25P04")
"""SQLSTATEs of a lost connection; a retry on a new one may succeed."""

TIMEOUT_STATES: Final = ("57014", "55P03", "53200", "53300", "25006")
"""SQLSTATEs of a server that gave up; nothing was written."""


def _sqlstate(error: BaseException) -> str:
    return getattr(error, "sqlstate", None) or ""


def _is_connection_lost(error: BaseException) -> bool:
    if state := _sqlstate(error):
        return state.startswith(LOST_STATES)
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


class RetryBudget:
    """How many attempts an operation has, and until when; none after the first in 0 seconds."""

    def __init__(self, seconds: float) -> None:
        self._left, self._until = MAX_ATTEMPTS, monotonic() + seconds

    def take_attempt(self) -> bool:
        """Count an attempt, and return whether one more may be made."""
        self._left -= 1
        return self._left > 0 and monotonic() < self._until
