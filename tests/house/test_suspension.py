"""Suspension after a failed write, and release by a person."""

from __future__ import annotations

import asyncio
from threading import Barrier
from typing import TYPE_CHECKING

import pytest

from tests.house.house_driver import FailingStore, People, server_state
from threedice.errors import InvalidInput, OperatingFailure, StoreFailed, StoreUnavailable
from threedice.house import CommandHandler
from threedice.house.codec import decode
from threedice.house.events import WritingReleased
from threedice.house.house import House
from threedice.log.stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.log.postgres_server import PostgresServer
    from threedice.log.records import Proposal, ProposalOutcome

pytestmark = pytest.mark.anyio


async def test_no_command_is_acknowledged_after_a_failed_write(tmp_path: Path) -> None:
    store = FailingStore()
    async with CommandHandler(store, state_dir=tmp_path) as handler:
        people = People(handler)
        await people.open()
        await people.play("open betting")
        await people.bet("ann", 50, "big")
        heads = store.heads()
        store.fails = True

        for _ in range(2):
            with pytest.raises(StoreFailed, match="the disk is full"):
                await people.bet("ann", 50, "big")

        assert "the disk is full" in handler.suspension_reason
        assert store.heads() == heads


async def test_house_stays_suspended_after_a_restart_until_released(
    tmp_path: Path,
) -> None:
    store = FailingStore()
    async with CommandHandler(store, state_dir=tmp_path) as handler:
        people = People(handler)
        await people.open()
        await people.play("open betting")
        store.fails = True
        with pytest.raises(StoreFailed):
            await people.bet("ann", 50, "big")
    store.fails = False

    async with CommandHandler(store, state_dir=tmp_path) as handler:
        people = People(handler)
        assert handler.suspension_reason
        with pytest.raises(StoreFailed):
            await people.bet("ann", 50, "big")
        with pytest.raises(InvalidInput, match="give the reason"):
            await handler.suspension.release("sue", " ")

        await handler.suspension.release("sue", "the disk was replaced")

        assert not handler.suspension_reason
        assert (await people.bet("ann", 50, "big")).events
        assert [entry.kind for entry in store.scan("house")] == ["WritingReleased"]
        with pytest.raises(OperatingFailure, match="not suspended"):
            await handler.suspension.release("sue", "again")

    async with CommandHandler(store, state_dir=tmp_path) as handler:
        assert not handler.suspension_reason


async def test_decisions_that_were_not_written_are_discarded_on_release(
    tmp_path: Path,
) -> None:
    store = FailingStore()
    async with CommandHandler(store, state_dir=tmp_path, reopen_store=lambda: store) as handler:
        people = People(handler)
        await people.open()
        await people.play("open betting")
        store.fails = True
        with pytest.raises(StoreFailed):
            await people.bet("ann", 950, "big")
        store.fails = False
        await handler.suspension.release("sue", "there is room again")

        await people.bet("ann", 100, "big")

        assert await people.stack("ann") == 900


async def suspend_house(store: FailingStore, state: Path) -> None:
    """Close a house that was suspended in mid-round by a failed write."""
    async with CommandHandler(store, state_dir=state) as handler:
        people = People(handler)
        await people.open()
        await people.play("open betting")
        store.fails = True
        with pytest.raises(StoreFailed):
            await people.bet("ann", 5, "big")
    store.fails = False


async def test_commands_are_refused_while_a_release_recovers_tables(tmp_path: Path) -> None:
    store = FailingStore()
    await suspend_house(store, tmp_path)
    async with CommandHandler(store, state_dir=tmp_path) as handler:
        people = People(handler)

        async def recover_tables() -> None:
            assert handler.suspension_reason
            with pytest.raises(StoreFailed):
                await people.bet("ann", 5, "big")

        await handler.suspension.release("sue", "there is room again", recover=recover_tables)
        await people.bet("ann", 5, "big")


