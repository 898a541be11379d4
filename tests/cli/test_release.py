"""`threedice release` ends the suspension of a house that is stopped or in service."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.house.house_driver import People
from tests.house.intruder import Intruder
from threedice.account.commands import Deposit, OpenAccount
from threedice.account.events import Deposited
from threedice.errors import InvariantBroken, StoreFailed, TamperedData
from threedice.house import house as house_module
from threedice.house.codec import decode
from threedice.house.events import EntriesAccepted, WritingReleased
from threedice.house.house import House
from threedice.identity import open_identity
from threedice.identity.authentication.passwords import TEST_COST
from threedice.log.stores.files import is_halted, mark_halted
from threedice.log.stores.sqlite import SqliteStore
from threedice.log.stores.urls import open_store, state_directory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cli.conftest import Option, Run
    from tests.log.postgres_server import PostgresServer

REASON = "the disk was replaced"
RELEASE = ("release", "--by", "sue", "--reason", REASON)


@pytest.fixture
def state(house: Path) -> Path:
    return house / "house.sqlite.state"


@pytest.fixture
def suspended(house: Path, state: Path) -> Option:
    """Suspend the stopped house as a failed write does."""
    with closing(SqliteStore(house / "house.sqlite")) as store:
        store.suspend("the store could not write: database or disk is full")
    mark_halted(state)
    return ("--database", f"sqlite:///{house}/house.sqlite")


def recorded_releases(url: str) -> list[WritingReleased]:
    with closing(open_store(url)) as store:
        events = [decode(entry) for entry in store.scan("house")]
    return [event for event in events if isinstance(event, WritingReleased)]


def test_release_of_a_stopped_house_is_recorded_and_ends_the_suspension(
    run: Run, suspended: Option, state: Path
) -> None:
    result = run(*RELEASE, *suspended)

    assert (result.code, result.err) == (0, "")
    (released,) = recorded_releases(suspended[1])
    assert (released.by, released.reason) == ("sue", REASON)
    assert "disk is full" in released.cause
    assert not is_halted(state)
    with closing(open_store(suspended[1])) as store:
        assert not store.suspension_reason()
    assert run("log", "verify", *suspended).code == 0


def test_release_of_a_house_that_is_not_suspended_is_refused(run: Run, database: Option) -> None:
    result = run(*RELEASE, *database)

    assert result.code == 1
    assert "not suspended" in result.out
    assert recorded_releases(database[1]) == []


def test_release_needs_a_reason(run: Run, suspended: Option) -> None:
    result = run("release", "--by", "sue", "--reason", "  ", *suspended)

    assert result.code == 2
    assert "give the reason" in result.err
    assert recorded_releases(suspended[1]) == []


def test_release_refuses_an_older_copy_of_the_database(
    run: Run, suspended: Option, house: Path, state: Path
) -> None:
    with closing(sqlite3.connect(house / "house.sqlite")) as connection, connection:
        connection.execute("DELETE FROM checkpoints")

    result = run(*RELEASE, *suspended)

    assert result.code == 2
    assert "checkpoint" in result.err
    assert recorded_releases(suspended[1]) == []
    assert is_halted(state)


def test_release_records_the_id_of_a_member_of_staff(run: Run, suspended: Option) -> None:
    url = suspended[1]
    with closing(open_identity(url, state=state_directory(url), cost=TEST_COST)) as identity:
        sue = identity.accounts.add("sue", ["administrator"]).account
        identity.accounts.add("ann", ["player"])

    for stranger in ("ann", "eve"):
        assert run("release", "--by", stranger, "--reason", REASON, *suspended).code == 2
    assert run(*RELEASE, *suspended).code == 0
    assert [released.by for released in recorded_releases(url)] == [sue.id]


@contextmanager
def full_disk(free_bytes: int) -> Iterator[None]:
    """Let this process write no file beyond a size."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (free_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("free_bytes", [0, 16 * 1024])
def test_release_changes_nothing_while_the_disk_is_still_full(
    run: Run, suspended: Option, state: Path, free_bytes: int
) -> None:
    with full_disk(free_bytes):
        result = run(*RELEASE, *suspended)

    assert result.code == 2
    assert "nothing has changed, and the house stays suspended" in result.err
    assert recorded_releases(suspended[1]) == []
    assert is_halted(state)
    with closing(open_store(suspended[1])) as store:
        assert store.suspension_reason()


