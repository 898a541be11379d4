"""The writer process: what it inherits and writes, and a database that cannot be written."""

from __future__ import annotations

import asyncio
import os
import resource
import sqlite3
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.house.setting import DEALER, SUPERVISOR, People
from tests.log.dictating import Stored, Watched, kill, pid_of, tell
from tests.log.proposing import PATIENCE, propose, propose_row
from threedice.errors import InvalidInput, StoreFailed, StoreUnavailable
from threedice.house import CommandHandler
from threedice.house.commands import ResolveInterruption
from threedice.house.house import House
from threedice.log.entry import EMPTY_HEAD
from threedice.log.store import Acceptance, HeadConflict
from threedice.log.stores.postgres import PostgresStore
from threedice.log.stores.sqlite import SqliteStore
from threedice.log.stores.urls import open_store

if TYPE_CHECKING:
    from collections.abc import Callable

# --- what it is, and what it has ----------------------------------------------------------------


def test_what_a_scribe_has_written_its_store_reads_at_once(served: Stored) -> None:
    first, second = propose_row("table/1", 2)
    assert tell(served, first) == [Acceptance()]
    lost = HeadConflict("table/1", served.head("table/1"))
    assert tell(served, propose("table/1"), second) == [lost, Acceptance()]
    assert served.read("table/1") == [*first.appends[0].entries, *second.appends[0].entries]


def test_others_cannot_read_from_its_process_which_database_it_writes(served: Stored) -> None:
    assert tell(served, propose("table/1")) == [Acceptance()]
    process = Path(f"/proc/{pid_of(served)}")
    name = served.url if isinstance(served, PostgresStore) else str(served.path)
    for open_to_others in ("cmdline", "environ"):
        assert name.encode() not in (process / open_to_others).read_bytes()


def test_a_scribe_has_nothing_open_that_is_not_its_own(path: Path) -> None:
    ours, _ = pipe = os.pipe()
    os.set_inheritable(ours, True)
    mine = Path(f"/proc/self/fd/{ours}").readlink()
    store = SqliteStore(path, serving=True, use_writer_process=True)
    try:
        tell(store, propose("table/1"))
        theirs = [each.readlink() for each in Path(f"/proc/{pid_of(store)}/fd").iterdir()]
    finally:
        store.close()
        for end in pipe:
            os.close(end)
    assert mine not in theirs
    kept = {each.name for each in theirs if each.parent == path.parent}
    assert kept == {path.name, f"{path.name}-wal", f"{path.name}-shm", f"{path.name}.serving"}


def test_closing_its_store_ends_a_scribe_and_leaves_nothing_of_it(served: Stored) -> None:
    with Watched(pid := pid_of(served)) as writer_process:
        served.close()
        assert writer_process.has_ended()
    with pytest.raises(ProcessLookupError):  # not even one that nobody has asked how it ended
        os.kill(pid, 0)
    served.close()
    with pytest.raises(StoreUnavailable, match="has been closed"):
        tell(served, propose("table/1"))


