"""Fixtures: stores of every kind, and logs in files."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.log.proposals import play
from threedice.db.sqlite import SqliteDatabase
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.postgres import PostgresStore
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.log.postgres_server import PostgresServer
    from threedice.log.store import Store


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> str:
    return postgres.fresh()


KINDS = ("memory", "sqlite", "sqlite-shared", "postgres")


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
    is_shared = kind == "sqlite-shared"
    return SqliteStore(
        folder / "log.sqlite",
        open_database=partial(SqliteDatabase, single_connection=is_shared),
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return an SQLite file with a log."""
    store = SqliteStore(tmp_path / "log.sqlite")
    play(store)
    store.close()
    return store.path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a log in SQLite that is not created yet."""
    return tmp_path / "log.sqlite"


@pytest.fixture
def disk_path() -> Iterator[Path]:
    """Return a folder on a disk; `tmp_path` may be in memory."""
    with tempfile.TemporaryDirectory(prefix="threedice-", dir="/var/tmp") as folder:
        yield Path(folder)
