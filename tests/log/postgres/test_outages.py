"""Outages of PostgreSQL: lost connections, crashes, and unresponsive servers."""

from __future__ import annotations

import os
import signal
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

import psycopg
import pytest

from tests.log.postgres_server import cuttable_proxy
from tests.log.proposals import ACCEPTED, PATIENCE, new_head, propose_appends, propose_data
from threedice.db.postgres import connect_postgres
from threedice.errors import StoreUnavailable
from threedice.log.conflicts import build_answer
from threedice.log.entry import EMPTY_HEAD
from threedice.log.records import DuplicateKey, HeadConflict
from threedice.log.stores.postgres import PostgresStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.log.postgres_server import PostgresServer
    from threedice.log.records import Proposal, StoredAnswer

Result = TypeVar("Result")

DEADLINE_SECONDS = 3.0
"""Of the stores whose deadline passes: a busy machine opens a connection in less."""


# --- lost connections ---------------------------------------------------------------------------


def test_terminated_connections_neither_lose_nor_repeat_writes(
    store: PostgresStore, admin: psycopg.Connection
) -> None:
    done, killed = Event(), list[object]()

    def kill() -> None:
        while not done.is_set():
            killed.extend(
                admin.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE pid <> pg_backend_pid() AND datname = current_database()"
                ).fetchall()
            )
            done.wait(0.02)

    with ThreadPoolExecutor(1) as pool:
        killer = pool.submit(kill)
        try:
            head, written = EMPTY_HEAD, 0
            while written < 30 or (len(killed) <= 5 and not killer.done()):
                proposal = propose_data("table/1", head, b"%d" % written)
                try:
                    outcomes = store.write([proposal])
                except (
                    StoreUnavailable
                ):  # five times in a row; whether it is written, its key knows
                    if stored_answer(store, proposal) is None:
                        continue
                else:
                    assert outcomes == [ACCEPTED]
                head, written = new_head(proposal), written + 1
        finally:
            done.set()

    assert killer.exception() is None
    assert len(killed) > 5
    found = [entry.data for entry in store.scan("table/1")]
    assert found == [b"%d" % number for number in range(written)]


def stored_answer(store: PostgresStore, proposal: Proposal) -> StoredAnswer | None:
    """Return the answer to a proposal, with retries while the database is unavailable."""
    for _ in range(100):
        with suppress(StoreUnavailable):
            return store.answer(proposal.account, proposal.key)
    raise AssertionError("the database did not come back")


@pytest.fixture
def proxy_folder() -> Iterator[Path]:
    # a socket's path has to be short
    with TemporaryDirectory(prefix="threedice-way-") as folder:
        yield Path(folder)


@pytest.mark.parametrize("after", [False, True])
def test_commit_with_a_lost_reply_is_accepted_and_written_once(
    postgres: PostgresServer, postgres_url: str, proxy_folder: Path, after: bool
) -> None:
    with cuttable_proxy(postgres.folder, proxy_folder) as cut:
        store = PostgresStore(proxy_url(postgres_url, postgres, proxy_folder))
        base = propose_data("table/1", EMPTY_HEAD, b"base", key="base")
        store.write([base])
        first = propose_appends(
            {"table/1": (new_head(base), [b"1"]), "cage/ann": (EMPTY_HEAD, [b"x", b"y"])}
        )
        second = propose_data("table/1", new_head(first), b"2")
        late, nothing = propose_data("table/1", EMPTY_HEAD), propose_appends({})
        cut.after, cut.armed = after, True

        outcomes = store.write([base, first, first, second, late, nothing])

        assert not cut.armed
        assert outcomes == [
            DuplicateKey(build_answer(base)),
            ACCEPTED,
            DuplicateKey(build_answer(first)),
            ACCEPTED,
            HeadConflict("table/1", new_head(second)),
            ACCEPTED,
        ]
        assert [entry.data for entry in store.read("table/1")] == [b"base", b"1", b"2"]
        assert [entry.data for entry in store.read("cage/ann")] == [b"x", b"y"]
        store.close()


def test_key_used_by_another_server_during_a_lost_commit_is_a_duplicate(
    postgres: PostgresServer, postgres_url: str, admin: psycopg.Connection, proxy_folder: Path
) -> None:
    other = PostgresStore(postgres_url)
    base = propose_data("table/1")
    other.write([base])
    ours = propose_appends({"table/1": (new_head(base), [b"x"])}, key="k", at=1)
    # the same command, decided by another server a moment later: the same span, other entries
    theirs = propose_appends({"table/1": (new_head(base), [b"x"])}, key="k", at=2)
    with ThreadPoolExecutor(1) as pool, cuttable_proxy(postgres.folder, proxy_folder) as cut:
        store = PostgresStore(proxy_url(postgres_url, postgres, proxy_folder))
        written = []

        def meanwhile() -> None:
            """Let the other server wait for the lock of the stream."""
            written.append(pool.submit(other.write, [theirs]))
            waiting = (
                "SELECT FROM pg_stat_activity"
                " WHERE wait_event_type = 'Lock' AND datname = current_database()"
            )
            while not admin.execute(waiting).fetchall():
                assert not written[0].done()

        cut.meanwhile, cut.armed = meanwhile, True
        outcomes = store.write([ours])
        store.close()

    assert written[0].result() == [ACCEPTED]
    assert build_answer(ours) == build_answer(theirs)
    assert outcomes == [DuplicateKey(build_answer(theirs))]
    assert other.read("table/1", 1) == list(theirs.appends[0].entries)
    other.close()


