"""Errors that PostgreSQL answers with: what ends writing, what is tried again, what is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.log.stating import ACCEPTED, one
from threedice.errors import StoreFailed, StoreUnavailable, StreamConflict

if TYPE_CHECKING:
    import psycopg

    from threedice.log.stores.postgres import PostgresStore


def failing(admin: psycopg.Connection, state: str, times: int = 1000) -> None:
    """Have the database fail so many times where entries are added."""
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
def test_a_database_that_cannot_write_ends_writing(
    store: PostgresStore, admin: psycopg.Connection, state: str
) -> None:
    failing(admin, state)
    with pytest.raises(StoreFailed, match="injected"):
        store.write([one("table/1")])
    admin.execute("DROP TRIGGER failing ON entries")

    with pytest.raises(StoreFailed, match="injected"):
        store.write([one("table/1")])
    with pytest.raises(StoreFailed):
        store.set_person("ann", b"x")
    assert store.streams() == []
    store.suspend("it failed")
    assert store.suspension_reason() == "it failed"


@pytest.mark.parametrize("state", ["40P01", "40001", "23505", "57P01"])
def test_what_may_succeed_at_once_is_tried_again(
    store: PostgresStore, admin: psycopg.Connection, state: str
) -> None:
    failing(admin, state, times=3)
    assert store.write([one("table/1"), one("table/2")]) == [ACCEPTED, ACCEPTED]
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
def test_what_does_not_succeed_in_the_end_says_so(
    store: PostgresStore, admin: psycopg.Connection, state: str, error: type[Exception]
) -> None:
    failing(admin, state)
    with pytest.raises(error):
        store.write([one("table/1")])
    admin.execute("DROP TRIGGER failing ON entries")

    if error is not StoreFailed:
        assert store.write([one("table/1")]) == [ACCEPTED]
