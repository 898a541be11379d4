"""Dealers of several servers: only who holds the lease of a table deals it."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.house.setting import (
    QUICK,
    People,
    Watch,
    WatchedClock,
    begun,
    is_open,
)
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


class SlowWay(MemoryStore):
    """A server's way to a store that others have too; it can be held up."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__()
        vars(self).update(vars(store))
        self.reads, self.writes, self.waits = (threading.Event() for _ in range(3))
        self.reads.set()
        self.writes.set()
        self.away = False

    def acquire_lease(self, name: str, holder: str, seconds: float) -> bool:
        if self.away:
            raise StoreUnavailable("the database does not answer")
        return super().acquire_lease(name, holder, seconds)

    def read(self, stream: str, after: int = 0, most: int = 1000) -> list[Entry]:
        self._pass(self.reads)
        return super().read(stream, after, most)

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        self._pass(self.writes)
        return super().write(proposals)

    def _pass(self, free: threading.Event) -> None:
        if not free.is_set():
            self.waits.set()
            free.wait(60)


@pytest.fixture
def clock() -> WatchedClock:
    """The clock of the leases, and of the server that takes over."""
    return WatchedClock()


async def take_over(house: House, clock: WatchedClock) -> None:
    """Have a house take the table over from one that is held up, and begin the next round."""
    watch = Watch(house)
    await clock.let_pass(LEASE_SECONDS + 1)
    await watch.until("1", lambda t: t.seeds_lost == 1)
    await clock.let_pass(QUICK.closing_seconds)
    await watch.until("1", partial(is_open, 2))


async def goes_on(house: House) -> bool:
    """Return whether the second round is being played, and only the first was lost."""
    house.command_handler.streams.mark_all_changed()
    house_table = await house.command_handler.table("1")
    return is_open(2, house_table) and house_table.seeds_lost == 1


async def test_a_dealer_who_was_held_up_leaves_the_round_to_who_deals_now(
    tmp_path: Path, clock: WatchedClock
) -> None:
    store, late = MemoryStore(clock), WatchedClock()
    way = SlowWay(store)
    async with (
        House("memory:", store=way, state_dir=tmp_path / "one", runtime=late) as one,
        House("memory:", store=store, state_dir=tmp_path / "two", runtime=clock) as two,
    ):
        await begun(one, late)
        two.note_change("table/1", is_urgent=True)
        await late.rest()
        way.reads.clear()
        one.command_handler.streams.mark_all_changed()
        one.note_change("table/1", is_urgent=False)
        await asyncio.to_thread(way.waits.wait, 20)
        late.time += int((LEASE_SECONDS + 1) * 1e6)
        await take_over(two, clock)

        way.reads.set()
        await late.rest()

        assert await goes_on(two)


async def test_a_lost_round_is_called_off_once_and_not_the_next_in_its_place(
    tmp_path: Path, clock: WatchedClock
) -> None:
    store, late = MemoryStore(clock), WatchedClock()
    way = SlowWay(store)
    async with House("memory:", store=store, state_dir=tmp_path / "gone", runtime=clock) as gone:
        await begun(gone, clock)
    way.writes.clear()
    async with House("memory:", store=way, state_dir=tmp_path / "one", runtime=late):
        await asyncio.to_thread(way.waits.wait, 20)
        late.time += int((LEASE_SECONDS + 1) * 1e6)
        async with House("memory:", store=store, state_dir=tmp_path / "two", runtime=clock) as two:
            await People(two.command_handler).bet("bob", 5, "big")
            await take_over(two, clock)

            way.writes.set()
            await late.rest()

            assert await goes_on(two)


def has_played(rounds: int, house_table: HouseTable) -> bool:
    return house_table.table.rounds > rounds


async def test_a_table_without_pauses_stays_with_its_dealer(
    tmp_path: Path, clock: WatchedClock
) -> None:
    store = MemoryStore(clock)
    async with House("memory:", store=store, state_dir=tmp_path / "one", runtime=clock) as one:
        people, watch = People(one.command_handler), Watch(one)
        await people.open(timing=AT_ONCE)
        await watch.until("1", partial(has_played, 1))
        async with House("memory:", store=store, state_dir=tmp_path / "two", runtime=clock):
            for _ in range(3):
                await clock.let_pass(LEASE_SECONDS * 0.6)
                rounds = (await one.command_handler.table("1")).table.rounds
                await watch.until("1", partial(has_played, rounds + 2))
            assert store.acquire_lease("dealer/1", one.holder, LEASE_SECONDS)  # it still has it
        assert (await one.command_handler.table("1")).seeds_lost == 0


async def test_a_table_that_another_server_deals_now_is_not_stuck_any_more(
    tmp_path: Path, clock: WatchedClock
) -> None:
    store, late = MemoryStore(clock), WatchedClock()
    way = SlowWay(store)
    async with (
        House("memory:", store=way, state_dir=tmp_path / "one", runtime=late) as one,
        House("memory:", store=store, state_dir=tmp_path / "two", runtime=clock) as two,
    ):
        await begun(one, late)
        two.note_change("table/1", is_urgent=True)
        way.away = True
        await late.let_pass(LEASE_SECONDS + 1)
        assert one.dealers["1"].error
        await take_over(two, clock)

        way.away = False
        await late.let_pass(LEASE_SECONDS / 2)

        assert one.dealers["1"].error == ""
