"""Several servers on one PostgreSQL database."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING

import pytest

from tests.log.proposals import ACCEPTED, PATIENCE, new_head, propose_appends, propose_data
from threedice.errors import StoreUnavailable
from threedice.log.entry import EMPTY_HEAD, Head, hash_entry
from threedice.log.records import Acceptance, DuplicateKey, HeadConflict
from threedice.log.stores import postgres
from threedice.log.stores.postgres import PostgresStore

if TYPE_CHECKING:
    import psycopg

    from threedice.log.records import ProposalOutcome


def write_concurrently(url: str, rounds: int, name: str) -> list[int]:
    """Append to a shared and an own stream; return which shared keys were accepted from here."""
    accepted: list[int] = []
    with closing(PostgresStore(url, serving=True)) as store:
        for number in range(rounds):
            outcome: ProposalOutcome = HeadConflict("shared", EMPTY_HEAD)
            while isinstance(outcome, HeadConflict):
                data = [f"{name} {number}".encode()]
                own = propose_appends(
                    {stream: (store.head(stream), data) for stream in ("shared", f"own/{name}")},
                    account=name,
                    key=f"{number}",
                )
                same = propose_appends(
                    {}, account="all", key=f"{number}", command_hash=name.encode() * 32
                )
                outcome, shared = store.write([own, same])
                assert isinstance(shared, Acceptance | DuplicateKey)
                if isinstance(shared, Acceptance):
                    accepted.append(number)
            assert isinstance(outcome, Acceptance)
    return accepted


def test_concurrent_processes_write_every_command_once(postgres_url: str) -> None:
    names, rounds = ["ann", "bob", "cho", "dee"], 40
    with ProcessPoolExecutor(len(names), mp_context=get_context("spawn")) as pool:
        accepted = list(pool.map(partial(write_concurrently, postgres_url, rounds), names))

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
    assert sorted(number for numbers in accepted for number in numbers) == list(range(rounds))
    store.close()


def test_concurrent_servers_all_open_an_empty_database(postgres_url: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(lambda _: PostgresStore(postgres_url, serving=True), range(8)))

    outcomes = [store.write([propose_data(f"table/{n}")]) for n, store in enumerate(stores)]

    assert outcomes == [[ACCEPTED]] * 8
    for store in stores:
        store.close()


def test_server_knows_whether_it_is_the_only_one(store: PostgresStore, postgres_url: str) -> None:
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


def starts_recovery(store: PostgresStore) -> bool:
    with store.recovery_lock() as none_serving:
        return none_serving


def test_one_of_several_starting_servers_does_the_recovery(postgres_url: str) -> None:
    with ThreadPoolExecutor() as pool:
        stores = list(pool.map(lambda _: PostgresStore(postgres_url, serving=True), range(4)))
        assert sorted(pool.map(starts_recovery, stores)) == [False, False, False, True]

    looking = PostgresStore(postgres_url)
    assert not starts_recovery(looking)
    for store in (looking, *stores):
        store.close()


def test_failed_recovery_is_left_to_the_next_server(postgres_url: str) -> None:
    first, second = (PostgresStore(postgres_url, serving=True) for _ in range(2))
    with pytest.raises(RuntimeError), first.recovery_lock():
        raise RuntimeError("it dies in the middle of it")

    assert starts_recovery(second)
    assert not starts_recovery(first)
    for store in (first, second):
        store.close()


def test_server_after_a_killed_one_does_the_recovery(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "ACTIVE_LEASE_SECONDS", 0.1)
    killed, second = (PostgresStore(postgres_url, serving=True) for _ in range(2))
    starts_recovery(killed)
    assert killed._writer is not None
    killed._writer.close()  # as when its process ends
    assert starts_recovery(second)
    for store in (killed, second):
        store.close()


def test_server_that_lost_its_connections_still_counts_as_serving(
    postgres_url: str, admin: psycopg.Connection
) -> None:
    first, second = (PostgresStore(postgres_url, serving=True) for _ in range(2))
    starts_recovery(first)
    admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    assert first.suspension_reason() == ""  # a house polls this every two seconds
    assert not starts_recovery(second)
    second.close()
    assert first.is_sole_server()
    first.close()


def test_server_that_waits_too_long_for_a_recovery_is_unavailable(
    store: PostgresStore, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "RECOVERY_WAIT_SECONDS", 0.0)
    second = PostgresStore(postgres_url, serving=True)
    with store.recovery_lock(), pytest.raises(StoreUnavailable, match="not finished its recovery"):
        starts_recovery(second)
    second.close()


def test_lease_is_seen_by_every_server(store: PostgresStore, postgres_url: str) -> None:
    other = PostgresStore(postgres_url)
    assert store.acquire_lease("driver/1", "a", 60)
    assert not other.acquire_lease("driver/1", "b", 60)
    other.close()


def test_write_notifies_listeners_of_new_stream_versions(
    store: PostgresStore, admin: psycopg.Connection
) -> None:
    admin.execute("LISTEN threedice_streams")
    first = propose_appends(
        {"table/1": (EMPTY_HEAD, [b"x", b"y"]), "cage/ann 大": (EMPTY_HEAD, [b"z"])}
    )

    store.write(
        [first, propose_data("table/1", new_head(first)), propose_data("table/1", EMPTY_HEAD)]
    )

    payloads = sorted(note.payload for note in admin.notifies(timeout=PATIENCE, stop_after=2))
    assert payloads == ["cage/ann 大 1", "table/1 3"]


def test_server_is_suspended_while_the_schema_is_newer_than_the_program(
    store: PostgresStore, admin: psycopg.Connection
) -> None:
    assert store.suspension_reason() == ""
    admin.execute("INSERT INTO schema_versions (version) VALUES (9)")  # as a newer server would
    assert "version 9, this program knows version" in store.suspension_reason()
    admin.execute("DELETE FROM schema_versions WHERE version = 9")
    assert store.suspension_reason() == ""
