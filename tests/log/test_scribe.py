"""The scribe as a process: what it is told, how it dies, and what holds after any death."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
import uvloop

from tests.floor.setting import DEALER, SUPERVISOR, People
from tests.log.dictating import Watched, connection_to, locked, pid_of, scribe_of
from tests.log.proposing import PATIENCE, propose, propose_row
from threedice.errors import InvalidInput, StoreAway, StoreFailed, StoreUnfit
from threedice.floor import Floor
from threedice.floor.commands import ResolveInterruption
from threedice.floor.house import House
from threedice.log import scribe as scribe_module
from threedice.log.entry import EMPTY
from threedice.log.opening import open_store
from threedice.log.postgres import PostgresStore
from threedice.log.scribe import STOPS
from threedice.log.sqlite import SqliteStore
from threedice.log.store import Accepted, Conflict

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from threedice.log.scribe import Scribe
    from threedice.log.store import Outcome, Proposal

ROOT = Path(__file__).parents[2]
LOOPS = pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])

Stored = SqliteStore | PostgresStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.sqlite"


@pytest.fixture
def sqlite(path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(path, serving=True, scribe=True)
    yield store
    store.close()


@pytest.fixture(params=["sqlite", "postgres"])
def served(request: pytest.FixtureRequest) -> Iterator[Stored]:
    """A store with a scribe of its own, in each kind of database."""
    if request.param == "sqlite":
        yield request.getfixturevalue("sqlite")
        return
    store = PostgresStore(request.getfixturevalue("postgres_url"), serving=True, scribe=True)
    yield store
    store.close()


async def told(scribe: Scribe, *proposals: Proposal) -> list[Outcome]:
    """Have a scribe write, as the writer does."""
    async with asyncio.timeout(PATIENCE):
        return await scribe.write([scribe.words(each) for each in proposals])


def tell(store: Stored, *proposals: Proposal) -> list[Outcome]:
    return asyncio.run(told(scribe_of(store), *proposals))


def kill(store: Stored) -> None:
    """Kill a scribe, and come back when it is dead."""
    with Watched(pid_of(store)) as scribe:
        os.kill(pid_of(store), signal.SIGKILL)
        scribe.wait()


# --- what it is, and what it has ----------------------------------------------------------------


def test_what_a_scribe_has_written_its_store_reads_at_once(served: Stored) -> None:
    first, second = propose_row("table/1", 2)
    assert tell(served, first) == [Accepted()]
    lost = Conflict("table/1", served.head("table/1"))
    assert tell(served, propose("table/1"), second) == [lost, Accepted()]
    assert served.read("table/1") == [*first.appends[0].entries, *second.appends[0].entries]


def test_others_cannot_read_from_its_process_which_database_it_writes(served: Stored) -> None:
    assert tell(served, propose("table/1")) == [Accepted()]
    process = Path(f"/proc/{pid_of(served)}")
    name = served.url if isinstance(served, PostgresStore) else str(served.path)
    for open_to_others in ("cmdline", "environ"):
        assert name.encode() not in (process / open_to_others).read_bytes()


def test_a_scribe_has_nothing_open_that_is_not_its_own(path: Path) -> None:
    ours, _ = pipe = os.pipe()
    os.set_inheritable(ours, True)
    mine = Path(f"/proc/self/fd/{ours}").readlink()
    store = SqliteStore(path, serving=True, scribe=True)
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
    with Watched(pid := pid_of(served)) as scribe:
        served.close()
        assert scribe.has_ended()
    with pytest.raises(ProcessLookupError):  # not even one that nobody has asked how it ended
        os.kill(pid, 0)
    served.close()
    with pytest.raises(StoreAway, match="has been closed"):
        tell(served, propose("table/1"))


def test_a_scribe_writes_the_file_it_was_given_wherever_its_house_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with closing(SqliteStore("log.sqlite", serving=True, scribe=True)) as store:
        monkeypatch.chdir("elsewhere")
        kill(store)
        with suppress(StoreAway):
            tell(store, propose("table/1"))
        tell(store, propose("table/2"))
        monkeypatch.chdir(tmp_path)
        assert store.streams() == ["table/2"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_scribe_that_cannot_be_started_is_away_until_it_can(
    sqlite: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill(sqlite)
    with pytest.raises(StoreAway, match="signal 9"):
        tell(sqlite, propose("table/1"))
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", "/nowhere/python")
        with pytest.raises(StoreAway, match=r"cannot be started: .*/nowhere/python"):
            tell(sqlite, propose("table/1"))
        with pytest.raises(StoreAway, match="cannot be started"):
            SqliteStore(sqlite.path.with_name("other.sqlite"), serving=True, scribe=True)
    assert tell(sqlite, propose("table/1")) == [Accepted()]


# --- a scribe that dies -------------------------------------------------------------------------


def test_when_an_idle_scribe_was_killed_another_takes_over(served: Stored) -> None:
    row = propose_row("table/1", 3)
    assert tell(served, row[0]) == [Accepted()]
    killed = pid_of(served)
    kill(served)

    with pytest.raises(StoreAway, match="signal 9"):
        tell(served, row[1])

    assert served.head("table/1").version == 1
    assert tell(served, *row[1:]) == [Accepted(), Accepted()]
    assert pid_of(served) != killed
    with pytest.raises(ProcessLookupError):
        os.kill(killed, 0)


def test_a_scribe_killed_with_a_batch_in_hand_has_written_it_wholly_or_not(
    sqlite: SqliteStore,
) -> None:
    row = propose_row("table/1", 3)
    assert tell(sqlite, row[0]) == [Accepted()]

    async def kill_in_midst() -> None:
        with locked(sqlite.path):
            batch = asyncio.create_task(told(scribe_of(sqlite), *row[1:]))
            await asyncio.sleep(0)  # it is on its way, and cannot be written
            kill(sqlite)
        with pytest.raises(StoreAway, match="signal 9"):
            await batch

    asyncio.run(kill_in_midst())
    assert sqlite.head("table/1").version == 1
    assert tell(sqlite, *row[1:]) == [Accepted(), Accepted()]


def test_players_do_not_notice_that_a_scribe_was_killed(served: Stored) -> None:
    async def play() -> None:
        async with Floor(served) as floor:
            people = People(floor)
            await people.open()
            await people.play("open betting")
            before = served.head("table/1").version
            for _ in range(2):
                kill(served)
                bets = [people.bet(name, 50, "big") for name in ("ann", "bob")]
                answers = await asyncio.wait_for(asyncio.gather(*bets), PATIENCE)
                for answer in answers:
                    before += 1
                    assert answer.entries[0].version == before
            assert not floor.suspended

    asyncio.run(play())


def test_a_scribe_that_neither_answers_nor_dies_is_killed_and_another_takes_over(
    postgres_url: str,
) -> None:
    with closing(PostgresStore(postgres_url, scribe=True)) as store:
        row, scribe = propose_row("table/1", 2), scribe_of(store)
        tell(store, row[0])
        patience, scribe.patience = scribe.patience, 0.1
        with Watched(pid_of(store)) as stopped:
            os.kill(pid_of(store), signal.SIGSTOP)
            with pytest.raises(StoreAway, match="signal 9"):
                tell(store, row[1])
            stopped.wait()
        scribe.patience = patience
        assert tell(store, row[1]) == [Accepted()]


def test_one_that_is_slow_to_open_its_database_is_given_up_too(postgres_url: str) -> None:
    with closing(PostgresStore(postgres_url, scribe=True)) as store:
        scribe = scribe_of(store)
        os.kill(pid_of(store), signal.SIGSTOP)
        patience, scribe.patience = scribe.patience, 0.1
        with pytest.raises(StoreAway, match="signal 9"):
            tell(store, propose("table/1"))
        scribe.patience = patience
        assert tell(store, propose("table/1")) == [Accepted()]


def test_a_disk_is_given_the_time_that_it_takes_and_a_server_is_not(served: Stored) -> None:
    expected = None if isinstance(served, SqliteStore) else 60.0
    assert scribe_of(served).patience == expected


def test_a_scribe_that_not_even_a_kill_ends_holds_nobody_up(
    sqlite: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scribe_module, "END_SECONDS", 0.05)
    process = scribe_of(sqlite)._process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    with monkeypatch.context() as patched:
        patched.setattr(process, "kill", lambda: None)
        sqlite.close()
    assert process.returncode is None
    process.kill()
    process.wait()


def test_a_scribe_whose_connection_was_ended_writes_all_the_same(postgres_url: str) -> None:
    with closing(PostgresStore(postgres_url, scribe=True)) as store:
        row = propose_row("table/1", 2)
        tell(store, row[0])
        with connection_to(store) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        assert tell(store, row[1]) == [Accepted()]


def test_a_server_that_lost_its_connections_still_counts_as_one(postgres_url: str) -> None:
    with closing(PostgresStore(postgres_url, serving=True, scribe=True)) as store:
        with connection_to(store) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        assert store.suspended() == ""  # which a house asks every two seconds
        with closing(PostgresStore(postgres_url, serving=True)) as second:
            assert not second.first()
        assert store.alone()


def test_a_scribe_that_finds_no_database_is_away_until_it_is_back(
    postgres_url: str,
) -> None:
    store = PostgresStore(postgres_url, deadline_seconds=1.0, scribe=True)
    name = psycopg.conninfo.conninfo_to_dict(postgres_url)["dbname"]
    admin = postgres_url.replace(f"/{name}?", "/postgres?")
    with closing(store), psycopg.connect(admin, autocommit=True) as connection:
        tell(store, propose("table/1"))
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        kill(store)
        for why in ("signal 9", "is not there", "is not there"):
            with pytest.raises(StoreAway, match=why):
                tell(store, propose("table/2"))
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
        assert tell(store, propose("table/2")) == [Accepted()]


# --- who asked goes away ------------------------------------------------------------------------


def on(loop: Callable[[], asyncio.AbstractEventLoop], work: Awaitable[None]) -> None:
    async def within() -> None:
        await asyncio.wait_for(work, PATIENCE)

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(within())


@LOOPS
def test_an_answer_that_nobody_waited_for_is_not_taken_for_the_next(
    loop: Callable[[], asyncio.AbstractEventLoop], sqlite: SqliteStore
) -> None:
    async def give_up() -> None:
        await told(scribe_of(sqlite))
        given_up = asyncio.create_task(told(scribe_of(sqlite), propose("table/1")))
        await asyncio.sleep(0)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        assert sqlite.head("table/1").version == 1  # it was in hand, and is written
        (outcome,) = await told(scribe_of(sqlite), propose("table/1"))
        assert outcome == Conflict("table/1", sqlite.head("table/1"))

    on(loop, give_up())


@LOOPS
def test_a_store_closed_by_the_loop_in_the_midst_of_a_batch_hangs_nobody(
    loop: Callable[[], asyncio.AbstractEventLoop], sqlite: SqliteStore
) -> None:
    async def close_in_midst() -> None:
        await told(scribe_of(sqlite))
        batch = asyncio.create_task(told(scribe_of(sqlite), propose("table/1")))
        await asyncio.sleep(0)
        sqlite.close()
        with suppress(StoreAway):
            assert await batch == [Accepted()]
        with pytest.raises(StoreAway, match="has been closed"):
            await told(scribe_of(sqlite), propose("table/2"))

    on(loop, close_in_midst())
    with closing(SqliteStore(sqlite.path, serving=True)) as again:
        assert again.streams() == ["table/1"]


HOUSE = """
import asyncio, os, signal, sys
from tests.log.proposing import propose
from threedice.log.entry import EMPTY
from threedice.log.judging import after
from threedice.log.opening import open_store
from threedice.log.writer import Writer

