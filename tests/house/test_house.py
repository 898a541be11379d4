"""Houses in service: several servers on one database, feeds, snapshots, people coming back."""

from __future__ import annotations

import asyncio
import gc
import sys
from contextlib import AsyncExitStack, closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.house.setting import QUICK, HandClock, People, Watch
from tests.house.stored_rows import results
from threedice.errors import Refusal, StoreUnusable
from threedice.house import CommandHandler
from threedice.house import house as house_module
from threedice.house import live_stream as live_stream_module
from threedice.house.audit.auditor import audit
from threedice.house.dealer.automatic import AutomaticDealer
from threedice.house.house import House
from threedice.house.interpreter import GC_THRESHOLDS, SWITCH_INTERVAL_SECONDS
from threedice.house.live_stream import load_stream
from threedice.log.proof.checkpoints import signed_heads
from threedice.log.proof.keys import read_public_keys
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.sqlite import SqliteStore
from threedice.log.stores.urls import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from tests.log.postgres_server import PostgresServer
    from threedice.log.entry import Entry

pytestmark = pytest.mark.anyio

ROUND = ("open betting", "ann bets 100 on big", "bob bets 50 on small", "dice 6 5 4")


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/house.sqlite"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.fresh()


async def test_a_house_closes_its_books_and_signs_them(url: str, tmp_path: Path) -> None:
    async with House(url, state_dir=tmp_path / "state") as house:
        people = People(house.command_handler)
        await people.open()
        await people.play(*ROUND, *ROUND)
        store = house.command_handler.store

    store = open_store(url)
    try:
        found = audit(store, public_keys=read_public_keys(tmp_path / "state"))
        assert found.findings == ()
        assert found.checkpoints
        assert [each.row.round for each in results(store, "1")] == [1, 2]
    finally:
        store.close()


async def test_a_table_of_peoples_comes_back_interrupted(url: str, tmp_path: Path) -> None:
    async with House(url, state_dir=tmp_path / "state") as house:
        people = People(house.command_handler)
        await people.open()
        await people.play(*ROUND, "open betting", "ann bets 100 on big")
        assert house.interrupted == []

    async with House(url, state_dir=tmp_path / "state") as house:
        assert house.interrupted == ["1"]
        assert (await house.command_handler.table("1")).interrupted == 2
        with pytest.raises(Refusal, match="interrupted"):
            await People(house.command_handler).bet("ann", 5, "big")


