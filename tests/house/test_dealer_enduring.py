"""Dealers of the house outlive what stands in their way: disks, limits, other hands, clocks."""

from __future__ import annotations

import asyncio
import errno
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.house.setting import QUICK, Failing, HandClock, WatchedClock, begun, is_open
from threedice.errors import StoreFailed
from threedice.house import house as house_module
from threedice.house.dealer.automatic import LEASE_SECONDS
from threedice.house.dealer.sealed_dice import check_dice
from threedice.house.house import House
from threedice.log.stores.memory import MemoryStore

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.log.entry import Head

pytestmark = pytest.mark.anyio


async def test_a_dealer_outlives_a_disk_that_failed(tmp_path: Path) -> None:
    store, clock = Failing(), HandClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        people, watch = await begun(house, clock)
        store.fails = True
        with pytest.raises(StoreFailed):
            await people.bet("ann", 5, "big")
        clock.move(QUICK.betting_seconds)
        store.fails = False

        await house.release("sue", "there is room again")

        await watch.until("1", lambda t: "close-betting" in t.table.current.done)


class Exhausted(MemoryStore):
    """A store for which the machine lacks something now and then: no error of ours."""

    def __init__(self) -> None:
        super().__init__()
        self.lacks = False

    def acquire_lease(self, name: str, holder: str, seconds: float) -> bool:
        self._need()
        return super().acquire_lease(name, holder, seconds)

    def heads(self) -> dict[str, Head]:
        self._need()
        return super().heads()

    def _need(self) -> None:
        if self.lacks:
            raise OSError(errno.EMFILE, "Too many open files")


async def test_dealers_and_books_outlive_whatever_stands_in_their_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(house_module, "STATEMENT_DELAY_SECONDS", 0.0)
    store, clock = Exhausted(), HandClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        _, watch = await begun(house, clock)
        store.lacks = True
        clock.move(LEASE_SECONDS)
        house.note_change("table/1", is_urgent=True)
        async with asyncio.timeout(60):
            while not (house.background_error and house.dealers["1"].error):
                await asyncio.sleep(0.01)
        assert "Too many open files" in house.background_error
        assert "Too many open files" in house.dealers["1"].error

        store.lacks = False
        clock.move(QUICK.betting_seconds)
        house.note_change("table/1", is_urgent=True)

        await watch.until("1", lambda t: "close-betting" in t.table.current.done)
        async with asyncio.timeout(60):
            while house.background_error:
                await asyncio.sleep(0.01)


async def test_a_table_that_changes_hands_is_dealt_by_whoever_has_it(tmp_path: Path) -> None:
    clock = HandClock()
    async with House("memory:", store=MemoryStore(), state_dir=tmp_path, runtime=clock) as house:
        people, watch = await begun(house, clock)
        await people.play("close the table")
        await people.open()
        await people.play("open betting", "ann bets 5 on big", "dice 6 5 4", "close the table")
        await people.open(timing=QUICK)
        clock.move(QUICK.closing_seconds)
        rounds = (await house.command_handler.table("1")).table.rounds
        await watch.until("1", partial(is_open, rounds + 1))


async def test_a_clock_that_is_set_stops_no_table(tmp_path: Path) -> None:
    store, clock = MemoryStore(), HandClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        people, watch = await begun(house, clock)
        clock.ahead = 3600
        await people.bet("ann", 5, "big")
        clock.ahead = 0
        clock.move(QUICK.betting_seconds)
        await watch.until("1", lambda t: "close-betting" in t.table.current.done)
        clock.ahead = -7200
        async with asyncio.timeout(60):
            while (await house.command_handler.table("1")).table.current.called is None:
                clock.move(0.1)
                await asyncio.sleep(0)
        assert (await house.command_handler.table("1")).seeds_lost == 0
    (checked,) = check_dice(store.scan("table/1"))
    assert checked.problem == ""


async def test_people_have_as_long_to_bet_after_the_clock_was_set_back(tmp_path: Path) -> None:
    clock = WatchedClock()
    async with House("memory:", store=MemoryStore(), state_dir=tmp_path, runtime=clock) as house:
        people, watch = await begun(house, clock)
        clock.ahead = -3600
        for seconds in (
            QUICK.betting_seconds,
            QUICK.closing_seconds,
            QUICK.showing_seconds,
            QUICK.closing_seconds,
        ):
            await clock.let_pass(seconds)
        await watch.until("1", partial(is_open, 2))

        await clock.let_pass(QUICK.betting_seconds - 1)

        await people.bet("bob", 5, "big")
        await clock.let_pass(1)
        assert "close-betting" in (await house.command_handler.table("1")).table.current.done
