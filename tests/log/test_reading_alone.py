"""A file that nobody else has open is read by the quicker driver, which must read the same."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.log.logs import bet, found, tampering
from threedice.errors import StoreAway, StoreUnfit, Tampered
from threedice.log import schema, sqlite_rows
from threedice.log.sqlite import SqliteStore
from threedice.log.sqlite_rows import open_alone, open_sqlite
from threedice.log.verification import verify_log

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from threedice.log.sqlite_rows import SqliteRows

    Opened = Callable[[Path], AbstractContextManager[SqliteRows]]

NO_TEXT = "CAST(x'62ff64' AS TEXT)"
STRANGE = ("NULL", "1.5", "-7", "'text'", "x'00ff'", NO_TEXT, "CAST(x'6100' AS TEXT)")


def every_row(file: Path, opened: Opened) -> list[tuple[Any, ...]]:
    with opened(file) as rows:
        return [
            row
            for table in schema.metadata.sorted_tables
            if table.name not in ("leases", "meta")
            for chunk in rows.chunks(table)
            for row in chunk
        ]


@pytest.mark.parametrize("column", schema.entries.columns.keys())
@pytest.mark.parametrize("value", STRANGE)
def test_either_driver_reads_the_same(file: Path, column: str, value: str) -> None:
    with tampering(file, lax=True) as run:
        run(f"UPDATE entries SET {column} = {value} WHERE stream = 'table/1' AND version = 2")
    standard, alone = every_row(file, open_sqlite), every_row(file, open_alone)

    assert len(standard) > 9
    assert list(map(repr, alone)) == list(map(repr, standard))


@pytest.mark.parametrize("opened", [open_sqlite, open_alone])
@pytest.mark.parametrize("size", [1, 2, 250])
def test_text_that_is_none_keeps_its_bytes_and_hides_nothing_after_it(
    file: Path, opened: Opened, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_rows, "CHUNK", size)
    with tampering(file, lax=True) as run:
        run(f"UPDATE entries SET kind = {NO_TEXT} WHERE stream = 'table/1' AND version = 2")
    with opened(file) as rows:
        read = [row for chunk in rows.chunks(schema.entries, ["table/1"]) for row in chunk]

    with closing(SqliteStore(file)) as store:
        last = store.head("table/1").version
    kinds = [row[3] for row in read]
    assert [row[1] for row in read] == [*range(1, last + 1)]
    assert kinds[1] == "b\udcffd"
    assert "b" not in kinds[0] + kinds[2]


def test_a_file_that_nobody_has_open_is_proved_without_a_trace(file: Path) -> None:
    beside, before = sorted(file.parent.iterdir()), file.read_bytes()
    with open_alone(file) as rows:
        report = verify_log(rows, public_keys={})
        assert sorted(file.parent.iterdir()) == beside

    assert (found(report), report.entries) == ([], 9)
    assert (sorted(file.parent.iterdir()), file.read_bytes()) == (beside, before)


@pytest.mark.parametrize("stays", [True, False])
def test_a_house_that_comes_up_during_a_proof_has_it_asked_again(file: Path, stays: bool) -> None:
    with pytest.raises(StoreAway, match="try again"):
        read_while_a_house_comes_up(file, stays=stays)


def read_while_a_house_comes_up(file: Path, *, stays: bool) -> None:
    with ExitStack() as house, open_alone(file):
        store = house.enter_context(closing(SqliteStore(file)))
        bet(store, "table/1")
        if not stays:
            store.close()


def test_what_was_not_moved_into_the_file_yet_is_read_too(file: Path) -> None:
    with closing(SqliteStore(file)) as store:
        bet(store, "table/1")
        asked = [
            sys.executable,
            "-m",
            "threedice",
            "log",
            "verify",
            "--json",
            "--database",
            str(file),
        ]
        answer = subprocess.run(asked, capture_output=True, check=False)
    assert json.loads(answer.stdout)["entries"] == 10


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.sqlite"
    with tampering(file) as run:
        run("CREATE TABLE songs (name TEXT)")
    with pytest.raises(StoreUnfit, match="tables of something else"), open_alone(file):
        pass


@pytest.mark.parametrize(("version", "what"), [(99, "newer program"), (0, "serve the house once")])
def test_a_file_of_another_version_is_refused(file: Path, version: int, what: str) -> None:
    with tampering(file) as run:
        run(f"UPDATE meta SET value = '{version}' WHERE name = 'schema'")
    with pytest.raises(StoreUnfit, match=what), open_alone(file):
        pass


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnfit, match="is a folder"), open_alone(tmp_path):
        pass


def test_a_file_that_is_no_database_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "log.sqlite"
    file.write_bytes(b"no database" * 100)
    with pytest.raises(Tampered, match="not a database"), open_alone(file):
        pass
