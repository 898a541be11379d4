"""PostgreSQL connections with deadlines.

Server-side timeouts end a statement first. The deadline on the client's side also holds when the
server, or the backend process of a connection, has stopped completely.
"""

from __future__ import annotations

from functools import cache
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from threedice.db import Result, SqlRow
from threedice.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from psycopg.abc import PQGen

    from threedice.db import SqlRunner

SELECT_TABLE_NAMES: Final = (
    "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()"
)


class DeadlinePassed(psycopg.OperationalError):
    """The server has not responded before the deadline."""


class PostgresConnection(psycopg.Connection[SqlRow]):
    """A connection that is closed when its deadline passes."""

    deadline: float = 0.0
    is_committing: bool = False
    """Whether a COMMIT has been sent: if the connection is lost now, its outcome is unknown."""

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


def connect_with_deadline(
    url: str, seconds: float, settings: Mapping[str, str], defaults: Mapping[str, int]
) -> PostgresConnection:
    """Connect in autocommit mode with session settings, all timeouts and a first deadline.

    The URL overrides `defaults`, but not the settings.
    """
    params = conninfo_to_dict(url)
    milliseconds = max(1, int(seconds * 1000))
    session = {**settings, **_server_timeouts(milliseconds)}
    options = " ".join(f"-c {name}={value}" for name, value in session.items())
    params["options"] = f"{params.get('options') or ''} {options}".strip()
    timeouts = {"connect_timeout": max(2, ceil(seconds)), "tcp_user_timeout": milliseconds}
    connection = PostgresConnection.connect(
        make_conninfo("", **{**defaults, **timeouts, **params}), autocommit=True
    )
    connection.set_deadline(seconds)
    return connection


def _server_timeouts(milliseconds: int) -> dict[str, str]:
    """Return settings that make the server give up shortly before the client's deadline.

    The timeout of an abandoned transaction is the deadline itself.
    """
    return {
        "lock_timeout": f"{max(1, milliseconds * 6 // 10)}",
        "statement_timeout": f"{max(1, milliseconds * 8 // 10)}",
        "idle_in_transaction_session_timeout": f"{milliseconds}",
    }


def sql_runner(connection: PostgresConnection) -> SqlRunner:
    """Return a function that runs statements on a connection."""

    def run(sql: str, params: Sequence[Any] = (), /) -> list[SqlRow]:
        cursor = connection.execute(_with_psycopg_placeholders(sql), params or None, binary=True)
        return cursor.fetchall() if cursor.description else []

    return run


@cache
def _with_psycopg_placeholders(sql: str) -> str:
    return sql.replace("?", "%s")


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
