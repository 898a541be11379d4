"""PostgreSQL databases that drop connections, do not respond, or are locked."""

from __future__ import annotations

import os
import signal
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.log.proposals import PATIENCE
from threedice.db.postgres import IDENTITY_LOCK, MAX_POOLED_CONNECTIONS, PostgresDatabase
from threedice.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.db import SqlRow, SqlRunner


@pytest.fixture
def database(postgres_url: str) -> Iterator[PostgresDatabase]:
    made = PostgresDatabase(postgres_url, write_lock=IDENTITY_LOCK)
    with closing(made):
        made.prepare_tables("create", needed="people_accounts")
        yield made


@contextmanager
def short_deadline(database: PostgresDatabase) -> Iterator[None]:
    """Shorten the deadline of a database, where a test waits until it has passed."""
    before, database.deadline_seconds = database.deadline_seconds, 0.5
    try:
        yield
    finally:
        database.deadline_seconds = before


def backend(database: PostgresDatabase) -> int:
    ((pid,),) = database.query("SELECT pg_backend_pid()")
    return int(pid)


def test_terminated_connection_is_replaced(database: PostgresDatabase) -> None:
    def change() -> list[SqlRow]:
        return database.transact(lambda run: run("SELECT 1"))

    for again in (partial(database.query, "SELECT 1"), change):
        pid = backend(database)
        with psycopg.connect(database.url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))

        assert again() == [(1,)]
        assert backend(database) != pid


def test_unresponsive_connection_is_replaced(database: PostgresDatabase) -> None:
    pid = backend(database)
    os.kill(pid, signal.SIGSTOP)
    try:
        assert database.query("SELECT 1") == [(1,)]
        assert backend(database) != pid
    finally:
        os.kill(pid, signal.SIGCONT)


def test_exhausted_connection_pool_is_unavailable_after_the_deadline(postgres_url: str) -> None:
    with closing(PostgresDatabase(postgres_url, deadline_seconds=2.0)) as database:
        taken = [database._pool.getconn(PATIENCE) for _ in range(MAX_POOLED_CONNECTIONS)]
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            database.query("SELECT 1")
        for connection in taken:
            database._pool.putconn(connection)
        assert database.query("SELECT 1") == [(1,)]


def test_write_waits_for_the_lock_until_the_deadline(
    database: PostgresDatabase,
) -> None:
    with psycopg.connect(database.url) as other:
        other.execute(f"SELECT pg_advisory_xact_lock({IDENTITY_LOCK})".encode())
        with pytest.raises(StoreUnavailable), short_deadline(database):
            database.transact(lambda run: run("SELECT 1"))
        assert database.query("SELECT 1") == [(1,)], "reads do not wait for the lock"

    assert database.transact(lambda run: run("SELECT 1")) == [(1,)]


def test_long_transaction_may_take_more_time_than_the_deadline(database: PostgresDatabase) -> None:
    slow = "SELECT 1 FROM pg_sleep(0.6)"  # longer than the short deadline
    with short_deadline(database):
        assert database.transact(lambda run: run(slow), is_long=True) == [(1,)]
        with pytest.raises(StoreUnavailable):
            database.transact(lambda run: run(slow))


def test_exception_in_a_transaction_rolls_back_and_keeps_the_connection(
    database: PostgresDatabase,
) -> None:
    pid = backend(database)

    def work(run: SqlRunner) -> None:
        run("INSERT INTO people_meta (name, value) VALUES ('x', 'y')")
        raise StoreUnavailable("refused")

    with pytest.raises(StoreUnavailable, match="refused"):
        database.transact(work)

    assert database.query("SELECT 1 FROM people_meta WHERE name = 'x'") == []
    assert backend(database) == pid
