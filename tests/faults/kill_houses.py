"""Houses to be killed: set up once in each kind of database, and copied for every life."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tests.faults.kill_load import CUSTOMERS, GAME, PLAYERS, TABLE
from tests.house.house_driver import People
from tests.log.inspection import all_answers
from tests.log.postgres_server import PostgresServer
from threedice.account.commands import Deposit, OpenAccount
from threedice.house import CommandHandler
from threedice.log.proof.checkpoints import CheckpointSigner
from threedice.log.proof.keys import open_keys
from threedice.log.stores.urls import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.faults.kill_words import Whose
    from threedice.log.store import Store

Kind = Literal["sqlite", "postgres"]
KINDS: tuple[Kind, ...] = get_args(Kind)
TEMPLATE = "house"
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where files are made quickly, if there is such a place: a killed process loses none of them."""


class House(NamedTuple):
    """A database, what is kept beside it, and whose commands have been answered there before."""

    url: str
    state: Path
    answered: frozenset[Whose]


class Houses:
    """The house as it was set up, once in SQLite and once in PostgreSQL."""

    def __init__(self, folder: Path, server: PostgresServer) -> None:
        self._folder, self.server = folder, server
        self._file = folder / "house.sqlite"
        self._sqlite = _set_up(f"sqlite:///{self._file}", folder / "sqlite.state")
        self._admin(f"CREATE DATABASE {TEMPLATE}")
        self._postgres = _set_up(server.url(TEMPLATE), folder / "postgres.state")

    @contextmanager
    def lend(self, kind: Kind) -> Iterator[House]:
        """Lend a house of its own in a kind of database."""
        with TemporaryDirectory(dir=self._folder) as name:
            folder = Path(name)
            shutil.copytree(self._folder / f"{kind}.state", folder / "state")
            if kind == "sqlite":
                copy = shutil.copy(self._file, folder)
                yield House(f"sqlite:///{copy}", folder / "state", self._sqlite)
                return
            url = self.server.fresh(TEMPLATE)
            yield House(url, folder / "state", self._postgres)
            self._admin(f'DROP DATABASE "{conninfo_to_dict(url)["dbname"]}" WITH (FORCE)')

    def _admin(self, sql: str) -> None:
        with psycopg.connect(self.server.url(), autocommit=True) as connection:
            connection.execute(sql)


@contextmanager
def houses() -> Iterator[Houses]:
    """Set a house up in both kinds of database."""
    with TemporaryDirectory(prefix="threedice-", dir=MEMORY) as name:
        folder = Path(name)
        folder.chmod(0o711)  # PostgreSQL, of another user, finds its own folder in it
        (folder / "server").mkdir()
        server = PostgresServer(folder / "server")
        try:
            server.start()
            yield Houses(folder, server)
        finally:
            server.stop()


def _set_up(url: str, state: Path) -> frozenset[Whose]:
    """Open a table, have everybody come to it, and return whose commands that took."""
    store = open_store(url, serving=True)
    try:
        asyncio.run(_open(store, state))
        CheckpointSigner(store, open_keys(state), state).create_checkpoint(1)
        return frozenset((answer.account, answer.key) for answer in all_answers(store))
    finally:
        store.close()


async def _open(store: Store, state: Path) -> None:
    async with CommandHandler(store, state_dir=state) as floor:
        people = People(floor, TABLE)
        await people.open(GAME, stacks=dict.fromkeys(PLAYERS, 10_000), float_amount=10_000_000)
        for name in CUSTOMERS:
            await people.send(OpenAccount(by="cashier", player=name, currency="SGD"))
            await people.send(Deposit(by="cashier", player=name, amount=10_000))
