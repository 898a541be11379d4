"""Dealers continue after failed disks, exhausted file handles, and changes of the clock."""

from __future__ import annotations

import asyncio
import errno
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.house.house_driver import (
    QUICK,
    DealerClock,
    FailingStore,
    ManualClock,
    is_betting_open,
    start_round,
)
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


async def test_dealer_continues_after_a_failed_disk_is_released(tmp_path: Path) -> None:
    store, clock = FailingStore(), ManualClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        people, watch = await start_round(house, clock)
        store.fails = True
        with pytest.raises(StoreFailed):
            await people.bet("ann", 5, "big")
        clock.move(QUICK.betting_seconds)
        store.fails = False

        await house.release("sue", "there is room again")

        await watch.until("1", lambda t: "close-betting" in t.table.current.done)


class ExhaustedStore(MemoryStore):
    """A store that can run out of file handles, which raises an error of the operating system."""

    def __init__(self) -> None:
        super().__init__()
        self.is_exhausted = False

    def acquire_lease(self, name: str, holder: str, seconds: float) -> bool:
        self._check_handles()
        return super().acquire_lease(name, holder, seconds)

    def heads_with_macs(self) -> dict[str, tuple[Head, bytes]]:
        self._check_handles()
        return super().heads_with_macs()

    def _check_handles(self) -> None:
        if self.is_exhausted:
            raise OSError(errno.EMFILE, "Too many open files")


async def test_dealer_and_statement_updates_recover_from_exhausted_file_handles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(house_module, "STATEMENT_DELAY_SECONDS", 0.0)
    store, clock = ExhaustedStore(), ManualClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        _, watch = await start_round(house, clock)
        store.is_exhausted = True
        clock.move(LEASE_SECONDS)
        house.note_change("table/1", is_urgent=True)
        async with asyncio.timeout(60):
            while not (house.background_error and house.dealers["1"].error):
                await asyncio.sleep(0.01)
        assert "Too many open files" in house.background_error
        assert "Too many open files" in house.dealers["1"].error

        store.is_exhausted = False
        clock.move(QUICK.betting_seconds)
        house.note_change("table/1", is_urgent=True)

        await watch.until("1", lambda t: "close-betting" in t.table.current.done)
        async with asyncio.timeout(60):
            while house.background_error:
                await asyncio.sleep(0.01)


async def test_table_switches_between_automatic_and_human_dealing(tmp_path: Path) -> None:
    clock = ManualClock()
    async with House("memory:", store=MemoryStore(), state_dir=tmp_path, runtime=clock) as house:
        people, watch = await start_round(house, clock)
        await people.play("close the table")
        await people.open()
        await people.play("open betting", "ann bets 5 on big", "dice 6 5 4", "close the table")
        await people.open(timing=QUICK)
        clock.move(QUICK.closing_seconds)
        rounds = (await house.command_handler.table("1")).table.rounds
        await watch.until("1", partial(is_betting_open, rounds + 1))


async def test_table_is_dealt_on_after_clock_changes(tmp_path: Path) -> None:
    store, clock = MemoryStore(), ManualClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        people, watch = await start_round(house, clock)
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


async def test_betting_time_is_unchanged_after_the_clock_is_set_back(tmp_path: Path) -> None:
    clock = DealerClock()
    async with House("memory:", store=MemoryStore(), state_dir=tmp_path, runtime=clock) as house:
        people, watch = await start_round(house, clock)
        clock.ahead = -3600
        for seconds in (
            QUICK.betting_seconds,
            QUICK.closing_seconds,
            QUICK.showing_seconds,
            QUICK.closing_seconds,
        ):
            await clock.advance(seconds)
        await watch.until("1", partial(is_betting_open, 2))

        await clock.advance(QUICK.betting_seconds - 1)

        await people.bet("bob", 5, "big")
        await clock.advance(1)
        assert "close-betting" in (await house.command_handler.table("1")).table.current.done
