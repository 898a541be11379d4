"""Creation and migration of tables from SQL files."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from tests.contract import old_databases, recordings
from threedice.db.schema import (
    IDENTITY_TABLE_PREFIX,
    SELECT_TABLE_NAMES,
    load_migrations,
    prepare_tables,
    split_statements,
)
from threedice.db.sqlite import connect_sqlite
from threedice.errors import StoreUnusable
from threedice.identity import open_identity
from threedice.identity.authentication.passwords import TEST_COST
from threedice.log.stores import schema
from threedice.log.stores.urls import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from threedice.db.schema import Dialect, TablePolicy


VERSIONS = list(load_migrations("sqlite"))
LATEST = VERSIONS[-1]
NEXT, NEXT_BUT_ONE = LATEST + 1, LATEST + 2


class Database:
    """A database that a test opens, inspects and changes."""

    def __init__(self, url: str, dialect: Dialect, execute: Callable[..., Any]) -> None:
        self.url, self.dialect, self._execute = url, dialect, execute

    def execute(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        found = self._execute(sql, params)
        return list(found) if getattr(found, "description", None) else []

    @property
    def tables(self) -> set[str]:
        return {name for (name,) in self.execute(SELECT_TABLE_NAMES[self.dialect])}

    @property
    def versions(self) -> list[int]:
        return [each for (each,) in self.execute("SELECT version FROM schema_versions ORDER BY 1")]

    def open(self, tables: TablePolicy | None = None, *, serving: bool = False) -> None:
        open_store(self.url, serving=serving, tables=tables).close()

    def prepare(self, policy: TablePolicy, added: Mapping[int, Sequence[str]]) -> None:
        """Prepare the tables as a newer program would, with further migrations."""
        self.execute("BEGIN")
        try:
            prepare_tables(
                self.execute,
                dialect=self.dialect,
                database="house",
                policy=policy,
                migrations={**load_migrations(self.dialect), **added},
            )
        except BaseException:
            self.execute("ROLLBACK")
            raise
        self.execute("COMMIT")


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "sqlite":
        path = tmp_path / "house.sqlite"
        path.touch()
        with closing(connect_sqlite(str(path))) as file:
            yield Database(f"sqlite:///{path}", "sqlite", file.execute)
        return
    url = request.getfixturevalue("postgres_url")
    with psycopg.connect(url, autocommit=True) as connection:
        yield Database(
            url,
            "postgresql",
            lambda sql, params: connection.execute(sql.replace("?", "%s"), params or None),
        )


@pytest.fixture
def database(empty: Database) -> Database:
    empty.open()
    return empty


@pytest.fixture
def old(empty: Database, tmp_path: Path) -> Database:
    """Return a database recorded before schema versions were stored."""
    if empty.dialect == "sqlite":
        sql = (recordings.FOLDER / "old-sqlite.sql").read_text(encoding="utf-8")
        old_databases.restore_sqlite(sql, tmp_path / "house.sqlite")
    else:
        sql = (recordings.FOLDER / "old-postgres.sql").read_text(encoding="utf-8")
        old_databases.restore_postgres(sql, empty.url)
    return empty


# --- the files ----------------------------------------------------------------------------------


def test_sqlite_and_postgresql_have_the_same_consecutive_migrations() -> None:
    numbers = list(load_migrations("sqlite"))
    assert numbers == list(load_migrations("postgresql")) == list(range(1, len(numbers) + 1))


def test_migration_script_is_split_where_a_semicolon_ends_a_line() -> None:
    script = (
        "-- a remark;\nCREATE TABLE a (\n    b TEXT\n);\n\n"
        "CREATE TRIGGER t BEFORE UPDATE ON a\n    BEGIN SELECT 1; SELECT 2; END;\n"
    )
    assert [" ".join(each.split()) for each in split_statements(script)] == [
        "CREATE TABLE a ( b TEXT );",
        "CREATE TRIGGER t BEFORE UPDATE ON a BEGIN SELECT 1; SELECT 2; END;",
    ]


def test_created_tables_match_the_schema_of_the_program(database: Database) -> None:
    tables = (*schema.TABLES, *schema.IDENTITY_TABLES)
    for table in tables:
        if database.dialect == "sqlite":
            found = database.execute(f"SELECT name, pk FROM pragma_table_info('{table.name}')")
            columns = [name for name, _ in found]
            key = [name for _, name in sorted((place, name) for name, place in found if place)]
            ((strict,),) = database.execute(
                f"SELECT strict FROM pragma_table_list WHERE name = '{table.name}'"
            )
            assert strict == 1
        else:
            columns = [
                name
                for (name,) in database.execute(
                    "SELECT column_name::text FROM information_schema.columns"
                    f" WHERE table_name = '{table.name}' AND table_schema = 'public'"
                    " ORDER BY ordinal_position"
                )
            ]
            key = [
                name
                for (name,) in database.execute(
                    "SELECT column_name::text FROM information_schema.key_column_usage"
                    f" WHERE table_name = '{table.name}' AND table_schema = 'public'"
                    " ORDER BY ordinal_position"
                )
            ]
        assert (tuple(columns), tuple(key)) == (table.columns, table.key)
    assert database.tables == {table.name for table in tables} | {"schema_versions"}
    assert all(
        (table in schema.IDENTITY_TABLES) == table.name.startswith(IDENTITY_TABLE_PREFIX)
        for table in tables
    )


# --- creation and migration ---------------------------------------------------------------------


def test_new_database_gets_all_tables_and_a_version(database: Database) -> None:
    assert database.versions == VERSIONS
    assert {"entries", "people_accounts"} <= database.tables
    database.open("require")
    database.open(serving=True)
    assert database.versions == VERSIONS


@pytest.mark.parametrize("policy", ["require", "read"])
def test_empty_database_is_refused_and_stays_empty(empty: Database, policy: TablePolicy) -> None:
    with pytest.raises(StoreUnusable, match="holds no tables"):
        empty.open(policy)
    assert empty.tables == set()


def test_log_of_an_older_database_is_read_unchanged_without_migration(old: Database) -> None:
    before = old.tables
    old.open("read")
    assert old.tables == before


@pytest.mark.parametrize("policy", ["create", "require"])
def test_log_of_an_older_database_is_refused_to_writers_without_migration(
    old: Database, policy: TablePolicy
) -> None:
    with pytest.raises(StoreUnusable, match="run threedice migrate"):
        old.open(policy)


@pytest.mark.parametrize("policy", ["create", "require"])
def test_identity_tables_of_an_older_database_are_refused_without_migration(
    old: Database, policy: TablePolicy, tmp_path: Path
) -> None:
    with pytest.raises(StoreUnusable, match="run threedice migrate"):
        open_identity(old.url, state=tmp_path / "state", cost=TEST_COST, tables=policy)


def test_unversioned_database_gets_a_version_when_served(
    old: Database,
) -> None:
    entries = old.execute("SELECT count(*) FROM entries")
    accounts = old.execute("SELECT count(*) FROM people_accounts")
    old.open(serving=True)
    assert old.versions == VERSIONS
    assert old.execute("SELECT count(*) FROM entries") == entries
    assert old.execute("SELECT count(*) FROM people_accounts") == accounts


def test_accounts_of_an_older_database_count_as_enrolled_long_ago(old: Database) -> None:
    old.open("migrate")
    sql = "SELECT DISTINCT enrolled_by, reset_by, held_by, confirmed FROM people_accounts"
    assert old.execute(sql) == [("", "", "", 0)]
    assert old.execute("SELECT DISTINCT factor FROM people_sessions") in ([], [("",)])


def test_log_without_identity_tables_gets_them_by_migration(old: Database, tmp_path: Path) -> None:
    for name in sorted(old.tables):
        if name.startswith(IDENTITY_TABLE_PREFIX):
            old.execute(f"DROP TABLE {name}")
    with pytest.raises(StoreUnusable, match="run threedice migrate"):
        open_identity(old.url, state=tmp_path / "state", cost=TEST_COST)
    old.open("migrate")
    with closing(open_identity(old.url, state=tmp_path / "state", cost=TEST_COST)) as people:
        assert people.accounts.all() == []


# --- other versions -----------------------------------------------------------------------------

ADD_COLOUR = ["ALTER TABLE games ADD COLUMN colour TEXT"]
PAINT = ["UPDATE games SET colour = 'red'"]


def test_older_database_is_refused_to_writers_unless_migration_is_requested(
    database: Database,
) -> None:
    with pytest.raises(
        StoreUnusable,
        match=rf"version {LATEST}, this program needs version {NEXT}; .* threedice migrate",
    ):
        database.prepare("create", {NEXT: ADD_COLOUR})
    database.prepare("read", {NEXT: ADD_COLOUR})
    assert database.versions == VERSIONS


@pytest.mark.parametrize("start", ["new", "old"])
def test_older_database_is_migrated_through_every_version(
    start: str, empty: Database, request: pytest.FixtureRequest
) -> None:
    database = empty
    if start == "new":
        database.open()
    else:
        request.getfixturevalue("old")
    byte = "x'01'" if database.dialect == "sqlite" else r"'\x01'::bytea"
    database.execute(f"INSERT INTO games (hash, canonical) VALUES ('h', {byte})")

    database.prepare("migrate", {NEXT: ADD_COLOUR, NEXT_BUT_ONE: PAINT})

    assert database.execute("SELECT colour FROM games WHERE hash = 'h'") == [("red",)]
    assert database.versions == [*VERSIONS, NEXT, NEXT_BUT_ONE]
    database.prepare("migrate", {NEXT: ADD_COLOUR, NEXT_BUT_ONE: PAINT})
    for policy in ("migrate", "create", "require", "read"):
        with pytest.raises(
            StoreUnusable,
            match=rf"version {NEXT_BUT_ONE}, this program knows version {LATEST}; use the newer",
        ):
            database.open(policy)


def test_failed_migration_changes_nothing(database: Database) -> None:
    with pytest.raises(Exception, match="nonsense"):
        database.prepare("migrate", {NEXT: ["DROP TABLE games"], NEXT_BUT_ONE: ["SELECT nonsense"]})
    assert "games" in database.tables
    assert database.versions == VERSIONS
    database.open()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE meta SET value = 'poker' WHERE name = 'program'",
        "DELETE FROM meta WHERE name = 'program'",
        "DELETE FROM schema_versions",
        "DROP TABLE meta; DROP TABLE people_meta",
        "DROP TABLE entries",
    ],
)
def test_database_without_valid_metadata_is_refused(database: Database, damage: str) -> None:
    for statement in damage.split(";"):
        database.execute(statement)
    with pytest.raises(StoreUnusable, match="give it a new file or an empty database"):
        database.open()


def test_database_of_another_program_is_refused_unchanged(empty: Database) -> None:
    empty.execute("CREATE TABLE recipes (name TEXT)")
    for policy in ("migrate", "create", "require", "read"):
        with pytest.raises(StoreUnusable, match="tables of another program"):
            empty.open(policy)
    assert empty.tables == {"recipes"}
