"""Kills of PostgreSQL under a running house: its postmaster, connections, and listeners.

The house is in this process. A command sent while the server is down fails at most with
`StoreUnavailable`; sent again with the same key, it must be neither lost nor executed twice.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from signal import SIGKILL
from tempfile import TemporaryDirectory
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Final, Literal, NamedTuple
from urllib.parse import quote

import psycopg

from tests.faults.kill_houses import audit_findings, compare, diverging_streams
from tests.faults.kill_load import PLAYERS, TABLE, Load, Transcript
from tests.house.house_driver import People
from tests.log.postgres_server import cuttable_proxy
from threedice.errors import StoreUnavailable
from threedice.house import CommandHandler
from threedice.house.house import House as Served
from threedice.house.stream_state import table_stream
from threedice.log.proof.checkpoints import CheckpointSigner
from threedice.log.proof.keys import open_keys
from threedice.log.stores.postgres import PostgresStore
from threedice.log.stores.postgres_streams import LISTENER_APPLICATION_NAME

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from tests.faults.kill_houses import House, Houses, KillOutcome
    from tests.faults.kill_load import Message
    from tests.log.postgres_server import CommitCut, PostgresServer
    from threedice.house import CommandResult
    from threedice.log.entry import Entry
    from threedice.log.records import Proposal, ProposalOutcome

Way = Literal[
    "postmaster",  # and restarted at once
    "postmaster for long",  # restarted when a command has failed as unavailable
    "postmaster at a commit",  # committed, unacknowledged; restarted when the writer gave up
    "writer terminated",
    "writer killed",  # after which the postmaster drops all connections and recovers
    "readers terminated",
]
POSTMASTER: Final[tuple[Way, ...]] = (
    "postmaster", "postmaster for long", "postmaster at a commit",
)  # fmt: skip
BACKENDS: Final[tuple[Way, ...]] = ("writer terminated", "writer killed", "readers terminated")

PATIENCE_SECONDS: Final = 120.0
LONG, SHORT = 5.0, 1.0
"""Deadlines of the store: long enough to write the next batch, or short, so that commands fail."""


def kill_postgres(houses: Houses, ways: Sequence[Way], seed: int) -> ServerTally:
    """Kill PostgreSQL in several ways, each under a running house."""
    tally, random = ServerTally(), Random(seed)
    for way in ways:
        with (
            houses.copy("postgres") as house,
            TemporaryDirectory() as folder,
            cuttable_proxy(houses.server.folder, Path(folder)) as cut,
        ):
            url = house.url.replace(quote(str(houses.server.folder), safe=""), folder)
            server = Server(houses.server, cut, url)
            asyncio.run(_serve_through_kill(way, server, house, random, tally))
    return tally


class Server(NamedTuple):
    """A server, and the proxy through which the house reaches it."""

    itself: PostgresServer
    cut: CommitCut
    url: str


async def _serve_through_kill(
    way: Way, server: Server, house: House, random: Random, tally: ServerTally
) -> None:
    """Serve a house while PostgreSQL is killed, and check it afterwards."""
    store = _Store(server.url, LONG if way == "postmaster at a commit" else SHORT)
    signer = CheckpointSigner(store, open_keys(house.state), house.state)
    try:
        async with CommandHandler(store, state_dir=house.state) as handler:
            kill = _Kill(server, house, store, Load(handler, signer, random))
            await kill.run(way, random.randint(20, 150))
            tally.add(way, kill.in_flight, await kill.check(), kill.transcript)
        tally.problems += audit_findings(store, house.state)
    finally:
        store.close()


class _Store(PostgresStore):
    """The store, which also reports when it has given up a batch."""

    def __init__(self, url: str, seconds: float) -> None:
        self.given_up = Event()
        super().__init__(url, deadline_seconds=seconds, serving=True)

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        """Write a batch, and note if it is given up."""
        try:
            return super().write(proposals)
        except StoreUnavailable:
            self.given_up.set()
            raise


class _Kill:
    """One kill under load, which continues afterwards."""

    def __init__(self, server: Server, house: House, store: _Store, load: Load) -> None:
        self._server, self._house, self._store, self._load = server, house, store, load
        self._news = asyncio.Event()
        self.transcript, self.in_flight = Transcript(), 0

    async def run(self, way: Way, acknowledged: int) -> None:
        """Kill after a number of acknowledged commands, and continue the load for a while."""
        async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as group:
            group.create_task(self._load.run(self._report))
            await self._until(lambda: len(self.transcript.acknowledged) >= acknowledged)
            self.in_flight = len(self.transcript.in_flight)
            await self._do(way)
            more = len(self.transcript.acknowledged) + 50
            await self._until(lambda: len(self.transcript.acknowledged) >= more)
            self._load.stop()

    async def check(self) -> KillOutcome:
        """Compare the stored commands with the acknowledged ones, and with the state in memory."""
        store = PostgresStore(self._house.url)
        try:
            found = compare(store, self._house, self.transcript)
            found.problems += await diverging_streams(self._load.handler, store)
        finally:
            store.close()
        found.problems += [
            f"{command_id} has no result" for command_id in self.transcript.in_flight
        ]
        return found

    async def _do(self, way: Way) -> None:
        server = self._server.itself
        if way in BACKENDS:
            await asyncio.to_thread(kill_backends, self._house.url, way)
            return
        if way == "postmaster at a commit":
            await asyncio.to_thread(self._kill_at_commit)
            await asyncio.to_thread(self._store.given_up.wait)
        else:
            await asyncio.to_thread(server.kill)
        if way == "postmaster for long":
            before = len(self.transcript.failures)
            await self._until(lambda: len(self.transcript.failures) > before)
        await asyncio.to_thread(server.start)

    def _kill_at_commit(self) -> None:
        """Kill the server when a commit is done, before the house learns of it."""
        done = Event()

        def kill() -> None:
            self._server.itself.kill()
            self._store.given_up.clear()
            done.set()

        cut = self._server.cut
        cut.after, cut.meanwhile, cut.armed = True, kill, True
        done.wait()

    def _report(self, message: Message) -> None:
        self.transcript.add(message)
        self._news.set()

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self._news.clear()
            await self._news.wait()


# --- single connections -------------------------------------------------------------------------

_OTHERS = """
SELECT activity.pid, serving.pid IS NOT NULL FROM pg_stat_activity AS activity
LEFT JOIN pg_locks AS serving ON serving.pid = activity.pid AND locktype = 'advisory'
WHERE datname = current_database() AND backend_type = 'client backend'
    AND activity.pid <> pg_backend_pid()
