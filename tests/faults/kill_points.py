"""Points at which a process kills itself: around the commit, the acknowledgement, a checkpoint.

The store in the process is the real one. Its commits are watched on the connection that writes, and
what it returns by a class that only passes on.
"""

from __future__ import annotations

import os
import signal
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar, cast, get_args

from threedice.db.sqlite import SqliteDatabase, connect_sqlite
from threedice.log.records import Acceptance
from threedice.log.stores.postgres import PostgresStore
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from threedice.db.postgres import PostgresConnection
    from threedice.db.sqlite import SqliteConnection, SqliteConnector
    from threedice.log.records import Checkpoint, Proposal, ProposalOutcome
    from threedice.log.store import Store

Result = TypeVar("Result")

Point = Literal[
    "before commit",  # all was sent but the word that makes it durable
    "during commit",  # while the database does it
    "after commit",  # durable, and nobody has been told
    "before telling",  # the floor has answered, and whoever asked has not heard it
    "in a checkpoint",  # it is in the store, and not yet in the file beside it
    "from outside",  # wherever the house is when somebody else kills it
]
POINTS: tuple[Point, ...] = get_args(Point)


class Doom:
    """Kills this process when it has come to a point for the nth time, once it is armed."""

    def __init__(self, point: Point, nth: int) -> None:
        self._point, self._left = point, nth
        self._armed, self._now = False, Event()

    def arm(self) -> None:
        """Count from here."""
        self._armed = True
        Thread(target=self._wait, daemon=True).start()

    def at(self, point: Point) -> None:
        """Come to a point."""
        if self._armed and point == self._point:
            self._left -= 1
            if self._left == 0 and point == "during commit":
                self._now.set()  # another thread does it while this one waits for the database
            elif self._left == 0:
                _die()

    def _wait(self) -> None:
        self._now.wait()
        _die()


def _die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("survived a SIGKILL")


def open_doomed(url: str, doom: Doom) -> Store:
    """Open the store of a URL for serving, so that it comes to its points."""
    store: Store
    if url.startswith("postgresql:"):
        store = _Postgres(url, doom)
    else:
        path = url.removeprefix("sqlite:///")
        store = SqliteStore(
            path, open_database=partial(SqliteDatabase, connect=_watching(doom)), serving=True
        )
    return cast("Store", _Doomed(store, doom))


class _Doomed:
    """A store that passes everything on."""

    def __init__(self, store: Store, doom: Doom) -> None:
        self._store, self._doom = store, doom

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        outcomes = self._store.write(proposals)
        if any(isinstance(each, Acceptance) for each in outcomes):
            self._doom.at("after commit")
        return outcomes

    def add_checkpoint(self, checkpoint: Checkpoint) -> None:
        self._store.add_checkpoint(checkpoint)
        self._doom.at("in a checkpoint")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class _Watched:
    """A connection that passes everything on, and knows a commit when it sees one."""

    def __init__(self, connection: Any, doom: Doom) -> None:
        self._connection, self._doom = connection, doom

    def execute(self, sql: str, *params: Any, **options: Any) -> Any:
        if sql == "COMMIT":
            self._doom.at("before commit")
            self._doom.at("during commit")
        return self._connection.execute(sql, *params, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def _watching(doom: Doom) -> SqliteConnector:
    """Return how an SQLite file is opened; the first connection is the one that writes the log."""
    made: list[SqliteConnection] = []

    def connect(path: str) -> SqliteConnection:
        connection = connect_sqlite(path)
        made.append(connection)
        return (
            cast("SqliteConnection", _Watched(connection, doom)) if len(made) == 1 else connection
        )

    return connect


class _Postgres(PostgresStore):
    """A store in PostgreSQL whose writing connection is watched."""

    def __init__(self, url: str, doom: Doom) -> None:
        self._doom = doom
        super().__init__(url, serving=True)

    def _run_on_writer(self, work: Callable[[PostgresConnection], Result]) -> Result:
        def watched(connection: PostgresConnection) -> Result:
            return work(cast("PostgresConnection", _Watched(connection, self._doom)))

        return super()._run_on_writer(watched)
