"""Connections to PostgreSQL that never wait longer than they may.

The server is asked to give up by itself first; a deadline on this side holds even when the server,
or one process of it, has stopped altogether.
"""

from __future__ import annotations

from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from threedice.errors import StoreUnfit

if TYPE_CHECKING:
    from collections.abc import Generator

    from psycopg.abc import PQGen

Row = tuple[Any, ...]
Result = TypeVar("Result")


class DeadlinePassed(psycopg.OperationalError):
    """The server has not answered in time."""


class Connection(psycopg.Connection[Row]):
    """A connection that is given up when its deadline passes."""

    deadline: float = 0.0
    committing: bool = False
    """Whether a commit is under way: if the connection is lost, who knows what became of it."""

    def allow(self, seconds: float) -> None:
        """Let what follows take so long at most, all together."""
        self.deadline, self.committing = monotonic() + seconds, False

    def wait(self, gen: PQGen[Result], *args: Any, **kwargs: Any) -> Result:
        """Wait for the server as psycopg does, but not beyond the deadline."""
        try:
            return super().wait(_until(self.deadline, gen), *args, **kwargs)
        except DeadlinePassed:
            self.pgconn.finish()
            raise


def _until(deadline: float, gen: PQGen[Result]) -> Generator[Any, Any, Result]:
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


def connect(url: str, seconds: float) -> Connection:
    """Connect, with every limit and every promise of durability set, and see that they are."""
    given = conninfo_to_dict(url)
    settings = _SETTINGS | _limits(seconds)
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    given["options"] = f"{given.get('options') or ''} {options}".strip()
    patience = {"connect_timeout": max(2, ceil(seconds)), "tcp_user_timeout": int(seconds * 1000)}
    defaults = {"keepalives": 1, "keepalives_idle": 5, "keepalives_interval": 2} | patience
    connection = Connection.connect(make_conninfo("", **(defaults | given)), autocommit=True)
    try:
        connection.allow(seconds)
        _check(connection)
    except BaseException:
        connection.close()
        raise
    return connection


# Statements must find their few rows by index even before the tables have been analysed.
_SETTINGS: Final = {
    "synchronous_commit": "on",
    "default_transaction_isolation": r"read\ committed",
    "client_encoding": "UTF8",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
}
_PROMISES: Final = {
    "synchronous_commit": "on",
    "fsync": "on",
    "full_page_writes": "on",
    "server_encoding": "UTF8",
}


def _limits(seconds: float) -> dict[str, str]:
    """The server gives up a little before we do; one that we have left waiting, a little after."""
    milliseconds = max(1, int(seconds * 1000))
    return {
        "lock_timeout": f"{max(1, milliseconds * 6 // 10)}",
        "statement_timeout": f"{max(1, milliseconds * 8 // 10)}",
        "idle_in_transaction_session_timeout": f"{milliseconds}",
    }


def _check(connection: Connection) -> None:
    asked = ", ".join(f"current_setting('{name}')" for name in _PROMISES)
    found = connection.execute(f"SELECT {asked}").fetchone() or ()
    for (name, wanted), value in zip(_PROMISES.items(), found, strict=True):
        if value != wanted:
            raise StoreUnfit(
                f"PostgreSQL has {name} = {value}; what it says is written would not be safe: "
                f"set {name} = {wanted} in its configuration"
            )
