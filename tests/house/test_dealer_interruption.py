"""An automatic table interrupted after any step of its dealer, after the restart."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.house.house_driver import QUICK, ManualClock, People, TableWatch, is_betting_open
from tests.house.test_recovery import bettors, notices, truncated_store
from tests.log.inspection import all_games
from threedice.house.house import House
from threedice.log.stores.memory import MemoryStore

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.house.stream_state import HouseTable
    from threedice.log.entry import Entry

pytestmark = pytest.mark.anyio

BETS = {
    "sg-rws-tai-sai-v6/a": {"ann": "big", "bob": "small"},
    "nz-tai-sai-2008/1": {"ann": "big", "bob": "small"},
    "triple-dice/mat": {"ann": "shooter", "bob": "red", "cat": "black"},
    "crown-and-anchor/main": {
        "ann": "single:crown", "bob": "single:anchor", "cat": "single:spade", "dan": "single:heart",
    },
}  # fmt: skip
"""Bets that no roll lets all win, so that some player always has nothing left to be paid."""


async def deal_round(game: str, state: Path) -> tuple[MemoryStore, ManualClock]:
    """Deal one round and return the log of its table."""
    store, clock = MemoryStore(), ManualClock()
    async with House("memory:", store=store, state_dir=state, runtime=clock) as house:
        people, watch = People(house.command_handler), TableWatch(house)
        await people.open(game, timing=QUICK, stacks=dict.fromkeys(BETS[game], 1000))
        clock.move(QUICK.closing_seconds)
        if "shooter" in BETS[game].values():
            await watch.until("1", lambda t: t.table.shooter is not None)
            await people.play("ann chooses dice 1 2 5")
        await watch.until("1", partial(is_betting_open, 1))
        await people.play(*(f"{name} bets 100 on {box}" for name, box in BETS[game].items()))
        clock.move(QUICK.betting_seconds)
        await watch.until("1", lambda t: "close-betting" in t.table.current.done)
        if "shooter" in BETS[game].values():
            await people.play("ann throws")
        clock.move(QUICK.closing_seconds)
        await watch.until("1", lambda t: t.table.current.result is not None)
        clock.move(QUICK.showing_seconds)
        await watch.until("1", lambda t: t.table.round is None)
    return store, clock


def append_ends(entries: list[Entry]) -> list[int]:
    """Return the last version of each append between the first bet and the payment."""
    start = next(each.version for each in entries if each.kind == "BetPlaced")
    end = next(each.version for each in entries if each.kind == "WinnersPaid")
    ends = [one.version for one, other in pairwise(entries) if one.cause != other.cause]
    return [version for version in ends if start <= version < end]


LOCKED = {"nz-tai-sai-2008/1", "triple-dice/mat"}
"""Games whose table is locked after an interruption until a supervisor releases it."""


@pytest.mark.clause("nz-tai-sai-2008 7.4")
@pytest.mark.parametrize("game", BETS)
async def test_interrupted_table_is_locked_where_the_rulebook_requires_release(
    game: str, tmp_path: Path
) -> None:
    store, clock = await deal_round(game, tmp_path / "first")
    entries = list(store.scan("table/1"))
    for after in append_ends(entries):
        again = truncated_store(entries, all_games(store), after)
        async with House(
            "memory:", store=again, state_dir=tmp_path / str(after), runtime=clock
        ) as house:
            watch = TableWatch(house)
            await watch.until("1", partial(has_notice, again))
            clock.move(QUICK.showing_seconds)
            house_table = await watch.until("1", is_over)
        assert bool(house_table.table.locked) is (game in LOCKED), entries[after - 1].kind


def is_over(house_table: HouseTable) -> bool:
    """Return whether the first round has been concluded or voided."""
    return house_table.table.round is None or house_table.table.rounds > 1


@pytest.mark.parametrize("game", BETS)
async def test_everyone_who_bet_is_notified_of_an_interruption_at_any_step(
    game: str, tmp_path: Path
) -> None:
    store, clock = await deal_round(game, tmp_path / "first")
    entries = list(store.scan("table/1"))
    for after in append_ends(entries):
        again = truncated_store(entries, all_games(store), after)
        async with House(
            "memory:", store=again, state_dir=tmp_path / str(after), runtime=clock
        ) as house:
            await TableWatch(house).until("1", partial(has_notice, again))
        assert [sorted(each.players) for each in notices(again)] == [bettors(entries[:after])]


def has_notice(store: MemoryStore, _house_table: HouseTable) -> bool:
    return bool(notices(store))