def test_release_of_a_house_in_service_lets_it_resume(
    run: Run, house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(house_module, "SUSPENSION_POLL_SECONDS", 0.05)
    url = f"sqlite:///{house}/house.sqlite"

    async def fill_release_and_play() -> None:
        async with House(url) as served:
            people = People(served.command_handler, "one")
            fill_disk(served)
            with pytest.raises(StoreFailed, match="full"):
                await fill_table(people)
            result = await asyncio.to_thread(run, *RELEASE, "--database", url)
            assert (result.code, result.err) == (0, "")
            async with asyncio.timeout(60):
                while served.command_handler.suspension_reason:
                    await asyncio.sleep(0.02)
            await people.play("open betting")

    asyncio.run(fill_release_and_play())
    assert [released.by for released in recorded_releases(url)] == ["sue"]
    assert run("log", "verify", "--database", url).code == 0


FORGED = Deposited(player="ann", amount=900_000, by="cashier")
RELEASE_STREAM = (*RELEASE, "--stream", "cage/ann")


async def open_account(house: House) -> None:
    people = People(house.command_handler, "")
    await people.send(OpenAccount(player="ann", currency="SGD", by="cashier"))


def recorded_acceptances(url: str) -> list[EntriesAccepted]:
    with closing(open_store(url)) as store:
        events = [decode(entry) for entry in store.scan("house")]
    return [event for event in events if isinstance(event, EntriesAccepted)]


def test_foreign_entries_of_a_stopped_house_are_accepted(run: Run, database: Option) -> None:
    url = database[1]

    async def serve() -> int:
        async with House(url) as house:
            return (await house.command_handler.account("ann")).balance

    async def create() -> None:
        async with House(url) as house:
            await open_account(house)

    asyncio.run(create())
    assert run(*RELEASE_STREAM, *database).code == 1
    Intruder(url).append("cage/ann", FORGED)
    assert run("log", "verify", *database).code == 1

    result = run(*RELEASE_STREAM, *database)

    assert (result.code, result.err) == (0, "")
    (event,) = recorded_acceptances(url)
    assert (event.stream, event.first, event.version) == ("cage/ann", 2, 2)
    assert (event.by, event.reason) == ("sue", REASON)
    assert asyncio.run(serve()) == 900_000
    assert run("log", "verify", *database).code == 0


def test_foreign_entries_of_a_house_in_service_are_accepted(
    run: Run, database: Option, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(house_module, "SUSPENSION_POLL_SECONDS", 0.05)
    monkeypatch.setattr(house_module, "STATEMENT_DELAY_SECONDS", 0.0)
    url = database[1]

    async def forge_and_accept() -> None:
        async with House(url) as house:
            await open_account(house)
            Intruder(url).append("cage/ann", FORGED)
            people = People(house.command_handler, "")
            deposit = Deposit(player="ann", amount=5, by="cashier")
            with pytest.raises((TamperedData, InvariantBroken)):
                await people.send(deposit)
            result = await asyncio.to_thread(run, *RELEASE_STREAM, *database)
            assert (result.code, result.err) == (0, "")
            async with asyncio.timeout(60):
                while house.foreign:
                    await asyncio.sleep(0.02)
            await people.send(deposit)

    asyncio.run(forge_and_accept())
    assert len(recorded_acceptances(url)) == 1


@pytest.mark.parametrize("stream", ["cage/typo", "table/pit-99", "nonsense"])
def test_stream_that_does_not_exist_is_not_released(
    run: Run, database: Option, stream: str
) -> None:
    result = run(*RELEASE, "--stream", stream, *database)

    assert (result.code, f"there is no stream {stream!r}" in result.err) == (2, True)
    with closing(open_store(database[1])) as store:
        assert stream not in store.streams()


def test_foreign_entries_of_the_houses_own_stream_are_accepted(run: Run, database: Option) -> None:
    url = database[1]
    Intruder(url).append("house", WritingReleased(cause="none", reason="forged", by="eve"))

    assert run(*RELEASE, "--stream", "house", *database).code == 0

    (event,) = recorded_acceptances(url)
    assert (event.stream, event.version) == ("house", 1)
    assert run("log", "verify", *database).code == 0


def fill_disk(house: House) -> None:
    """Let the database file of a served house grow no more."""
    store = house.command_handler.store
    assert isinstance(store, SqliteStore)
    for connection in store._database.writers:
        list(connection.execute("PRAGMA max_page_count = 1"))


async def fill_table(people: People) -> None:
    """Play until the database file has to grow."""
    while True:
        await people.play("open betting", "ann bets 5 on big", "dice 1 2 4")


@pytest.mark.parametrize("is_served", [True, False])
def test_release_of_a_house_on_postgresql(
    run: Run,
    postgres: PostgresServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_served: bool,
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(house_module, "SUSPENSION_POLL_SECONDS", 0.05)
    url = postgres.fresh()

    async def suspend_and_release() -> None:
        async with House(url) as served:
            people = People(served.command_handler)
            await people.open()
            served.command_handler.store.suspend("no space left on device")
            async with asyncio.timeout(60):
                while not served.command_handler.suspension_reason:
                    await asyncio.sleep(0.02)
                if is_served:
                    assert (await asyncio.to_thread(run, *RELEASE, "--database", url)).code == 0
                    while served.command_handler.suspension_reason:
                        await asyncio.sleep(0.02)
                    await people.play("open betting")

    asyncio.run(suspend_and_release())
    if not is_served:
        assert run(*RELEASE, "--database", url).code == 0
    assert len(recorded_releases(url)) == 1
    assert run(*RELEASE, "--database", url).code == 1
