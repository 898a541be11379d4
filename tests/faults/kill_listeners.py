"""Kills of the connections that listen: two houses on one PostgreSQL still hear of each other."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Final

import psycopg

from tests.faults.kill_load import PLAYERS, TABLE
from tests.faults.kill_tally import ListenerTally
from tests.house.house_driver import People
from threedice.house.house import House as Served
from threedice.house.stream_state import table_stream
from threedice.log.stores.postgres_streams import LISTENER_APPLICATION_NAME

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tests.faults.kill_houses import House, Houses
    from threedice.log.entry import Entry

HOUSES: Final = 2
PATIENCE_SECONDS: Final = 120.0


def kill_listeners(houses: Houses, count: int) -> ListenerTally:
    """Kill all who listen, so many times; what one house writes then, the other shows."""
    tally = ListenerTally()
    with houses.lend("postgres") as house:
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
        listening = await asyncio.to_thread(_listening, house.url, set())
        for number in range(count):
            shown = asyncio.create_task(_next(feed))
            await asyncio.to_thread(_terminate, house.url, listening)
            answer = await people.bet(PLAYERS[number % len(PLAYERS)], 5, "big")
            tally.add(len(listening), answer, await shown)
            listening = await asyncio.to_thread(_listening, house.url, listening)
        await feed.aclose()


async def _next(feed: AsyncGenerator[list[Entry], None]) -> list[Entry]:
    return await anext(feed)


def _terminate(url: str, pids: set[int]) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS pid", (list(pids),)
        )


def _listening(url: str, before: set[int]) -> set[int]:
    """Return the connections that listen, as soon as each house has one that is new."""
    asked = "SELECT pid FROM pg_stat_activity WHERE application_name = %s AND datname = %s"
    until, pids = monotonic() + PATIENCE_SECONDS, set[int]()
    with psycopg.connect(url, autocommit=True) as connection:
        while len(pids) != HOUSES:
            if monotonic() > until:
                raise TimeoutError(f"{len(pids)} of {HOUSES} houses listen again")
            rows = connection.execute(asked, (LISTENER_APPLICATION_NAME, connection.info.dbname))
            pids = {pid for (pid,) in rows} - before
    return pids
