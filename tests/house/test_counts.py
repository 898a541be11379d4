"""Periods between counts of a rack, and their win by count and by log."""

from __future__ import annotations

import pytest

from tests.house.house_driver import ManualClock
from tests.house.test_variances import count, open_table
from threedice.house import CommandHandler
from threedice.house.reports.counts import read_counts, win_by_log
from threedice.log.stores.memory import MemoryStore

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