def test_a_scribe_writes_the_file_it_was_given_wherever_its_house_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with closing(SqliteStore("log.sqlite", serving=True, use_writer_process=True)) as store:
        monkeypatch.chdir("elsewhere")
        kill(store)
        with suppress(StoreUnavailable):
            tell(store, propose("table/1"))
        tell(store, propose("table/2"))
        monkeypatch.chdir(tmp_path)
        assert store.streams() == ["table/2"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_scribe_that_cannot_be_started_is_away_until_it_can(
    sqlite: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill(sqlite)
    with pytest.raises(StoreUnavailable, match="signal 9"):
        tell(sqlite, propose("table/1"))
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", "/nowhere/python")
        with pytest.raises(StoreUnavailable, match=r"cannot be started: .*/nowhere/python"):
            tell(sqlite, propose("table/1"))
        with pytest.raises(StoreUnavailable, match="cannot be started"):
            SqliteStore(
                sqlite.path.with_name("other.sqlite"), serving=True, use_writer_process=True
            )
    assert tell(sqlite, propose("table/1")) == [Acceptance()]


# --- a database that cannot be written ----------------------------------------------------------


def removed(path: Path) -> None:
    path.unlink()


def replaced(path: Path) -> None:
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)


def of_another_version(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE meta SET value = '999' WHERE name = 'schema'")


def overwritten(path: Path) -> None:
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.write_bytes(b"a letter to somebody".ljust(4096))


SPOILED: dict[Callable[[Path], None], str] = {
    removed: "is no longer the file that the house has open",
    replaced: "is no longer the file that the house has open",
    of_another_version: "999",
    overwritten: "is not an SQLite database",
}


@pytest.mark.parametrize("spoil", SPOILED, ids=lambda spoil: spoil.__name__)
def test_a_house_halts_when_a_scribe_cannot_open_its_database(
    path: Path, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    async def play() -> None:
        store = SqliteStore(path, serving=True, use_writer_process=True)
        with closing(store):
            async with CommandHandler(store, state_dir=tmp_path / "state") as floor:
                people = People(floor)
                await people.open()
                await people.play("open betting")
                kill(store)
                spoil(path)
                bet = asyncio.wait_for(people.bet("ann", 50, "big"), PATIENCE)
                with pytest.raises(StoreFailed, match=SPOILED[spoil]):
                    await bet
                assert SPOILED[spoil] in floor.suspension_reason
        assert not (tmp_path / "state" / "healthy").exists()
        assert path.exists() is (spoil is not removed)

    asyncio.run(play())


def test_a_disk_that_fails_below_a_scribe_halts_the_house_until_a_person_releases_it(
    path: Path, tmp_path: Path
) -> None:
    url, state = f"sqlite:///{path}", tmp_path / "state"

    async def play() -> None:
        async with House(url, state_dir=state) as house:
            people = People(house.command_handler)
            await people.open()
            await people.play("open betting")
            let_write_no_more(pid_of(house.command_handler.store))
            before = house.command_handler.store.head("table/1")
            for _ in range(2):
                with pytest.raises(StoreFailed, match="disk I/O error"):
                    await people.bet("ann", 50, "big")
            assert "disk I/O error" in house.command_handler.suspension_reason
            assert house.command_handler.store.head("table/1") == before

    async def come_back() -> None:
        async with House(url, state_dir=state) as house:
            people = People(house.command_handler)
            assert house.command_handler.suspension_reason
            with pytest.raises(StoreFailed):
                await people.bet("ann", 50, "big")
            await house.release("sue", "there is room again")
            await people.ask(ResolveInterruption(by=DEALER, confirmed_by=SUPERVISOR))

    asyncio.run(play())
    asyncio.run(come_back())


def test_a_store_whose_scribe_could_not_write_writes_nothing_itself(sqlite: SqliteStore) -> None:
    tell(sqlite, propose("table/1"))
    let_write_no_more(pid_of(sqlite))
    with pytest.raises(StoreFailed, match="disk I/O error"):
        tell(sqlite, propose("table/2"))
    with pytest.raises(StoreFailed, match="disk I/O error"):
        sqlite.set_person("p1", b"Ann")


def test_a_scribe_writes_nothing_more_when_its_store_could_not_write(sqlite: SqliteStore) -> None:
    tell(sqlite, propose("table/1"))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, before[1]))
    try:
        with pytest.raises(StoreFailed, match="disk I/O error"):
            sqlite.set_person("p1", b"Ann")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with pytest.raises(StoreFailed, match="disk I/O error"):
        tell(sqlite, propose("table/2"))


def test_a_house_released_after_a_failure_is_written_by_another_scribe(tmp_path: Path) -> None:
    async def play() -> None:
        async with House(f"sqlite:///{tmp_path / 'log.sqlite'}") as house:
            people = People(house.command_handler)
            await people.open()
            await people.play("open betting")
            let_write_no_more(failing := pid_of(house.command_handler.store))
            with pytest.raises(StoreFailed):
                await people.bet("ann", 50, "big")
            await house.release("sue", "there is room again")
            await people.bet("ann", 50, "big")
            assert pid_of(house.command_handler.store) != failing

    asyncio.run(play())


def let_write_no_more(pid: int) -> None:
    """Have every write of a process to a file fail that would make it longer than a page."""
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (1024, 1024))


def test_what_a_database_cannot_hold_is_the_fault_of_the_proposal(served: Stored) -> None:
    with pytest.raises(InvalidInput):
        tell(served, propose("nul\0"))
    assert tell(served, propose("table/1")) == [Acceptance()]
    assert served.head("nul") == EMPTY_HEAD


def test_a_store_opened_to_serve_has_a_scribe_and_others_have_none(path: Path) -> None:
    url = f"sqlite:///{path}"
    with closing(open_store(url, serving=True)) as serving:
        assert serving.writer_process is not None
        with closing(open_store(url)) as looking:
            assert looking.writer_process is None
