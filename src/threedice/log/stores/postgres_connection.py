"""PostgreSQL connections with deadlines, classification of database errors, and bounded retries.

Server-side timeouts end a statement first. The deadline on the client's side also holds when the
server, or the backend process of a connection, has stopped completely.
"""

from __future__ import annotations

from enum import Enum, auto
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from threedice.errors import StoreUnusable
from threedice.log.store import StoredRow

if TYPE_CHECKING:
    from collections.abc import Generator

    from psycopg.abc import PQGen


WaitResult = TypeVar("WaitResult")


class StoreDeadlineExceeded(psycopg.OperationalError):
    """The server has not responded before the deadline."""


class PostgresConnection(psycopg.Connection[StoredRow]):
    """A connection that is closed when its deadline passes."""

    deadline: float = 0.0
    is_committing: bool = False
    """Whether a COMMIT has been sent: if the connection is lost now, its outcome is unknown."""

    def set_deadline(self, seconds: float) -> None:
        """Set the deadline for all statements that follow, together."""
        self.deadline, self.is_committing = monotonic() + seconds, False

    def wait(self, gen: PQGen[WaitResult], *args: Any, **kwargs: Any) -> WaitResult:
        """Wait for the server as psycopg does, but not beyond the deadline."""
        try:
            return super().wait(_wait_until(self.deadline, gen), *args, **kwargs)
        except StoreDeadlineExceeded:
            self.pgconn.finish()
            raise


def _wait_until(deadline: float, gen: PQGen[WaitResult]) -> Generator[Any, Any, WaitResult]:
    try:
        event = next(gen)
        while True:
            ready = yield event
            event = gen.send(ready)
            if monotonic() >= deadline:
                gen.close()
                raise StoreDeadlineExceeded("the database does not respond in time")
    except StopIteration as stop:
        result: WaitResult = stop.value
        return result


def connect_postgres(url: str, seconds: float) -> PostgresConnection:
    """Connect with all timeouts and durability settings, and check that the server has them."""
    params = conninfo_to_dict(url)
    settings = _SESSION_SETTINGS | _server_timeouts(seconds)
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    params["options"] = f"{params.get('options') or ''} {options}".strip()
    timeouts = {"connect_timeout": max(2, ceil(seconds)), "tcp_user_timeout": int(seconds * 1000)}
    defaults = {"keepalives": 1, "keepalives_idle": 5, "keepalives_interval": 2} | timeouts
    connection = PostgresConnection.connect(
        make_conninfo("", **(defaults | params)), autocommit=True
    )
    try:
        connection.set_deadline(seconds)
        _require_durable_settings(connection)
    except BaseException:
        connection.close()
        raise
    return connection


# Only index scans: statements must find their few rows quickly even before the first ANALYZE.
_SESSION_SETTINGS: Final = {
    "synchronous_commit": "on",
    "default_transaction_isolation": r"read\ committed",
    "client_encoding": "UTF8",
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


def _server_timeouts(seconds: float) -> dict[str, str]:
    """Return settings that make the server give up shortly before the client's deadline.

    The timeout of an abandoned transaction is the deadline itself.
    """
    milliseconds = max(1, int(seconds * 1000))
    return {
        "lock_timeout": f"{max(1, milliseconds * 6 // 10)}",
        "statement_timeout": f"{max(1, milliseconds * 8 // 10)}",
        "idle_in_transaction_session_timeout": f"{milliseconds}",
    }


def _require_durable_settings(connection: PostgresConnection) -> None:
    columns = ", ".join(f"current_setting('{name}')" for name in _REQUIRED_SETTINGS)
    values = connection.execute(f"SELECT {columns}").fetchone() or ()
    for (name, required), value in zip(_REQUIRED_SETTINGS.items(), values, strict=True):
        if value != required:
            raise StoreUnusable(
                f"PostgreSQL has {name} = {value}, with which committed data is not safe; "
                f"set {name} = {required} in its configuration"
            )


# --- errors and retries -------------------------------------------------------------------------

MAX_ATTEMPTS: Final = 5


class DatabaseErrorKind(Enum):
    """How the caller must treat a PostgreSQL error."""

    RETRYABLE = auto()  # a concurrent transaction interfered; an immediate retry may succeed
    CONNECTION_LOST = auto()  # a retry on a new connection may succeed
    TIMED_OUT = auto()  # the server timed out; nothing was written
    INVALID_INPUT = auto()  # the values cannot be stored
    FAILED = auto()  # writing failed, and a person must look at it


def classify_error(error: BaseException) -> DatabaseErrorKind:
    """Classify an error by its SQLSTATE."""
    if isinstance(error, UnicodeEncodeError | OverflowError | psycopg.DataError):
        return DatabaseErrorKind.INVALID_INPUT
    if not isinstance(error, psycopg.Error):
        return DatabaseErrorKind.FAILED
    state = error.sqlstate or ""
    for prefixes, kind in _SQLSTATE_KINDS.items():
        if state.startswith(prefixes):
            return kind
    lost = not state and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return DatabaseErrorKind.CONNECTION_LOST if lost else DatabaseErrorKind.FAILED


_SQLSTATE_KINDS: Final = {
    ("40P01", "40001", "23505"): DatabaseErrorKind.RETRYABLE,
    ("08", "57P", "25P03", "25P04"): DatabaseErrorKind.CONNECTION_LOST,
    ("57014", "55P03", "53200", "53300", "25006"): DatabaseErrorKind.TIMED_OUT,
    ("22",): DatabaseErrorKind.INVALID_INPUT,
}


class RetryBudget:
    """How many attempts an operation has, and until when."""

    def __init__(self, seconds: float) -> None:
        self._left, self._until = MAX_ATTEMPTS, monotonic() + seconds

    def take_attempt(self) -> bool:
        """Count an attempt, and return whether one more may be made."""
        self._left -= 1
        return self._left > 0 and monotonic() < self._until

    def exhaust(self) -> None:
        """Allow no further attempt."""
        self._left = 0
