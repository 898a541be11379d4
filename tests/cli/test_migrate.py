"""`threedice migrate`, and commands on databases of other versions."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.contract import old_databases
from threedice.log.stores.sqlite import SqliteStore

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
    assert (result.code, result.out) == (0, "the tables have version 1\n")
    assert versions(file) == [1]


def test_migrate_adds_the_version_to_an_old_database_and_keeps_its_log(
    run: Run, old_database: Path
) -> None:
    for _ in range(2):
        assert run("migrate", "--database", str(old_database)).code == 0
        assert versions(old_database) == [1]
    assert run("log", "verify", "--database", str(old_database)).code == 0


def test_read_commands_do_not_migrate_an_old_database(run: Run, old_database: Path) -> None:
    for words in (("log", "verify"), ("log", "export", "pit-1"), ("log", "replay", "pit-1")):
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
        assert "version 9, this program knows version 1; use the newer program" in result.err
    assert versions(old_database) == [1, 9]


def test_migrate_refuses_a_database_in_service(run: Run, old_database: Path) -> None:
    with closing(SqliteStore(old_database, serving=True)):
        result = run("migrate", "--database", str(old_database))
    assert result.code == 2
    assert "is served by process" in result.err
