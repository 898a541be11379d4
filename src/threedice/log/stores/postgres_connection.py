"""PostgreSQL connections of the log, classification of their errors, and bounded retries."""

from __future__ import annotations

from enum import Enum, auto
from time import monotonic
from typing import TYPE_CHECKING, Final

import psycopg

from threedice.db.postgres import connect_with_deadline
from threedice.errors import StoreUnusable

if TYPE_CHECKING:
    from threedice.db.postgres import PostgresConnection


def connect_postgres(url: str, seconds: float) -> PostgresConnection:
    """Connect with all timeouts and durability settings, and check that the server has them."""
    keepalives = {"keepalives": 1, "keepalives_idle": 5, "keepalives_interval": 2}
    connection = connect_with_deadline(url, seconds, _SESSION_SETTINGS, defaults=keepalives)
    try:
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