def say(*words):
    print(*words, flush=True)

async def die_in_midst(store):
    scribe = store.scribe
    await scribe.write([])
    say(scribe.pid)
    sys.stdin.readline()
    asyncio.create_task(scribe.write([scribe.words(propose("table/1"))]))
    await asyncio.sleep(0)
    os.kill(os.getpid(), signal.SIGKILL)

async def leave(store):
    say(store.scribe.pid)

async def serve(store):
    stopped, answered = asyncio.Event(), asyncio.Queue()
    for stop in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(stop, stopped.set)
    writer = Writer(store, deliver=lambda tokens, results: answered.put_nowait((tokens, results)))
    head = EMPTY
    while not stopped.is_set():
        proposal = propose("table/1", head)
        head = after(proposal.appends[0])
        writer.submit(proposal, 0)
        say(head.version, *(await answered.get())[1])
    await asyncio.to_thread(writer.close)
    store.close()
    say("closed")

asyncio.run(globals()[sys.argv[2]](open_store(sys.argv[1], serving=True)))
"""


def house(url: str, way: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", HOUSE, url, way],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )


def test_when_its_house_was_killed_a_scribe_writes_what_it_has_and_nobody_serves_beside_it(
    path: Path,
) -> None:
    with house(f"sqlite:///{path}", "die_in_midst") as process:
        assert process.stdin
        assert process.stdout
        with Watched(int(process.stdout.readline())) as scribe:
            with locked(path):
                process.stdin.write("\n")
                process.stdin.flush()
                assert process.wait(PATIENCE) == -signal.SIGKILL
                assert not scribe.has_ended()
                with pytest.raises(StoreUnfit, match="is served by process"):
                    SqliteStore(path, serving=True)
            scribe.wait()
    with closing(SqliteStore(path, serving=True)) as next_one:
        assert next_one.head("table/1").version == 1


def test_a_scribe_whose_house_forgot_to_close_ends_by_itself(path: Path) -> None:
    with house(f"sqlite:///{path}", "leave") as process:
        said, _ = process.communicate(timeout=PATIENCE)  # until the scribe, too, has let go of it
    assert process.returncode == 0
    assert said.strip().isdecimal()
    SqliteStore(path, serving=True).close()


def test_signals_to_all_processes_of_a_house_let_it_finish(path: Path) -> None:
    with house(f"sqlite:///{path}", "serve") as process:
        assert process.stdout
        heard = [process.stdout.readline() for _ in range(20)]
        for stop in STOPS:
            os.killpg(process.pid, stop)
        heard += process.stdout.readlines()
    assert process.returncode == 0
    *answers, last = heard
    assert last == "closed\n"
    assert answers == [f"{number} Accepted()\n" for number in range(1, len(heard))]
    with closing(SqliteStore(path)) as store:
        assert store.head("table/1").version == len(answers)


def test_a_scribe_takes_no_signal_to_stop_not_even_before_it_is_ready(sqlite: SqliteStore) -> None:
    scribe = pid_of(sqlite)
    for stop in STOPS:
        os.kill(scribe, stop)
    assert tell(sqlite, propose("table/1")) == [Accepted()]
    for stop in STOPS:
        os.kill(scribe, stop)
    assert tell(sqlite, propose("table/2")) == [Accepted()]
    assert pid_of(sqlite) == scribe
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()  # and we take all of ours


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
    removed: "is not the file any more that the house has open",
    replaced: "is not the file any more that the house has open",
    of_another_version: "999",
    overwritten: "is no SQLite database",
}


@pytest.mark.parametrize("spoil", SPOILED, ids=lambda spoil: spoil.__name__)
def test_a_house_halts_when_a_scribe_cannot_open_its_database(
    path: Path, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    async def play() -> None:
        store = SqliteStore(path, serving=True, scribe=True)
        with closing(store):
            async with Floor(store, state=tmp_path / "state") as floor:
                people = People(floor)
                await people.open()
                await people.play("open betting")
                kill(store)
                spoil(path)
                bet = asyncio.wait_for(people.bet("ann", 50, "big"), PATIENCE)
                with pytest.raises(StoreFailed, match=SPOILED[spoil]):
                    await bet
                assert SPOILED[spoil] in floor.suspended
        assert not (tmp_path / "state" / "healthy").exists()
        assert path.exists() is (spoil is not removed)

    asyncio.run(play())


def test_a_disk_that_fails_below_a_scribe_halts_the_house_until_a_person_releases_it(
    path: Path, tmp_path: Path
) -> None:
    url, state = f"sqlite:///{path}", tmp_path / "state"

    async def play() -> None:
        async with House(url, state=state) as house:
            people = People(house.floor)
            await people.open()
            await people.play("open betting")
            let_write_no_more(pid_of(house.floor.store))
            before = house.floor.store.head("table/1")
            for _ in range(2):
                with pytest.raises(StoreFailed, match="disk I/O error"):
                    await people.bet("ann", 50, "big")
            assert "disk I/O error" in house.floor.suspended
            assert house.floor.store.head("table/1") == before

    async def come_back() -> None:
        async with House(url, state=state) as house:
            people = People(house.floor)
            assert house.floor.suspended
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
            people = People(house.floor)
            await people.open()
            await people.play("open betting")
            let_write_no_more(failing := pid_of(house.floor.store))
            with pytest.raises(StoreFailed):
                await people.bet("ann", 50, "big")
            await house.release("sue", "there is room again")
            await people.bet("ann", 50, "big")
            assert pid_of(house.floor.store) != failing

    asyncio.run(play())


def let_write_no_more(pid: int) -> None:
    """Have every write of a process to a file fail that would make it longer than a page."""
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (1024, 1024))


def test_what_a_database_cannot_hold_is_the_fault_of_the_proposal(served: Stored) -> None:
    with pytest.raises(InvalidInput):
        tell(served, propose("nul\0"))
    assert tell(served, propose("table/1")) == [Accepted()]
    assert served.head("nul") == EMPTY


def test_a_store_opened_to_serve_has_a_scribe_and_others_have_none(path: Path) -> None:
    url = f"sqlite:///{path}"
    with closing(open_store(url, serving=True)) as serving:
        assert serving.scribe is not None
        with closing(open_store(url)) as looking:
            assert looking.scribe is None
