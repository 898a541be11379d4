"""Dealers of several servers: only the holder of a table's lease deals it."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.house.house_driver import (
    QUICK,
    DealerClock,
    People,
    TableWatch,
    is_betting_open,
    server_state,
    start_round,
)
from tests.waiting import TIMEOUT_SECONDS
from threedice.errors import StoreUnavailable
from threedice.house.dealer.automatic import LEASE_SECONDS
from threedice.house.events import Timing
from threedice.house.house import House
from threedice.log.stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from threedice.house.stream_state import HouseTable
    from threedice.log.entry import Entry
    from threedice.log.records import Proposal, ProposalOutcome

pytestmark = pytest.mark.anyio

AT_ONCE = Timing(betting_seconds=0, closing_seconds=0, showing_seconds=0)


class BlockableStore(MemoryStore):
    """A server's access to a shared store; its reads and writes can be blocked."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__()
        vars(self).update(vars(store))
        self.reads, self.writes, self.waits = (threading.Event() for _ in range(3))
        self.reads.set()
        self.writes.set()
        self.is_unavailable = False

    def acquire_lease(self, name: str, holder: str, seconds: float) -> bool:
        if self.is_unavailable:
            raise StoreUnavailable("the database does not answer")
        return super().acquire_lease(name, holder, seconds)

    def read(self, stream: str, after: int = 0, limit: int = 1000) -> list[Entry]:
        self._pass(self.reads)
        return super().read(stream, after, limit)

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        self._pass(self.writes)
        return super().write(proposals)

    def _pass(self, free: threading.Event) -> None:
        if not free.is_set():
            self.waits.set()
            free.wait(60)


@pytest.fixture
def clock() -> DealerClock:
    """Return the clock of the leases and of the server that takes over."""
    return DealerClock()


async def take_over(house: House, clock: DealerClock) -> None:
    """Let a house take the table over from a blocked one, and start the next round."""
    watch = TableWatch(house)
    await clock.advance(LEASE_SECONDS + 1)
    await watch.until("1", lambda t: t.seeds_lost == 1)
    await clock.advance(QUICK.closing_seconds)
    await watch.until("1", partial(is_betting_open, 2))


async def is_second_round_open(house: House) -> bool:
    """Return whether the second round is open and only the first was lost."""
    house.command_handler.streams.mark_all_changed()
    house_table = await house.command_handler.table("1")
    return is_betting_open(2, house_table) and house_table.seeds_lost == 1


async def test_delayed_dealer_does_not_act_after_its_lease_is_taken_over(
    tmp_path: Path, clock: DealerClock
) -> None:
    store, late = MemoryStore(clock), DealerClock()
    blockable = BlockableStore(store)
    async with (
        House(
            "memory:", store=blockable, state_dir=server_state(tmp_path, "one"), runtime=late
        ) as one,
        House(
            "memory:", store=store, state_dir=server_state(tmp_path, "two"), runtime=clock
        ) as two,
    ):
        await start_round(one, late)
        two.note_change("table/1", is_urgent=True)
        await late.wait_until_idle()
        blockable.reads.clear()
        one.command_handler.streams.mark_all_changed()
        one.note_change("table/1", is_urgent=False)
        await asyncio.to_thread(blockable.waits.wait, TIMEOUT_SECONDS)
        late.time += int((LEASE_SECONDS + 1) * 1e6)
        await take_over(two, clock)

        blockable.reads.set()
        await late.wait_until_idle()

        assert await is_second_round_open(two)


async def test_delayed_dealer_does_not_void_the_round_after_a_lost_one(
    tmp_path: Path, clock: DealerClock
) -> None:
    store, late = MemoryStore(clock), DealerClock()
    blockable = BlockableStore(store)
    async with House(
        "memory:", store=store, state_dir=server_state(tmp_path, "gone"), runtime=clock
    ) as gone:
        await start_round(gone, clock)
    blockable.writes.clear()
    async with House(
        "memory:", store=blockable, state_dir=server_state(tmp_path, "one"), runtime=late
    ):
        await asyncio.to_thread(blockable.waits.wait, TIMEOUT_SECONDS)
        late.time += int((LEASE_SECONDS + 1) * 1e6)
        async with House(
            "memory:", store=store, state_dir=server_state(tmp_path, "two"), runtime=clock
        ) as two:
            await People(two.command_handler).bet("bob", 5, "big")
            await take_over(two, clock)

            blockable.writes.set()
            await late.wait_until_idle()

            assert await is_second_round_open(two)


def has_played(rounds: int, house_table: HouseTable) -> bool:
    return house_table.table.rounds > rounds


async def test_dealer_of_a_table_without_pauses_renews_its_lease(
    tmp_path: Path, clock: DealerClock
) -> None:
    store = MemoryStore(clock)
    async with House(
        "memory:", store=store, state_dir=server_state(tmp_path, "one"), runtime=clock
    ) as one:
        people, watch = People(one.command_handler), TableWatch(one)
        await people.open(timing=AT_ONCE)
        await watch.until("1", partial(has_played, 1))
        async with House(
            "memory:", store=store, state_dir=server_state(tmp_path, "two"), runtime=clock
        ):
            for _ in range(3):
                await clock.advance(LEASE_SECONDS * 0.6)
                rounds = (await one.command_handler.table("1")).table.rounds
                await watch.until("1", partial(has_played, rounds + 2))
            assert store.acquire_lease(
                "dealer/1", one.holder, LEASE_SECONDS
            )  # the lease is still held
        assert (await one.command_handler.table("1")).seeds_lost == 0


async def test_dealer_error_clears_when_another_server_deals_the_table(
    tmp_path: Path, clock: DealerClock
) -> None:
    store, late = MemoryStore(clock), DealerClock()
    blockable = BlockableStore(store)
    async with (
        House(
            "memory:", store=blockable, state_dir=server_state(tmp_path, "one"), runtime=late
        ) as one,
        House(
            "memory:", store=store, state_dir=server_state(tmp_path, "two"), runtime=clock
        ) as two,
    ):
        await start_round(one, late)
        two.note_change("table/1", is_urgent=True)
        blockable.is_unavailable = True
        await late.advance(LEASE_SECONDS + 1)
        assert one.dealers["1"].error
        await take_over(two, clock)

        blockable.is_unavailable = False
        await late.advance(LEASE_SECONDS / 2)

        assert one.dealers["1"].error == ""
