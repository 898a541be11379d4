"""Servers of one house that do not hear each other for a while: each finds what it missed."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.house.setting import QUICK, HandClock, People
from tests.house.stored_rows import results
from threedice.house import CommandHandler
from threedice.house import house as house_module
from threedice.house.house import House
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.postgres_streams import LISTENER_APPLICATION_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.log.postgres_server import PostgresServer

pytestmark = pytest.mark.anyio

ROUND = ("open betting", "ann bets 100 on big", "bob bets 50 on small", "dice 6 5 4")


@pytest.fixture
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what is done now and then be done all the time."""
    monkeypatch.setattr(house_module, "STATEMENT_DELAY_SECONDS", 0.0)
    monkeypatch.setattr(house_module, "CHECKPOINT_SECONDS", 0.01)


class Ear:
    """The process of the database by which the one server there is hears of others."""

    def __init__(self, url: str) -> None:
        self._url = url
        with psycopg.connect(url, autocommit=True) as connection:
            ((self.pid,),) = connection.execute(
                "SELECT pid FROM pg_stat_activity"
                " WHERE application_name = %s AND datname = current_database()"
                " AND state = 'idle' AND query LIKE 'LISTEN%%'",
                (LISTENER_APPLICATION_NAME,),
            ).fetchall()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Keep it from passing anything on."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def end(self) -> None:
        """Have it end as soon as it goes on, with whatever it had to say."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(%s)", (self.pid,))


async def comes_true(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.01)


async def is_dealt(house: House, clock: HandClock) -> None:
    """Wait until a house deals its table, which another may have held until now."""
    await comes_true(lambda: house.dealers)
    async with asyncio.timeout(60):
        while not (await house.command_handler.table("1")).betting_since:
            clock.move(10)
            await asyncio.sleep(0.01)


async def listening(url: str) -> Ear:
    """Return the ear of the one server there is, once it has one."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await asyncio.to_thread(Ear, url)
            except ValueError:
                await asyncio.sleep(0.01)


async def test_a_table_set_up_while_nobody_listened_is_dealt_by_who_listens_again(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(house_module, "CHECKPOINT_SECONDS", 1e6)  # nor does it look by itself
    url, clock = postgres.fresh(), HandClock()
    async with House(url, state_dir=tmp_path / "here", runtime=clock) as here:
        ear = await listening(url)
        with ear.stopped():
            async with House(url, state_dir=tmp_path / "there", runtime=clock) as there:
                await People(there.command_handler).open(timing=QUICK)
            ear.end()
        await is_dealt(here, clock)


@pytest.mark.usefixtures("brisk")
async def test_and_so_it_is_by_who_hears_nothing_at_all(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url, clock = postgres.fresh(), HandClock()
    async with House(url, state_dir=tmp_path / "here", runtime=clock) as here:
        assert not (await here.command_handler.table("1")).id  # which it remembers
        with (await listening(url)).stopped():
            async with House(url, state_dir=tmp_path / "there", runtime=clock) as there:
                await People(there.command_handler).open(timing=QUICK)
            await is_dealt(here, clock)


@pytest.mark.usefixtures("brisk")
async def test_the_books_of_what_nobody_told_of_are_kept(tmp_path: Path) -> None:
    store = MemoryStore()
    async with (
        House("memory:", store=store, state_dir=tmp_path),
        CommandHandler(store) as elsewhere,
    ):
        people = People(elsewhere)
        await people.open()
        await people.play(*ROUND)
        await comes_true(lambda: len(results(store, "1")) == 1)
        await people.play(*ROUND)
        await comes_true(lambda: len(results(store, "1")) == 2)
