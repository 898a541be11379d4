"""Kills of PostgreSQL under a house that goes on: its postmaster, and single connections.

The house is in this process. A command sent while the server is away fails with `StoreUnavailable`
at most; sent again with the same key, it must be found neither lost nor done twice.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from random import Random
from signal import SIGKILL
from tempfile import TemporaryDirectory
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Final, Literal, NamedTuple
from urllib.parse import quote

import psycopg

from tests.faults.kill_found import audited, compare, differing
from tests.faults.kill_load import Load
from tests.faults.kill_tally import ServerTally
from tests.faults.kill_words import Heard
from tests.log.postgres_server import cuttable_proxy
from threedice.errors import StoreUnavailable
from threedice.house import CommandHandler
from threedice.log.proof.checkpoints import CheckpointSigner
from threedice.log.proof.keys import open_keys
from threedice.log.stores.postgres import PostgresStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.faults.kill_found import Found
    from tests.faults.kill_houses import House, Houses
    from tests.faults.kill_words import Word
    from tests.log.postgres_server import CommitCut, PostgresServer
    from threedice.log.records import Proposal, ProposalOutcome

Way = Literal[
    "postmaster",  # and started again at once
    "postmaster for long",  # started again when somebody has heard that the store is away
    "postmaster at a commit",  # done but untold; started again when the writer has given that up
    "writer terminated",
    "writer killed",  # after which the postmaster throws everybody out and recovers
    "readers terminated",
]
POSTMASTER: Final[tuple[Way, ...]] = (
    "postmaster", "postmaster for long", "postmaster at a commit",
)  # fmt: skip
BACKENDS: Final[tuple[Way, ...]] = ("writer terminated", "writer killed", "readers terminated")

PATIENCE_SECONDS: Final = 120.0
LONG, SHORT = 5.0, 1.0
"""How long the store waits for its server: for long, or so that callers hear that it is away.

It waits long where it is to give up one batch while the server is away, and write the next.
"""


def kill_postgres(houses: Houses, ways: Sequence[Way], seed: int) -> ServerTally:
    """Kill in PostgreSQL in these ways, one after the other, each under a house that goes on."""
    tally, random = ServerTally(), Random(seed)
    for way in ways:
        with (
            houses.lend("postgres") as house,
            TemporaryDirectory() as folder,
            cuttable_proxy(houses.server.folder, Path(folder)) as cut,
        ):
            url = house.url.replace(quote(str(houses.server.folder), safe=""), folder)
            server = Server(houses.server, cut, url)
            asyncio.run(_live_through(way, server, house, random, tally))
    return tally


class Server(NamedTuple):
    """A server, and a way to it that can be cut."""

    itself: PostgresServer
    cut: CommitCut
    url: str


async def _live_through(
    way: Way, server: Server, house: House, random: Random, tally: ServerTally
) -> None:
    """Serve a house while PostgreSQL is killed, and see that all is well afterwards."""
    store = _Store(server.url, LONG if way == "postmaster at a commit" else SHORT)
    notary = CheckpointSigner(store, open_keys(house.state), house.state)
    try:
        async with CommandHandler(store, state_dir=house.state) as floor:
            kill = _Kill(server, house, store, Load(floor, notary, random))
            await kill.happen(way, random.randint(20, 150))
            tally.add(way, kill.met, await kill.found(), kill.heard)
        tally.problems += audited(store, house.state)
    finally:
        store.close()


class _Store(PostgresStore):
    """The store itself, which also says when it has given a batch up."""

    def __init__(self, url: str, seconds: float) -> None:
        self.given_up = Event()
        super().__init__(url, deadline_seconds=seconds, serving=True)

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        """Write a batch in one durable transaction; each proposal as a whole or not at all."""
        try:
            return super().write(proposals)
        except StoreUnavailable:
            self.given_up.set()
            raise


class _Kill:
    """One kill in the midst of a load, which goes on until all is well again."""

    def __init__(self, server: Server, house: House, store: _Store, load: Load) -> None:
        self._server, self._house, self._store, self._load = server, house, store, load
        self._news = asyncio.Event()
        self.heard, self.met = Heard(), 0

    async def happen(self, way: Way, told: int) -> None:
        """Kill when so many commands are acknowledged, and let the load go on for a while."""
        async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as group:
            group.create_task(self._load.run(self._hear))
            await self._until(lambda: len(self.heard.told) >= told)
            self.met = len(self.heard.in_flight)
            await self._do(way)
            more = len(self.heard.told) + 50
            await self._until(lambda: len(self.heard.told) >= more)
            self._load.stop()

    async def found(self) -> Found:
        """Look at what is stored, and whether the house in memory is the same."""
        store = PostgresStore(self._house.url)
        try:
            found = compare(store, self._house, self.heard)
            found.problems += await differing(self._load.floor, store)
        finally:
            store.close()
        found.problems += [f"{whose} has no answer" for whose in self.heard.in_flight]
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
            before = len(self.heard.failures)
            await self._until(lambda: len(self.heard.failures) > before)
        await asyncio.to_thread(server.start)

    def _kill_at_commit(self) -> None:
        """Kill the server when it says that a commit is done, and have nobody hear it."""
        done = Event()

        def kill() -> None:
            self._server.itself.kill()
            self._store.given_up.clear()
            done.set()

        cut = self._server.cut
        cut.after, cut.meanwhile, cut.armed = True, kill, True
        done.wait()

    def _hear(self, word: Word) -> None:
        self.heard.hear(word)
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
    """Kill the connection of a database that writes, or those that do not."""
    with psycopg.connect(url, autocommit=True) as connection:
        others = connection.execute(_OTHERS).fetchall()
        for pid in [pid for pid, writes in others if writes is way.startswith("writer")]:
            if way == "writer killed":
                os.kill(pid, SIGKILL)
            else:
                connection.execute("SELECT pg_terminate_backend(%s)", (pid,))


def wait_until_gone(url: str) -> None:
    """Wait until the server has noticed that whoever was connected to a database was killed."""
    until = monotonic() + PATIENCE_SECONDS
    with psycopg.connect(url, autocommit=True) as connection:
        while left := connection.execute(_OTHERS).fetchall():
            if monotonic() > until:
                raise TimeoutError(f"connections of a killed process are still there: {left}")
