"""PostgreSQL databases that may not be served, and stores of it that were closed."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.log.postgres_server import PostgresServer, quick_folder, running
from tests.log.stating import one
from threedice.db.postgres import connect_postgres
from threedice.errors import StoreUnavailable, StoreUnusable
from threedice.log.stores.postgres import PostgresStore

if TYPE_CHECKING:
    import psycopg


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_a_server_that_does_not_sync_is_refused(setting: str) -> None:
    refused = pytest.raises(StoreUnusable, match=f"set {setting} = on")
    with running([f"{setting}=off"], parent=quick_folder()) as server, refused:
        PostgresStore(server.fresh())


def test_commits_are_synchronous_whatever_the_url_says(postgres_url: str) -> None:
    asked = quote("-c synchronous_commit=off -c application_name=floor")
    with connect_postgres(f"{postgres_url}&options={asked}", 5) as connection:
        settings = connection.execute(
            "SELECT current_setting('synchronous_commit'), current_setting('application_name')"
        ).fetchone()
    assert settings == ("on", "floor")


def test_a_database_that_cannot_hold_every_name_is_refused(
    postgres: PostgresServer, admin: psycopg.Connection
) -> None:
    admin.execute("CREATE DATABASE ascii TEMPLATE template0 ENCODING 'SQL_ASCII'")
    with pytest.raises(StoreUnusable, match="set server_encoding = UTF8"):
        PostgresStore(postgres.url("ascii"))


def test_a_closed_store_says_so(store: PostgresStore) -> None:
    store.close()
    for ask in (lambda: store.head("table/1"), lambda: store.write([one("table/1")])):
        with pytest.raises(StoreUnavailable, match="has been closed"):
            ask()
