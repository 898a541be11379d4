"""Behaviour that only the SQLite store has: files, durability, servers and damage."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from tests.log.proposals import new_head, propose_data
from threedice.db.sqlite import SqliteConnection, SqliteDatabase, connect_sqlite
from threedice.errors import StoreFailed, StoreUnavailable, StoreUnusable, TamperedData
from threedice.log.entry import EMPTY_HEAD
from threedice.log.records import Acceptance, Snapshot
from threedice.log.stores.files import is_served
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

ACCEPTED = Acceptance()


class InterceptedConnection:
    """A connection whose statements a test can change, answer or fail."""

    def __init__(self, path: str, intercept: Callable[[str], str | list[Any] | None]) -> None:
        self.inner, self.intercept = connect_sqlite(path), intercept

    def execute(self, sql: str, params: Sequence[Any] = (), /) -> Iterable[tuple[Any, ...]]:
        reply = self.intercept(sql)
        if isinstance(reply, list):
            return reply
        return self.inner.execute(reply or sql, params)

    def executemany(self, sql: str, rows: Sequence[tuple[Any, ...]], /) -> None:
        for row in rows:
            self.execute(sql, row)

    def close(self) -> None:
        self.inner.close()


def intercepting(
    intercept: Callable[[str], str | list[Any] | None], *, single_connection: bool = False
) -> Callable[..., SqliteDatabase]:
    """Return a function that opens a database with intercepted connections."""
    return partial(
        SqliteDatabase,
        connect=lambda path: InterceptedConnection(path, intercept),
        single_connection=single_connection,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "house.sqlite"


def test_written_entries_and_suspension_survive_reopening(path: Path) -> None:
    proposal = propose_data("table/1")
    first = SqliteStore(path)
    first.write([proposal])
    first.suspend("disk full")
    first.close()

    again = SqliteStore(path)

    assert again.read("table/1") == list(proposal.appends[0].entries)
    assert again.suspension_reason() == "disk full"
    again.close()


def test_database_files_are_readable_by_their_owner_only(path: Path) -> None:
    store = SqliteStore(path, serving=True)
    store.write([propose_data("table/1")])

    modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}

    store.close()
    assert len(modes) == 5
    assert set(modes.values()) == {0o600}, modes


# --- durability ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pragma", "answer", "words"),
    [
        ("PRAGMA synchronous", [(1,)], "synchronous is 1, not 2"),
        ("PRAGMA journal_mode = WAL", [("delete",)], "journal is 'delete'"),
        ("SELECT sqlite_version()", [("3.36.0",)], r"SQLite 3\.37\.0 or later"),
    ],
)
def test_connection_without_durable_commits_is_refused(
    path: Path, pragma: str, answer: list[Any], words: str
) -> None:
    with pytest.raises(StoreUnusable, match=words):
        SqliteStore(path, open_database=intercepting({pragma: answer}.get))


def test_log_connection_uses_full_synchronous_commits(path: Path) -> None:
    asked: list[str] = []

    def note(sql: str) -> None:
        asked.append(sql)

    store = SqliteStore(path, open_database=intercepting(note, single_connection=True))
    store.close()

    assert "PRAGMA synchronous = 2" in asked
    assert "PRAGMA synchronous = 1" not in asked


def test_failure_at_any_statement_of_a_write_rolls_back_and_stops_writing(
    path: Path,
) -> None:
    statements = ("BEGIN", "SELECT stream", "INSERT INTO entries", "INSERT INTO streams")
    for at, start in enumerate((*statements, "INSERT INTO answers", "COMMIT")):
        armed = Event()

        def intercept(sql: str, armed: Event = armed, start: str = start) -> None:
            if armed.is_set() and sql.startswith(start):
                raise sqlite3.OperationalError("disk I/O error")

        def connect(p: str, intercept: Callable[[str], None] = intercept) -> SqliteConnection:
            return InterceptedConnection(p, intercept)

        store = SqliteStore(path, open_database=partial(SqliteDatabase, connect=connect))
        head = store.head("table/1")
        armed.set()
        with pytest.raises(StoreFailed, match="disk I/O error"):
            store.write([propose_data("table/1", head)])
        armed.clear()

        with pytest.raises(StoreFailed, match="disk I/O error"):
            store.write([propose_data("table/1", head)])
        with pytest.raises(StoreFailed):
            store.set_person("ann", b"x")
        assert store.head("table/1") == head
        store.suspend("it failed")
        assert store.suspension_reason() == "it failed"
        store.close()

        fresh = SqliteStore(path)
        assert fresh.write([propose_data("table/1", head)]) == [ACCEPTED]
        assert len(fresh.read("table/1")) == at + 1
        fresh.close()


def test_locked_log_file_is_unavailable_until_unlocked(path: Path) -> None:
    def hurry(sql: str) -> str | None:
        return "PRAGMA busy_timeout = 1" if "busy_timeout" in sql else None

    store = SqliteStore(path, open_database=intercepting(hurry))
    other = connect_sqlite(str(path))
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreUnavailable, match="another process"):
        store.write([propose_data("table/1")])
    other.execute("ROLLBACK")

    assert store.write([propose_data("table/1")]) == [ACCEPTED]
    other.close()
    store.close()


def test_store_works_on_one_shared_connection_of_another_driver(path: Path) -> None:
    opened: list[apsw.Connection] = []

    def connect(name: str) -> SqliteConnection:
        opened.append(apsw.Connection(name))
        opened[-1].execute("PRAGMA locking_mode = EXCLUSIVE")
        return opened[-1]

    store = SqliteStore(
        path, open_database=partial(SqliteDatabase, connect=connect, single_connection=True)
    )
    first = propose_data("table/1")
    assert store.write([first, propose_data("table/1", new_head(first))]) == [ACCEPTED, ACCEPTED]
    store.save_snapshot(Snapshot("table/1", "state", "f", new_head(first), b"x"))

    assert [entry.version for entry in store.scan("table/1")] == [1, 2]
    assert store.acquire_lease("driver/1", "a", 60)
    assert not store.acquire_lease("driver/1", "b", 60)
    assert len(opened) == 1
    opened[0].execute("DROP TABLE answers")
    with pytest.raises(StoreFailed, match="no such table"):
        store.write([propose_data("table/2")])
    store.close()


# --- servers ------------------------------------------------------------------------------------


def test_second_server_on_a_log_file_is_refused_with_the_process_id(path: Path) -> None:
    first = SqliteStore(path, serving=True)

    with pytest.raises(StoreUnusable, match=f"served by process {os.getpid()} already"):
        SqliteStore(path, serving=True)

    first.close()
    second = SqliteStore(path, serving=True)
    assert second.is_sole_server()
    second.close()


def test_refusal_advises_against_stopping_the_process_with_the_removed_file(path: Path) -> None:
    with suppress(StoreFailed), closing(SqliteStore(path, serving=True)):
        path.unlink()

        with pytest.raises(StoreUnusable, match="stop nothing, and save that file first"):
            SqliteStore(path, serving=True)


def test_removed_serving_lock_is_taken_again(path: Path) -> None:
    lock = path.with_name(f"{path.name}.serving")
    with closing(SqliteStore(path, serving=True)) as first:
        lock.unlink()
        first.check_storage()

        assert is_served(path)
        with pytest.raises(StoreUnusable, match=f"served by process {os.getpid()} already"):
            SqliteStore(path, serving=True)


def test_second_server_is_refused_at_once_although_the_serving_lock_was_removed(
    path: Path,
) -> None:
    path.with_name(f"{path.name}.state").mkdir()
    lock = path.with_name(f"{path.name}.serving")
    with closing(SqliteStore(path, serving=True)):
        lock.unlink()

        assert is_served(path)
        with pytest.raises(StoreUnusable, match="served by another process already"):
            SqliteStore(path, serving=True)
    assert not is_served(path)


def test_server_stops_if_another_one_serves_the_file_as_well(path: Path) -> None:
    lock = path.with_name(f"{path.name}.serving")
    with closing(SqliteStore(path, serving=True)) as first:
        lock.unlink()
        with closing(SqliteStore(path, serving=True)) as second:
            with pytest.raises(StoreFailed, match="was removed, and another process"):
                first.check_storage()
            second.check_storage()


def test_second_server_through_a_symlink_is_refused(path: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = elsewhere / "log.sqlite"
    link.symlink_to(path)
    for first, second in ((path, link), (link, path)):
        with closing(SqliteStore(first, serving=True)):
            with pytest.raises(StoreUnusable, match="already"):
                SqliteStore(second, serving=True)
            with closing(SqliteStore(second)) as other:
                assert not other.is_sole_server()


def test_log_file_with_a_hard_link_is_not_served(path: Path) -> None:
    other = path.with_name("other.sqlite")
    with closing(SqliteStore(path, serving=True)):
        other.hardlink_to(path)
        with pytest.raises(StoreUnusable, match="2 names of the same file"):
            SqliteStore(other, serving=True)
    with pytest.raises(StoreUnusable, match="remove the others"):
        SqliteStore(path, serving=True)
    other.unlink()
    SqliteStore(path, serving=True).close()


def test_next_server_of_a_file_takes_over_leases_at_once(path: Path) -> None:
    first = SqliteStore(path, serving=True)
    other = SqliteStore(path)
    assert first.acquire_lease("dealer/1", "a", 3600)
    assert not other.acquire_lease("dealer/1", "b", 60)
    other.close()
    first.close()

    second = SqliteStore(path, serving=True)
    assert second.acquire_lease("dealer/1", "b", 60)
    second.close()


def test_log_file_of_a_killed_server_can_be_served_again(path: Path) -> None:
    program = (
        "import sys; from threedice.log.stores.sqlite import SqliteStore; "
        "store = SqliteStore(sys.argv[1], serving=True); print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdout is not None
        server.stdout.readline()
        other = SqliteStore(path)
        assert not other.is_sole_server()
        assert other.write([propose_data("table/1")]) == [ACCEPTED]
        with pytest.raises(StoreUnusable, match=f"process {server.pid} "):
            SqliteStore(path, serving=True)
        server.kill()

    assert other.is_sole_server()
    other.close()
    again = SqliteStore(path, serving=True)
    assert len(again.read("table/1")) == 1
    again.close()


def test_readers_see_only_complete_batches(path: Path) -> None:
    store, done = SqliteStore(path), Event()

    def look() -> int:
        seen = 0
        while not done.is_set():
            entries = store.read("table/1", seen, 1000)
            assert len(entries) % 3 == 0
            assert [entry.version for entry in entries] == [
                *range(seen + 1, seen + len(entries) + 1)
            ]
            seen += len(entries)
        return seen + len(store.read("table/1", seen, 1000))

    with ThreadPoolExecutor() as pool:
        readers = [pool.submit(look) for _ in range(3)]
        try:
            head = EMPTY_HEAD
            for _ in range(60):
                proposal = propose_data("table/1", head, b"1", b"2", b"3")
                assert store.write([proposal]) == [ACCEPTED]
                store.save_snapshot(Snapshot("table/1", "state", "f", head, b"x"))
                head = new_head(proposal)
        finally:
            done.set()
    store.close()

    assert [reader.result() for reader in readers] == [180] * 3


def test_closed_store_is_unavailable(path: Path) -> None:
    store = SqliteStore(path)
    store.close()
    store.close()

    for ask in (lambda: store.head("table/1"), lambda: store.write([propose_data("table/1")])):
        with pytest.raises(StoreUnavailable, match="has been closed"):
            ask()


def test_connection_returned_after_the_close_is_closed(path: Path) -> None:
    opened: list[InterceptedConnection] = []
    reading = Event()

    def close_store(_: str) -> None:
        if reading.is_set():
            reading.clear()
            store.close()

    def connect(name: str) -> SqliteConnection:
        opened.append(InterceptedConnection(name, close_store))
        return opened[-1]

    store = SqliteStore(path, open_database=partial(SqliteDatabase, connect=connect))
    reading.set()
    assert store.head("table/1") == EMPTY_HEAD

    assert not reading.is_set()
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.inner.execute("SELECT 1")


# --- foreign and damaged files ------------------------------------------------------------------


def test_file_that_is_not_a_database_is_refused_unchanged(path: Path) -> None:
    path.write_bytes(b"Dear diary, " * 100)

    with pytest.raises(StoreUnusable, match="not an SQLite database; use another file"):
        SqliteStore(path)

    assert path.read_bytes() == b"Dear diary, " * 100


def test_missing_folder_is_named_in_the_error(path: Path) -> None:
    for serving in (False, True):
        with pytest.raises(StoreUnusable, match="nowhere"):
            SqliteStore(path.parent / "nowhere" / "house.sqlite", serving=serving)


def test_erased_person_is_removed_from_all_files(path: Path) -> None:
    store = SqliteStore(path)
    store.set_person("p1", b"Ann of Ballarat " * 400)
    store.set_person("p2", b"Bob of Bendigo")

    store.erase_person("p1")

    kept = b"".join(file.read_bytes() for file in path.parent.iterdir())
    store.close()
    assert b"Bendigo" in kept
    assert b"Ballarat" not in kept


def test_invalid_utf8_in_an_entry_is_reported_with_its_version(path: Path) -> None:
    store = SqliteStore(path)
    store.write([propose_data("table/1", EMPTY_HEAD, *[b"x"] * 20)])
    other = connect_sqlite(str(path))
    other.execute("UPDATE entries SET kind = CAST(x'ff' AS TEXT) WHERE version = 17")
    other.close()

    with pytest.raises(TamperedData, match="table/1 after version 16"):
        store.read("table/1")

    assert len(store.read("table/1", 0, 16)) == 16
    store.close()


def test_damaged_page_is_reported_as_tampered_and_damaged_header_as_failed(path: Path) -> None:
    store = SqliteStore(path)
    store.write([propose_data("table/1", EMPTY_HEAD, *[b"x" * 4000] * 50)])
    store.close()
    other = connect_sqlite(str(path))
    ((root,),) = other.execute("SELECT rootpage FROM sqlite_master WHERE name = 'entries'")
    other.close()
    store = SqliteStore(path)
    with path.open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xee" * 4096)

    with pytest.raises(TamperedData, match="malformed"):
        store.read("table/1")
    store.close()

    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xee" * 3996)
    with pytest.raises(StoreFailed, match="malformed"):
        SqliteStore(path)


def is_cached(file: Path) -> bool:
    """Return whether the beginning of a file is in the page cache."""
    opened = os.open(file, os.O_RDONLY)
    try:
        os.preadv(opened, [bytearray(1)], 0, os.RWF_NOWAIT)
    except BlockingIOError:
        return False
    finally:
        os.close(opened)
    return True


def write_file(file: Path, size: int = 100_000) -> None:
    """Write a file to the disk and into the page cache."""
    with file.open("wb") as opened:
        opened.write(bytes(size))
        opened.flush()
        os.fsync(opened.fileno())


def can_be_uncached(file: Path) -> bool:
    """Return whether the file system lets a file be dropped from the page cache."""
    write_file(file)
    opened = os.open(file, os.O_RDONLY)
    try:
        for _ in range(1000):
            os.posix_fadvise(opened, 0, 0, os.POSIX_FADV_DONTNEED)
            if not is_cached(file):
                return True
    except OSError:
        pass
    finally:
        os.close(opened)
    return False


@pytest.mark.skipif(
    not hasattr(os, "RWF_NOWAIT"), reason="this system does not report cached pages"
)
@pytest.mark.parametrize(
    ("name", "size"),
    [("house.sqlite-wal", 100_000), ("house.sqlite", 4096)],
    ids=["log", "new file"],
)
def test_opening_a_store_drops_cached_pages_of_its_files(
    disk_path: Path, name: str, size: int
) -> None:
    path, file, cached = disk_path / "house.sqlite", disk_path / name, list[bool]()
    if not can_be_uncached(file):
        pytest.skip("this file system keeps everything in memory")

    def connect(path: str) -> SqliteConnection:
        cached.append(is_cached(file))
        return connect_sqlite(path)

    for _ in range(100):  # only advice: pages just written are sometimes kept
        write_file(file, size)
        with (
            suppress(StoreUnusable),
            closing(
                SqliteStore(
                    path,
                    open_database=partial(SqliteDatabase, connect=connect, single_connection=True),
                )
            ),
        ):
            pass
        if False in cached:
            break
    assert False in cached
