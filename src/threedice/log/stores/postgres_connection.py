"""PostgreSQL connections with deadlines, classification of database errors, and bounded retries.

Connections to PostgreSQL that never wait longer than they may.

The server is asked to give up by itself first; a deadline on this side holds even when the server,
or one process of it, has stopped altogether.

What the errors of PostgreSQL mean for whoever meets them, and how often to try again.
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
    """The server has not answered in time."""


class PostgresConnection(psycopg.Connection[StoredRow]):
    """A connection that is given up when its deadline passes."""

    deadline: float = 0.0
    is_committing: bool = False
    """Whether a commit is under way: if the connection is lost, who knows what became of it."""

    def set_deadline(self, seconds: float) -> None:
        """Let what follows take so long at most, all together."""
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
        wanted = next(gen)
        while True:
            ready = yield wanted
            wanted = gen.send(ready)
            if monotonic() >= deadline:
                gen.close()
                raise StoreDeadlineExceeded("the database does not answer in time")
    except StopIteration as done:
        result: WaitResult = done.value
        return result


def connect_postgres(url: str, seconds: float) -> PostgresConnection:
    """Connect, with every limit and every promise of durability set, and see that they are."""
    given = conninfo_to_dict(url)
    settings = _SESSION_SETTINGS | _server_timeouts(seconds)
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    given["options"] = f"{given.get('options') or ''} {options}".strip()
    patience = {"connect_timeout": max(2, ceil(seconds)), "tcp_user_timeout": int(seconds * 1000)}
    defaults = {"keepalives": 1, "keepalives_idle": 5, "keepalives_interval": 2} | patience
    connection = PostgresConnection.connect(
        make_conninfo("", **(defaults | given)), autocommit=True
    )
    try:
        connection.set_deadline(seconds)
        _require_durable_settings(connection)
    except BaseException:
        connection.close()
        raise
    return connection


# Statements must find their few rows by index even before the tables have been analysed.
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
    """The server gives up a little before we do; one that we have left waiting, a little after."""
    milliseconds = max(1, int(seconds * 1000))
    return {
        "lock_timeout": f"{max(1, milliseconds * 6 // 10)}",
        "statement_timeout": f"{max(1, milliseconds * 8 // 10)}",
        "idle_in_transaction_session_timeout": f"{milliseconds}",
    }


def _require_durable_settings(connection: PostgresConnection) -> None:
    asked = ", ".join(f"current_setting('{name}')" for name in _REQUIRED_SETTINGS)
    found = connection.execute(f"SELECT {asked}").fetchone() or ()
    for (name, wanted), value in zip(_REQUIRED_SETTINGS.items(), found, strict=True):
        if value != wanted:
            raise StoreUnusable(
                f"PostgreSQL has {name} = {value}; what it says is written would not be safe: "
                f"set {name} = {wanted} in its configuration"
            )


MAX_ATTEMPTS: Final = 5


class DatabaseErrorKind(Enum):
    """What an error of PostgreSQL means for whoever met it."""

    RETRYABLE = auto()  # others were in the way; the same again may succeed at once
    CONNECTION_LOST = auto()  # the connection is gone; a new one may serve
    TIMED_OUT = auto()  # the server gave up in time; nothing happened
    INVALID_INPUT = auto()  # no database could hold what was given
    FAILED = auto()  # it could not be written, and a person must look


def classify_error(error: BaseException) -> DatabaseErrorKind:
    """Tell what an error means, by its SQLSTATE."""
    if isinstance(error, UnicodeEncodeError | OverflowError | psycopg.DataError):
        return DatabaseErrorKind.INVALID_INPUT
    if not isinstance(error, psycopg.Error):
        return DatabaseErrorKind.FAILED
    state = error.sqlstate or ""
    for prefixes, meaning in _SQLSTATE_KINDS.items():
        if state.startswith(prefixes):
            return meaning
    lost = not state and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return DatabaseErrorKind.CONNECTION_LOST if lost else DatabaseErrorKind.FAILED


_SQLSTATE_KINDS: Final = {
    ("40P01", "40001", "23505"): DatabaseErrorKind.RETRYABLE,
    ("08", "57P", "25P03", "25P04"): DatabaseErrorKind.CONNECTION_LOST,
    ("57014", "55P03", "53200", "53300", "25006"): DatabaseErrorKind.TIMED_OUT,
    ("22",): DatabaseErrorKind.INVALID_INPUT,
}


class RetryBudget:
    """How often the same is tried, and until when."""

    def __init__(self, seconds: float) -> None:
        self._left, self._until = MAX_ATTEMPTS, monotonic() + seconds

    def take_attempt(self) -> bool:
        """Tell whether to try once more, and count it."""
        self._left -= 1
        return self._left > 0 and monotonic() < self._until

    def exhaust(self) -> None:
        """Try no more."""
        self._left = 0
