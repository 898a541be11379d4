"""A writer process that dies, hangs or loses its database: a new one takes over without loss."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import closing

import psycopg
import pytest

from tests.house.setting import People
from tests.log.dictating import (
    Stored,
    Watched,
    connection_to,
    kill,
    locked,
    pid_of,
    tell,
    told,
    writer_process_of,
)
from tests.log.proposing import PATIENCE, propose, propose_row
from threedice.errors import StoreUnavailable
from threedice.house import CommandHandler
from threedice.log import writer_process
from threedice.log.store import Acceptance
from threedice.log.stores.postgres import PostgresStore
from threedice.log.stores.sqlite import SqliteStore


def test_when_an_idle_scribe_was_killed_another_takes_over(served: Stored) -> None:
    row = propose_row("table/1", 3)
    assert tell(served, row[0]) == [Acceptance()]
    killed = pid_of(served)
    kill(served)

    with pytest.raises(StoreUnavailable, match="signal 9"):
        tell(served, row[1])

    assert served.head("table/1").version == 1
    assert tell(served, *row[1:]) == [Acceptance(), Acceptance()]
    assert pid_of(served) != killed
    with pytest.raises(ProcessLookupError):
        os.kill(killed, 0)


def test_a_scribe_killed_with_a_batch_in_hand_has_written_it_wholly_or_not(
    sqlite: SqliteStore,
) -> None:
    row = propose_row("table/1", 3)
    assert tell(sqlite, row[0]) == [Acceptance()]

    async def kill_in_midst() -> None:
        with locked(sqlite.path):
            batch = asyncio.create_task(told(writer_process_of(sqlite), *row[1:]))
            await asyncio.sleep(0)  # it is on its way, and cannot be written
            kill(sqlite)
        with pytest.raises(StoreUnavailable, match="signal 9"):
            await batch

    asyncio.run(kill_in_midst())
    assert sqlite.head("table/1").version == 1
    assert tell(sqlite, *row[1:]) == [Acceptance(), Acceptance()]


def test_players_do_not_notice_that_a_scribe_was_killed(served: Stored) -> None:
    async def play() -> None:
        async with CommandHandler(served) as floor:
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
            assert not floor.suspension_reason

    asyncio.run(play())


def test_a_scribe_that_neither_answers_nor_dies_is_killed_and_another_takes_over(
    postgres_url: str,
) -> None:
    with closing(PostgresStore(postgres_url, use_writer_process=True)) as store:
        row, writer_process = propose_row("table/1", 2), writer_process_of(store)
        tell(store, row[0])
        patience, writer_process.timeout_seconds = writer_process.timeout_seconds, 0.1
        with Watched(pid_of(store)) as stopped:
            os.kill(pid_of(store), signal.SIGSTOP)
            with pytest.raises(StoreUnavailable, match="signal 9"):
                tell(store, row[1])
            stopped.wait()
        writer_process.timeout_seconds = patience
        assert tell(store, row[1]) == [Acceptance()]


def test_one_that_is_slow_to_open_its_database_is_given_up_too(postgres_url: str) -> None:
    with closing(PostgresStore(postgres_url, use_writer_process=True)) as store:
        writer_process = writer_process_of(store)
        os.kill(pid_of(store), signal.SIGSTOP)
        patience, writer_process.timeout_seconds = writer_process.timeout_seconds, 0.1
        with pytest.raises(StoreUnavailable, match="signal 9"):
            tell(store, propose("table/1"))
        writer_process.timeout_seconds = patience
        assert tell(store, propose("table/1")) == [Acceptance()]


def test_a_disk_is_given_the_time_that_it_takes_and_a_server_is_not(served: Stored) -> None:
    expected = None if isinstance(served, SqliteStore) else 60.0
    assert writer_process_of(served).timeout_seconds == expected


def test_a_scribe_that_not_even_a_kill_ends_holds_nobody_up(
    sqlite: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_process, "EXIT_TIMEOUT_SECONDS", 0.05)
    process = writer_process_of(sqlite)._process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    with monkeypatch.context() as patched:
        patched.setattr(process, "kill", lambda: None)
        sqlite.close()
    assert process.returncode is None
    process.kill()
    process.wait()


def test_a_scribe_whose_connection_was_ended_writes_all_the_same(postgres_url: str) -> None:
    with closing(PostgresStore(postgres_url, use_writer_process=True)) as store:
        row = propose_row("table/1", 2)
        tell(store, row[0])
        with connection_to(store) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        assert tell(store, row[1]) == [Acceptance()]


def test_a_server_that_lost_its_connections_still_counts_as_one(postgres_url: str) -> None:
    with closing(PostgresStore(postgres_url, serving=True, use_writer_process=True)) as store:
        with store.recovery_lock():
            pass
        with connection_to(store) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        assert store.suspension_reason() == ""  # which a house asks every two seconds
        second = PostgresStore(postgres_url, serving=True)
        with closing(second), second.recovery_lock() as nobody_plays:
            assert not nobody_plays
        assert store.is_sole_server()


def test_a_scribe_that_finds_no_database_is_away_until_it_is_back(
    postgres_url: str,
) -> None:
    store = PostgresStore(postgres_url, deadline_seconds=1.0, use_writer_process=True)
    name = psycopg.conninfo.conninfo_to_dict(postgres_url)["dbname"]
    admin = postgres_url.replace(f"/{name}?", "/postgres?")
    with closing(store), psycopg.connect(admin, autocommit=True) as connection:
        tell(store, propose("table/1"))
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        kill(store)
        for why in ("signal 9", "cannot be reached", "cannot be reached"):
            with pytest.raises(StoreUnavailable, match=why):
                tell(store, propose("table/2"))
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
        assert tell(store, propose("table/2")) == [Acceptance()]