async def test_house_stays_suspended_after_a_failed_release_and_a_restart(tmp_path: Path) -> None:
    store = FailingStore()
    await suspend_house(store, tmp_path)
    store.suspend("the disk is full")
    for _ in range(2):
        async with CommandHandler(store, state_dir=tmp_path) as handler:
            store.fails = True
            with pytest.raises(StoreFailed):
                await handler.suspension.release("sue", "there is room again")
            store.fails = False
            assert handler.suspension_reason
            assert store.suspension_reason()
    async with CommandHandler(store, state_dir=tmp_path) as handler:
        await handler.suspension.release("sue", "there is room now")
        assert not handler.suspension_reason
        assert not store.suspension_reason()


async def test_house_stays_suspended_when_the_recovery_of_a_release_fails(tmp_path: Path) -> None:
    store = FailingStore()
    await suspend_house(store, tmp_path)
    async with CommandHandler(store, state_dir=tmp_path) as handler:

        async def recover_tables() -> None:
            raise StoreUnavailable("the database does not answer")

        with pytest.raises(StoreUnavailable):
            await handler.suspension.release("sue", "there is room again", recover=recover_tables)
        with pytest.raises(StoreFailed):
            await People(handler).bet("ann", 5, "big")


class SimultaneousStore(MemoryStore):
    """A store that holds the first release of two servers until both are written."""

    def __init__(self) -> None:
        super().__init__()
        self._both = Barrier(2)

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        if proposals[0].key == "release 0":
            self._both.wait(60)
        return super().write(proposals)


async def test_concurrent_releases_at_two_servers_are_both_logged() -> None:
    store = SimultaneousStore()
    store.suspend("the disk is full")
    async with CommandHandler(store) as handler, CommandHandler(store) as elsewhere:
        await asyncio.gather(
            handler.suspension.release("sue", "there is room again"),
            elsewhere.suspension.release("tom", "disk replaced"),
        )
    released = [decode(entry) for entry in store.scan("house")]
    assert sorted(event.by for event in released if isinstance(event, WritingReleased)) == [
        "sue",
        "tom",
    ]


async def test_second_concurrent_release_at_one_server_is_refused(
    tmp_path: Path,
) -> None:
    store = MemoryStore()
    store.suspend("the disk is full")
    async with House("memory:", store=store, state_dir=tmp_path) as house:
        ends = await asyncio.gather(
            house.release("sue", "there is room again"),
            house.release("tom", "disk replaced"),
            return_exceptions=True,
        )
    assert ends[0] is None
    assert "not suspended" in str(ends[1])
    assert len(store.read("house")) == 1


async def test_release_after_a_restart_interrupts_the_open_round(tmp_path: Path) -> None:
    store = FailingStore()
    async with House("memory:", store=store, state_dir=tmp_path) as house:
        people = People(house.command_handler)
        await people.open()
        await people.play("open betting", "ann bets 5 on big")
        store.fails = True
        with pytest.raises(StoreFailed):
            await people.bet("ann", 5, "big")
    store.fails = False
    async with House("memory:", store=store, state_dir=tmp_path) as house:
        assert house.interrupted == []

        await house.release("sue", "there is room again")

        assert house.interrupted == ["1"]
        assert (await house.command_handler.table("1")).interrupted == 1


@pytest.mark.usefixtures("fast_suspension_polls")
async def test_suspension_by_one_server_suspends_the_others(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.fresh()
    async with (
        House(url, state_dir=server_state(tmp_path, "one")) as one,
        House(url, state_dir=server_state(tmp_path, "two")) as two,
    ):
        await People(one.command_handler).open()
        two.command_handler.store.suspend("the disk is full")
        async with asyncio.timeout(60):
            while not one.command_handler.suspension_reason:
                await asyncio.sleep(0.05)
        with pytest.raises(StoreFailed):
            await People(one.command_handler).play("open betting")
