"""Running houses: several servers on one database, feeds, snapshots, statements and restarts."""

from __future__ import annotations

import asyncio
import gc
import sys
from contextlib import AsyncExitStack, closing
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from tests.house.house_driver import (
    QUICK,
    ROUND,
    SUPERVISOR,
    ManualClock,
    People,
    TableWatch,
    results,
    server_state,
)
from tests.log.inspection import tampering
from threedice.errors import Refusal, StoreUnusable
from threedice.house import CommandHandler
from threedice.house import house as house_module
from threedice.house import live_stream as live_stream_module
from threedice.house.audit.auditor import audit
from threedice.house.commands import EstablishTable
from threedice.house.dealer.automatic import AutomaticDealer
from threedice.house.house import House
from threedice.house.interpreter import (
    GC_THRESHOLDS,
    QUERY_SWITCH_INTERVAL_SECONDS,
    quick_switching,
)
from threedice.house.live_stream import load_stream
from threedice.identity import open_identity
from threedice.identity.authentication.passwords import TEST_COST
from threedice.log.proof.checkpoints import CheckpointSigner, signed_heads
from threedice.log.proof.keys import open_keys, read_public_keys
from threedice.log.record_chain import PEOPLE_STREAM
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.sqlite import SqliteStore
from threedice.log.stores.urls import open_store
from threedice.table.events import WinnersPaid

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from tests.log.postgres_server import PostgresServer
    from threedice.house.stream_state import HouseTable
    from threedice.house.streams import PendingCommand
    from threedice.log.entry import Entry, Head

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/house.sqlite"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.fresh()


