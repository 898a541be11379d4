"""Databases written by the recorded version open, show their history, play on and verify."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.contract import adapter, old_databases, old_house
from tests.contract.old_databases import POSTGRES, SQLITE, HousePaths, common_part
from tests.contract.site import run_cli, serving

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=[SQLITE, POSTGRES])
def name(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture
def paths(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> HousePaths:
    """Return the paths of an empty house, on the PostgreSQL server of the tests if needed."""
    if name == SQLITE:
        return old_databases.sqlite_paths(tmp_path)
    return old_databases.postgres_paths(tmp_path, request.getfixturevalue("postgres").fresh())


@pytest.fixture
def recorded(name: str, paths: HousePaths) -> dict[str, Any]:
    """Restore the recorded house and return its recording."""
    return old_databases.restore(name, paths)


def verify(paths: HousePaths) -> dict[str, Any]:
    """Verify the log against the recorded checkpoints and keys."""
    against = ("--against", str(paths.kept_checkpoints), "--keys", str(paths.kept_keys))
    words = ("log", "verify", "--json", *against, "--database", paths.database)
    done = run_cli(paths.data, *words)
    report: dict[str, Any] = json.loads(done.stdout) | {"exit code": done.returncode}
    return report


def test_old_database_opens_shows_its_history_plays_on_and_verifies(
    paths: HousePaths, recorded: dict[str, Any]
) -> None:
    before = verify(paths)
    with serving(paths.database, paths.data, paths.house_file, "after") as site:
        crew = old_house.Crew.sign_in(site, recorded["given"]["users"])
        seen = old_house.observe(crew, recorded["given"])
        after = old_house.play_on(crew)
        program = site.user(recorded["given"]["token"])
        tables = [each["table"] for each in program.get("/api/tables")]
        recovered = site.user()
        recovery_code = recorded["given"]["users"]["aude"]["recovery_codes"][0]
        recovered.sign_in("aude", old_house.PASSWORD, recovery_code)
        proved = recovered.post("/api/log/verification")
    verified = verify(paths)

    assert common_part(recorded["seen"], seen) == recorded["seen"]
    assert common_part(recorded["after"], after) == recorded["after"]
    assert tables == ["pit-1", "pit-2", "pit-3"]
    assert proved["sound"], proved
    for report in (before, verified):
        assert (report["exit code"], report["sound"], report["findings"]) == (0, True, [])
    assert verified["entries"] > before["entries"]
    assert verified["checkpoints"] > before["checkpoints"]


def test_old_snapshot_is_part_of_the_state_that_its_entries_lead_to(tmp_path: Path) -> None:
    """Snapshots of a former form are not read: the entries lead to the same state and more."""
    old_databases.restore(SQLITE, old_databases.sqlite_paths(tmp_path))
    forms = adapter.format_versions()["snapshot forms"]
    with closing(sqlite3.connect(tmp_path / "house.sqlite")) as connection:
        rows = connection.execute("SELECT stream, form, version, data FROM snapshots").fetchall()
        assert {stream.partition("/")[0] for stream, *_ in rows} == {"table", "cage"}
        for stream, form, version, snapshot in rows:
            assert form != forms[stream.partition("/")[0]]
            entries = connection.execute(
                "SELECT stream, version, at, kind, schema, data, cause, hash FROM entries"
                " WHERE stream = ? AND version <= ? ORDER BY version",
                (stream, version),
            )
            old, new = map(decode_sorted, (snapshot, adapter.folded_state(stream, entries)))
            assert common_part(old, new) == old


def decode_sorted(data: bytes) -> Any:
    """Decode MessagePack, sort lists of strings, some of which were sets, and drop `moved`.

    That key recorded which chips were moved; their placements tell it now.
    """

    def ordered(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: ordered(each) for key, each in value.items() if key != "moved"}
        if isinstance(value, list):
            items = [ordered(each) for each in value]
            return sorted(items) if all(isinstance(each, str) for each in items) else items
        return value

    return ordered(msgspec.msgpack.decode(data))