def proxy_url(url: str, server: PostgresServer, proxy_folder: Path) -> str:
    """Return the URL of a server behind a proxy."""
    return url.replace(quote(str(server.folder), safe=""), quote(str(proxy_folder), safe=""))


def test_acknowledged_writes_survive_a_crash_of_postgres(
    store: PostgresStore, postgres: PostgresServer
) -> None:
    first = propose_data("table/1")
    store.write([first])
    postgres.kill()
    postgres.start()

    assert store.read("table/1") == list(first.appends[0].entries)
    assert store.write([propose_data("table/1", new_head(first))]) == [ACCEPTED]
    assert store.is_sole_server()


def write_until_unavailable(store: PostgresStore) -> None:
    """Write until the store notices that its server is gone."""
    while True:
        store.write([propose_data("table/0")])


def test_stopped_postgres_is_unavailable(postgres_url: str, postgres: PostgresServer) -> None:
    store = PostgresStore(postgres_url, deadline_seconds=DEADLINE_SECONDS)
    postgres.kill()
    try:
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            write_until_unavailable(store)
        with pytest.raises(StoreUnavailable):
            store.head("table/1")
        with pytest.raises(StoreUnavailable):
            PostgresStore(postgres_url)
    finally:
        postgres.start()
    assert store.write([propose_data("table/1")]) == [ACCEPTED]
    store.close()


# --- unresponsive servers -----------------------------------------------------------------------


def test_unresponsive_backend_is_replaced(postgres_url: str, admin: psycopg.Connection) -> None:
    store = PostgresStore(postgres_url, deadline_seconds=DEADLINE_SECONDS)
    store.write([propose_data("table/0")])
    store.head("table/0")
    with stopped(admin):
        assert run_with_timeout(lambda: store.write([propose_data("table/1")])) == [ACCEPTED]
        assert run_with_timeout(lambda: store.head("table/1")).version == 1
    store.close()


def test_lock_held_by_an_unresponsive_backend_makes_the_store_unavailable(
    postgres_url: str, admin: psycopg.Connection
) -> None:
    store = PostgresStore(postgres_url, deadline_seconds=DEADLINE_SECONDS)
    first = propose_data("table/1")
    store.write([first])
    with psycopg.connect(postgres_url) as holder:
        holder.execute("SELECT * FROM streams FOR UPDATE")
        with stopped(admin, holder.info.backend_pid):
            with pytest.raises(StoreUnavailable, match="lock timeout"):
                run_with_timeout(lambda: store.write([propose_data("table/1", new_head(first))]))
            assert store.write([propose_data("table/2")]) == [ACCEPTED]
    assert store.write([propose_data("table/1", new_head(first))]) == [ACCEPTED]
    store.close()


def test_unresponsive_postgres_is_unavailable_after_the_deadline(
    postgres_url: str, postgres: PostgresServer, admin: psycopg.Connection
) -> None:
    store = PostgresStore(postgres_url, deadline_seconds=DEADLINE_SECONDS)
    os.kill(postgres.pid, signal.SIGSTOP)
    try:
        with stopped(admin), pytest.raises(StoreUnavailable):
            run_with_timeout(lambda: store.write([propose_data("table/1")]))
    finally:
        os.kill(postgres.pid, signal.SIGCONT)
    assert store.write([propose_data("table/1")]) == [ACCEPTED]
    store.close()


@contextmanager
def stopped(admin: psycopg.Connection, *pids: int) -> Iterator[None]:
    """Stop some backends, by default all of the database except the administrator's."""
    found = pids or [
        pid
        for (pid,) in admin.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid()"
        )
    ]
    for pid in found:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in found:
            os.kill(pid, signal.SIGCONT)


def run_with_timeout(work: Callable[[], Result]) -> Result:
    """Call a function in a thread, and fail if it does not return in time."""
    done: Future[Result] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    Thread(target=run, daemon=True).start()
    return done.result(timeout=PATIENCE)


def test_idle_transaction_does_not_block_other_writers_for_ever(
    postgres_url: str,
) -> None:
    first, second = (PostgresStore(postgres_url) for _ in range(2))
    base = propose_data("table/1")
    first.write([base])
    with connect_postgres(postgres_url, 0.2) as idle:
        idle.execute("BEGIN")
        idle.execute("SELECT * FROM streams FOR UPDATE")

        assert second.write([propose_data("table/1", new_head(base))]) == [ACCEPTED]
        with pytest.raises(psycopg.OperationalError):
            idle.execute("SELECT 1")
    first.close()
    second.close()
