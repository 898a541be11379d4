"""Upgrades as docs/how-to/upgrade.md describes them, from databases that older programs wrote."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psycopg
import pytest

from tests.cli.test_read_only_media import stored_files
from tests.contract import old_databases
from tests.house.house_driver import People
from threedice.db import postgres
from threedice.db.postgres import (
    FORMER_IDENTITY_LOCK,
    MIGRATION_NOTICE,
    SERVING_LOCK,
    PostgresDatabase,
)
from threedice.db.schema import load_migrations
from threedice.errors import StoreUnavailable
from threedice.house.house import House
from threedice.log.stores.postgres import PostgresStore
from threedice.log.stores.urls import state_directory

if TYPE_CHECKING:
    from tests.cli.conftest import Run
    from tests.log.postgres_server import PostgresServer

LATEST: Final = max(load_migrations("sqlite"))
ROOT: Final = Path(__file__).parents[2]


@pytest.fixture(params=[1, 2])
def old_file(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return an SQLite file that a program with tables of an older version wrote."""
    folder = tmp_path / "house"
    folder.mkdir()
    if request.param == 2:
        return old_databases.restore_version_2(folder)
    old_databases.restore(old_databases.SQLITE, old_databases.sqlite_paths(folder))
    return folder / "house.sqlite"


@pytest.fixture
def old_postgres(tmp_path: Path, postgres: PostgresServer) -> str:
    """Return the URL of a PostgreSQL database with tables of version 2."""
    folder, url = tmp_path / "recorded", postgres.fresh()
    folder.mkdir()
    old_databases.fill_version_2(url, old_databases.restore_version_2(folder))
    return url


# --- commands that only read --------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("log", "verify"),
        ("log", "export", "pit-1"),
        ("log", "replay", "pit-1"),
        ("keys", "export"),
        ("users", "list"),
    ],
    ids=" ".join,
)
def test_command_that_only_reads_works_on_an_older_file_and_leaves_it_unchanged(
    run: Run, old_file: Path, words: tuple[str, ...]
) -> None:
    before = stored_files(old_file.parent)

    result = run(*words, "--database", str(old_file))

    assert (result.code, result.err) == (0, "")
    assert stored_files(old_file.parent) == before
    if words == ("users", "list"):
        assert "ann " in result.out


def test_commands_that_only_read_work_on_an_older_postgresql_database(
    run: Run, old_postgres: str, tmp_path: Path
) -> None:
    for words in (
        ("log", "export", "pit-1"),
        ("log", "replay", "pit-1"),
        ("log", "copy", str(tmp_path / "copy")),
        ("users", "list"),
    ):
        result = run(*words, "--database", old_postgres)
        assert (result.code, result.err) == (0, "")
    with psycopg.connect(old_postgres) as connection:
        assert connection.execute("SELECT max(version) FROM schema_versions").fetchall() == [(2,)]


WRITING_COMMANDS: Final = (
    ("users", "add", "zoe", "--role", "player"),
    ("keys", "rotate"),
    ("keys", "replace", "--reason", "a test"),
    ("log", "rebuild"),
)
RELEASE: Final = ("release", "--by", "sam", "--reason", "a test")


def test_command_that_writes_refuses_an_older_file_with_the_advice_to_migrate(
    run: Run, old_file: Path
) -> None:
    has_staff = "sam " in run("users", "list", "--database", str(old_file)).out
    for words in (*WRITING_COMMANDS, *[RELEASE] * has_staff):
        result = run(*words, "--database", str(old_file))
        assert (result.code, "threedice migrate" in result.err) == (2, True), (words, result)


