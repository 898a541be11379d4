"""Databases written by the recorded version open, show the same past, play on and verify."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.contract import adapter, old_databases, old_house
from tests.contract.old_databases import POSTGRES, SQLITE, Place
from tests.contract.site import run_cli, serving

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=[SQLITE, POSTGRES])
def name(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture
def place(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    """An empty place for the house, on the server of all tests where it needs one."""
    if name == SQLITE:
        return old_databases.sqlite_place(tmp_path)
    return old_databases.postgres_place(tmp_path, request.getfixturevalue("postgres").fresh())


@pytest.fixture
def recorded(name: str, place: Place) -> dict[str, Any]:
    """What is recorded of the house, which has been restored."""
    return old_databases.restore(name, place)


def verify(place: Place) -> dict[str, Any]:
    """Verify the log against the checkpoints and keys that were kept elsewhere."""
    against = ("--against", str(place.kept_checkpoints), "--keys", str(place.kept_keys))
    words = ("log", "verify", "--json", *against, "--database", place.database)
    done = run_cli(place.data, *words)
    report: dict[str, Any] = json.loads(done.stdout) | {"exit code": done.returncode}
    return report


def test_old_house_opens_shows_its_past_plays_on_and_verifies(
    place: Place, recorded: dict[str, Any]
) -> None:
    before = verify(place)
    with serving(place.database, place.data, place.house_file, "after") as site:
        crew = old_house.Crew.sign_in(site, recorded["given"]["users"])
        seen = old_house.observe(crew, recorded["given"])
        after = old_house.play_on(crew)
        program = site.user(recorded["given"]["token"])
        tables = [each["table"] for each in program.get("/api/tables")]
        recovered = site.user()
        recovery_code = recorded["given"]["users"]["aude"]["recovery_codes"][0]
        recovered.sign_in("aude", old_house.PASSWORD, recovery_code)
        proved = recovered.post("/api/log/verification")
    verified = verify(place)

    assert seen == recorded["seen"]
    assert after == recorded["after"]
    assert tables == ["pit-1", "pit-2", "pit-3"]
    assert proved["sound"], proved
    for report in (before, verified):
        assert (report["exit code"], report["sound"], report["findings"]) == (0, True, [])
    assert verified["entries"] > before["entries"]
    assert verified["checkpoints"] > before["checkpoints"]


def test_old_snapshots_are_read_and_written_in_the_same_form(tmp_path: Path) -> None:
    old_databases.restore(SQLITE, old_databases.sqlite_place(tmp_path))
    forms = adapter.format_versions()["snapshot forms"]
    with closing(sqlite3.connect(tmp_path / "house.sqlite")) as connection:
        rows = connection.execute("SELECT stream, form, data FROM snapshots").fetchall()
    assert {stream.partition("/")[0] for stream, _, _ in rows} == {"table", "cage"}
    for stream, form, state in rows:
        assert form == forms[stream.partition("/")[0]]
        assert unordered(adapter.snapshot_bytes(stream, state)) == unordered(state)


def unordered(data: bytes) -> Any:
    """Return what MessagePack holds, with lists of words in order: some of them were sets."""

    def ordered(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: ordered(each) for key, each in value.items()}
        if isinstance(value, list):
            items = [ordered(each) for each in value]
            return sorted(items) if all(isinstance(each, str) for each in items) else items
        return value

    return ordered(msgspec.msgpack.decode(data))
