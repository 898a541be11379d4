"""What is defined in a database beside or instead of what the program defines is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.log.logs import bet, found, play, tampering
from threedice.log.sqlite import SqliteStore
from threedice.log.verification import verify_log

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.log.postgres import PostgresStore


@pytest.fixture
def file(tmp_path: Path) -> Path:
    store = SqliteStore(tmp_path / "log.sqlite")
    play(store)
    store.close()
    return store.path


TRIGGER = "CREATE TRIGGER skim AFTER INSERT ON answers BEGIN DELETE FROM games; END"


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        (TRIGGER, "skim is defined, and is none of this program's"),
        ("CREATE TABLE aside (what TEXT)", "aside is defined, and is none of this program's"),
        ("CREATE VIEW others AS SELECT 1", "others is defined, and is none of this program's"),
        ("DROP INDEX lines_by_time", "lines_by_time is not defined"),
        ("DROP TABLE leases", "leases is not defined"),
    ],
)
def test_what_is_defined_otherwise_is_found(file: Path, statement: str, what: str) -> None:
    with tampering(file) as run:
        run(statement)

    assert f"the database: {what}" in found(verify_log(file, public_keys={}))


def test_a_column_that_compares_otherwise_is_found(file: Path) -> None:
    with tampering(file) as run:
        run("PRAGMA writable_schema = ON")
        run(
            "UPDATE sqlite_master SET sql = replace(sql, 'stream TEXT', 'stream TEXT COLLATE"
            " NOCASE') WHERE name = 'entries'"
        )
        run("PRAGMA writable_schema = RESET")
        run("REINDEX")

    assert found(verify_log(file, public_keys={})) == [
        "the database: entries is defined otherwise than by this program"
    ]


def test_tables_of_peoples_accounts_are_no_strangers(file: Path) -> None:
    with tampering(file) as run:
        run("CREATE TABLE people_accounts (name TEXT PRIMARY KEY)")

    assert found(verify_log(file, public_keys={})) == []


def test_a_line_that_an_index_lacks_is_found(file: Path) -> None:
    with tampering(file) as run:
        run("INSERT INTO lines VALUES ('house', 'ann', 'table/1', 1, 0, 5, x'00')")
        run("PRAGMA writable_schema = ON")
        run("UPDATE sqlite_master SET sql = sql || ' WHERE at > 5' WHERE name = 'lines_by_subject'")
        run("PRAGMA writable_schema = RESET")
        run("REINDEX lines_by_subject")
        run("PRAGMA writable_schema = ON")
        run(
            "UPDATE sqlite_master SET sql = replace(sql, ' WHERE at > 5', '')"
            " WHERE name = 'lines_by_subject'"
        )

    assert found(verify_log(file, public_keys={})) == [
        "the database: there are 1 lines, and 0 in their index lines_by_subject"
    ]


@pytest.mark.parametrize("store", ["postgres"], indirect=True)
def test_a_trigger_in_postgres_is_found(store: PostgresStore) -> None:
    bet(store, "table/1")
    with psycopg.connect(store.url) as connection:  # as somebody with the database
        connection.execute(
            "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RETURN NULL; END $$"
        )
        connection.execute(
            "CREATE TRIGGER skim BEFORE INSERT ON answers FOR EACH ROW EXECUTE FUNCTION swallow()"
        )

    assert found(verify_log(store, public_keys={})) == [
        "the database: skim is defined on answers, and is none of this program's"
    ]
