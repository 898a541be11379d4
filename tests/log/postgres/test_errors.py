"""PostgreSQL errors that stop writing, are retried, or are raised."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.log.proposals import ACCEPTED, propose_data
from threedice.errors import StoreFailed, StoreUnavailable, StreamConflict

if TYPE_CHECKING:
    import psycopg

    from threedice.log.stores.postgres import PostgresStore


def inject_errors(admin: psycopg.Connection, state: str, times: int = 1000) -> None:
    """Let inserts of entries fail with an SQL state, so many times."""
    admin.execute("DROP SEQUENCE IF EXISTS failures")
    admin.execute("CREATE SEQUENCE failures")
    admin.execute(
        "CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" IF nextval('failures') <= {times} THEN"
        f" RAISE EXCEPTION 'injected' USING ERRCODE = '{state}'; END IF; RETURN NEW; END $$"
    )
    admin.execute(
        "CREATE OR REPLACE TRIGGER failing BEFORE INSERT ON entries"
        " FOR EACH ROW EXECUTE FUNCTION fail()"
    )


@pytest.mark.parametrize("state", ["53100", "58030", "XX001", "XX002", "42501"])
def test_fatal_postgres_error_stops_writing(
    store: PostgresStore, admin: psycopg.Connection, state: str
) -> None:
    inject_errors(admin, state)
    with pytest.raises(StoreFailed, match="injected"):
        store.write([propose_data("table/1")])
    admin.execute("DROP TRIGGER failing ON entries")

    with pytest.raises(StoreFailed, match="injected"):
        store.write([propose_data("table/1")])
    with pytest.raises(StoreFailed):
        store.set_person("ann", b"x")
    assert store.streams() == []
    store.suspend("it failed")
    assert store.suspension_reason() == "it failed"


@pytest.mark.parametrize("state", ["40P01", "40001", "23505", "57P01"])
def test_transient_postgres_error_is_retried(
    store: PostgresStore, admin: psycopg.Connection, state: str
) -> None:
    inject_errors(admin, state, times=3)
    assert store.write([propose_data("table/1"), propose_data("table/2")]) == [ACCEPTED, ACCEPTED]
    assert [len(store.read(stream)) for stream in store.streams()] == [1, 1]


@pytest.mark.parametrize(
    ("state", "error"),
    [
        ("40P01", StreamConflict),
        ("23505", StoreFailed),
        ("57014", StoreUnavailable),
        ("57P01", StoreUnavailable),
    ],
)
def test_persistent_postgres_error_is_raised(
    store: PostgresStore, admin: psycopg.Connection, state: str, error: type[Exception]
) -> None:
    inject_errors(admin, state)
    with pytest.raises(error):
        store.write([propose_data("table/1")])
    admin.execute("DROP TRIGGER failing ON entries")

    if error is not StoreFailed:
        assert store.write([propose_data("table/1")]) == [ACCEPTED]
