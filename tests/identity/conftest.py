"""Fixtures: identity services on SQLite, on PostgreSQL and in memory."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.identity.identity_cluster import IdentityCluster
from tests.log.postgres_server import quick_folder
from threedice.identity import IdentityPolicy, open_identity
from threedice.identity.authentication.passwords import TEST_COST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.identity.identity_cluster import SteppedClock
    from tests.log.postgres_server import PostgresServer
    from threedice.identity import IdentityService


@pytest.fixture(scope="session")
def identity_url(postgres: PostgresServer) -> str:
    return postgres.fresh()


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder in memory where possible, since these tests are not about disks."""
    made = Path(tempfile.mkdtemp(prefix="threedice-identity-", dir=quick_folder()))
    yield made
    shutil.rmtree(made)


@pytest.fixture(params=["sqlite", "postgres"])
def cluster(request: pytest.FixtureRequest, folder: Path) -> Iterator[IdentityCluster]:
    if request.param == "sqlite":
        url = f"sqlite:///{folder / 'house.sqlite'}"
    else:
        url = request.getfixturevalue("identity_url")
        delete_rows(url)
    made = IdentityCluster(url, folder / "state")
    yield made
    for identity in made.opened:
        identity.close()


@pytest.fixture
def identity(cluster: IdentityCluster) -> IdentityService:
    """Return a service that does not require second factors of staff."""
    return cluster.open(IdentityPolicy(second_factor=False))


@pytest.fixture
def memory_identity() -> Iterator[IdentityService]:
    """Return a service in memory, for tests that do not depend on the database."""
    state = Path(tempfile.mkdtemp(prefix="threedice-identity-", dir=quick_folder()))
    with closing(open_identity("memory:", state=state, cost=TEST_COST)) as made:
        yield made
    shutil.rmtree(state)


@pytest.fixture
def strict_identity(cluster: IdentityCluster) -> IdentityService:
    """Return a service with the default policy."""
    return cluster.open()


@pytest.fixture
def clock(cluster: IdentityCluster) -> SteppedClock:
    return cluster.clock


def delete_rows(url: str) -> None:
    """Empty the tables of identity, including the append-only ones, and those of the log."""
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        there = {name for (name,) in found.fetchall()}
        connection.execute("SET session_replication_role = replica")
        for name in there - {"schema_versions"}:
            keep = " WHERE name NOT IN ('schema', 'program')" if name.endswith("meta") else ""
            connection.execute(f"DELETE FROM {name}{keep}".encode())
