"""Kills under load in the short form; the long one is `python -m tests.faults.kills`."""

from __future__ import annotations

import asyncio
import sys
from threading import Event
from typing import TYPE_CHECKING

import pytest

from tests.faults.kill_houses import diverging_streams, houses
from tests.faults.kill_postgres import BACKENDS, POSTMASTER, kill_listeners, kill_postgres
from tests.faults.kill_process import POINTS
from tests.faults.kills import kill_processes
from tests.house.house_driver import People
from threedice.errors import StoreUnavailable
from threedice.house import CommandHandler
from threedice.house.audit.auditor import audit
from threedice.log.stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.faults.kill_houses import Houses, Kind
    from tests.faults.kill_postgres import Way
    from threedice.log.records import Proposal, ProposalOutcome

SEED = 20_261


@pytest.fixture(scope="module")
def prepared() -> Iterator[Houses]:
    with houses() as prepared:
        yield prepared


@pytest.mark.parametrize(("kind", "count"), [("sqlite", 16), ("postgres", 12)])
def test_killed_process_loses_no_acknowledged_command(
    kind: Kind, count: int, prepared: Houses, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = kill_processes(prepared, kind, count, SEED)
    show(capsys, f"{kind}: {tally}")

    assert tally.problems == []
    assert tally.lost == 0
    assert tally.kills == count
    assert set(tally.points) == set(POINTS)
    assert tally.between * 10 >= count, "too few kills landed between commit and acknowledgement"
    assert tally.acknowledged > count
    assert tally.interrupted > 0


@pytest.mark.parametrize(
    "ways",
    [(*POSTMASTER, "postmaster"), BACKENDS],
    ids=["postmaster", "connections"],
)
def test_house_continues_after_kills_of_postgresql(
    ways: Sequence[Way], prepared: Houses, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = kill_postgres(prepared, ways, SEED)
    show(capsys, str(tally))

    assert tally.problems == []
    assert tally.lost == 0
    assert tally.kills.total() == len(ways)
    assert tally.in_flight > 0
    assert tally.unavailable > 0 or ways is BACKENDS


def test_houses_receive_each_others_entries_after_listener_kills(
    prepared: Houses, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = kill_listeners(prepared, 3)
    show(capsys, str(tally))

    assert tally.problems == []
    assert (tally.killed, tally.written, tally.shown) == (6, 3, 3)


class LostReplyStore(MemoryStore):
    """A store that writes a batch and then fails as unavailable."""

    def __init__(self) -> None:
        super().__init__()
        self.lose, self.lost, self.go_on = False, Event(), Event()

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        outcomes = super().write(proposals)
        if self.lose:
            self.lose = False
            self.lost.set()
            self.go_on.wait()
            raise StoreUnavailable("the answer was lost on its way")
        return outcomes


def test_memory_matches_the_log_after_a_batch_with_a_lost_reply() -> None:
    store = LostReplyStore()

    async def place_two_bets() -> None:
        async with CommandHandler(store) as handler:
            people = People(handler)
            await people.open()
            await people.play("open betting")
            store.lose = True
            first = asyncio.create_task(people.bet("ann", 50, "big"))
            await asyncio.to_thread(store.lost.wait)
            second = asyncio.create_task(people.bet("bob", 50, "small"))
            await asyncio.sleep(0)  # decided on the first bet, waiting to be written
            store.go_on.set()
            answers = await asyncio.gather(first, second)
            assert [each.entries[0].version for each in answers] == [7, 8]
            assert await diverging_streams(handler, store) == []

    asyncio.run(place_two_bets())

    assert audit(store, public_keys={}).findings == ()


def show(capsys: pytest.CaptureFixture[str], tally: str) -> None:
    """Print a tally, whether or not the test passes."""
    with capsys.disabled():
        sys.stdout.write(f"\n{tally}\n")