def test_command_that_writes_refuses_an_older_postgresql_database_with_the_advice_to_migrate(
    run: Run, old_postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    shutil.copytree(tmp_path / "recorded/house.sqlite.state", state_directory(old_postgres))
    for words in WRITING_COMMANDS:
        result = run(*words, "--database", old_postgres)
        assert (result.code, "threedice migrate" in result.err) == (2, True), (words, result)


# --- migration ----------------------------------------------------------------------------------


def test_serving_an_older_file_migrates_it_and_play_goes_on(run: Run, old_file: Path) -> None:
    async def serve() -> None:
        async with House(f"sqlite:///{old_file}") as house:
            assert not house.damaged
            assert not house.command_handler.suspension_reason
            await People(house.command_handler, "new").open()

    asyncio.run(serve())

    for words in (("log", "verify"), ("users", "list"), ("migrate",)):
        result = run(*words, "--database", str(old_file))
        assert (result.code, result.err) == (0, "")
    assert result.out == f"the tables have version {LATEST}\n"


MIGRATE_AND_DIE: Final = """
import os, signal, sys
from threedice.db.schema import prepare_tables
from threedice.identity.service import open_database

def work(run):
    dialect = "postgresql" if sys.argv[1].startswith("postgres") else "sqlite"
    prepare_tables(run, dialect=dialect, database="it", policy="migrate")
    os.kill(os.getpid(), signal.SIGKILL)

open_database(sys.argv[1]).transact(work)
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_migration_that_was_killed_can_be_repeated(
    run: Run, tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    if kind == "sqlite":
        url = str(old_databases.restore_version_2(tmp_path))
    else:
        url = request.getfixturevalue("old_postgres")
    killed = subprocess.run(
        [sys.executable, "-c", MIGRATE_AND_DIE, url], check=False, capture_output=True, cwd=ROOT
    )
    assert killed.returncode == -signal.SIGKILL

    assert run("log", "export", "pit-1", "--database", url).code == 0
    migrated = run("migrate", "--database", url)

    assert (migrated.code, migrated.out) == (0, f"the tables have version {LATEST}\n")
    assert run("log", "replay", "pit-1", "--database", url).code == 0


# --- several servers ----------------------------------------------------------------------------


def test_older_servers_are_suspended_before_their_tables_are_migrated(
    old_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "SUSPENSION_SECONDS", 0.0)
    suspended = "SELECT value FROM meta WHERE name = 'suspended'"
    with (
        psycopg.connect(old_postgres, autocommit=True) as old_server,
        psycopg.connect(old_postgres) as reader,
        ThreadPoolExecutor(1) as pool,
    ):
        old_server.execute(f"SELECT pg_advisory_lock_shared({SERVING_LOCK})".encode())
        reader.execute("SELECT * FROM streams")  # holds up the migration
        migration = pool.submit(PostgresStore, old_postgres, serving=True)
        while not (found := old_server.execute(suspended).fetchall()):
            assert not migration.done()
        assert found == [(MIGRATION_NOTICE,)]
        reader.rollback()
        with closing(migration.result(60)):
            assert old_server.execute(suspended).fetchall() == []


def test_migration_keeps_the_halt_of_a_failed_disk(old_postgres: str) -> None:
    with psycopg.connect(old_postgres) as connection:
        connection.execute("INSERT INTO meta (name, value) VALUES ('suspended', 'the disk failed')")
    with closing(PostgresStore(old_postgres, serving=True)) as store:
        assert store.suspension_reason() == "the disk failed"


def test_server_of_version_2_cannot_change_accounts_beside_a_newer_server(
    old_postgres: str,
) -> None:
    older = PostgresDatabase(old_postgres, deadline_seconds=2.0, write_lock=FORMER_IDENTITY_LOCK)
    with closing(older), closing(PostgresStore(old_postgres, serving=True)):
        with pytest.raises(StoreUnavailable):
            older.transact(lambda run: run("DELETE FROM people_accounts"))
        assert older.query("SELECT count(*) FROM people_accounts") == [(2,)]


# --- backups ------------------------------------------------------------------------------------


def test_backup_of_version_2_verifies_and_is_restored(run: Run, tmp_path: Path) -> None:
    house = old_databases.restore_version_2(tmp_path)
    backup, keys = tmp_path / "backup", tmp_path / "keys.json"
    old_databases.restore_version_2_backup(backup)
    keys.write_text(run("keys", "export", "--database", str(house)).out)
    shutil.rmtree(tmp_path / "house.sqlite.state")
    new = str(tmp_path / "new.sqlite")

    assert run("log", "verify", "--keys", str(keys), "--database", str(backup)).code == 0
    restored = run("restore", str(backup), "--keys", str(keys), "--database", new)

    assert (restored.code, restored.err) == (0, "")
    assert run("log", "verify", "--keys", str(keys), "--database", new).code == 0
