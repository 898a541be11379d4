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
    Conflicted,
    InvalidInput,
    StoreAway,
    StoreFailed,
    ThreediceError,
)
from threedice.log.appending import append_batch
from threedice.log.deadline import Connection, connect
from threedice.log.judging import check_proposal
from threedice.log.schema import prepare
from threedice.log.scribe import Place, Scribe
from threedice.log.sql import FIND_SUSPENDED, Result, Row, Run, SqlStore
from threedice.log.trouble import Tries, Trouble, trouble
from threedice.log.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from threedice.log.store import Outcome, Proposal

PAUSE_SECONDS: Final = 0.05
IDLE_MOST: Final = 8
"""How many connections are kept for those who read."""

PATIENCE_SECONDS, PATIENCE_DEADLINES = 60.0, 12
"""How long a scribe may take: twice as many deadlines as its store needs where all goes wrong (two
of trying, one more for each of waiting for the server, connecting, looking and the work), and time
for a busy machine to start a process."""

COMING_BACK_SECONDS = 60.0
"""How long a server waits for another that comes back, and marks tables, before it gives up."""

PLAYING_SECONDS = 5.0
"""How long a server still counts as playing whose connection was lost, with the lock that it had;
twice as long as it takes until it asks again and connects anew."""

SERVING, PREPARING, STARTING, PLAYING = "31, 6661", "31, 6662", "31, 6663", "31, 6664"
"""The advisory locks of those who serve, of who makes the tables, of who comes back, and of those
who have: a server that is suspended from its start serves, but does not play."""


