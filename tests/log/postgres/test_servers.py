"""What only the store in PostgreSQL promises: several servers on one database."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.log.proposing import PATIENCE
from tests.log.stating import ACCEPTED, left, one, propose
from threedice.errors import StoreUnavailable
from threedice.log.entry import EMPTY_HEAD, Head, hash_entry
from threedice.log.stores import postgres
from threedice.log.stores.postgres import PostgresStore

if TYPE_CHECKING:
    import psycopg


def test_processes_racing_for_a_stream_lose_and_double_nothing(postgres_url: str) -> None:
    names, rounds = ["ann", "bob", "cho", "dee"], 40
    racers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.log.losing", postgres_url, name, str(rounds)],
            stdout=subprocess.PIPE,
        )
        for name in names
    ]
    told = [racer.communicate(timeout=PATIENCE)[0].split() for racer in racers]
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
    previous = EMPTY_HEAD.hash
    for each in entries:
        previous = hash_entry(
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
    assert store.is_sole_server()
    assert not looking.is_sole_server()
    second = PostgresStore(postgres_url, serving=True)
    assert not store.is_sole_server()
    assert not second.is_sole_server()
    second.close()
    assert store.is_sole_server()
    store.close()
    assert looking.is_sole_server()
    looking.close()


def come_back(store: PostgresStore) -> bool:
    with store.recovery_lock() as nobody_plays:
        return nobody_plays


def test_of_servers_that_start_together_one_finds_nobody_playing(postgres_url: str) -> None:
    with ThreadPoolExecutor() as pool:
        stores = list(pool.map(lambda _: PostgresStore(postgres_url, serving=True), range(4)))
        assert sorted(pool.map(come_back, stores)) == [False, False, False, True]

    looking = PostgresStore(postgres_url)
    assert not come_back(looking)
    for store in (looking, *stores):
        store.close()


def test_a_server_that_gave_up_coming_back_does_not_play(postgres_url: str) -> None:
    first, second = (PostgresStore(postgres_url, serving=True) for _ in range(2))
    with pytest.raises(RuntimeError), first.recovery_lock():
        raise RuntimeError("it dies in the middle of it")

    assert come_back(second)
    assert not come_back(first)
    for store in (first, second):
        store.close()


def test_after_a_server_that_was_killed_the_next_finds_nobody_playing(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "ACTIVE_LEASE_SECONDS", 0.1)
    killed, second = (PostgresStore(postgres_url, serving=True) for _ in range(2))
    come_back(killed)
    assert killed._writer is not None
    killed._writer.close()  # without a word, as when its process ends
    assert come_back(second)
    for store in (killed, second):
        store.close()


def test_a_server_that_lost_its_connections_still_counts_as_one(
    postgres_url: str, admin: psycopg.Connection
) -> None:
    first, second = (PostgresStore(postgres_url, serving=True) for _ in range(2))
    come_back(first)
    admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    assert first.suspension_reason() == ""  # which a house asks every two seconds
    assert not come_back(second)
    second.close()
    assert first.is_sole_server()
    first.close()


def test_a_server_that_waits_too_long_for_another_to_come_back_says_so(
    store: PostgresStore, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "RECOVERY_WAIT_SECONDS", 0.0)
    second = PostgresStore(postgres_url, serving=True, deadline_seconds=0.5)
    with store.recovery_lock(), pytest.raises(StoreUnavailable, match="not finished its recovery"):
        come_back(second)
    second.close()


def test_a_lease_is_seen_by_every_server(store: PostgresStore, postgres_url: str) -> None:
    other = PostgresStore(postgres_url)
    assert store.acquire_lease("driver/1", "a", 60)
    assert not other.acquire_lease("driver/1", "b", 60)
    other.close()


def test_those_who_listen_hear_which_streams_have_grown(
    store: PostgresStore, admin: psycopg.Connection
) -> None:
    admin.execute("LISTEN threedice_streams")
    first = propose({"table/1": (EMPTY_HEAD, [b"x", b"y"]), "cage/ann 大": (EMPTY_HEAD, [b"z"])})

    store.write([first, one("table/1", left(first)), one("table/1", EMPTY_HEAD)])

    heard = sorted(note.payload for note in admin.notifies(timeout=PATIENCE, stop_after=2))
    assert heard == ["cage/ann 大 1", "table/1 3"]


def test_a_server_is_suspended_while_the_database_is_newer_than_itself(
    store: PostgresStore, admin: psycopg.Connection
) -> None:
    assert store.suspension_reason() == ""
    admin.execute("INSERT INTO schema_versions (version) VALUES (9)")  # as a newer server would
    assert "version 9, this program knows version 1" in store.suspension_reason()
    admin.execute("DELETE FROM schema_versions WHERE version = 9")
    assert store.suspension_reason() == ""
