"""Stores of all kinds, with scribes and without, a PostgreSQL for them, and a log in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.log.logs import play
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.postgres import PostgresStore
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.log.dictating import Stored
    from tests.log.postgres_server import PostgresServer
    from threedice.log.store import Store


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> str:
    return postgres.fresh()


@pytest.fixture(scope="session")
def sqlite_scribe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """A store with a scribe, which takes a moment to start: all tests share it."""
    store = SqliteStore(tmp_path_factory.mktemp("scribe") / "log.sqlite", use_writer_process=True)
    yield store
    store.close()


@pytest.fixture(scope="session")
def postgres_scribe(postgres: PostgresServer) -> Iterator[PostgresStore]:
    store = PostgresStore(postgres.fresh(), use_writer_process=True)
    yield store
    store.close()


KINDS = ("memory", "sqlite", "sqlite-shared", "postgres")
SCRIBES = ("sqlite_scribe", "postgres_scribe")


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = open_kind(request.param, request, tmp_path)
    yield opened
    opened.close()


def open_kind(kind: str, request: pytest.FixtureRequest, folder: Path) -> Store:
    if kind == "memory":
        return MemoryStore()
    if kind == "postgres":
        return PostgresStore(request.getfixturevalue("postgres_url"))
    return SqliteStore(folder / "log.sqlite", single_connection=kind == "sqlite-shared")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of SQLite in which a log was played."""
    store = SqliteStore(tmp_path / "log.sqlite")
    play(store)
    store.close()
    return store.path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a log in SQLite is to be."""
    return tmp_path / "log.sqlite"


@pytest.fixture
def sqlite(path: Path) -> Iterator[SqliteStore]:
    """A store with a scribe of its own, in a file."""
    store = SqliteStore(path, serving=True, use_writer_process=True)
    yield store
    store.close()


@pytest.fixture(params=["sqlite", "postgres"])
def served(request: pytest.FixtureRequest) -> Iterator[Stored]:
    """A store with a scribe of its own, in each kind of database."""
    if request.param == "sqlite":
        yield request.getfixturevalue("sqlite")
        return
    store = PostgresStore(
        request.getfixturevalue("postgres_url"), serving=True, use_writer_process=True
    )
    yield store
    store.close()
