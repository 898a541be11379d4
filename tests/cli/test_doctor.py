"""`threedice doctor` reports what a person on call should know, and writes nothing."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import pytest

from tests.api.test_config import HOUSE_FILE
from tests.contract import old_databases
from threedice.errors import StoreFailed
from threedice.house.house import House
from threedice.identity import open_identity
from threedice.identity.authentication.passwords import TEST_COST
from threedice.log.stores.files import mark_halted
from threedice.log.stores.sqlite import SqliteStore
from threedice.log.stores.urls import state_directory

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Option, Result, Run
    from tests.log.postgres_server import PostgresServer


@pytest.fixture
def state(house: Path) -> Path:
    return house / "house.sqlite.state"


@pytest.fixture
def healthy(state: Path, database: Option) -> Option:
    """Add two administrators, a recorded backup and a house file."""
    url, now = database[1], time.time_ns() // 1000
    change(state.parent, f"UPDATE entries SET at = {now}")
    with closing(open_identity(url, state=state, cost=TEST_COST)) as identity:
        for name in ("adam", "berta"):
            identity.accounts.add(name, ["administrator"])
    record = {"at": now, "file": "monday.backup", "heads": 7}
    (state / "last-backup.json").write_text(json.dumps(record))
    (state / "house.toml").write_text(HOUSE_FILE, encoding="utf-8")
    return database


def lines(result: Result) -> dict[str, tuple[str, str]]:
    """Return the state and text of each check of a JSON report."""
    return {
        check["name"]: (check["state"], f"{check['text']} {check['remedy']}")
        for check in result.json["checks"]
    }


def attention(result: Result) -> list[str]:
    return [name for name, (state, _) in lines(result).items() if state == "attention"]


def test_doctor_lists_what_to_know_about_a_house_that_is_well(
    run: Run, house: Path, healthy: Option
) -> None:
    result = run("doctor", "--json", *healthy)

    assert attention(result) in ([], ["disk"])
    found = lines(result)
    assert f"SQLite file {house}/house.sqlite" in found["database"][1]
    assert sqlite3.sqlite_version in found["SQLite"][1]
    assert found["service"] == ("ok", "not in service ")
    assert "number" in found["checkpoints"][1]
    assert found["unsigned entries"][0] == "ok"
    assert "monday.backup" in found["last backup"][1]
    assert "2 administrators (0 with a second factor)" in found["people"][1]
    assert f"{house}/house.sqlite.state/keys/signing.pem, id " in found["signing key"][1]
    assert "3 tables" in found["house file"][1]
    text = run("doctor", *healthy)
    assert text.code == result.code
    assert len(text.out.splitlines()) >= len(found)


def files_below(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(file.relative_to(folder)): (file.stat().st_size, file.stat().st_mtime_ns)
        for file in folder.rglob("*")
    }


def test_doctor_writes_nothing(run: Run, house: Path, healthy: Option) -> None:
    before = files_below(house)

    run("doctor", *healthy)

    assert files_below(house) == before


def test_doctor_of_a_house_in_service_names_the_process(
    run: Run, house: Path, healthy: Option
) -> None:
    with closing(SqliteStore(house / "house.sqlite", serving=True)):
        result = run("doctor", "--json", *healthy)

    assert f"served by process {os.getpid()}" in lines(result)["service"][1]


def test_doctor_of_a_suspended_house_says_why_and_how_to_release_it(
    run: Run, house: Path, state: Path, healthy: Option
) -> None:
    mark_halted(state)
    assert "writing" in attention(run("doctor", "--json", *healthy))
    with closing(SqliteStore(house / "house.sqlite")) as store:
        store.suspend("the store could not write: database or disk is full")

    result = run("doctor", "--json", *healthy)

    assert result.code == 1
    assert "disk-full" in lines(result)["writing"][1]
    assert "threedice release" in lines(result)["writing"][1]


def test_doctor_reports_missing_wrong_and_unprotected_keys(
    run: Run, state: Path, healthy: Option
) -> None:
    (state / "keys" / "signing.pem").chmod(0o644)
    people_key = (state / "people.key").read_bytes()
    (state / "people.key").write_bytes(people_key[::-1])
    found = lines(run("doctor", "--json", *healthy))
    assert found["signing key"][0] == "attention"
    assert "chmod 0600" in found["signing key"][1]
    assert found["people's key"][0] == "attention"
    assert people_key.hex() not in str(found)

    for name in ("keys/signing.pem", "keys/log.key", "people.key"):
        (state / name).unlink()
    found = lines(run("doctor", "--json", *healthy))
    for name in ("signing key", "log key", "people's key"):
        assert found[name][0] == "attention"
        assert "threedice keys replace" in found[name][1]
    assert not (state / "keys" / "signing.pem").exists()


def change(house: Path, sql: str) -> None:
    with closing(sqlite3.connect(house / "house.sqlite")) as connection, connection:
        connection.execute(sql)


def test_doctor_reports_old_unsigned_entries(run: Run, house: Path, healthy: Option) -> None:
    change(house, "DELETE FROM checkpoints")
    change(house, "UPDATE entries SET at = 1")

    result = run("doctor", "--json", *healthy)

    assert lines(result)["unsigned entries"][0] == "attention"


def test_doctor_reports_entries_that_the_house_did_not_write(
    run: Run, house: Path, healthy: Option
) -> None:
    change(house, "UPDATE streams SET version = version + 1 WHERE stream = 'table/one'")

    result = run("doctor", "--json", *healthy)

    assert lines(result)["foreign entries"][0] == "attention"
    assert "table/one" in lines(result)["foreign entries"][1]


def test_doctor_reports_a_database_that_lacks_checkpoints_of_the_state_directory(
    run: Run, house: Path, healthy: Option
) -> None:
    change(house, "DELETE FROM checkpoints WHERE number = (SELECT max(number) FROM checkpoints)")

    result = run("doctor", "--json", *healthy)

    assert lines(result)["checkpoints"][0] == "attention"
    assert "threedice restore" in lines(result)["checkpoints"][1]


def test_doctor_reports_entries_from_the_future(run: Run, house: Path, healthy: Option) -> None:
    change(house, "UPDATE entries SET at = 4102444800000000")

    result = run("doctor", "--json", *healthy)

    assert "in the future" in lines(result)["clock"][1]


def test_doctor_reports_a_missing_and_an_old_backup(run: Run, state: Path, healthy: Option) -> None:
    file = state / "last-backup.json"
    file.write_text('{"at": 1000000, "file": "old", "heads": 1}')
    assert "last backup" in attention(run("doctor", "--json", *healthy))
    file.write_text("[]")
    assert "last backup" in attention(run("doctor", "--json", *healthy))
    file.unlink()
    assert "threedice backup" in lines(run("doctor", "--json", *healthy))["last backup"][1]


def test_doctor_of_a_damaged_or_newer_database_still_reports_its_files(
    run: Run, house: Path, healthy: Option
) -> None:
    change(house, "INSERT INTO schema_versions (version) VALUES (9)")
    result = run("doctor", "--json", *healthy)
    assert result.code == 1
    assert "version 9" in lines(result)["database"][1]
    assert "disk" in lines(result)

    (house / "house.sqlite").write_bytes(b"not a database at all" * 1000)
    for leftover in house.glob("house.sqlite-*"):
        leftover.unlink()
    result = run("doctor", "--json", *healthy)
    assert result.code == 1
    assert lines(result)["database"][0] == "attention"
    assert "last backup" in lines(result)


def test_doctor_reports_a_database_that_is_gone(run: Run, house: Path, healthy: Option) -> None:
    (house / "house.sqlite").unlink()

    result = run("doctor", "--json", *healthy)

    assert result.code == 1
    assert lines(result)["database"][0] == "attention"
    assert "threedice restore" in lines(result)["database"][1]
    assert not (house / "house.sqlite").exists()
    assert run("doctor", "--database", str(house / "other.sqlite")).code == 2


def test_doctor_of_a_database_removed_in_service_advises_to_save_the_open_file(
    run: Run, house: Path, healthy: Option
) -> None:
    with suppress(StoreFailed), closing(SqliteStore(house / "house.sqlite", serving=True)):
        (house / "house.sqlite").unlink()
        result = run("doctor", "--json", *healthy)

    assert "stop nothing" in lines(result)["database"][1]
    assert "threedice restore" not in lines(result)["database"][1]


def test_doctor_of_an_older_database_advises_to_migrate(run: Run, tmp_path: Path) -> None:
    old_databases.restore(old_databases.SQLITE, old_databases.sqlite_paths(tmp_path))

    result = run("doctor", "--json", "--database", str(tmp_path / "house.sqlite"))

    assert "tables of version 1" in lines(result)["database"][1]
    assert "threedice migrate" in lines(result)["database"][1]


def test_doctor_reports_an_invalid_house_file(run: Run, state: Path, healthy: Option) -> None:
    (state / "house.toml").write_text("name = 5", encoding="utf-8")

    result = run("doctor", "--json", *healthy)

    assert "threedice house check" in lines(result)["house file"][1]
    assert "house.toml, line 1: name: the value is a whole number" in lines(result)["house file"][1]


def test_doctor_of_a_house_on_postgresql(
    run: Run, postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    url = postgres.fresh()

    async def serve() -> Result:
        async with House(url):
            open_identity(url, state=state_directory(url), cost=TEST_COST).close()
            return await asyncio.to_thread(run, "doctor", "--json", "--database", url)

    found = lines(asyncio.run(serve()))
    assert "PostgreSQL" in found["database"][1]
    assert found["service"][1].startswith("1 servers")
    assert found["signing key"][0] == found["writing"][0] == "ok"
