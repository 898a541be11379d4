"""Servers of one house that come back while others do, or die at it."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.floor.setting import People
from threedice.errors import Refusal
from threedice.floor import Floor
from threedice.floor.commands import InterruptTable
from threedice.floor.house import House
from threedice.log.postgres import PostgresStore

if TYPE_CHECKING:
    from pathlib import Path

    from tests.log.postgres_server import PostgresServer

pytestmark = pytest.mark.anyio


class Died(Exception):
    """A server is killed."""


async def broken_off(url: str, state: Path, *tables: str) -> None:
    """Leave tables in the middle of a round."""
    async with House(url, state=state) as house:
        for table in tables:
            people = People(house.floor, table)
            await people.open()
            await people.play("open betting", "ann bets 100 on big")


async def is_waiting(url: str) -> None:
    """Return when a server waits for another that comes back."""
    waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    async with asyncio.timeout(60), await psycopg.AsyncConnection.connect(url) as connection:
        while not await (await connection.execute(waiting)).fetchall():
            await asyncio.sleep(0.01)


async def test_what_a_server_has_not_marked_when_it_dies_is_marked_by_the_one_that_waits(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.fresh()
    await broken_off(url, tmp_path / "one", "1", "2")
    first, second = PostgresStore(url, serving=True), House(url, state=tmp_path / "two")
    async with Floor(first) as floor, AsyncExitStack() as later:
        with suppress(Died), first.coming_back():
            opening = asyncio.create_task(later.enter_async_context(second))
            await floor.handle_for_house(InterruptTable(), table="1", key="1 interrupted")
            await is_waiting(url)
            assert not opening.done()
            raise Died
        await opening

        assert second.interrupted == ["2"]
        for table in ("1", "2"):
            with pytest.raises(Refusal, match="interrupted"):
                await People(second.floor, table).bet("ann", 5, "big")
    first.close()
