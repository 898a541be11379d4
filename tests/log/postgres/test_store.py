"""PostgreSQL databases that are refused, and closed stores."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.log.postgres_server import PostgresServer, quick_folder, running
from tests.log.proposals import propose_data
from threedice.db.postgres import connect_postgres
from threedice.errors import StoreUnavailable, StoreUnusable
from threedice.log.stores.postgres import PostgresStore

if TYPE_CHECKING:
    import psycopg


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_postgres_without_durable_writes_is_refused(setting: str) -> None:
    refused = pytest.raises(StoreUnusable, match=f"set {setting} = on")
    with running([f"{setting}=off"], parent=quick_folder()) as server, refused:
        PostgresStore(server.fresh())


def test_commits_are_synchronous_in_spite_of_the_url(postgres_url: str) -> None:
    asked = quote("-c synchronous_commit=off -c application_name=floor")
    with connect_postgres(f"{postgres_url}&options={asked}", 5) as connection:
        settings = connection.execute(
            "SELECT current_setting('synchronous_commit'), current_setting('application_name')"
        ).fetchone()
    assert settings == ("on", "floor")


def test_database_without_utf8_is_refused(
    postgres: PostgresServer, admin: psycopg.Connection
) -> None:
    admin.execute("CREATE DATABASE ascii TEMPLATE template0 ENCODING 'SQL_ASCII'")
    with pytest.raises(StoreUnusable, match="set server_encoding = UTF8"):
        PostgresStore(postgres.url("ascii"))


def test_closed_store_is_unavailable(store: PostgresStore) -> None:
    store.close()
    for ask in (lambda: store.head("table/1"), lambda: store.write([propose_data("table/1")])):
        with pytest.raises(StoreUnavailable, match="has been closed"):
            ask()
