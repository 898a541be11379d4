"""The tables are the same in both databases, and come from one version to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from sqlalchemy import create_engine, inspect

from threedice.errors import StoreUnusable
from threedice.log.stores.files import connect_sqlite
from threedice.log.stores.schema import (
    SCHEMA_VERSION,
    creation_statements,
    metadata,
    prepare_schema,
)
from threedice.log.stores.sqlite import SqliteStore
from threedice.log.stores.urls import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from threedice.log.stores.schema import ExecuteStatement


class Database:
    """A database that has been opened once, and can be looked at and meddled with."""

    def __init__(self, url: str, engine: str, execute: Callable[[str], Any]) -> None:
        self.url, self.engine, self._execute = url, engine, execute

    def execute(self, sql: str) -> list[tuple[Any, ...]]:
        found = self._execute(sql)
        return list(found) if getattr(found, "description", None) else []

    @property
    def tables(self) -> list[str]:
        engine = create_engine(self.engine)
        try:
            return inspect(engine).get_table_names()
        finally:
            engine.dispose()

    def open(self) -> None:
        open_store(self.url).close()

    def prepare(self, **given: Any) -> None:
        """Open as a program of another version would."""
        self.execute("BEGIN")
        try:
            prepare_schema(self.execute, self.tables, database="house", **given)
        except BaseException:
            self.execute("ROLLBACK")
            raise
        self.execute("COMMIT")


@pytest.fixture(params=["sqlite", "postgresql"])
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def empty(dialect: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Database]:
    if dialect == "sqlite":
        path = tmp_path / "house.sqlite"
        file = connect_sqlite(str(path))
        yield Database(f"sqlite:///{path}", f"sqlite:///{path}", file.execute)
        file.close()
        return
    url = request.getfixturevalue("postgres_url")
    with psycopg.connect(url, autocommit=True) as connection:
        engine = url.replace("postgresql://", "postgresql+psycopg://")
        yield Database(url, engine, lambda sql: connection.execute(sql.encode()))


@pytest.fixture
def database(empty: Database) -> Database:
    empty.open()
    return empty


def test_the_tables_are_those_of_the_definition(database: Database) -> None:
    engine = create_engine(database.engine)
    found = inspect(engine)
    for table in metadata.sorted_tables:
        columns = {each["name"]: each for each in found.get_columns(table.name)}
        assert list(columns) == [column.name for column in table.columns]
        assert not any(each["nullable"] for each in columns.values())
        key = found.get_pk_constraint(table.name)["constrained_columns"]
        assert key == [column.name for column in table.primary_key]
    indexes = {index["name"] for index in found.get_indexes("lines")}
    engine.dispose()
    assert sorted(database.tables) == sorted(metadata.tables)
    assert indexes >= {"lines_by_time", "lines_by_subject", "lines_by_stream"}


def test_a_database_carries_its_version_and_is_opened_again(database: Database) -> None:
    marks = "SELECT name, value FROM meta ORDER BY name"
    assert database.execute(marks) == [("program", "threedice"), ("schema", str(SCHEMA_VERSION))]
    database.open()
    assert database.execute(marks) == [("program", "threedice"), ("schema", str(SCHEMA_VERSION))]


def test_sqlite_keeps_to_the_types_of_its_columns(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "house.sqlite").close()
    file = connect_sqlite(str(tmp_path / "house.sqlite"))
    strict: dict[str, int] = dict(
        file.execute("SELECT name, strict FROM pragma_table_list WHERE schema = 'main'")
    )
    file.close()
    assert all(strict[name] == 1 for name in metadata.tables)


def test_tables_of_a_newer_version_are_refused(database: Database) -> None:
    database.execute("UPDATE meta SET value = '7' WHERE name = 'schema'")
    with pytest.raises(
        StoreUnusable, match=r"tables of version 7, .* knows version 1; use the newer"
    ):
        database.open()


@pytest.mark.parametrize(
    "spoil",
    [
        "UPDATE meta SET value = 'poker' WHERE name = 'program'",
        "DELETE FROM meta WHERE name = 'program'",
        "DELETE FROM meta WHERE name = 'schema'",
        "UPDATE meta SET value = 'two' WHERE name = 'schema'",
        "DROP TABLE meta",
        "DROP TABLE entries",
    ],
)
def test_a_database_of_something_else_is_refused(database: Database, spoil: str) -> None:
    database.execute(spoil)
    with pytest.raises(StoreUnusable, match="give it a new file or an empty database"):
        database.open()


def test_a_database_with_other_tables_is_left_as_it_is(empty: Database) -> None:
    empty.execute("CREATE TABLE recipes (name TEXT)")
    with pytest.raises(StoreUnusable, match="tables of another program"):
        empty.open()
    assert empty.tables == ["recipes"]


# --- migrations ---------------------------------------------------------------------------------


def add_colour(execute: ExecuteStatement) -> None:
    execute("ALTER TABLE games ADD COLUMN colour TEXT")


def paint(execute: ExecuteStatement) -> None:
    execute("UPDATE games SET colour = 'red'")


def test_older_tables_are_brought_to_the_present_version_step_by_step(
    database: Database, dialect: str
) -> None:
    byte = "x'01'" if dialect == "sqlite" else r"'\x01'::bytea"
    database.execute(f"INSERT INTO games (hash, canonical) VALUES ('h', {byte})")

    database.prepare(dialect=dialect, version=3, migrations={1: add_colour, 2: paint})

    assert database.execute("SELECT hash, colour FROM games") == [("h", "red")]
    assert database.execute("SELECT value FROM meta WHERE name = 'schema'") == [("3",)]
    database.prepare(dialect=dialect, version=3, migrations={})
    with pytest.raises(StoreUnusable, match="version 3"):
        database.open()


def test_a_migration_that_fails_changes_nothing(database: Database, dialect: str) -> None:
    def fail(execute: ExecuteStatement) -> None:
        execute("DROP TABLE games")
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        database.prepare(dialect=dialect, version=3, migrations={1: add_colour, 2: fail})

    assert "games" in database.tables
    assert database.execute("SELECT value FROM meta WHERE name = 'schema'") == [("1",)]
    database.open()


def test_a_new_database_is_made_in_the_present_version(empty: Database, dialect: str) -> None:
    empty.prepare(dialect=dialect, version=2, migrations={1: add_colour})
    assert empty.execute("SELECT value FROM meta WHERE name = 'schema'") == [("2",)]


def test_the_statements_are_the_same_every_time(dialect: str) -> None:
    assert creation_statements(dialect) == creation_statements(dialect)
    assert len(creation_statements(dialect)) == len(metadata.tables) + 3
