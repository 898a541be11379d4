"""Verification finds schema objects that the program does not define."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.log.inspection import finding_texts, tampering
from tests.log.proposals import bet, play
from threedice.log.proof.verification import verify_log
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.log.stores.postgres import PostgresStore


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
        (TRIGGER, "trigger skim is not defined by this program"),
        ("CREATE TABLE aside (what TEXT)", "table aside is not defined by this program"),
        ("CREATE VIEW others AS SELECT 1", "view others is not defined by this program"),
        ("DROP INDEX lines_by_time", "index lines_by_time is not defined"),
        ("DROP TABLE leases", "table leases is not defined"),
    ],
)
def test_added_or_missing_schema_object_is_found(file: Path, statement: str, what: str) -> None:
    with tampering(file) as run:
        run(statement)

    assert f"the database: {what}" in finding_texts(verify_log(file, public_keys={}))


def test_column_with_another_collation_is_found(file: Path) -> None:
    with tampering(file) as run:
        run("PRAGMA writable_schema = ON")
        run(
            "UPDATE sqlite_master SET sql = replace(sql, 'stream TEXT', 'stream TEXT COLLATE"
            " NOCASE') WHERE name = 'entries'"
        )
        run("PRAGMA writable_schema = RESET")
        run("REINDEX")

    assert finding_texts(verify_log(file, public_keys={})) == [
        "the database: table entries differs from this program's definition"
    ]


def test_identity_tables_and_their_triggers_are_accepted(file: Path) -> None:
    with tampering(file) as run:
        run("CREATE TABLE people_guests (name TEXT PRIMARY KEY)")
        run(
            "CREATE TRIGGER people_stay BEFORE DELETE ON people_guests"
            " BEGIN SELECT RAISE(ABORT, 'they stay'); END"
        )

    assert finding_texts(verify_log(file, public_keys={})) == []


def test_foreign_trigger_on_an_identity_table_is_found(file: Path) -> None:
    with tampering(file) as run:
        run("CREATE TABLE people_guests (name TEXT PRIMARY KEY)")
        run("CREATE TRIGGER skim AFTER INSERT ON people_guests BEGIN DELETE FROM lines; END")

    assert finding_texts(verify_log(file, public_keys={})) == [
        "the database: trigger skim is not defined by this program"
    ]


@pytest.mark.parametrize("column", ["type", "name", "tbl_name", "sql"])
@pytest.mark.parametrize("value", ["NULL", "x'ff'", "7"])
def test_unreadable_schema_definition_is_found(file: Path, column: str, value: str) -> None:
    with tampering(file) as run:
        run("CREATE TABLE people_guests (name TEXT PRIMARY KEY)")
        run("CREATE TRIGGER skim AFTER INSERT ON people_guests BEGIN DELETE FROM lines; END")
        run("PRAGMA writable_schema = ON")
        run(f"UPDATE sqlite_master SET {column} = {value} WHERE name = 'skim'")

    report = verify_log(file, public_keys={})
    assert {finding.where for finding in report.findings} & {"the database", str(file)}


def test_trigger_named_like_a_table_is_found(file: Path) -> None:
    with tampering(file) as run:
        run("PRAGMA writable_schema = ON")
        run("UPDATE sqlite_master SET rowid = 1000 + rowid WHERE tbl_name = 'views'")
        run(
            "INSERT INTO sqlite_master VALUES ('trigger', 'views', 'entries', 0,"
            " 'CREATE TRIGGER views AFTER INSERT ON entries BEGIN DELETE FROM people; END')"
        )

    assert "the database: trigger views is not defined by this program" in finding_texts(
        verify_log(file, public_keys={})
    )


def test_statement_row_missing_from_the_primary_key_index_is_found(file: Path) -> None:
    key = ',\n    PRIMARY KEY ("view", stream, version, place)'
    with tampering(file) as run:
        run("INSERT INTO lines VALUES ('house', 'ann', 'table/1', 1, 0, 5, x'00')")
        run("CREATE TABLE kept AS SELECT rowid AS row, * FROM sqlite_master")
        run("PRAGMA writable_schema = ON")
        run("DELETE FROM sqlite_master WHERE name = 'sqlite_autoindex_lines_1'")
        run("UPDATE sqlite_master SET sql = replace(sql, ?, '') WHERE name = 'lines'", key)
        run("PRAGMA writable_schema = RESET")
    with tampering(file) as run:
        run("INSERT INTO lines VALUES ('house', 'ann', 'table/1', 1, 7, 5, x'00')")
        run("PRAGMA writable_schema = ON")
        run("DELETE FROM sqlite_master WHERE name = 'lines'")
        run(
            "INSERT INTO sqlite_master (rowid, type, name, tbl_name, rootpage, sql) SELECT row,"
            " type, name, tbl_name, rootpage, sql FROM kept"
            " WHERE name IN ('lines', 'sqlite_autoindex_lines_1')"
        )
        run("PRAGMA writable_schema = RESET")
    with tampering(file) as run:
        run("DROP TABLE kept")

    assert finding_texts(verify_log(file, public_keys={})) == [
        "the database: there are 2 lines, and 1 in their index sqlite_autoindex_lines_1"
    ]


def test_statement_row_missing_from_an_index_is_found(file: Path) -> None:
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

    assert finding_texts(verify_log(file, public_keys={})) == [
        "the database: there are 1 lines, and 0 in their index lines_by_subject"
    ]


@pytest.mark.parametrize("store", ["postgres"], indirect=True)
def test_foreign_trigger_in_postgres_is_found(store: PostgresStore) -> None:
    bet(store, "table/1")
    with psycopg.connect(store.url) as connection:  # as an attacker with database access
        connection.execute(
            "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RETURN NULL; END $$"
        )
        connection.execute(
            "CREATE TRIGGER skim BEFORE INSERT ON answers FOR EACH ROW EXECUTE FUNCTION swallow()"
        )

    assert finding_texts(verify_log(store, public_keys={})) == [
        "the database: the trigger skim on answers is not defined by this program"
    ]
