"""Kills in the short form; the long one is `python -m tests.faults.killing`."""

from __future__ import annotations

import asyncio
import sys
from threading import Event
from typing import TYPE_CHECKING

import pytest

from tests.faults.kill_found import differing
from tests.faults.kill_houses import houses
from tests.faults.kill_listeners import kill_listeners
from tests.faults.kill_points import POINTS
from tests.faults.kill_servers import BACKENDS, POSTMASTER, kill_postgres
from tests.faults.killing import kill_processes
from tests.house.house_driver import People
from threedice.errors import StoreUnavailable
from threedice.house import CommandHandler
from threedice.house.audit.auditor import audit
from threedice.log.stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.faults.kill_houses import Houses, Kind
    from tests.faults.kill_servers import Way
    from threedice.log.records import Proposal, ProposalOutcome

SEED = 20_261


@pytest.fixture(scope="module")
def prepared() -> Iterator[Houses]:
    with houses() as prepared:
        yield prepared


@pytest.mark.parametrize(("kind", "count"), [("sqlite", 35), ("postgres", 15)])
def test_a_killed_process_loses_nothing_that_it_acknowledged(
    kind: Kind, count: int, prepared: Houses, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = kill_processes(prepared, kind, count, SEED)
    show(capsys, f"{kind}: {tally}")

    assert tally.problems == []
    assert tally.lost == 0
    assert tally.kills == count
    assert set(tally.points) == set(POINTS)
    assert tally.between * 10 >= count, "too few kills landed between commit and acknowledgement"
    assert tally.told > count
    assert tally.interrupted > 0


@pytest.mark.parametrize(
    "ways",
    [(*POSTMASTER, "postmaster", "postmaster"), BACKENDS],
    ids=["postmaster", "connections"],
)
def test_a_house_goes_on_when_postgresql_was_killed(
    ways: Sequence[Way], prepared: Houses, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = kill_postgres(prepared, ways, SEED)
    show(capsys, str(tally))

    assert tally.problems == []
    assert tally.lost == 0
    assert tally.kills.total() == len(ways)
    assert tally.met > 0
    assert tally.away > 0 or ways is BACKENDS


def test_houses_hear_of_each_other_when_whoever_listened_was_killed(
    prepared: Houses, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = kill_listeners(prepared, 3)
    show(capsys, str(tally))

    assert tally.problems == []
    assert (tally.killed, tally.written, tally.shown) == (6, 3, 3)


class Unheard(MemoryStore):
    """A store that writes a batch, and is away before it can say so."""

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


def test_a_batch_upon_one_that_nobody_heard_of_leaves_memory_and_log_the_same() -> None:
    store = Unheard()

    async def bet_and_bet() -> None:
        async with CommandHandler(store) as floor:
            people = People(floor)
            await people.open()
            await people.play("open betting")
            store.lose = True
            first = asyncio.create_task(people.bet("ann", 50, "big"))
            await asyncio.to_thread(store.lost.wait)
            second = asyncio.create_task(people.bet("bob", 50, "small"))
            await asyncio.sleep(0)  # it is decided upon the first, and waits to be written
            store.go_on.set()
            answers = await asyncio.gather(first, second)
            assert [each.entries[0].version for each in answers] == [7, 8]
            assert await differing(floor, store) == []

    asyncio.run(bet_and_bet())

    assert audit(store, public_keys={}).findings == ()


def show(capsys: pytest.CaptureFixture[str], tally: str) -> None:
    """Print what was injected and what survived, whatever becomes of the test."""
    with capsys.disabled():
        sys.stdout.write(f"\n{tally}\n")
