"""Recovery and release by several servers, some of which die meanwhile."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, closing, suppress
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.house.house_driver import DEALER, SUPERVISOR, People, server_state
from threedice.errors import Refusal, StoreFailed
from threedice.house import CommandHandler
from threedice.house.commands import InterruptTable, ResolveInterruption
from threedice.house.house import House
from threedice.log.proof.head_macs import open_head_macs
from threedice.log.stores import postgres as log_in_postgres
from threedice.log.stores.postgres import PostgresStore
from threedice.log.stores.urls import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from tests.log.postgres_server import PostgresServer

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("fast_suspension_polls")]

FULL = """CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'no space left on device' USING errcode = '53100'; END $$"""


class ServerDied(Exception):
    """The server was killed."""


async def interrupt_rounds(url: str, state: Path, *tables: str) -> None:
    """Close a house whose tables are in mid-round."""
    async with House(url, state_dir=state) as house:
        for table in tables:
            people = People(house.command_handler, table)
            await people.open()
            await people.play("open betting", "ann bets 100 on big")


def open_serving_store(url: str, folder: Path) -> PostgresStore:
    """Open the store as the server `one` does."""
    store = PostgresStore(url, serving=True)
    store.head_macs = open_head_macs(store.database, server_state(folder, "one"))
    return store


async def wait_for_blocked_server(url: str) -> None:
    """Wait until a server waits for the recovery lock."""
    waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    async with asyncio.timeout(60), await psycopg.AsyncConnection.connect(url) as connection:
        while not await (await connection.execute(waiting)).fetchall():
            await asyncio.sleep(0.01)


async def test_waiting_server_finishes_the_recovery_of_a_server_that_died(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.fresh()
    await interrupt_rounds(url, server_state(tmp_path, "one"), "1", "2")
    first = open_serving_store(url, tmp_path)
    second = House(url, state_dir=server_state(tmp_path, "two"))
    async with CommandHandler(first) as handler, AsyncExitStack() as later:
        with suppress(ServerDied), first.recovery_lock():
            opening = asyncio.create_task(later.enter_async_context(second))
            await handler.handle_for_house(InterruptTable(), table="1", key="1 interrupted")
            await wait_for_blocked_server(url)
            assert not opening.done()
            raise ServerDied
        await opening

        assert second.interrupted == ["2"]
        for table in ("1", "2"):
            with pytest.raises(Refusal, match="interrupted"):
                await People(second.command_handler, table).bet("ann", 5, "big")
    first.close()


async def test_server_starting_while_another_lost_its_connections_interrupts_no_table(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_in_postgres, "ACTIVE_LEASE_SECONDS", 60.0)
    url = postgres.fresh()
    async with House(url, state_dir=server_state(tmp_path, "one")) as one:
        people = People(one.command_handler)
        await people.open()
        await people.play("open betting")
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        async with House(url, state_dir=server_state(tmp_path, "two")) as two:
            assert two.interrupted == []
            await people.bet("ann", 5, "big")


async def wait_for_release(house: House) -> None:
    """Wait until a server is no longer suspended."""
    async with asyncio.timeout(60):
        while house.command_handler.suspension_reason:
            await asyncio.sleep(0.05)


async def test_release_at_one_server_releases_all_and_marks_interrupted_rounds_once(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.fresh()
    await interrupt_rounds(url, server_state(tmp_path, "one"), "1")
    with closing(open_store(url)) as store:
        store.suspend("the disk is full")
    async with (
        House(url, state_dir=server_state(tmp_path, "one")) as one,
        House(url, state_dir=server_state(tmp_path, "two")) as two,
    ):
        assert one.command_handler.suspension_reason
        await two.release("sue", "there is room again")
        assert two.interrupted == ["1"]
        people = People(two.command_handler)
        await people.send(ResolveInterruption(by=DEALER, confirmed_by=SUPERVISOR))
        await people.play("open betting")

        await wait_for_release(one)

        assert one.interrupted == []
        await People(one.command_handler).bet("ann", 5, "big")
        assert len(list(one.command_handler.store.scan("house"))) == 1


async def test_rounds_of_running_servers_continue_after_a_release(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.fresh()
    async with (
        House(url, state_dir=server_state(tmp_path, "one")) as one,
        House(url, state_dir=server_state(tmp_path, "two")) as two,
    ):
        people = People(one.command_handler)
        await people.open()
        await people.play("open betting")
        with psycopg.connect(url, autocommit=True) as disk:
            disk.execute(FULL)
            disk.execute("CREATE TRIGGER f BEFORE INSERT ON entries EXECUTE FUNCTION f()")
            with pytest.raises(StoreFailed, match="no space left"):
                await people.bet("ann", 5, "big")
            disk.execute("DROP TRIGGER f ON entries")
        async with asyncio.timeout(60):
            while not two.command_handler.suspension_reason:
                await asyncio.sleep(0.05)

        await two.release("sue", "there is room again")
        await wait_for_release(one)

        assert one.interrupted == two.interrupted == []
        await people.bet("ann", 5, "big")
    async with House(url, state_dir=server_state(tmp_path, "one")) as one:
        assert not one.command_handler.suspension_reason


async def test_next_release_finishes_the_recovery_of_a_server_that_died(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.fresh()
    await interrupt_rounds(url, server_state(tmp_path, "one"), "1", "2")
    first = open_serving_store(url, tmp_path)
    first.suspend("the disk is full")
    async with (
        House(url, state_dir=server_state(tmp_path, "two")) as two,
        CommandHandler(first) as handler,
    ):

        async def die() -> None:
            with first.recovery_lock():
                await handler.handle_for_house(InterruptTable(), table="1", key="1 interrupted")
                raise ServerDied

        with pytest.raises(ServerDied):
            await handler.suspension.release("sue", "there is room again", recover=die)
        first.close()
        assert two.command_handler.suspension_reason

        await two.release("tom", "there is room again")

        assert two.interrupted == ["2"]
