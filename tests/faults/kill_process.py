"""A house under load in a child process that kills itself at a point around a commit.

The store in the process is the real one. Its commits are observed on the connection that writes,
and its results by a wrapper that forwards every call.
"""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from random import Random
from select import select
from signal import SIGKILL
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, TypeVar, cast, get_args

from tests.faults.kill_load import (
    GAME,
    Acknowledged,
    Load,
    Transcript,
    decode_message,
    encode_message,
)
from threedice import load
from threedice.db.sqlite import SqliteDatabase, connect_sqlite
from threedice.house import CommandHandler
from threedice.log.proof.checkpoints import CheckpointSigner
from threedice.log.proof.keys import open_keys
from threedice.log.records import Acceptance
from threedice.log.stores.postgres import PostgresStore
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection
    from pathlib import Path

    from tests.faults.kill_load import Message, Report
    from threedice.db.postgres import PostgresConnection
    from threedice.db.sqlite import SqliteConnection, SqliteConnector
    from threedice.log.records import Checkpoint, Proposal, ProposalOutcome
    from threedice.log.store import Store

Result = TypeVar("Result")

Point = Literal[
    "before commit",  # all was sent except the COMMIT
    "during commit",  # while the database commits
    "after commit",  # durable, but not acknowledged
    "before reply",  # the handler has returned, but the sender has no result
    "in a checkpoint",  # stored, but not yet in the checkpoint file
    "from outside",  # killed by another process at any point
]
POINTS: tuple[Point, ...] = get_args(Point)


class KillSwitch:
    """Kills this process when it reaches a point for the nth time after being armed."""

    def __init__(self, point: Point, nth: int) -> None:
        self._point, self._left = point, nth
        self._armed, self._now = False, Event()

    def arm(self) -> None:
        """Start counting."""
        self._armed = True
        Thread(target=self._wait, daemon=True).start()

    def reach(self, point: Point) -> None:
        """Note that the process has reached a point."""
        if self._armed and point == self._point:
            self._left -= 1
            if self._left == 0 and point == "during commit":
                self._now.set()  # another thread kills while this one waits for the database
            elif self._left == 0:
                _die()

    def _wait(self) -> None:
        self._now.wait()
        _die()


def _die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("survived a SIGKILL")


def open_killable_store(url: str, kill_switch: KillSwitch) -> Store:
    """Open the store of a URL for serving, with a kill switch at its points."""
    store: Store
    if url.startswith("postgresql:"):
        store = _WatchedPostgresStore(url, kill_switch)
    else:
        path = url.removeprefix("sqlite:///")
        store = SqliteStore(
            path,
            open_database=partial(SqliteDatabase, connect=_watching(kill_switch)),
            serving=True,
        )
    return cast("Store", _KillableStore(store, kill_switch))


class _KillableStore:
    """A wrapper of a store that reports its points."""

    def __init__(self, store: Store, kill_switch: KillSwitch) -> None:
        self._store, self._kill_switch = store, kill_switch

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        outcomes = self._store.write(proposals)
        if any(isinstance(each, Acceptance) for each in outcomes):
            self._kill_switch.reach("after commit")
        return outcomes

    def add_checkpoint(self, checkpoint: Checkpoint, *, after: int | None = None) -> None:
        self._store.add_checkpoint(checkpoint, after=after)
        self._kill_switch.reach("in a checkpoint")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class _WatchedConnection:
    """A wrapper of a connection that reports commits."""

    def __init__(self, connection: Any, kill_switch: KillSwitch) -> None:
        self._connection, self._kill_switch = connection, kill_switch

    def execute(self, sql: str, *params: Any, **options: Any) -> Any:
        if sql == "COMMIT":
            self._kill_switch.reach("before commit")
            self._kill_switch.reach("during commit")
        return self._connection.execute(sql, *params, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def _watching(kill_switch: KillSwitch) -> SqliteConnector:
    """Return a function that opens an SQLite file and watches its first connection, the writer."""
    made: list[SqliteConnection] = []

    def connect(path: str) -> SqliteConnection:
        connection = connect_sqlite(path)
        made.append(connection)
        return (
            cast("SqliteConnection", _WatchedConnection(connection, kill_switch))
            if len(made) == 1
            else connection
        )

    return connect


class _WatchedPostgresStore(PostgresStore):
    """A store in PostgreSQL whose writing connection is watched."""

    def __init__(self, url: str, kill_switch: KillSwitch) -> None:
        self._kill_switch = kill_switch
        super().__init__(url, serving=True)

    def _run_on_writer(self, work: Callable[[PostgresConnection], Result]) -> Result:
        def watched(connection: PostgresConnection) -> Result:
            return work(
                cast("PostgresConnection", _WatchedConnection(connection, self._kill_switch))
            )

        return super()._run_on_writer(watched)


load(GAME)  # once, before the fork server forks, so that no child has to load it

PATIENCE_SECONDS: Final = 120.0
"""Seconds of silence after which a house counts as stuck."""


@dataclass(frozen=True, slots=True)
class KillPlan:
    """A house, the seed of its load, and the point at which it is killed."""

    url: str
    state: Path
    seed: int
    point: Point
    nth: int


def run_until_killed(plan: KillPlan) -> tuple[Transcript, str]:
    """Run a house until it is killed; return its messages, and any other way it ended."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["__main__", __name__])
    reader, writer = context.Pipe(duplex=False)
    with reader:
        process = context.Process(target=serve_in_child, args=(plan, writer))
        process.start()
        writer.close()
        pipe = _PipeReader(reader.fileno())
        try:
            if plan.point == "from outside":
                pipe.read_until(plan.nth)
                process.kill()
            pipe.read_until(None)
        except BaseException:
            process.kill()
            raise
        finally:
            process.join()
    ended = "" if process.exitcode == -SIGKILL else f"ended by itself, with {process.exitcode}"
    process.close()
    return pipe.transcript, ended


class _PipeReader:
    """Reads the messages of a house from a pipe."""

    def __init__(self, pipe: int) -> None:
        self.transcript = Transcript()
        self._pipe, self._rest = pipe, b""

    def read_until(self, acknowledged: int | None) -> None:
        """Read until a number of commands is acknowledged, or to the end."""
        while acknowledged is None or len(self.transcript.acknowledged) < acknowledged:
            if not select([self._pipe], [], [], PATIENCE_SECONDS)[0]:
                raise TimeoutError(f"the house was silent for {PATIENCE_SECONDS} seconds")
            if not (text := os.read(self._pipe, 1 << 16)):
                return
            *whole, self._rest = (self._rest + text).split(b"\n")
            self.transcript.add_all(map(decode_message, whole))


# --- in the child process -----------------------------------------------------------------------


def serve_in_child(plan: KillPlan, writer: Connection) -> None:
    """Serve a house under load and report every message, until killed."""
    kill_switch = KillSwitch(plan.point, plan.nth)

    def report(message: Message) -> None:
        if isinstance(message, Acknowledged):
            kill_switch.reach("before reply")
        os.write(writer.fileno(), encode_message(message))

    asyncio.run(_serve(plan, kill_switch, report))


async def _serve(plan: KillPlan, kill_switch: KillSwitch, report: Report) -> None:
    store = open_killable_store(plan.url, kill_switch)
    signer = CheckpointSigner(store, open_keys(plan.state), plan.state)
    async with CommandHandler(store, state_dir=plan.state) as handler:
        kill_switch.arm()
        await Load(handler, signer, Random(plan.seed)).run(report)
