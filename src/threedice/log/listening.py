"""What other servers on one PostgreSQL have written, as far as its notifications tell.

The store notifies a channel as it commits. A connection of its own listens here and passes the
hints on to the feed; it is checked, it is replaced when lost, and then the feed is asked to look
for what came while nobody listened. What is lost without a trace the feed's own poll finds.
"""

from __future__ import annotations

import socket
from contextlib import closing, contextmanager
from math import ceil
from selectors import EVENT_READ, DefaultSelector
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Protocol, Self

import psycopg
from psycopg import pq, sql

from threedice.log.appending import CHANNEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

    from psycopg.pq.abc import PGconn


APPLICATION = "threedice listener"
"""How the server's own list of its connections names this one."""

FIRST_RETRY_SECONDS = 0.05


class Hearer(Protocol):
    """Whoever wants to hear; both are called in the listener's thread."""

    def heard(self, versions: Mapping[str, int], /) -> None:
        """Take a hint that streams have come to these versions."""

    def look_again(self) -> None:
        """Take a hint that anything may have been written meanwhile."""


class Listener:
    """Listens in a thread of its own until it is closed, whatever becomes of the server."""

    def __init__(
        self,
        conninfo: str,
        feed: Hearer,
        *,
        channel: str = CHANNEL,
        check_seconds: float = 10.0,
        deadline_seconds: float = 5.0,
        slowest_retry_seconds: float = 5.0,
    ) -> None:
        self._conninfo, self._feed, self._channel = conninfo, feed, channel
        self._check_seconds, self._deadline_seconds = check_seconds, deadline_seconds
        self._slowest_retry_seconds = slowest_retry_seconds
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._closed = False
        self._bell, self._ear = socket.socketpair()  # rung on close, whatever is waited for
        self._selector = DefaultSelector()
        self._selector.register(self._ear, EVENT_READ)
        self.listening = Event()
        self.connections = 0
        self.trouble = ""
        self._thread = Thread(target=self._run, name="threedice-listener")
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        if self._closed:
            return
        self._closed = True
        self._bell.send(b"!")
        self._thread.join()
        for each in (self._selector, self._bell, self._ear):
            each.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self) -> None:
        while not self._closed:
            try:
                with self._connected() as pgconn:
                    self._listen(pgconn)
            except Exception as trouble:  # of whatever kind: nobody would miss one that gave up
                self.trouble = str(trouble) or type(trouble).__name__
                self.listening.clear()
                self._wait(self._retry_seconds)
                self._retry_seconds = min(2 * self._retry_seconds, self._slowest_retry_seconds)
        self.listening.clear()

    @contextmanager
    def _connected(self) -> Iterator[PGconn]:
        connection = psycopg.connect(
            self._conninfo,
            autocommit=True,
            application_name=APPLICATION,
            connect_timeout=max(2, ceil(self._deadline_seconds)),
        )
        with closing(connection):
            descriptor = connection.pgconn.socket
            self._selector.register(descriptor, EVENT_READ)
            try:
                yield connection.pgconn
            finally:
                self._selector.unregister(descriptor)

    def _listen(self, pgconn: PGconn) -> None:
        self._ask(pgconn, sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)).as_bytes())
        self._retry_seconds = FIRST_RETRY_SECONDS
        self.connections += 1
        self.listening.set()
        self._feed.look_again()
        check_at = monotonic() + self._check_seconds
        while not self._closed:
            self._wait(check_at - monotonic())
            pgconn.consume_input()
            if monotonic() >= check_at:
                self._ask(pgconn, b"SELECT 1")
                check_at = monotonic() + self._check_seconds
            self._pass_on(pgconn)

    def _ask(self, pgconn: PGconn, query: bytes) -> None:
        """Have the server answer before the deadline: one that is stuck says nothing at all."""
        until = monotonic() + self._deadline_seconds
        pgconn.send_query(query)
        while not self._closed:
            if pgconn.flush() or pgconn.is_busy():
                if monotonic() >= until:
                    raise TimeoutError(f"no answer for {self._deadline_seconds} seconds")
                self._wait(until - monotonic())
                pgconn.consume_input()
            elif (result := pgconn.get_result()) is None:
                return
            elif result.status not in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
                raise psycopg.OperationalError(pq.error_message(result))

    def _pass_on(self, pgconn: PGconn) -> None:
        versions: dict[str, int] = {}
        while (notified := pgconn.notifies()) is not None:
            stream, _, version = notified.extra.decode(errors="replace").rpartition(" ")
            if version.isdecimal():
                versions[stream] = max(int(version), versions.get(stream, 0))
            else:
                self._feed.look_again()  # somebody has something to say, we know not what
        if versions:
            self._feed.heard(versions)

    def _wait(self, seconds: float) -> None:
        """Wait until the server says something, this is closed or the time is over."""
        self._selector.select(max(0.0, seconds))