async def test_closing_a_house_signs_the_changes_of_people(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/house.sqlite"
    async with House(url, state_dir=tmp_path / "state") as house:
        await People(house.command_handler).open()
        with closing(open_identity(url, state=tmp_path / "state", cost=TEST_COST)) as identity:
            identity.accounts.add("ann", ["player"])
    with closing(open_store(url)) as store:
        assert signed_heads(store.checkpoints()) == store.heads()
        assert PEOPLE_STREAM in store.heads()


async def test_closing_a_house_stores_its_statements_and_a_checkpoint(
    url: str, tmp_path: Path
) -> None:
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


async def test_old_checkpoints_leave_the_database_while_nobody_plays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, deleted = open_keys(tmp_path), asyncio.Event()

    class WatchedStore(MemoryStore):
        """A store that reports when the checkpoints up to the 55th are deleted."""

        def delete_checkpoints(self, up_to: int) -> None:
            super().delete_checkpoints(up_to)
            if up_to == 55:
                loop.call_soon_threadsafe(deleted.set)

    loop, store = asyncio.get_running_loop(), WatchedStore()
    async with House("memory:", store=store, state_dir=tmp_path) as house:
        await People(house.command_handler).open()
    first = store.checkpoints()[-1].number
    signer = CheckpointSigner(store, keys, tmp_path)
    for at in range(first, 60):
        signer.create_checkpoint(at)

    monkeypatch.setattr(house_module, "STATEMENT_DELAY_SECONDS", 0.0)
    monkeypatch.setattr(house_module, "CHECKPOINT_SECONDS", 1e6)
    monkeypatch.setattr(house_module, "CheckpointSigner", partial(CheckpointSigner, kept=5))
    async with House("memory:", store=store, state_dir=tmp_path), asyncio.timeout(60):
        await deleted.wait()


async def test_human_dealt_table_is_interrupted_after_a_restart(url: str, tmp_path: Path) -> None:
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


async def test_second_server_on_the_same_sqlite_file_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/house.sqlite"
    async with House(url):
        with pytest.raises(StoreUnusable, match="serv"):
            async with House(url):
                pass


async def test_two_servers_on_postgres_share_tables_and_feeds(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.fresh()
    async with (
        House(url, state_dir=server_state(tmp_path, "one")) as one,
        House(url, state_dir=server_state(tmp_path, "two")) as two,
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


async def test_starting_a_second_server_interrupts_no_table(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.fresh()
    async with House(url, state_dir=server_state(tmp_path, "one")) as one:
        people = People(one.command_handler)
        await people.open()
        await people.play("open betting")
        async with House(url, state_dir=server_state(tmp_path, "two")) as two:
            assert two.interrupted == []
            await People(two.command_handler).bet("ann", 5, "big")


async def test_second_server_takes_over_an_automatic_table_when_the_first_closes(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url, clock = postgres.fresh(), ManualClock()
    async with AsyncExitStack() as later:
        async with House(url, state_dir=server_state(tmp_path, "one"), runtime=clock) as one:
            people = People(one.command_handler)
            await people.open(timing=QUICK)
            clock.move(QUICK.closing_seconds)
            await TableWatch(one).until("1", lambda t: t.betting_since > 0)
            await people.bet("ann", 100, "big")
            # only now, or the second server might be the one that deals
            second = House(url, state_dir=server_state(tmp_path, "two"), runtime=clock)
            two = await later.enter_async_context(second)
        watch = TableWatch(two)
        # The first has released its lease; the second acquires it soon, without the seed.
        async with asyncio.timeout(60):
            while not (await two.command_handler.table("1")).seeds_lost:
                clock.move(10)
                await asyncio.sleep(0.01)
        house_table = await watch.until("1", lambda t: t.seeds_lost == 1)
        assert house_table.table.seats["ann"].stack == 1000


async def test_concurrent_starts_create_one_dealer_per_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two dealers, each would void the other's rounds, and one would never be closed."""
    monkeypatch.setattr(house_module, "STATEMENT_DELAY_SECONDS", 0.0)
    started: list[AutomaticDealer] = []
    run = AutomaticDealer.run

    def record(dealer: AutomaticDealer) -> Coroutine[Any, Any, None]:
        started.append(dealer)
        return run(dealer)

    monkeypatch.setattr(AutomaticDealer, "run", record)
    async with House(
        "memory:", store=MemoryStore(), state_dir=tmp_path, runtime=ManualClock()
    ) as house:
        load, loads, both = house.command_handler.table, count(1), asyncio.Event()
        loaded = set[int]()

        async def load_together(table: str) -> HouseTable:
            number = next(loads)
            if number == 2:
                both.set()
            await both.wait()
            house_table = await load(table)
            loaded.add(number)  # the caller starts the dealer before any other task runs
            return house_table

        monkeypatch.setattr(house.command_handler, "table", load_together)
        await People(house.command_handler).send(
            EstablishTable(by=SUPERVISOR, game="sg-rws-tai-sai-v6/a", dealt_by_house=QUICK)
        )
        house.note_change("table/1", is_urgent=True)  # so that maintenance starts a dealer as well
        async with asyncio.timeout(60):
            while not loaded >= {1, 2}:
                await asyncio.sleep(0.01)
        for dealer in started:
            dealer.close()
    assert started == list(house.dealers.values())


@pytest.fixture
def no_statement_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Update statements without a pause."""
    monkeypatch.setattr(house_module, "STATEMENT_DELAY_SECONDS", 0.0)


def corrupt(store: SqliteStore, entry: Entry) -> None:
    """Overwrite an entry with an undecodable event."""
    overwrite(store, entry, b"{}")


def overwrite(store: SqliteStore, entry: Entry, data: bytes) -> None:
    with tampering(store.path) as run:
        where = (entry.stream, entry.version)
        run("UPDATE entries SET data = ? WHERE stream = ? AND version = ?", data, *where)


async def wait_until(house: House, holds: Callable[[], object]) -> None:
    """Poll until a condition holds, waking the house's maintenance each time."""
    async with asyncio.timeout(60):
        while not holds():
            house.note_change("table/2", is_urgent=True)
            await asyncio.sleep(0.01)


def rounds_of(house: House, table: str) -> list[int]:
    return [each.row.round for each in results(house.command_handler.store, table)]


@pytest.mark.usefixtures("no_statement_delay")
async def test_damaged_table_does_not_stop_statements_of_other_tables(
    tmp_path: Path,
) -> None:
    path = tmp_path / "house.sqlite"
    async with House(f"sqlite:///{path}") as house:
        with closing(SqliteStore(path)) as other_store:
            first, second = People(house.command_handler, "1"), People(house.command_handler, "2")
            for people in (first, second):
                await people.open()
                await people.play("open betting")
            written = other_store.read("table/1")[-1]
            corrupt(other_store, written)
            for people in (first, second):
                await people.play("ann bets 100 on big", "dice 6 5 4")

            await wait_until(house, lambda: house.background_error and rounds_of(house, "2") == [1])
            assert house.background_error.startswith(f"table/1 version {written.version}: ")
            assert rounds_of(house, "1") == []

            await second.play(*ROUND)
            await wait_until(house, lambda: rounds_of(house, "2") == [1, 2])

            overwrite(other_store, written, written.data)
            await wait_until(house, lambda: not house.background_error)
            assert rounds_of(house, "1") == [1]
            assert audit(other_store, public_keys=read_public_keys(house.state_dir)).findings == ()


@pytest.mark.usefixtures("no_statement_delay")
async def test_table_damaged_at_start_is_dealt_once_it_is_repaired(
    tmp_path: Path,
) -> None:
    path, clock = tmp_path / "house.sqlite", ManualClock()
    async with House(f"sqlite:///{path}", runtime=clock) as house:
        await People(house.command_handler, "1").open(timing=QUICK)
        await People(house.command_handler, "2").open()
    with closing(SqliteStore(path)) as other_store:
        written = other_store.read("table/1")[0]
        corrupt(other_store, written)
        other_store.delete_derived_data()
        async with House(f"sqlite:///{path}", runtime=clock) as house:
            await People(house.command_handler, "2").play(*ROUND)
            await wait_until(house, lambda: house.background_error and rounds_of(house, "2") == [1])
            assert list(house.damaged) == ["table/1"]
            assert "table/1" in house.background_error
            assert list(house.dealers) == []

            overwrite(other_store, written, written.data)
            await wait_until(house, lambda: not house.background_error)
            assert house.damaged == {}
            assert list(house.dealers) == ["1"]


async def test_closing_a_house_stores_statements_of_tables_that_are_not_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        house_module, "STATEMENT_DELAY_SECONDS", 1e6
    )  # only closing the house stores rows
    path = tmp_path / "house.sqlite"
    with closing(SqliteStore(path)) as other_store:
        async with House(f"sqlite:///{path}") as house:
            for table in ("1", "2"):
                await People(house.command_handler, table).open()
                await People(house.command_handler, table).play("open betting")
            corrupt(other_store, other_store.read("table/1")[-1])
            for table in ("1", "2"):
                await People(house.command_handler, table).play("ann bets 100 on big", "dice 6 5 4")
        assert [each.row.round for each in results(other_store, "2")] == [1]
        assert results(other_store, "1") == []
        assert signed_heads(other_store.checkpoints()) == other_store.heads()


@pytest.mark.usefixtures("no_statement_delay")
async def test_no_statements_are_derived_from_entries_with_a_broken_hash_chain(
    tmp_path: Path,
) -> None:
    path = tmp_path / "house.sqlite"
    async with House(f"sqlite:///{path}") as house:
        for table in ("1", "2"):
            await People(house.command_handler, table).open()
            await People(house.command_handler, table).play(*ROUND)
    with closing(SqliteStore(path)) as other_store:
        with tampering(path) as run:
            run("UPDATE entries SET at = 1 WHERE stream = 'table/1'")
        other_store.delete_derived_data()
        async with House(f"sqlite:///{path}") as house:
            await wait_until(house, lambda: house.background_error and rounds_of(house, "2") == [1])
            assert "table/1" in house.background_error
        assert results(other_store, "1") == []


class CountingStore(MemoryStore):
    """A store that counts the passes of the house's maintenance, which reads all heads."""

    passes = 0

    def heads_with_macs(self) -> dict[str, tuple[Head, bytes]]:
        self.passes += 1
        return super().heads_with_macs()


@pytest.mark.usefixtures("no_statement_delay")
async def test_round_settled_before_a_suspension_is_in_the_statements_after_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A pass that is under way when the round is settled would store it: there is none before.
    monkeypatch.setattr(house_module, "CHECKPOINT_SECONDS", 1e6)
    store = CountingStore()
    async with House("memory:", store=store, state_dir=tmp_path) as house:
        streams = house.command_handler.streams
        on_written = streams.on_written

        def suspend_after_settlement(pending: PendingCommand) -> None:
            if any(isinstance(event, WinnersPaid) for events in pending.events for event in events):
                streams.writer.suspend("the disk is full")
                monkeypatch.setattr(house_module, "CHECKPOINT_SECONDS", 0.01)
            on_written(pending)

        streams.on_written = suspend_after_settlement
        people = People(house.command_handler)
        await people.open()
        await people.play(*ROUND)
        passes = store.passes
        house.refresh_soon()
        async with asyncio.timeout(60):
            while store.passes < passes + 2:
                await asyncio.sleep(0.01)
        assert results(store, "1") == []

        await house.release("sue", "there is room again")

    assert [each.row.round for each in results(store, "1")] == [1]


async def test_running_house_sets_gc_thresholds_and_restores_them(tmp_path: Path) -> None:
    before = gc.get_threshold()
    async with House("memory:", store=MemoryStore(), state_dir=tmp_path):
        assert gc.get_threshold() == GC_THRESHOLDS
    assert gc.get_threshold() == before


async def test_interpreter_settings_are_restored_when_the_last_of_several_houses_closes(
    tmp_path: Path,
) -> None:
    before, interval = gc.get_threshold(), sys.getswitchinterval()
    first = House("memory:", store=MemoryStore(), state_dir=server_state(tmp_path, "one"))
    second = House("memory:", store=MemoryStore(), state_dir=server_state(tmp_path, "two"))
    async with AsyncExitStack() as later:
        async with first:
            await later.enter_async_context(second)
        assert gc.get_threshold() == GC_THRESHOLDS
        with quick_switching():
            assert sys.getswitchinterval() < interval
    assert gc.get_threshold() == before
    assert sys.getswitchinterval() == interval


async def test_serving_house_switches_threads_more_often_while_queries_run(tmp_path: Path) -> None:
    with quick_switching():
        interval = sys.getswitchinterval()  # outside a house nothing changes
    async with House("memory:", store=MemoryStore(), state_dir=tmp_path):
        with quick_switching(), quick_switching():
            assert sys.getswitchinterval() == pytest.approx(QUERY_SWITCH_INTERVAL_SECONDS)
        assert sys.getswitchinterval() == interval


async def test_stream_loaded_from_its_snapshot_equals_a_full_replay(
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
