"""A PostgreSQL that goes away: connections that are lost, and servers that stop."""

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

from tests.log.losing import cut_way
from tests.log.proposing import PATIENCE
from tests.log.stating import ACCEPTED, left, one, propose
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


# --- connections that are lost ------------------------------------------------------------------


def test_backends_killed_in_mid_work_lose_and_double_nothing(
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
            while written < 60 or (len(killed) <= 5 and not killer.done()):
                proposal = one("table/1", head, b"%d" % written)
                try:
                    outcomes = store.write([proposal])
                except (
                    StoreUnavailable
                ):  # five times in a row; whether it is written, its key knows
                    if settled(store, proposal) is None:
                        continue
                else:
                    assert outcomes == [ACCEPTED]
                head, written = left(proposal), written + 1
        finally:
            done.set()

    assert killer.exception() is None
    assert len(killed) > 5
    found = [entry.data for entry in store.scan("table/1")]
    assert found == [b"%d" % number for number in range(written)]


def settled(store: PostgresStore, proposal: Proposal) -> StoredAnswer | None:
    """Ask what became of a proposal until there is an answer."""
    for _ in range(100):
        with suppress(StoreUnavailable):
            return store.answer(proposal.account, proposal.key)
    raise AssertionError("the database did not come back")


@pytest.fixture
def way() -> Iterator[Path]:
    # a socket's path has to be short
    with TemporaryDirectory(prefix="threedice-way-") as folder:
        yield Path(folder)


@pytest.mark.parametrize("after", [False, True])
def test_a_commit_whose_answer_is_lost_is_accepted_and_written_once(
    postgres: PostgresServer, postgres_url: str, way: Path, after: bool
) -> None:
    with cut_way(postgres.folder, way) as cut:
        store = PostgresStore(through(postgres_url, postgres, way))
        base = one("table/1", EMPTY_HEAD, b"base", key="base")
        store.write([base])
        first = propose({"table/1": (left(base), [b"1"]), "cage/ann": (EMPTY_HEAD, [b"x", b"y"])})
        second = one("table/1", left(first), b"2")
        late, nothing = one("table/1", EMPTY_HEAD), propose({})
        cut.after, cut.armed = after, True

        outcomes = store.write([base, first, first, second, late, nothing])

        assert not cut.armed
        assert outcomes == [
            DuplicateKey(build_answer(base)),
            ACCEPTED,
            DuplicateKey(build_answer(first)),
            ACCEPTED,
            HeadConflict("table/1", left(second)),
            ACCEPTED,
        ]
        assert [entry.data for entry in store.read("table/1")] == [b"base", b"1", b"2"]
        assert [entry.data for entry in store.read("cage/ann")] == [b"x", b"y"]
        store.close()


def test_a_key_that_another_server_used_while_ours_was_lost_is_known(
    postgres: PostgresServer, postgres_url: str, admin: psycopg.Connection, way: Path
) -> None:
    other = PostgresStore(postgres_url)
    base = one("table/1")
    other.write([base])
    ours = propose({"table/1": (left(base), [b"x"])}, key="k", at=1)
    # the same command, decided by another server a moment later: the same span, other entries
    theirs = propose({"table/1": (left(base), [b"x"])}, key="k", at=2)
    with ThreadPoolExecutor(1) as pool, cut_way(postgres.folder, way) as cut:
        store = PostgresStore(through(postgres_url, postgres, way))
        written = []

        def meanwhile() -> None:
            """Have the other server be the next in turn for the stream that we hold."""
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


def through(url: str, server: PostgresServer, way: Path) -> str:
    """Return the URL that leads to a server by another way."""
    return url.replace(quote(str(server.folder), safe=""), quote(str(way), safe=""))


def test_a_database_killed_and_started_again_has_all_that_was_acknowledged(
    store: PostgresStore, postgres: PostgresServer
) -> None:
    first = one("table/1")
    store.write([first])
    postgres.kill()
    postgres.start()

    assert store.read("table/1") == list(first.appends[0].entries)
    assert store.write([one("table/1", left(first))]) == [ACCEPTED]
    assert store.is_sole_server()


def write_until_away(store: PostgresStore) -> None:
    """Write on and on: whoever serves a connection may take a while to notice what is gone."""
    while True:
        store.write([one("table/0")])


def test_a_database_that_is_gone_is_away(postgres_url: str, postgres: PostgresServer) -> None:
    store = PostgresStore(postgres_url, deadline_seconds=0.5)
    postgres.kill()
    try:
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            write_until_away(store)
        with pytest.raises(StoreUnavailable):
            store.head("table/1")
        with pytest.raises(StoreUnavailable):
            PostgresStore(postgres_url)
    finally:
        postgres.start()
    assert store.write([one("table/1")]) == [ACCEPTED]
    store.close()


# --- servers that stop --------------------------------------------------------------------------


def test_a_stopped_backend_is_left_behind(postgres_url: str, admin: psycopg.Connection) -> None:
    store = PostgresStore(postgres_url, deadline_seconds=1)
    store.write([one("table/0")])
    store.head("table/0")
    with stopped(admin):
        assert hangs_not(lambda: store.write([one("table/1")])) == [ACCEPTED]
        assert hangs_not(lambda: store.head("table/1")).version == 1
    store.close()


def test_a_stopped_backend_that_holds_a_lock_makes_the_database_away(
    postgres_url: str, admin: psycopg.Connection
) -> None:
    store = PostgresStore(postgres_url, deadline_seconds=1)
    first = one("table/1")
    store.write([first])
    with psycopg.connect(postgres_url) as holder:
        holder.execute("SELECT * FROM streams FOR UPDATE")
        with stopped(admin, holder.info.backend_pid):
            with pytest.raises(StoreUnavailable, match="lock timeout"):
                hangs_not(lambda: store.write([one("table/1", left(first))]))
            assert store.write([one("table/2")]) == [ACCEPTED]
    assert store.write([one("table/1", left(first))]) == [ACCEPTED]
    store.close()


def test_a_stopped_server_is_away_and_not_waited_for(
    postgres_url: str, postgres: PostgresServer, admin: psycopg.Connection
) -> None:
    store = PostgresStore(postgres_url, deadline_seconds=1)
    os.kill(postgres.pid, signal.SIGSTOP)
    try:
        with stopped(admin), pytest.raises(StoreUnavailable):
            hangs_not(lambda: store.write([one("table/1")]))
    finally:
        os.kill(postgres.pid, signal.SIGCONT)
    assert store.write([one("table/1")]) == [ACCEPTED]
    store.close()


@contextmanager
def stopped(admin: psycopg.Connection, *pids: int) -> Iterator[None]:
    """Stop some backends, or all those of the database but the one that is asked."""
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


def hangs_not(work: Callable[[], Result]) -> Result:
    """Do something that must end by itself; a thread that does not is left behind."""
    done: Future[Result] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    Thread(target=run, daemon=True).start()
    return done.result(timeout=PATIENCE)


def test_a_writer_that_stops_in_mid_transaction_does_not_hold_up_others_for_ever(
    postgres_url: str,
) -> None:
    first, second = (PostgresStore(postgres_url, deadline_seconds=1) for _ in range(2))
    base = one("table/1")
    first.write([base])
    with connect_postgres(postgres_url, 0.2) as idle:
        idle.execute("BEGIN")
        idle.execute("SELECT * FROM streams FOR UPDATE")

        assert second.write([one("table/1", left(base))]) == [ACCEPTED]
        with pytest.raises(psycopg.OperationalError):
            idle.execute("SELECT 1")
    first.close()
    second.close()
