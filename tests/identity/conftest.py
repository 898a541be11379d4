"""Fixtures: an identity service on SQLite and on PostgreSQL."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.identity.setting import Setting
from tests.log.postgres_server import quick_folder
from threedice.identity import IdentityPolicy, open_identity
from threedice.identity.passwords import TEST_COST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.identity.setting import HandClock
    from tests.log.postgres_server import PostgresServer
    from threedice.identity import IdentityService


@pytest.fixture(scope="session")
def people_url(postgres: PostgresServer) -> str:
    return postgres.fresh()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory where there is one: these tests are not about disks."""
    made = Path(tempfile.mkdtemp(prefix="threedice-people-", dir=quick_folder()))
    yield made
    shutil.rmtree(made)


@pytest.fixture(params=["sqlite", "postgres"])
def setting(request: pytest.FixtureRequest, folder: Path) -> Iterator[Setting]:
    if request.param == "sqlite":
        url = f"sqlite:///{folder / 'house.sqlite'}"
    else:
        url = request.getfixturevalue("people_url")
        empty(url)
    made = Setting(url, folder / "state")
    yield made
    for people in made.opened:
        people.close()


@pytest.fixture
def people(setting: Setting) -> IdentityService:
    """A house that asks no codes of its staff."""
    return setting.open(IdentityPolicy(second_factor=False))


@pytest.fixture
def local() -> Iterator[IdentityService]:
    """A house in memory, for what no database has to do with."""
    state = Path(tempfile.mkdtemp(prefix="threedice-people-", dir=quick_folder()))
    with closing(open_identity("memory:", state=state, cost=TEST_COST)) as made:
        yield made
    shutil.rmtree(state)


@pytest.fixture
def strict(setting: Setting) -> IdentityService:
    """A house as it is by default."""
    return setting.open()


@pytest.fixture
def clock(setting: Setting) -> HandClock:
    return setting.clock


def empty(url: str) -> None:
    """Empty the identity tables, including the append-only ones."""
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        there = {name for (name,) in found.fetchall()}
        connection.execute("SET session_replication_role = replica")
        for name in (table for table in there if table.startswith("people_")):
            keep = " WHERE name <> 'schema'" if name == "people_meta" else ""
            connection.execute(f"DELETE FROM {name}{keep}".encode())
