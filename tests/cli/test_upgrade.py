"""Upgrades as docs/how-to/upgrade.md describes them, from databases that older programs wrote."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx
import psycopg
import pytest

from tests.api.serve_process import HOUSE, start_server
from tests.cli.test_read_only_media import stored_files
from tests.contract import old_databases
from tests.house.house_driver import People
from tests.waiting import wait_until
from threedice.db import postgres as postgres_module
from threedice.db.postgres import (
    FORMER_IDENTITY_LOCKS,
    MIGRATION_NOTICE,
    SERVING_LOCK,
    PostgresDatabase,
)
from threedice.db.schema import load_migrations, prepare_tables
from threedice.db.sqlite import SqliteDatabase
from threedice.errors import StoreUnavailable
from threedice.house.house import House
from threedice.log.halt_causes import classify_halt
from threedice.log.stores.postgres import PostgresStore
from threedice.log.stores.urls import state_directory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.cli.conftest import Run
    from tests.log.postgres_server import PostgresServer

LATEST: Final = max(load_migrations("sqlite"))
ROOT: Final = Path(__file__).parents[2]


@pytest.fixture(params=range(1, LATEST))
def old_file(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return an SQLite file with the tables of an older version."""
    folder = tmp_path / "house"
    folder.mkdir()
    if request.param == 1:
        old_databases.restore(old_databases.SQLITE, old_databases.sqlite_paths(folder))
        return folder / "house.sqlite"
    file = old_databases.restore_version_2(folder)
    migrations = load_migrations("sqlite")
    with closing(SqliteDatabase(file)) as database:
        database.transact(
            partial(
                prepare_tables,
                dialect="sqlite",
                database="house",
                policy="migrate",
                migrations={each: migrations[each] for each in range(1, request.param + 1)},
            )
        )
    return file


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


@pytest.mark.parametrize("words", [("serve",), ("migrate",)], ids=" ".join)
def test_house_file_that_is_not_valid_is_refused_before_anything_is_migrated(
    run: Run, old_file: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    before, house_file = stored_files(old_file.parent), tmp_path / "house.toml"
    house_file.write_text(HOUSE.replace("[policies]", "[policies]\nrake = 5"), encoding="utf-8")

    refused = run(*words, "--house", str(house_file), "--database", str(old_file))

    assert refused.code == 2
    assert "house.toml, line 6: policies.rake: unknown key" in refused.err
    assert stored_files(old_file.parent) == before


def test_migrate_checks_the_file_that_the_house_was_last_served_with(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    file = old_databases.restore_version_2(tmp_path)
    (tmp_path / "house.sqlite.state" / "house.toml").write_text("name = 5", encoding="utf-8")
    before = stored_files(tmp_path)

    refused = run("migrate", "--database", str(file))

    assert (refused.code, "house.toml, line 1: name" in refused.err) == (2, True)
    assert stored_files(tmp_path) == before


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
    monkeypatch.setattr(postgres_module, "SUSPENSION_SECONDS", 0.0)
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


@pytest.mark.parametrize("lock", FORMER_IDENTITY_LOCKS)
def test_server_of_an_older_version_cannot_change_accounts_beside_a_newer_server(
    old_postgres: str, lock: str
) -> None:
    older = PostgresDatabase(old_postgres, deadline_seconds=2.0, write_lock=lock)
    with closing(older), closing(PostgresStore(old_postgres, serving=True)):
        with pytest.raises(StoreUnavailable):
            older.transact(lambda run: run("DELETE FROM people_accounts"))
        assert older.query("SELECT count(*) FROM people_accounts") == [(2,)]


# --- an older program on a newer database -------------------------------------------------------


@pytest.fixture(scope="module")
def newer_program(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment of a program with one more migration, beside which this is older."""
    folder = tmp_path_factory.mktemp("newer")
    package = folder / "threedice"
    shutil.copytree(ROOT / "src/threedice", package, ignore=shutil.ignore_patterns("__pycache__"))
    for dialect in ("sqlite", "postgresql"):
        file = package / "db" / "migrations" / f"{LATEST + 1:04}.{dialect}.sql"
        file.write_text("-- Other stored forms.\n", encoding="utf-8")
    return os.environ | {"PYTHONPATH": str(folder)}


def run_program(environment: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "threedice", *words],
        env=environment, check=False, capture_output=True, text=True,
    )  # fmt: skip


NEWER_DATABASE: Final = (
    f"tables of version {LATEST + 1}, this program knows version {LATEST}; use the newer program"
)


@pytest.mark.parametrize(
    "words",
    [("serve", "--demo", "--port", "0"), ("log", "verify"), ("migrate",), ("users", "list")],
    ids=" ".join,
)
def test_older_program_refuses_a_database_of_the_next_version(
    newer_program: dict[str, str], tmp_path: Path, words: tuple[str, ...]
) -> None:
    file = str(tmp_path / "house.sqlite")
    assert run_program(newer_program, "migrate", "--database", file).stdout == (
        f"the tables have version {LATEST + 1}\n"
    )

    refused = run_program(os.environ, *words, "--database", file)

    assert (refused.returncode, refused.stdout) == (2, "")
    assert NEWER_DATABASE in refused.stderr
    assert "damage" not in refused.stderr
    assert "Traceback" not in refused.stderr


def test_older_server_stops_when_a_newer_program_migrates(
    newer_program: dict[str, str], postgres: PostgresServer, tmp_path: Path
) -> None:
    url, house_file = postgres.fresh(), tmp_path / "house.toml"
    house_file.write_text(HOUSE, encoding="utf-8")
    words = ("--database", url, "--house", str(house_file), "--port", "0")
    with start_server(tmp_path / "older", *words) as server:
        health = f"http://127.0.0.1:{server.wait_until_listening()}/health"
        assert httpx.get(health, trust_env=False).status_code == 200

        migrated = run_program(newer_program, "migrate", "--database", url)
        assert migrated.returncode == 0, migrated.stderr
        wait_until(
            lambda: httpx.get(health, trust_env=False).status_code != 200,
            lambda: "the older server goes on",
        )
        answer = httpx.get(health, trust_env=False)

    (reason,) = answer.json()["reasons"]
    assert (answer.status_code, reason["code"]) == (503, "newer-database")


def test_server_that_a_migration_suspends_names_the_newer_program() -> None:
    assert classify_halt(MIGRATION_NOTICE) == "newer-database"


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
