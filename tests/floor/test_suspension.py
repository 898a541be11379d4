"""A disk that fails: nothing is acknowledged, tables are suspended, a person lets play go on."""

from __future__ import annotations

import asyncio
from threading import Barrier
from typing import TYPE_CHECKING

import pytest

from tests.floor.setting import Failing, People
from threedice.errors import InvalidInput, OperatingFailure, StoreAway, StoreFailed
from threedice.floor import Floor
from threedice.floor.encoding import decode
from threedice.floor.events import WritingReleased
from threedice.floor.house import House
from threedice.log.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.log.postgres_server import PostgresServer
    from threedice.log.store import Outcome, Proposal

pytestmark = pytest.mark.anyio


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


async def halted(store: Failing, state: Path) -> None:
    """Leave a house whose disk has failed in the middle of a round."""
    async with Floor(store, state=state) as floor:
        people = People(floor)
        await people.open()
        await people.play("open betting")
        store.fails = True
        with pytest.raises(StoreFailed):
            await people.bet("ann", 5, "big")
    store.fails = False


async def test_nobody_plays_while_a_released_house_sees_to_its_tables(tmp_path: Path) -> None:
    store = Failing()
    await halted(store, tmp_path)
    async with Floor(store, state=tmp_path) as floor:
        people = People(floor)

        async def see_to_tables() -> None:
            assert floor.suspended
            with pytest.raises(StoreFailed):
                await people.bet("ann", 5, "big")

        await floor.release("sue", "there is room again", then=see_to_tables)
        await people.bet("ann", 5, "big")


async def test_a_release_that_fails_releases_nothing_over_a_restart_either(tmp_path: Path) -> None:
    store = Failing()
    await halted(store, tmp_path)
    store.suspend("the disk is full")
    for _ in range(2):
        async with Floor(store, state=tmp_path) as floor:
            store.fails = True
            with pytest.raises(StoreFailed):
                await floor.release("sue", "there is room again")
            store.fails = False
            assert floor.suspended
            assert store.suspended()
    async with Floor(store, state=tmp_path) as floor:
        await floor.release("sue", "there is room now")
        assert not floor.suspended
        assert not store.suspended()


async def test_a_house_that_could_not_see_to_its_tables_is_not_released(tmp_path: Path) -> None:
    store = Failing()
    await halted(store, tmp_path)
    async with Floor(store, state=tmp_path) as floor:

        async def see_to_tables() -> None:
            raise StoreAway("the database does not answer")

        with pytest.raises(StoreAway):
            await floor.release("sue", "there is room again", then=see_to_tables)
        with pytest.raises(StoreFailed):
            await People(floor).bet("ann", 5, "big")


class Together(MemoryStore):
    """A store to which two servers write their releases at the same moment."""

    def __init__(self) -> None:
        super().__init__()
        self._both = Barrier(2)

    def write(self, proposals: Sequence[Proposal]) -> list[Outcome]:
        if proposals[0].key == "release 0":
            self._both.wait(60)
        return super().write(proposals)


async def test_releases_at_two_servers_at_once_are_both_written_down() -> None:
    store = Together()
    store.suspend("the disk is full")
    async with Floor(store) as floor, Floor(store) as elsewhere:
        await asyncio.gather(
            floor.release("sue", "there is room again"), elsewhere.release("tom", "disk replaced")
        )
    released = [decode(entry) for entry in store.scan("house")]
    assert sorted(event.by for event in released if isinstance(event, WritingReleased)) == [
        "sue",
        "tom",
    ]


async def test_of_two_releases_at_one_server_the_second_is_told_that_it_is_released(
    tmp_path: Path,
) -> None:
    store = MemoryStore()
    store.suspend("the disk is full")
    async with House("memory:", store=store, state=tmp_path) as house:
        ends = await asyncio.gather(
            house.release("sue", "there is room again"),
            house.release("tom", "disk replaced"),
            return_exceptions=True,
        )
    assert ends[0] is None
    assert "not suspended" in str(ends[1])
    assert len(store.read("house")) == 1


async def test_a_house_released_after_a_restart_comes_back_interrupted(tmp_path: Path) -> None:
    store = Failing()
    async with House("memory:", store=store, state=tmp_path) as house:
        people = People(house.floor)
        await people.open()
        await people.play("open betting", "ann bets 5 on big")
        store.fails = True
        with pytest.raises(StoreFailed):
            await people.bet("ann", 5, "big")
    store.fails = False
    async with House("memory:", store=store, state=tmp_path) as house:
        assert house.interrupted == []

        await house.release("sue", "there is room again")

        assert house.interrupted == ["1"]
        assert (await house.floor.tended("1")).interrupted == 1


async def test_servers_stop_when_one_has_found_the_database_failing(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.fresh()
    async with House(url, state=tmp_path / "one") as one, House(url, state=tmp_path / "two") as two:
        await People(one.floor).open()
        two.floor.store.suspend("the disk is full")
        async with asyncio.timeout(60):
            while not one.floor.suspended:
                await asyncio.sleep(0.05)
        with pytest.raises(StoreFailed):
            await People(one.floor).play("open betting")