class PostgresStore(SqlStore):
    """A store in a PostgreSQL database, which answers in time or is away."""

    CLOCK: ClassVar[str] = "extract(epoch FROM clock_timestamp())::double precision"

    def __init__(
        self,
        url: str,
        *,
        deadline_seconds: float = 5.0,
        serving: bool = False,
        scribe: bool = False,
    ) -> None:
        self.url, self._seconds, self._serving = url, deadline_seconds, serving
        self._name = _described(url)
        self._failed = ""
        self._closed, self._ready = False, False
        self._turn = RLock()
        self._writer: Connection | None = None
        self._idle: list[Connection] = []
        self._locks = [SERVING] if serving else []
        self._lease = f"playing/{token_hex(8)}"
        self.scribe: Scribe | None = None
        try:
            self._writing(self._prepare)
            if scribe:
                self.scribe = Scribe(
                    Place("postgres", url, deadline_seconds),
                    failed=self._note_failure,
                    turn=Turn(),
                    patience=max(PATIENCE_SECONDS, PATIENCE_DEADLINES * deadline_seconds),
                )
        except BaseException:
            self.close()
            raise
        self._ready = True

    def write(self, proposals: Sequence[Proposal]) -> list[Outcome]:
        """Write a batch in one durable transaction; each proposal as a whole or not at all."""
        for proposal in proposals:
            check_proposal(proposal)
        sent: set[int] = set()
        return self._writing(lambda connection: append_batch(connection, proposals, sent))

    def suspended(self) -> str:
        """Return why nothing may be written, or nothing.

        A server asks now and then, on the connection by which it serves: where that was lost, and
        another process writes, nobody else would make it anew.
        """
        if not self._serving or self._failed:
            return super().suspended()

        def ask(connection: Connection) -> str:
            cause = _suspended(_runner(connection))
            self._renew(connection)
            return cause

        return self._writing(ask)

    def alone(self) -> bool:
        """Tell whether no other server is connected to this database."""

        return self._writing(lambda connection: _taken_for_a_moment(connection, SERVING))

    @contextmanager
    def coming_back(self) -> Iterator[bool]:
        """Come back while no other server does; from the end of it on, this one plays."""
        if not self._serving:
            yield False
            return
        connection = self._connect()  # its own: if this process dies, the lock goes with it
        try:
            self._wait_for_turn(connection)
            yield self._nobody_plays(connection)
            self._writing(lambda serving: serving.execute(_SHARE.format(PLAYING)))
            self._locks = [SERVING, PLAYING]
            self._writing(self._renew)
        finally:
            connection.close()

    def close(self) -> None:
        """Let go of the database."""
        with self._turn:
            self._closed = True
            if self.scribe is not None:
                self.scribe.close()
            if self._writer is not None:
                with suppress(psycopg.Error):  # the server itself would notice only a little later
                    self._writer.allow(self._seconds)
                    self._writer.execute("SELECT pg_advisory_unlock_all()")
                    if PLAYING in self._locks:
                        self._writer.execute("DELETE FROM leases WHERE name = %s", (self._lease,))
                self._writer.close()
            self._close_idle()

    # how statements are run

    def _writing(self, work: Callable[[Connection], Result]) -> Result:
        """Do something on the connection that writes, again where that may help."""
        with self._turn:
            self._refuse(writing=True)
            tries = Tries(2 * self._seconds)
            while True:
                connection = self._writer = self._writer or self._connect(self._locks)
                connection.allow(self._seconds)
                try:
                    return work(connection)
                except BaseException as error:
                    self._leave(connection)
                    self._raise_unless_again(error, tries)

    def _change(
        self, work: Callable[[Run], Result], *, lasting: bool = True, always: bool = False
    ) -> Result:
        def transaction(connection: Connection) -> Result:
            run = _runner(connection)
            run("BEGIN", ())
            if not lasting:
                run("SET LOCAL synchronous_commit = off", ())
            result = work(run)
            connection.committing = True
            run("COMMIT", ())
            return result

        return self._beside(transaction, writing=not always)

    def _rows(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        return self._beside(lambda connection: _runner(connection)(sql, params), writing=False)

    def _beside(self, work: Callable[[Connection], Result], *, writing: bool) -> Result:
        """Do something on a connection of one's own, while others write."""
        self._refuse(writing=writing)
        tries = Tries(2 * self._seconds)
        while True:
            connection = self._borrow()
            connection.allow(self._seconds)
            try:
                result = work(connection)
            except BaseException as error:
                connection.close()
                if connection.committing:  # it may have happened: whoever asked must look
                    tries.end()
                self._raise_unless_again(error, tries)
            else:
                self._give_back(connection)
                return result

    def _refuse(self, *, writing: bool) -> None:
        if self._closed:
            raise StoreAway(f"{self._name} has been closed")
        if self._failed and writing:
            raise StoreFailed(self._failed)

    def _raise_unless_again(self, error: BaseException, tries: Tries) -> None:
        """Return if the same should be tried again; otherwise raise what the error means."""
        if isinstance(error, ThreediceError) or not isinstance(error, Exception):
            raise error
        meaning = trouble(error)
        if meaning in (Trouble.LOST, Trouble.AGAIN) and tries.another():
            return
        if meaning is Trouble.INPUT:
            raise InvalidInput(f"{self._name} cannot hold this: {error}") from error
        if meaning in (Trouble.LOST, Trouble.SLOW):
            raise StoreAway(f"{self._name} does not answer in time: {_line(error)}") from error
        if meaning is Trouble.AGAIN and not isinstance(error, psycopg.errors.UniqueViolation):
            raise Conflicted(f"{self._name} is written by others again and again") from error
        self._note_failure(
            f"{self._name} could not do its work ({_line(error)}); look at it, then start again"
        )
        raise StoreFailed(self._failed) from error

    def _note_failure(self, cause: str) -> str:
        """Note a failure, and return the first."""
        self._failed = self._failed or cause
        return self._failed

    # connections

    def _connect(self, locks: Sequence[str] = ()) -> Connection:
        """Connect; once the database has been there, try for a while until it is back."""
        until = monotonic() + (self._seconds if self._ready else 0.0)
        while True:
            try:
                return _connected(self.url, self._seconds, locks)
            except psycopg.Error as error:
                if monotonic() >= until:
                    raise StoreAway(f"{self._name} is not there: {_line(error)}") from error
            sleep(PAUSE_SECONDS)

    def _wait_for_turn(self, connection: Connection) -> None:
        """Wait until no other server comes back."""
        until = monotonic() + COMING_BACK_SECONDS
        while True:
            connection.allow(self._seconds)
            try:
                connection.execute(f"SELECT pg_advisory_lock({STARTING})")
            except psycopg.errors.LockNotAvailable as error:
                if monotonic() >= until:
                    raise StoreAway(
                        f"another server on {self._name} has not finished coming back; "
                        "look at that one, then start again"
                    ) from error
            except psycopg.Error as error:
                raise StoreAway(f"{self._name} does not answer: {_line(error)}") from error
            else:
                return

    def _nobody_plays(self, connection: Connection) -> bool:
        """Tell whether nobody holds the lock, nor held it so lately that he may take it again."""
        try:
            while True:
                connection.allow(self._seconds)
                if not _taken_for_a_moment(connection, PLAYING):
                    return False
                if not connection.execute(_LATELY, (PLAYING_SECONDS,)).fetchall():
                    connection.execute("DELETE FROM leases WHERE name LIKE 'playing/%'")
                    return True
                sleep(PAUSE_SECONDS)
        except psycopg.Error as error:
            raise StoreAway(f"{self._name} does not answer: {_line(error)}") from error

    def _renew(self, connection: Connection) -> None:
        """Note that this server plays; where that cannot be written, its lock must do."""
        if PLAYING in self._locks:
            with suppress(psycopg.Error):
                connection.execute(_RENEW, (self._lease, self._lease, PLAYING_SECONDS))

    def _borrow(self) -> Connection:
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()

    def _give_back(self, connection: Connection) -> None:
        if len(self._idle) >= IDLE_MOST:
            connection.close()
        else:
            self._idle.append(connection)
        if self._closed:  # perhaps only since: whoever closed did not see this one
            self._close_idle()

    def _close_idle(self) -> None:
        with suppress(IndexError):  # several may be at it together
            while True:
                self._idle.pop().close()

    def _leave(self, connection: Connection) -> None:
        """Give up the connection that writes: it does not know any more what is prepared on it."""
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK")  # closing alone would let go of the locks a little later
        connection.close()
        self._writer = None

    def _prepare(self, connection: Connection) -> None:
        run = _runner(connection)
        run("BEGIN", ())
        run(f"SELECT pg_advisory_xact_lock({PREPARING})", ())
        named = run("SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()", ())
        prepare(
            lambda sql: run(sql, ()),
            [name for (name,) in named],
            dialect="postgresql",
            where=self._name,
        )
        run("COMMIT", ())


_SHARE: Final = "SELECT pg_advisory_lock_shared({})"


_RENEW: Final = (
    f"INSERT INTO leases (name, holder, until) VALUES (%s, %s, {PostgresStore.CLOCK} + %s)"
    " ON CONFLICT (name) DO UPDATE SET until = excluded.until"
)
# a server that was away with the database has its time from when that is back
_LATELY: Final = (
    "SELECT name FROM leases WHERE name LIKE 'playing/%%' AND greatest("
    f"until, extract(epoch FROM pg_postmaster_start_time()) + %s) > {PostgresStore.CLOCK}"
)


def _taken_for_a_moment(connection: Connection, lock: str) -> bool:
    """Tell whether a lock could be taken from which all others are shut out."""
    ((taken,),) = connection.execute(f"SELECT pg_try_advisory_lock({lock})").fetchall()
    if taken:
        connection.execute(f"SELECT pg_advisory_unlock({lock})")
    return bool(taken)


def _connected(url: str, seconds: float, locks: Sequence[str]) -> Connection:
    connection = connect(url, seconds)
    try:
        for lock in locks:
            connection.execute(_SHARE.format(lock))
    except BaseException:
        connection.close()
        raise
    return connection


def _suspended(run: Run) -> str:
    return next((cause for (cause,) in run(FIND_SUSPENDED, ())), "")


def _runner(connection: Connection) -> Run:
    def run(sql: str, params: Sequence[Any]) -> list[Row]:
        cursor = connection.execute(_placed(sql), params, binary=True)
        return cursor.fetchall() if cursor.description else []

    return run


@cache
def _placed(sql: str) -> str:
    return sql.replace("?", "%s")


def _described(url: str) -> str:
    """Name a database in words that hold no password."""
    given = conninfo_to_dict(url)
    return (
        f"database {given.get('dbname') or 'of PostgreSQL'} on {given.get('host') or 'this host'}"
    )


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
