"""Periods between counts of a rack, and their win by count and by log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.house.house_driver import SUPERVISOR, ManualClock, People
from tests.house.test_variances import MANAGER, count, open_table
from tests.table.chip_table import NEW_ZEALAND
from threedice import load
from threedice.house import CommandHandler
from threedice.house.audit.auditor import audit
from threedice.house.commands import EstablishTable
from threedice.house.reports.counts import read_counts, win_by_log
from threedice.house.reports.figures import shift_figures
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.sqlite import SqliteStore
from threedice.table import commands
from threedice.table.limits import uniform_limits

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio


class StoppedClock(ManualClock):
    """A clock that was set back: entries have the time of the last one until it catches up."""

    def now(self) -> int:
        return self.time


async def test_win_by_log_of_periods_in_which_the_clock_stood_still() -> None:
    store = MemoryStore()
    async with CommandHandler(store, runtime=StoppedClock()) as handler:
        people = await open_table(handler)
        await people.play("ann buys 100")
        for amount, rack in ((25, {"_5": 100, "_25": 97}), (50, {"_5": 100, "_25": 99})):
            await people.play("open betting", f"ann bets {amount} on big", "dice 1 2 3")
            await people.send(count(**rack))
        statements = await handler.streams.statements()
        ended = [each for each in read_counts(store, "1").periods if each.end]
        wins = [(each.win_by_count, win_by_log(statements, "1", each)) for each in ended]

    assert len({each.end for each in ended}) == 1
    assert wins == [(25, 25), (50, 50)]


async def test_turnover_is_what_played_of_bets_over_a_limit() -> None:
    store = MemoryStore()
    async with CommandHandler(store, runtime=ManualClock()) as handler:
        people = People(handler)
        await people.open_in_chips("sg-rws-tai-sai-v6/c", {"5": 400, "100": 100})
        await people.play("open betting")
        await people.play("ann buys 900", "bob buys 300", "ann bets 900 on big")
        await people.play("bob bets 300 on big", "dice 6 5 4")
        await people.play("open betting", "ann bets 900 on big", "bob bets 300 on big")
        await people.play("dice 1 2 3")
        statements = await handler.streams.statements()
        figures = shift_figures(statements, "1")

    assert (figures.rounds, figures.turnover, figures.win) == (2, 2000, 0)


async def test_short_rack_is_counted_while_coloured_chips_are_out(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "house.sqlite")
    rack = {"5": 30, "red": 40}
    opening = commands.OpenTable(
        by=SUPERVISOR, table="1", currency="SGD", mode="record", chips=[5], float_amount=150,
        limits=uniform_limits(load(NEW_ZEALAND), 5, 1000, 1000), approved_by=MANAGER, rack=rack,
    )  # fmt: skip
    short = commands.CountRack(
        by=SUPERVISOR, approved_by=MANAGER, counted={"5": 4, "red": 10}, note="end of the shift"
    )
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.send(EstablishTable(by=SUPERVISOR, game=NEW_ZEALAND))
        await people.send(opening)
        for check in load(NEW_ZEALAND).facts.opening:
            await people.send(commands.PassCheck(by=SUPERVISOR, check=check))
        await people.play("ann buys 100", "ann takes red at 5", "tumble 3 times", "open betting")
        await people.play("ann bets 50 on big", "dice 6 5 4")
        await people.send(short)
        (period, _) = read_counts(store, "1").periods
        win = win_by_log(await handler.streams.statements(), "1", period)

    assert (period.expected_value, period.counted_value) == (0, -130)
    assert (period.win_by_count, win) == (-180, -50)
    assert audit(store, public_keys={}).findings == ()
    store.close()
