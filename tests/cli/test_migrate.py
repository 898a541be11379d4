"""`threedice migrate`, and commands on databases of other versions."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pyrage
import pytest

from tests.contract import old_databases
from threedice.db.schema import SELECT_TABLE_NAMES, load_migrations
from threedice.log.stores.files import clear_halt
from threedice.log.stores.sqlite import SqliteStore
from threedice.log.stores.urls import open_store, state_directory

VERSIONS = list(load_migrations("sqlite"))

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Option, Run
    from tests.log.postgres_server import PostgresServer


@pytest.fixture
def old_database(tmp_path: Path) -> Path:
    """Restore a recorded database that has no table of versions."""
    old_databases.restore(old_databases.SQLITE, old_databases.sqlite_paths(tmp_path))
    return tmp_path / "house.sqlite"


def versions(file: Path) -> list[int]:
    with closing(sqlite3.connect(file)) as connection:
        rows = connection.execute("SELECT version FROM schema_versions ORDER BY version").fetchall()
    return [version for (version,) in rows]


def test_migrate_creates_a_new_database(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "new.sqlite"
    result = run("migrate", "--database", f"sqlite:///{file}")
    assert (result.code, result.out) == (0, f"the tables have version {VERSIONS[-1]}\n")
    assert versions(file) == VERSIONS


def test_migrate_adds_the_version_to_an_old_database_and_keeps_its_log(
    run: Run, old_database: Path
) -> None:
    for _ in range(2):
        assert run("migrate", "--database", str(old_database)).code == 0
        assert versions(old_database) == VERSIONS
    assert run("log", "verify", "--database", str(old_database)).code == 0


def test_read_commands_do_not_migrate_an_old_database(run: Run, old_database: Path) -> None:
    for words in (
        ("log", "verify"),
        ("log", "export", "pit-1"),
        ("log", "replay", "pit-1"),
    ):
        assert run(*words, "--database", str(old_database)).code == 0
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        versions(old_database)


def test_every_command_refuses_a_newer_database_and_leaves_it_unchanged(
    run: Run, old_database: Path, tmp_path: Path
) -> None:
    run("migrate", "--database", str(old_database))
    with closing(sqlite3.connect(old_database)) as connection, connection:
        connection.execute("INSERT INTO schema_versions (version) VALUES (9)")
    for words in (
        ("migrate",),
        ("log", "verify"),
        ("log", "export", "pit-1"),
        ("users", "list"),
        ("users", "add", "eve", "--role", "player"),
        ("log", "copy", str(tmp_path / "copy")),
    ):
        result = run(*words, "--database", str(old_database))
        assert result.code == 2
        expected = f"version 9, this program knows version {VERSIONS[-1]}; use the newer program"
        assert expected in result.err
    assert versions(old_database) == [*VERSIONS, 9]


def test_migrate_refuses_a_database_in_service(run: Run, old_database: Path) -> None:
    with closing(SqliteStore(old_database, serving=True)):
        result = run("migrate", "--database", str(old_database))
    assert result.code == 2
    assert "is served by process" in result.err


def test_backup_of_an_older_database_is_restored_into_a_current_one(
    run: Run, old_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    saved, url = str(tmp_path / "saved"), f"sqlite:///{tmp_path}/restored.sqlite"
    identity = pyrage.x25519.Identity.generate()
    (tmp_path / "identity").write_text(str(identity))
    recipient = ("--recipient", str(identity.to_public()))
    before = old_database.read_bytes()
    assert run("backup", saved, *recipient, "--database", str(old_database)).code == 0
    assert old_database.read_bytes() == before

    result = run("restore", saved, "--identity", str(tmp_path / "identity"), "--database", url)

    assert (result.code, result.err) == (0, "")
    assert versions(tmp_path / "restored.sqlite") == VERSIONS
    assert run("log", "verify", "--database", url).code == 0
    assert len(run("users", "list", "--json", "--database", url).json["accounts"]) == 8


@pytest.mark.parametrize("words", [("migrate",), ("users", "add", "ann", "--role", "player")])
def test_no_database_is_created_where_the_file_of_a_house_is_missing(
    run: Run, house: Path, database: Option, words: tuple[str, ...]
) -> None:
    file = house / "house.sqlite"
    file.unlink()

    result = run(*words, *database)

    assert result.code == 2
    assert "threedice restore" in result.err
    assert not file.exists()


@pytest.mark.parametrize(
    "words", [("migrate",), ("users", "add", "sue", "--role", "administrator")], ids=lambda w: w[0]
)
def test_no_house_is_begun_in_an_emptied_postgresql_database_of_a_served_one(
    run: Run,
    postgres: PostgresServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    url = postgres.fresh()
    open_store(url).close()
    clear_halt(state_directory(url))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")

    result = run(*words, "--database", url)

    assert result.code == 2
    assert "threedice restore" in result.err
    with psycopg.connect(url) as connection:
        assert connection.execute(SELECT_TABLE_NAMES["postgresql"]).fetchall() == []
