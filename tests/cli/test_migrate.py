"""`threedice migrate`, and commands on databases of other versions."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.contract import old_databases
from threedice.db.schema import load_migrations
from threedice.log.stores.sqlite import SqliteStore

VERSIONS = list(load_migrations("sqlite"))

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


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
        ("backup", str(tmp_path / "copy")),
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
    run: Run, old_database: Path, tmp_path: Path
) -> None:
    copy, restored = tmp_path / "copy", tmp_path / "restored.sqlite"
    keys = tmp_path / "keys.json"
    keys.write_text(run("keys", "export", "--database", str(old_database)).out)
    assert run("backup", str(copy), "--database", str(old_database)).code == 0
    with closing(sqlite3.connect(copy)) as connection:
        marks = dict(connection.execute("SELECT name, value FROM meta"))
    assert marks == {"program": "threedice", "schema": "1"}

    url = f"sqlite:///{restored}"
    result = run("restore", str(copy), "--keys", str(keys), "--database", url)

    assert (result.code, result.err) == (0, "")
    assert versions(restored) == VERSIONS
    assert run("log", "verify", "--keys", str(keys), "--database", url).code == 0
    assert run("users", "list", "--database", url).code == 0
