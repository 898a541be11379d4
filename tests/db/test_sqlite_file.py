"""SQLite files that are removed or replaced while they are open, and the lock of their writers."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
from contextlib import closing, contextmanager, suppress
from functools import partial
from threading import Barrier, Event, Thread
from typing import TYPE_CHECKING, Any

import pytest

from tests.log.test_sqlite import InterceptedConnection
from threedice.db import sqlite_file
from threedice.db.sqlite import SqliteDatabase
from threedice.errors import StoreFailed, StoreUnavailable, StoreUnusable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from threedice.db import SqlRunner

    Change = Callable[[Path], object]


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def remove(path: Path) -> None:
    path.unlink()


def remove_all(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        beside(path, suffix).unlink()


def replace_by_copy(path: Path) -> None:
    copy = beside(path, ".copy")
    shutil.copyfile(path.resolve(), copy)
    copy.rename(path)


LOSSES: dict[str, Change] = {
    "removed": remove,
    "removed with its log": remove_all,
    "moved": lambda path: path.rename(beside(path, ".old")),
    "replaced by a copy": replace_by_copy,
    "log removed": lambda path: beside(path, "-wal").unlink(),
    "log replaced": lambda path: replace_by_copy(beside(path, "-wal")),
    "index removed": lambda path: beside(path, "-shm").unlink(),
    "directory renamed": lambda path: path.parent.rename(path.parent.with_name("elsewhere")),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "floor"
    folder.mkdir()
    return folder / "house.sqlite"


@contextmanager
def open_database(path: Path, **settings: Any) -> Iterator[SqliteDatabase]:
    database = SqliteDatabase(path, **settings)
    try:
        yield database
    finally:
        with suppress(StoreFailed):
            database.close()


@pytest.fixture
def database(path: Path) -> Iterator[SqliteDatabase]:
    with open_database(path) as opened:
        opened.transact(lambda run: run("CREATE TABLE chips (value)"))
        yield opened


def add_chip(run: SqlRunner) -> None:
    run("INSERT INTO chips VALUES (5)")


# --- removed and replaced files -----------------------------------------------------------------


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss != "index removed"])
@pytest.mark.parametrize("durable", [True, False])
def test_commit_to_a_lost_file_fails_and_stops_all_databases_on_it(
    path: Path, database: SqliteDatabase, loss: str, durable: bool
) -> None:
    with open_database(path) as other:
        LOSSES[loss](path)

        with pytest.raises(StoreFailed, match=r"removed or replaced.*stop nothing"):
            database.transact(add_chip, durable=durable)
        for each in (database, other):
            with pytest.raises(StoreFailed, match="removed or replaced"):
                each.transact(add_chip)
            with pytest.raises(StoreFailed, match="removed or replaced"):
                each.check_storage()


@pytest.mark.parametrize("loss", LOSSES)
def test_lost_file_is_noticed_without_a_commit(
    path: Path, database: SqliteDatabase, loss: str
) -> None:
    database.check_storage()
    LOSSES[loss](path)

    with pytest.raises(StoreFailed, match="removed or replaced"):
        database.check_storage()


@pytest.mark.parametrize("size", [0, 4096])
@pytest.mark.parametrize("action", ["commit", "check", "checkpoint"])
def test_file_that_is_cut_off_is_noticed(
    path: Path, database: SqliteDatabase, size: int, action: str
) -> None:
    for _ in range(2):
        database.transact(add_chip)
        database.checkpoint_wal("TRUNCATE")
    database.check_storage()
    os.truncate(path, size)

    actions: dict[str, Callable[[], object]] = {
        "commit": lambda: database.transact(add_chip),
        "check": database.check_storage,
        "checkpoint": lambda: database.checkpoint_wal("PASSIVE"),
    }
    for _ in range(2):
        with pytest.raises(StoreFailed, match=f"was cut from 8192 to {size} bytes"):
            actions[action]()


def test_file_may_grow_and_its_log_may_shrink(path: Path, database: SqliteDatabase) -> None:
    for _ in range(3):
        for _ in range(20):
            database.transact(lambda run: run("INSERT INTO chips VALUES (zeroblob(4000))"))
        database.check_storage()
        database.erase_traces()
        database.transact(lambda run: run("DELETE FROM chips"))
        database.check_storage()
    assert path.stat().st_size > 80_000


def test_switched_symbolic_link_is_noticed(path: Path) -> None:
    link = path.parent / "link.sqlite"
    for name in (path, path.with_name("other.sqlite")):
        with open_database(name) as made:
            made.transact(lambda run: run("CREATE TABLE chips (value)"))
    link.symlink_to(path)
    with open_database(link) as database:
        database.transact(add_chip)
        link.unlink()
        link.symlink_to(path.with_name("other.sqlite"))

        with pytest.raises(StoreFailed, match="removed or replaced"):
            database.transact(add_chip)
        with pytest.raises(StoreUnusable, match="names another file than before"):
            SqliteDatabase(link)


def test_nothing_is_created_where_a_file_was_removed(path: Path, database: SqliteDatabase) -> None:
    remove_all(path)

    with pytest.raises(StoreFailed):
        database.query("SELECT * FROM chips")
    with pytest.raises(StoreFailed):
        SqliteDatabase(path)
    database.close()

    assert [each.name for each in path.parent.iterdir()] == ["house.sqlite.lock"]


def test_file_that_is_moved_back_can_be_written_after_a_release(
    path: Path, database: SqliteDatabase
) -> None:
    path.rename(beside(path, ".old"))
    with pytest.raises(StoreFailed):
        database.transact(add_chip)
    with pytest.raises(StoreFailed, match="removed or replaced"):
        database.forget_failure()
    beside(path, ".old").rename(path)

    database.forget_failure()

    database.transact(add_chip)
    assert len(database.query("SELECT * FROM chips")) == 2


def test_closing_a_lost_file_leaves_the_files_at_its_path_alone(
    path: Path, database: SqliteDatabase
) -> None:
    database.transact(add_chip)
    contents = {suffix: beside(path, suffix).read_bytes() for suffix in ("", "-wal")}
    remove_all(path)
    for suffix, content in contents.items():  # as recovered from the process
        beside(path, suffix).write_bytes(content)

    with pytest.raises(StoreFailed):
        database.close()

    assert {suffix: beside(path, suffix).read_bytes() for suffix in contents} == contents
    with open_database(path) as restored:
        assert restored.query("SELECT count(*) FROM chips") == [(1,)]


def test_missing_file_is_not_created_unless_asked_for(path: Path) -> None:
    with pytest.raises(StoreUnusable, match="cannot be opened"):
        SqliteDatabase(path, create=False)
    assert not [*path.parent.iterdir()]


# --- failed syncs -------------------------------------------------------------------------------


def failing_sync(armed: Event) -> Callable[[str], SqliteDatabase]:
    """Return a function that opens a database whose checkpoints fail while `armed` is set."""

    def fail(sql: str) -> None:
        if armed.is_set() and "wal_checkpoint" in sql:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
            raise error

    return partial(
        SqliteDatabase,
        connect=lambda name: InterceptedConnection(name, fail),
        wal_checkpoint_every=8,
    )


def test_failed_sync_of_one_database_stops_the_others_on_the_file(
    path: Path, database: SqliteDatabase
) -> None:
    armed = Event()
    with closing(failing_sync(armed)(str(path))) as people:
        people.transact(add_chip)
        armed.set()
        with pytest.raises(StoreFailed, match="disk I/O error"):
            people.transact(add_chip)

        with pytest.raises(StoreFailed, match="disk I/O error"):
            database.check_storage()
        with pytest.raises(StoreFailed, match="disk I/O error"):
            database.transact(add_chip)


def test_failed_sync_when_closing_is_reported_and_keeps_the_log(path: Path) -> None:
    armed = Event()
    database = failing_sync(armed)(str(path))
    database.transact(lambda run: run("CREATE TABLE chips (value)"))
    armed.set()

    with pytest.raises(StoreFailed, match="disk I/O error"):
        database.close()


def test_full_disk_stops_only_the_database_that_met_it(
    path: Path, database: SqliteDatabase
) -> None:
    def fill_disk(_: SqlRunner) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    with open_database(path) as people:
        with pytest.raises(StoreFailed, match="disk is full"):
            people.transact(fill_disk)

        database.transact(add_chip)
        with pytest.raises(StoreFailed, match="disk is full"):
            people.transact(add_chip)
        database.forget_failure()
        people.transact(add_chip)


# --- the lock of writers ------------------------------------------------------------------------


def test_databases_on_one_file_write_one_at_a_time(path: Path, database: SqliteDatabase) -> None:
    order, began = list[str](), Barrier(2)

    def slow(run: SqlRunner) -> None:
        began.wait(20)
        add_chip(run)
        order.append("first")

    with open_database(path) as other:
        thread = Thread(target=database.transact, args=[slow])
        thread.start()
        began.wait(20)
        other.transact(lambda _: order.append("second"))
        other.checkpoint_wal("PASSIVE")
        thread.join()
    assert order == ["first", "second"]


@contextmanager
def locked_elsewhere(path: Path) -> Iterator[None]:
    """Hold the lock file as another process does: by its own open file description."""
    descriptor = os.open(beside(path, ".lock"), os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("action", ["transact", "checkpoint", "erase", "close"])
def test_writers_wait_for_the_lock_of_other_processes_for_a_limited_time(
    path: Path, database: SqliteDatabase, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "LOCK_TIMEOUT_SECONDS", 0.0)
    actions: dict[str, Callable[[], object]] = {
        "transact": lambda: database.transact(add_chip),
        "checkpoint": lambda: database.checkpoint_wal("PASSIVE"),
        "erase": database.erase_traces,
        "close": database.close,
    }
    with locked_elsewhere(path), pytest.raises(StoreUnavailable, match="another process"):
        actions[action]()
    if action != "close":
        actions[action]()


def test_reads_do_not_wait_for_the_lock_of_writers(path: Path, database: SqliteDatabase) -> None:
    with locked_elsewhere(path):
        assert database.query("SELECT * FROM chips") == []


def test_removed_lock_file_is_created_again(
    path: Path, database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.transact(add_chip)
    beside(path, ".lock").unlink()
    database.check_storage()
    database.transact(add_chip)

    monkeypatch.setattr(sqlite_file, "LOCK_TIMEOUT_SECONDS", 0.0)
    with locked_elsewhere(path), pytest.raises(StoreUnavailable):
        database.transact(add_chip)


def test_no_connection_checkpoints_by_itself(database: SqliteDatabase) -> None:
    limits = database.query("PRAGMA wal_autocheckpoint")
    for durable in (True, False):
        limits += database.transact(lambda run: run("PRAGMA wal_autocheckpoint"), durable=durable)
    assert limits == [(0,)] * 3
