"""Verification finds schema objects that the program does not define."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.log.inspection import finding_texts, tampering
from tests.log.proposals import bet, play
from threedice.db.postgres import connect_postgres
from threedice.log.proof.verification import verify_log
from threedice.log.stores.postgres import PostgresStore
from threedice.log.stores.rows import PostgresRows
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.log.postgres_server import PostgresServer
    from threedice.db.postgres import PostgresConnection


@pytest.fixture
def file(tmp_path: Path) -> Path:
    store = SqliteStore(tmp_path / "log.sqlite")
    play(store)
    store.close()
    return store.path


ACCOUNTS_DIFFER = "table people_accounts differs from this program's definition"
SESSIONS_DIFFER = "table people_sessions differs from this program's definition"
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


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        (
            "CREATE TRIGGER skim AFTER INSERT ON people_events BEGIN DELETE FROM lines; END",
            "trigger skim is not defined by this program",
        ),
        ("DROP TRIGGER people_events_no_delete", "trigger people_events_no_delete is not defined"),
        (
            "CREATE TABLE people_guests (a TEXT) STRICT",
            "table people_guests is not defined by this",
        ),
        ("DROP TABLE people_attempts", "table people_attempts is not defined"),
        (
            "ALTER TABLE people_accounts ADD COLUMN nickname TEXT",
            "table people_accounts differs from this program's definition",
        ),
        ("DROP INDEX people_accounts_by_name", "index people_accounts_by_name is not defined"),
    ],
)
def test_changed_definition_of_an_identity_table_is_found(
    file: Path, statement: str, what: str
) -> None:
    with tampering(file) as run:
        run(statement)

    found = finding_texts(verify_log(file, public_keys={}))
    assert any(each.startswith(f"the database: {what}") for each in found)


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
        "the database: row 2 missing from index sqlite_autoindex_lines_1",
        "the database: wrong # of entries in index sqlite_autoindex_lines_1",
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
        "the database: row 1 missing from index lines_by_subject",
        "the database: wrong # of entries in index lines_by_subject",
    ]


EXCHANGED = "CASE subject WHEN 'ann' THEN 'bob' ELSE 'ann' END"


@pytest.mark.parametrize(
    ("index", "column", "forged", "rows"),
    [
        ("lines_by_subject", ", subject", f", {EXCHANGED}", 2),
        ("people_attempts_by_time", "(latest", "(-latest", 1),
    ],
)
def test_index_that_leads_to_other_rows_is_found(
    file: Path, index: str, column: str, forged: str, rows: int
) -> None:
    with tampering(file) as run:
        run("INSERT INTO lines VALUES ('house', 'ann', 'table/1', 1, 0, 5, x'00')")
        run("INSERT INTO lines VALUES ('house', 'bob', 'table/1', 1, 1, 5, x'00')")
        run("INSERT INTO people_attempts VALUES (x'00', 3, 5)")
        change = "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = ?"
        run("PRAGMA writable_schema = ON")
        run(change, column, forged, index)
        run("PRAGMA writable_schema = RESET")
        run(f"REINDEX {index}")
        run("PRAGMA writable_schema = ON")
        run(change, forged, column, index)

    found = finding_texts(verify_log(file, public_keys={}))
    assert found == [
        f"the database: row {row} missing from index {index}" for row in range(1, rows + 1)
    ]


@pytest.fixture
def postgres_store(postgres_url: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(postgres_url)) as store:
        bet(store, "table/1")
        yield store


@pytest.fixture(scope="module")
def empty_house(postgres: PostgresServer) -> Iterator[PostgresConnection]:
    url = postgres.fresh()
    PostgresStore(url).close()
    with closing(connect_postgres(url, 60)) as connection:
        yield connection


DIFFERS = "differs from this program's definition"
FOREIGN = "is not defined by this program"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RETURN NULL; END $$; CREATE TRIGGER skim BEFORE INSERT ON answers"
            " FOR EACH ROW EXECUTE FUNCTION swallow()",
            [f"trigger skim on answers {FOREIGN}", f"function swallow() {FOREIGN}"],
        ),
        (
            "DROP TRIGGER people_events_stay ON people_events",
            ["trigger people_events_stay on people_events is not defined"],
        ),
        (
            "ALTER TABLE people_events DISABLE TRIGGER ALL",
            [f"trigger people_events_stay on people_events {DIFFERS}"],
        ),
        (
            "CREATE OR REPLACE FUNCTION people_events_stay() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RETURN NULL; END $$",
            [f"function people_events_stay() {DIFFERS}"],
        ),
        (
            "ALTER FUNCTION people_events_stay() SECURITY DEFINER SET search_path = other",
            [f"function people_events_stay() {DIFFERS}"],
        ),
        ("ALTER TABLE people_tokens ADD COLUMN more TEXT", [f"table people_tokens {DIFFERS}"]),
        ("ALTER TABLE entries ALTER at DROP NOT NULL", [f"table entries {DIFFERS}"]),
        ("ALTER TABLE people_accounts ALTER confirmed SET DEFAULT 7", [ACCOUNTS_DIFFER]),
        ("ALTER TABLE people_accounts ALTER roles SET DEFAULT 'dealer'", [ACCOUNTS_DIFFER]),
        ("ALTER TABLE people_accounts ALTER enabled TYPE BIGINT", [ACCOUNTS_DIFFER]),
        ('ALTER TABLE people_accounts ALTER roles TYPE TEXT COLLATE "POSIX"', [ACCOUNTS_DIFFER]),
        ("ALTER TABLE people_accounts ADD CHECK (name <> 'eve')", [ACCOUNTS_DIFFER]),
        ("ALTER TABLE people_accounts ADD CHECK (name <> 'eve') NOT VALID", [ACCOUNTS_DIFFER]),
        (
            "ALTER TABLE people_accounts DROP CONSTRAINT people_accounts_pkey",
            [ACCOUNTS_DIFFER, "index people_accounts_pkey is not defined"],
        ),
        ("ALTER TABLE entries SET UNLOGGED", [f"table entries {DIFFERS}"]),
        ("ALTER TABLE people_sessions ENABLE ROW LEVEL SECURITY", [SESSIONS_DIFFER]),
        ("ALTER TABLE people_sessions FORCE ROW LEVEL SECURITY", [SESSIONS_DIFFER]),
        (
            "CREATE POLICY blind ON people_sessions USING (false)",
            [f"policy blind on people_sessions {FOREIGN}"],
        ),
        (
            "CREATE SCHEMA aside; CREATE TABLE aside.more () INHERITS (people_sessions)",
            [SESSIONS_DIFFER],
        ),
        (
            "CREATE SCHEMA aside; CREATE TABLE aside.more (name TEXT REFERENCES leases)",
            [f"trigger RI_ConstraintTrigger_ on leases {FOREIGN}"] * 2,
        ),
        ("DROP TABLE views", ["table views is not defined", "index views_pkey is not defined"]),
        ("DROP INDEX lines_by_time", ["index lines_by_time is not defined"]),
        (
            "DROP INDEX lines_by_time; CREATE INDEX lines_by_time ON lines (view, (-at))",
            [f"index lines_by_time {DIFFERS}"],
        ),
        (
            "DROP INDEX people_tokens_by_digest; CREATE INDEX people_tokens_by_digest ON"
            " people_tokens (digest)",
            [f"index people_tokens_by_digest {DIFFERS}"],
        ),
        (
            "UPDATE pg_index SET indisvalid = false"
            " WHERE indexrelid = 'people_tokens_by_digest'::regclass",
            [f"index people_tokens_by_digest {DIFFERS}"],
        ),
        ("CREATE INDEX more ON people_accounts (roles)", [f"index more {FOREIGN}"]),
        ("CREATE TABLE more (a INTEGER)", [f"table more {FOREIGN}"]),
        ("CREATE VIEW more AS SELECT 1", [f"view more {FOREIGN}"]),
        ("CREATE MATERIALIZED VIEW more AS SELECT 1", [f"materialized view more {FOREIGN}"]),
        ("CREATE SEQUENCE more", [f"sequence more {FOREIGN}"]),
        ("CREATE TYPE more AS (a INTEGER)", [f"type more {FOREIGN}"]),
        ("CREATE DOMAIN more AS INTEGER", [f"type more {FOREIGN}"]),
        (
            "CREATE OPERATOR === (FUNCTION = texteq, LEFTARG = text, RIGHTARG = text)",
            [f"operator ===(text,text) {FOREIGN}"],
        ),
        (
            "CREATE FUNCTION more(text) RETURNS text LANGUAGE sql AS 'SELECT $1'",
            [f"function more(text) {FOREIGN}"],
        ),
        (
            "CREATE RULE deaf AS ON DELETE TO people_tokens DO INSTEAD NOTHING",
            [f"rule deaf on people_tokens {FOREIGN}"],
        ),
    ],
)
def test_changed_definition_in_postgres_is_found(
    empty_house: PostgresConnection, statement: str, expected: list[str]
) -> None:
    empty_house.set_deadline(60)
    empty_house.execute("BEGIN")
    try:
        empty_house.execute(statement)
        found = [*PostgresRows(empty_house).find_damage()]
    finally:
        empty_house.execute("ROLLBACK")
    assert [re.sub(r"(RI_ConstraintTrigger_)\w+", r"\1", each) for each in found] == expected


def test_changed_definition_in_postgres_is_reported(postgres_store: PostgresStore) -> None:
    with psycopg.connect(postgres_store.url) as connection:
        connection.execute("ALTER TABLE people_tokens SET UNLOGGED")

    assert finding_texts(verify_log(postgres_store, public_keys={})) == [
        f"the database: table people_tokens {DIFFERS}"
    ]


def test_settings_of_storage_and_extensions_in_postgres_are_not_reported(
    postgres_store: PostgresStore,
) -> None:
    with psycopg.connect(postgres_store.url) as connection:
        connection.execute("ALTER TABLE entries SET (autovacuum_enabled = false)")
        connection.execute("ALTER TABLE entries ALTER data SET STATISTICS 7")
        connection.execute(
            "ALTER DATABASE " + connection.info.dbname + " SET bytea_output = escape"
        )
        connection.execute("CREATE VIEW pg_of_extension AS SELECT 1")
        connection.execute("ALTER EXTENSION plpgsql ADD VIEW pg_of_extension")

    with postgres_store.open_rows() as rows:
        assert [*rows.find_damage()] == []


@pytest.mark.parametrize("path", ["postgres, public", "aside, public"])
def test_tables_in_another_schema_do_not_hide_those_of_the_house(
    postgres_url: str, path: str
) -> None:
    with closing(PostgresStore(postgres_url)) as store:
        bet(store, "table/1")
    with psycopg.connect(postgres_url) as connection:
        connection.execute(f"ALTER DATABASE {connection.info.dbname} SET search_path = {path}")
        for name in ("postgres", "aside"):  # the first one is in front by default for its user
            connection.execute(f"CREATE SCHEMA {name}")
            connection.execute(f"CREATE VIEW {name}.entries AS SELECT * FROM entries LIMIT 0")

    with closing(PostgresStore(postgres_url)) as store:
        assert len(store.read("table/1")) > 0
        assert finding_texts(verify_log(store, public_keys={})) == []


def test_schema_that_the_url_names_holds_the_tables(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE SCHEMA casino")
    url = f"{postgres_url}&options=-csearch_path%3Dcasino"
    with closing(PostgresStore(url)) as store, psycopg.connect(postgres_url) as connection:
        bet(store, "table/1")
        assert connection.execute("SELECT count(*) FROM casino.entries").fetchone() != (0,)
        assert finding_texts(verify_log(store, public_keys={})) == []
