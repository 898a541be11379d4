"""Servers of one house catch up with changes whose notifications they missed."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.house.house_driver import QUICK, ROUND, ManualClock, People, results, server_state
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


@pytest.fixture
def no_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run maintenance without pauses."""
    monkeypatch.setattr(house_module, "STATEMENT_DELAY_SECONDS", 0.0)
    monkeypatch.setattr(house_module, "CHECKPOINT_SECONDS", 0.01)


class ListenerBackend:
    """The PostgreSQL process that sends notifications to the only server."""

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
        """Keep the process from sending notifications."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def end(self) -> None:
        """Terminate the process as soon as it continues, with its unsent notifications."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(%s)", (self.pid,))


async def wait_until(holds: Callable[[], object]) -> None:
    """Poll until a condition holds."""
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.01)


async def wait_for_dealer(house: House, clock: ManualClock) -> None:
    """Wait until a house deals the table, whose lease another house may have held."""
    await wait_until(lambda: house.dealers)
    async with asyncio.timeout(60):
        while not (await house.command_handler.table("1")).betting_since:
            clock.move(10)
            await asyncio.sleep(0.01)


async def find_listener(url: str) -> ListenerBackend:
    """Return the backend of the only server's listener, once it is connected."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await asyncio.to_thread(ListenerBackend, url)
            except ValueError:
                await asyncio.sleep(0.01)


async def test_table_established_during_a_lost_notification_connection_is_dealt_after_reconnecting(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(house_module, "CHECKPOINT_SECONDS", 1e6)  # the house does not poll
    url, clock = postgres.fresh(), ManualClock()
    async with House(url, state_dir=server_state(tmp_path, "here"), runtime=clock) as here:
        listener = await find_listener(url)
        with listener.stopped():
            async with House(
                url, state_dir=server_state(tmp_path, "there"), runtime=clock
            ) as there:
                await People(there.command_handler).open(timing=QUICK)
            listener.end()
        await wait_for_dealer(here, clock)


@pytest.mark.usefixtures("no_delays")
async def test_table_established_without_any_notification_is_dealt(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url, clock = postgres.fresh(), ManualClock()
    async with House(url, state_dir=server_state(tmp_path, "here"), runtime=clock) as here:
        assert not (await here.command_handler.table("1")).id  # and this is cached
        with (await find_listener(url)).stopped():
            async with House(
                url, state_dir=server_state(tmp_path, "there"), runtime=clock
            ) as there:
                await People(there.command_handler).open(timing=QUICK)
            await wait_for_dealer(here, clock)


@pytest.mark.usefixtures("no_delays")
async def test_statements_of_entries_without_notification_are_updated(tmp_path: Path) -> None:
    store = MemoryStore()
    async with (
        House("memory:", store=store, state_dir=tmp_path),
        CommandHandler(store) as elsewhere,
    ):
        people = People(elsewhere)
        await people.open()
        await people.play(*ROUND)
        await wait_until(lambda: len(results(store, "1")) == 1)
        await people.play(*ROUND)
        await wait_until(lambda: len(results(store, "1")) == 2)
