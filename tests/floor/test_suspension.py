"""A disk that fails: nothing is acknowledged, tables are suspended, a person lets play go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.floor.setting import People
from threedice.errors import InvalidInput, OperatingFailure, StoreFailed
from threedice.floor import Floor
from threedice.log.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from threedice.log.store import Outcome, Proposal

pytestmark = pytest.mark.anyio


class Failing(MemoryStore):
    """A store whose disk can be made to fail."""

    fails = False

    def write(self, proposals: Sequence[Proposal]) -> list[Outcome]:
        if self.fails:
            raise StoreFailed("the disk is full")
        return super().write(proposals)

    def suspend(self, cause: str) -> None:
        if self.fails:
            raise StoreFailed("the disk is full")
        super().suspend(cause)


async def test_nothing_is_acknowledged_after_a_failed_write(tmp_path: Path) -> None:
    store = Failing()
    async with Floor(store, state=tmp_path) as floor:
        people = People(floor)
        await people.open()
        await people.play("open betting")
        await people.bet("ann", 50, "big")
        heads = store.heads()
        store.fails = True

        for _ in range(2):
            with pytest.raises(StoreFailed, match="the disk is full"):
                await people.bet("ann", 50, "big")

        assert "the disk is full" in floor.suspended
        assert store.heads() == heads


async def test_the_house_stays_suspended_over_a_restart_until_a_person_releases_it(
    tmp_path: Path,
) -> None:
    store = Failing()
    async with Floor(store, state=tmp_path) as floor:
        people = People(floor)
        await people.open()
        await people.play("open betting")
        store.fails = True
        with pytest.raises(StoreFailed):
            await people.bet("ann", 50, "big")
    store.fails = False

    async with Floor(store, state=tmp_path) as floor:
        people = People(floor)
        assert floor.suspended
        with pytest.raises(StoreFailed):
            await people.bet("ann", 50, "big")
        with pytest.raises(InvalidInput, match="give the reason"):
            await floor.release("sue", " ")

        await floor.release("sue", "the disk was replaced")

        assert not floor.suspended
        assert (await people.bet("ann", 50, "big")).events
        assert [entry.kind for entry in store.scan("house")] == ["WritingReleased"]
        with pytest.raises(OperatingFailure, match="not suspended"):
            await floor.release("sue", "again")

    async with Floor(store, state=tmp_path) as floor:
        assert not floor.suspended


async def test_what_was_decided_and_not_written_is_forgotten_when_play_goes_on(
    tmp_path: Path,
) -> None:
    store = Failing()
    async with Floor(store, state=tmp_path, open_again=lambda: store) as floor:
        people = People(floor)
        await people.open()
        await people.play("open betting")
        store.fails = True
        with pytest.raises(StoreFailed):
            await people.bet("ann", 950, "big")
        store.fails = False
        await floor.release("sue", "there is room again")

        await people.bet("ann", 100, "big")

        assert await people.stack("ann") == 900
