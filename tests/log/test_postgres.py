"""What only the store in PostgreSQL promises: several servers, and a database that goes away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
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
from tests.log.postgres_server import PostgresServer, quick_folder, running
from tests.log.stating import left, one, propose
from threedice.errors import Conflicted, StoreAway, StoreFailed, StoreUnfit
from threedice.log.deadline import Connection, connect
from threedice.log.entry import EMPTY, Head, chained
from threedice.log.judging import answer_to
from threedice.log.postgres import PostgresStore
from threedice.log.store import Accepted, Conflict, Known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from threedice.log.store import Answer, Proposal

Result = TypeVar("Result")

ACCEPTED = Accepted()
PATIENCE_SECONDS = 60
"""After which something that should have given up by itself is taken to hang."""


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(postgres_url, serving=True)
    yield opened
    opened.close()


@pytest.fixture
def admin(postgres_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


# --- several servers ----------------------------------------------------------------------------


def test_processes_racing_for_a_stream_lose_and_double_nothing(postgres_url: str) -> None:
    names, rounds = ["ann", "bob", "cho", "dee"], 40
    racers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.log.losing", postgres_url, name, str(rounds)],
            stdout=subprocess.PIPE,
        )
        for name in names
    ]
    told = [racer.communicate(timeout=PATIENCE_SECONDS)[0].split() for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * 4

    store = PostgresStore(postgres_url)
    entries = store.read("shared")
    data = [entry.data.decode() for entry in entries]
    assert [entry.version for entry in entries] == list(range(1, 4 * rounds + 1))
    for name in names:
        assert [each for each in data if each.startswith(name)] == [
            f"{name} {number}" for number in range(rounds)
        ]
        assert [entry.data.decode() for entry in store.read(f"own/{name}")] == [
            each for each in data if each.startswith(name)
        ]
    previous = EMPTY.hash
    for each in entries:
        previous = chained(
            previous,
            each.stream,
            each.version,
            each.at,
            each.kind,
            each.schema,
            each.data,
            each.cause,
        )
        assert each.hash == previous
    assert store.head("shared") == Head(4 * rounds, previous)
    # a key that all used was accepted from exactly one
    assert sorted(int(number) for numbers in told for number in numbers) == list(range(rounds))
    store.close()


def test_servers_that_start_at_once_all_come_up(postgres_url: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(lambda _: PostgresStore(postgres_url, serving=True), range(8)))

    outcomes = [store.write([one(f"table/{n}")]) for n, store in enumerate(stores)]

    assert outcomes == [[ACCEPTED]] * 8
    for store in stores:
        store.close()


def test_a_server_knows_whether_it_is_alone(store: PostgresStore, postgres_url: str) -> None:
    looking = PostgresStore(postgres_url)
    assert store.alone()
    assert not looking.alone()
    second = PostgresStore(postgres_url, serving=True)
    assert not store.alone()
    assert not second.alone()
    second.close()
    assert store.alone()
    store.close()
    assert looking.alone()
    looking.close()


def test_of_servers_that_start_together_one_is_the_first(postgres_url: str) -> None:
    with ThreadPoolExecutor() as pool:
        stores = list(pool.map(lambda _: PostgresStore(postgres_url, serving=True), range(4)))

    assert sorted(store.first() for store in stores) == [False, False, False, True]
    looking = PostgresStore(postgres_url)
    assert not looking.first()
    for store in (looking, *stores):
        store.close()


def test_a_lease_is_seen_by_every_server(store: PostgresStore, postgres_url: str) -> None:
    other = PostgresStore(postgres_url)
    assert store.take_lease("driver/1", "a", 60)
    assert not other.take_lease("driver/1", "b", 60)
    other.close()


def test_those_who_listen_hear_which_streams_have_grown(
    store: PostgresStore, admin: psycopg.Connection
) -> None:
    admin.execute("LISTEN threedice_streams")
    first = propose({"table/1": (EMPTY, [b"x", b"y"]), "cage/ann 大": (EMPTY, [b"z"])})

    store.write([first, one("table/1", left(first)), one("table/1", EMPTY)])

    heard = sorted(note.payload for note in admin.notifies(timeout=PATIENCE_SECONDS, stop_after=2))
    assert heard == ["cage/ann 大 1", "table/1 3"]


# --- connections that are lost ------------------------------------------------------------------


def test_backends_killed_in_mid_work_lose_and_double_nothing(
    store: PostgresStore, admin: psycopg.Connection
) -> None:
    done = Event()

    def kill() -> int:
        killed = 0
        while not done.is_set():
            killed += len(
                admin.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE pid <> pg_backend_pid() AND datname = current_database()"
                ).fetchall()
            )
            done.wait(0.02)
        return killed

    with ThreadPoolExecutor(1) as pool:
        killer = pool.submit(kill)
        try:
            head, written = EMPTY, 0
            while written < 60:
                proposal = one("table/1", head, b"%d" % written)
                try:
                    outcomes = store.write([proposal])
                except StoreAway:  # five times in a row; whether it is written, its key knows
                    if settled(store, proposal) is None:
                        continue
                else:
                    assert outcomes == [ACCEPTED]
                head, written = left(proposal), written + 1
        finally:
            done.set()

    assert killer.result() > 5
    assert [entry.data for entry in store.read("table/1")] == [b"%d" % n for n in range(60)]


def settled(store: PostgresStore, proposal: Proposal) -> Answer | None:
    """Ask what became of a proposal until there is an answer."""
    for _ in range(100):
        with suppress(StoreAway):
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
        base = one("table/1", EMPTY, b"base", key="base")
        store.write([base])
        first = propose({"table/1": (left(base), [b"1"]), "cage/ann": (EMPTY, [b"x", b"y"])})
        second = one("table/1", left(first), b"2")
        late, nothing = one("table/1", EMPTY), propose({})
        cut.after, cut.armed = after, True

        outcomes = store.write([base, first, first, second, late, nothing])

        assert not cut.armed
        assert outcomes == [
            Known(answer_to(base)),
            ACCEPTED,
            Known(answer_to(first)),
            ACCEPTED,
            Conflict("table/1", left(second)),
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
    assert answer_to(ours) == answer_to(theirs)
    assert outcomes == [Known(answer_to(theirs))]
    assert other.read("table/1", 1) == list(theirs.appends[0].entries)
    other.close()


def test_a_database_killed_and_started_again_has_all_that_was_acknowledged(
    store: PostgresStore, postgres: PostgresServer
) -> None:
    first = one("table/1")
    store.write([first])
    postgres.kill()
    postgres.start()

    assert store.read("table/1") == list(first.appends[0].entries)
    assert store.write([one("table/1", left(first))]) == [ACCEPTED]
    assert store.alone()


def test_a_database_that_is_gone_is_away(postgres_url: str, postgres: PostgresServer) -> None:
    store = PostgresStore(postgres_url, deadline_seconds=0.5)
    postgres.kill()
    try:
        with pytest.raises(StoreAway, match="is not there"):
            store.write([one("table/1")])
        with pytest.raises(StoreAway):
            store.head("table/1")
        with pytest.raises(StoreAway):
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
            with pytest.raises(StoreAway, match="lock timeout"):
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
        with stopped(admin), pytest.raises(StoreAway):
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
    return done.result(timeout=PATIENCE_SECONDS)


# --- errors -------------------------------------------------------------------------------------


def failing(admin: psycopg.Connection, state: str, times: int = 1000) -> None:
    """Have the database fail so many times where entries are added."""
    admin.execute("DROP SEQUENCE IF EXISTS failures")
    admin.execute("CREATE SEQUENCE failures")
    admin.execute(
        "CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" IF nextval('failures') <= {times} THEN"
        f" RAISE EXCEPTION 'injected' USING ERRCODE = '{state}'; END IF; RETURN NEW; END $$"
    )
    admin.execute(
        "CREATE OR REPLACE TRIGGER failing BEFORE INSERT ON entries"
        " FOR EACH ROW EXECUTE FUNCTION fail()"
    )


@pytest.mark.parametrize("state", ["53100", "58030", "XX001", "XX002", "42501"])
def test_a_database_that_cannot_write_ends_writing(
    store: PostgresStore, admin: psycopg.Connection, state: str
) -> None:
    failing(admin, state)
    with pytest.raises(StoreFailed, match="injected"):
        store.write([one("table/1")])
    admin.execute("DROP TRIGGER failing ON entries")

    with pytest.raises(StoreFailed, match="injected"):
        store.write([one("table/1")])
    with pytest.raises(StoreFailed):
        store.set_person("ann", b"x")
    assert store.streams() == []
    store.suspend("it failed")
    assert store.suspended() == "it failed"


@pytest.mark.parametrize("state", ["40P01", "40001", "23505", "57P01"])
def test_what_may_succeed_at_once_is_tried_again(
    store: PostgresStore, admin: psycopg.Connection, state: str
) -> None:
    failing(admin, state, times=3)
    assert store.write([one("table/1"), one("table/2")]) == [ACCEPTED, ACCEPTED]
    assert [len(store.read(stream)) for stream in store.streams()] == [1, 1]


@pytest.mark.parametrize(
    ("state", "error"),
    [("40P01", Conflicted), ("23505", StoreFailed), ("57014", StoreAway), ("57P01", StoreAway)],
)
def test_what_does_not_succeed_in_the_end_says_so(
    store: PostgresStore, admin: psycopg.Connection, state: str, error: type[Exception]
) -> None:
    failing(admin, state)
    with pytest.raises(error):
        store.write([one("table/1")])
    admin.execute("DROP TRIGGER failing ON entries")

    if error is not StoreFailed:
        assert store.write([one("table/1")]) == [ACCEPTED]


def test_a_writer_that_stops_in_mid_transaction_does_not_hold_up_others_for_ever(
    postgres_url: str,
) -> None:
    first, second = (PostgresStore(postgres_url, deadline_seconds=1) for _ in range(2))
    base = one("table/1")
    first.write([base])
    with connect(postgres_url, 0.2) as idle:
        idle.execute("BEGIN")
        idle.execute("SELECT * FROM streams FOR UPDATE")

        assert second.write([one("table/1", left(base))]) == [ACCEPTED]
        with pytest.raises(psycopg.OperationalError):
            idle.execute("SELECT 1")
    first.close()
    second.close()


# --- databases that may not be served -----------------------------------------------------------


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_a_server_that_does_not_sync_is_refused(setting: str) -> None:
    refused = pytest.raises(StoreUnfit, match=f"set {setting} = on")
    with running([f"{setting}=off"], parent=quick_folder()) as server, refused:
        PostgresStore(server.fresh())


def test_commits_are_synchronous_whatever_the_url_says(postgres_url: str) -> None:
    asked = quote("-c synchronous_commit=off -c application_name=floor")
    with connect(f"{postgres_url}&options={asked}", 5) as connection:
        settings = connection.execute(
            "SELECT current_setting('synchronous_commit'), current_setting('application_name')"
        ).fetchone()
    assert settings == ("on", "floor")


def test_a_database_that_cannot_hold_every_name_is_refused(
    postgres: PostgresServer, admin: psycopg.Connection
) -> None:
    admin.execute("CREATE DATABASE ascii TEMPLATE template0 ENCODING 'SQL_ASCII'")
    with pytest.raises(StoreUnfit, match="set server_encoding = UTF8"):
        PostgresStore(postgres.url("ascii"))


def test_a_closed_store_says_so(store: PostgresStore) -> None:
    store.close()
    for ask in (lambda: store.head("table/1"), lambda: store.write([one("table/1")])):
        with pytest.raises(StoreAway, match="has been closed"):
            ask()


def test_a_connection_given_back_while_the_store_is_closed_is_closed(store: PostgresStore) -> None:
    class Closing(list[Connection]):
        def append(self, connection: Connection) -> None:
            store.close()
            super().append(connection)

    store.head("table/1")
    (kept,) = store._idle
    store._idle = Closing(store._idle)
    store.head("table/1")
    assert kept.closed
    assert store._idle == []


def through(url: str, server: PostgresServer, way: Path) -> str:
    """Return the URL that leads to a server by another way."""
    return url.replace(quote(str(server.folder), safe=""), quote(str(way), safe=""))