"""


def kill_backends(url: str, way: Way) -> None:
    """Kill the writing connection of a database, or all others."""
    with psycopg.connect(url, autocommit=True) as connection:
        others = connection.execute(_OTHERS).fetchall()
        for pid in [pid for pid, writes in others if writes is way.startswith("writer")]:
            if way == "writer killed":
                with suppress(ProcessLookupError):  # its client has closed the connection meanwhile
                    os.kill(pid, SIGKILL)
            else:
                connection.execute("SELECT pg_terminate_backend(%s)", (pid,))


def wait_until_gone(url: str) -> None:
    """Wait until the server has closed the connections of a killed process."""
    until = monotonic() + PATIENCE_SECONDS
    with psycopg.connect(url, autocommit=True) as connection:
        while left := connection.execute(_OTHERS).fetchall():
            if monotonic() > until:
                raise TimeoutError(f"connections of a killed process are still there: {left}")


HOUSES: Final = 2


def kill_listeners(houses: Houses, count: int) -> ListenerTally:
    """Terminate all listeners several times; entries of one house must reach the other."""
    tally = ListenerTally()
    with houses.copy("postgres") as house:
        asyncio.run(_two_houses(house, count, tally))
    return tally


async def _two_houses(house: House, count: int, tally: ListenerTally) -> None:
    async with (
        Served(house.url, state_dir=house.state) as here,
        Served(house.url, state_dir=house.state) as there,
        asyncio.timeout(PATIENCE_SECONDS),
    ):
        people, stream = People(here.command_handler, TABLE), table_stream(TABLE)
        await people.play("open betting")
        feed = there.feed.subscribe(stream, here.command_handler.store.head(stream).version)
        listeners = await asyncio.to_thread(_find_listeners, house.url, set())
        for number in range(count):
            shown = asyncio.create_task(_next(feed))
            await asyncio.to_thread(_terminate, house.url, listeners)
            answer = await people.bet(PLAYERS[number % len(PLAYERS)], 5, "big")
            tally.add(len(listeners), answer, await shown)
            listeners = await asyncio.to_thread(_find_listeners, house.url, listeners)
        await feed.aclose()


async def _next(feed: AsyncGenerator[list[Entry], None]) -> list[Entry]:
    return await anext(feed)


def _terminate(url: str, pids: set[int]) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS pid", (list(pids),)
        )


def _find_listeners(url: str, before: set[int]) -> set[int]:
    """Return the listening connections, once each house has a new one."""
    sql = "SELECT pid FROM pg_stat_activity WHERE application_name = %s AND datname = %s"
    until, pids = monotonic() + PATIENCE_SECONDS, set[int]()
    with psycopg.connect(url, autocommit=True) as connection:
        while len(pids) != HOUSES:
            if monotonic() > until:
                raise TimeoutError(f"{len(pids)} of {HOUSES} houses listen again")
            rows = connection.execute(sql, (LISTENER_APPLICATION_NAME, connection.info.dbname))
            pids = {pid for (pid,) in rows} - before
    return pids


# --- tallies ------------------------------------------------------------------------------------


@dataclass(slots=True)
class ServerTally:
    """Counts of kills of PostgreSQL and of the commands that survived them."""

    kills: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    lost: int = 0
    in_flight: int = 0
    unavailable: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, way: str, in_flight: int, found: KillOutcome, transcript: Transcript) -> None:
        """Count a kill and the commands in flight."""
        self.kills[way] += 1
        self.in_flight += in_flight
        self.acknowledged += found.acknowledged
        self.lost += found.lost
        self.unavailable += len(transcript.failures)
        where = f"kill {self.kills.total()} ({way})"
        self.problems += [f"{where}: {problem}" for problem in found.problems]

    def __str__(self) -> str:
        kills = ", ".join(f"{count} {what}" for what, count in sorted(self.kills.items()))
        return (
            f"{self.kills.total()} kills in PostgreSQL ({kills}),"
            f" with {self.in_flight} commands in flight;"
            f" {self.unavailable} commands failed as unavailable\n"
            f"{self.acknowledged} acknowledged commands checked: {self.lost} lost;"
            f" {len(self.problems)} problems"
        )


@dataclass(slots=True)
class ListenerTally:
    """Counts of terminated listeners and of the bets that reached the other house."""

    killed: int = 0
    written: int = 0
    shown: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, killed: int, answer: CommandResult, shown: list[Entry]) -> None:
        """Count a bet of one house, and whether the other received exactly its entries."""
        self.killed += killed
        self.written += 1
        if tuple(shown) == answer.entries:
            self.shown += 1
        else:
            self.problems.append(f"{answer.entries} were written, {shown} shown")

    def __str__(self) -> str:
        return (
            f"{self.killed} listening connections killed:"
            f" {self.shown} of {self.written} bets were shown by the other house"
        )