async def test_a_second_server_on_sqlite_is_refused_clearly(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/house.sqlite"
    async with House(url):
        with pytest.raises(StoreUnusable, match="serv"):
            async with House(url):
                pass


async def test_servers_on_one_postgres_share_tables_feeds_and_nothing_is_interrupted(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.fresh()
    async with (
        House(url, state_dir=tmp_path / "one") as one,
        House(url, state_dir=tmp_path / "two") as two,
    ):
        people, others = People(one.command_handler), People(two.command_handler)
        await people.open()
        await people.play("open betting", "ann bets 100 on big")
        assert two.interrupted == []
        seen: list[int] = []

        async def follow() -> None:
            async for entries in two.feed.subscribe("table/1"):
                seen.extend(entry.version for entry in entries)
                if "CashedOut" in [entry.kind for entry in entries]:
                    return

        following = asyncio.create_task(follow())
        await others.bet("bob", 50, "small")
        await asyncio.gather(
            *(people.bet("ann", 5, "big") for _ in range(20)),
            *(others.bet("bob", 5, "small") for _ in range(20)),
        )
        await people.play("dice 6 5 4", "ann leaves with 100")
        async with asyncio.timeout(60):
            await following

        assert seen == list(range(1, len(seen) + 1))
        assert await people.stack("bob") == await others.stack("bob") == 850


async def test_a_server_that_starts_beside_another_interrupts_nothing(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.fresh()
    async with House(url, state_dir=tmp_path / "one") as one:
        people = People(one.command_handler)
        await people.open()
        await people.play("open betting")
        async with House(url, state_dir=tmp_path / "two") as two:
            assert two.interrupted == []
            await People(two.command_handler).bet("ann", 5, "big")


async def test_a_table_dealt_by_one_server_is_taken_over_by_another(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url, clock = postgres.fresh(), HandClock()
    async with AsyncExitStack() as later:
        async with House(url, state_dir=tmp_path / "one", runtime=clock) as one:
            people = People(one.command_handler)
            await people.open(timing=QUICK)
            clock.move(QUICK.closing_seconds)
            await Watch(one).until("1", lambda t: t.betting_since > 0)
            await people.bet("ann", 100, "big")
            # not before, or it might be the one that deals
            second = House(url, state_dir=tmp_path / "two", runtime=clock)
            two = await later.enter_async_context(second)
        watch = Watch(two)
        # The first has given its lease back; the second looks for it soon, and finds no seed.
        async with asyncio.timeout(60):
            while not (await two.command_handler.table("1")).seeds_lost:
                clock.move(10)
                await asyncio.sleep(0.01)
        house_table = await watch.until("1", lambda t: t.seeds_lost == 1)
        assert house_table.table.seats["ann"].stack == 1000


async def test_a_table_has_one_dealer_though_two_see_to_it_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two, each would call the other's rounds off, and one would never be closed."""
    dealt: list[AutomaticDealer] = []
    run = AutomaticDealer.run

    def noted(dealer: AutomaticDealer) -> Coroutine[Any, Any, None]:
        dealt.append(dealer)
        return run(dealer)

    monkeypatch.setattr(AutomaticDealer, "run", noted)
    store = MemoryStore()
    async with (
        House("memory:", store=store, state_dir=tmp_path, runtime=HandClock()) as house,
        CommandHandler(store) as elsewhere,
    ):
        await People(elsewhere).open(timing=QUICK)
        # whoever has set it up, and whoever updates the statements; both wait until it is loaded
        await asyncio.gather(house._ensure_dealer("table/1"), house._ensure_dealer("table/1"))
        for dealer in dealt:
            dealer.close()
    assert dealt == list(house.dealers.values())


@pytest.fixture
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Books that are kept without a pause."""
    monkeypatch.setattr(house_module, "STATEMENT_DELAY_SECONDS", 0.0)


def spoil(store: SqliteStore, entry: Entry) -> None:
    """Leave of an entry what nobody can read."""
    overwrite(store, entry, b"{}")


def overwrite(store: SqliteStore, entry: Entry, data: bytes) -> None:
    sql = "UPDATE entries SET data = ? WHERE stream = ? AND version = ?"
    store._transact(lambda run: run(sql, (data, entry.stream, entry.version)))


async def comes_true(house: House, holds: Callable[[], object]) -> None:
    """Wait until something holds, while tables give the house statements to update."""
    async with asyncio.timeout(60):
        while not holds():
            house.note_change("table/2", is_urgent=True)
            await asyncio.sleep(0.01)


def rounds_of(house: House, table: str) -> list[int]:
    return [each.row.round for each in results(house.command_handler.store, table)]


@pytest.mark.usefixtures("brisk")
async def test_the_books_of_a_damaged_table_stay_behind_alone_until_it_is_sound(
    tmp_path: Path,
) -> None:
    path = tmp_path / "house.sqlite"
    async with House(f"sqlite:///{path}") as house:
        with closing(SqliteStore(path)) as beside:
            first, second = People(house.command_handler, "1"), People(house.command_handler, "2")
            for people in (first, second):
                await people.open()
                await people.play("open betting")
            written = beside.read("table/1")[-1]
            spoil(beside, written)
            for people in (first, second):
                await people.play("ann bets 100 on big", "dice 6 5 4")

            await comes_true(house, lambda: house.background_error and rounds_of(house, "2") == [1])
            assert house.background_error.startswith(f"table/1 version {written.version}: ")
            assert rounds_of(house, "1") == []

            await second.play(*ROUND)
            await comes_true(house, lambda: rounds_of(house, "2") == [1, 2])

            overwrite(beside, written, written.data)
            await comes_true(house, lambda: not house.background_error)
            assert rounds_of(house, "1") == [1]
            assert audit(beside, public_keys=read_public_keys(house.state_dir)).findings == ()


@pytest.mark.usefixtures("brisk")
async def test_a_table_that_was_damaged_at_the_start_is_dealt_once_it_is_sound(
    tmp_path: Path,
) -> None:
    path, clock = tmp_path / "house.sqlite", HandClock()
    async with House(f"sqlite:///{path}", runtime=clock) as house:
        await People(house.command_handler, "1").open(timing=QUICK)
        await People(house.command_handler, "2").open()
    with closing(SqliteStore(path)) as beside:
        written = beside.read("table/1")[0]
        spoil(beside, written)
        beside.delete_derived_data()
        async with House(f"sqlite:///{path}", runtime=clock) as house:
            await People(house.command_handler, "2").play(*ROUND)
            await comes_true(house, lambda: house.background_error and rounds_of(house, "2") == [1])
            assert list(house.damaged) == ["table/1"]
            assert "table/1" in house.background_error
            assert list(house.dealers) == []

            overwrite(beside, written, written.data)
            await comes_true(house, lambda: not house.background_error)
            assert house.damaged == {}
            assert list(house.dealers) == ["1"]


async def test_a_house_that_closes_beside_a_damaged_table_closes_the_books_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        house_module, "STATEMENT_DELAY_SECONDS", 1e6
    )  # so that only its close keeps them
    path = tmp_path / "house.sqlite"
    with closing(SqliteStore(path)) as beside:
        async with House(f"sqlite:///{path}") as house:
            for table in ("1", "2"):
                await People(house.command_handler, table).open()
                await People(house.command_handler, table).play("open betting")
            spoil(beside, beside.read("table/1")[-1])
            for table in ("1", "2"):
                await People(house.command_handler, table).play("ann bets 100 on big", "dice 6 5 4")
        assert [each.row.round for each in results(beside, "2")] == [1]
        assert results(beside, "1") == []
        assert signed_heads(beside.checkpoints()) == beside.heads()


@pytest.mark.usefixtures("brisk")
async def test_no_books_are_made_of_a_past_that_was_changed_though_it_can_be_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "house.sqlite"
    async with House(f"sqlite:///{path}") as house:
        for table in ("1", "2"):
            await People(house.command_handler, table).open()
            await People(house.command_handler, table).play(*ROUND)
    with closing(SqliteStore(path)) as beside:
        beside._transact(lambda run: run("UPDATE entries SET at = 1 WHERE stream = 'table/1'", ()))
        beside.delete_derived_data()
        async with House(f"sqlite:///{path}") as house:
            await comes_true(house, lambda: house.background_error and rounds_of(house, "2") == [1])
            assert "table/1" in house.background_error
        assert results(beside, "1") == []


async def test_a_round_settled_before_a_halt_is_in_the_books_once_the_house_is_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(house_module, "STATEMENT_DELAY_SECONDS", 1e6)
    store = MemoryStore()
    async with House("memory:", store=store, state_dir=tmp_path) as house:
        people = People(house.command_handler)
        await people.open()
        await people.play(*ROUND)
        house.command_handler.streams.writer.suspend("the disk is full")
        settled, house._changed = house._changed, set()
        await house._update_streams(settled)
        assert results(store, "1") == []

        await house.release("sue", "there is room again")

    assert [each.row.round for each in results(store, "1")] == [1]


async def test_a_house_in_service_collects_garbage_seldom_and_tidies_up(tmp_path: Path) -> None:
    before = gc.get_threshold()
    async with House("memory:", store=MemoryStore(), state_dir=tmp_path):
        assert gc.get_threshold() == GC_THRESHOLDS
    assert gc.get_threshold() == before


async def test_so_does_one_of_several_that_come_and_go_in_any_order(tmp_path: Path) -> None:
    before, turn = gc.get_threshold(), sys.getswitchinterval()
    first = House("memory:", store=MemoryStore(), state_dir=tmp_path / "one")
    second = House("memory:", store=MemoryStore(), state_dir=tmp_path / "two")
    async with AsyncExitStack() as later:
        async with first:
            await later.enter_async_context(second)
        assert gc.get_threshold() == GC_THRESHOLDS
        assert sys.getswitchinterval() == SWITCH_INTERVAL_SECONDS
    assert gc.get_threshold() == before
    assert sys.getswitchinterval() == turn


async def test_a_stream_starts_from_its_snapshot_and_replays_to_the_same_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_stream_module, "SNAPSHOT_INTERVAL_ENTRIES", 20)
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.open()
        await people.play(*ROUND, *ROUND, "open betting", "ann bets 5 on big")
    kept = store.snapshot("table/1", "state")
    assert kept is not None
    assert kept.head == store.head("table/1")

    with_snapshot = load_stream(store, "table/1")
    store.delete_derived_data()
    without = load_stream(store, "table/1")

    assert with_snapshot.durable == without.durable
    assert with_snapshot.durable_head == without.durable_head
    assert with_snapshot.at == without.at
