"""A house's file is read as it is stored, whoever else has it open, and without a trace."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.log.logs import bet, found, tampering
from threedice.errors import StoreUnavailable, StoreUnusable, TamperedData
from threedice.log.proof.verification import verify_log
from threedice.log.stores import schema, sqlite_rows
from threedice.log.stores.sqlite import SqliteStore
from threedice.log.stores.sqlite_rows import open_house_file, open_sqlite_rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from threedice.log.stores.sqlite_rows import SqliteRows

    Opened = Callable[[Path], AbstractContextManager[SqliteRows]]

NO_TEXT = "CAST(x'62ff64' AS TEXT)"
STRANGE = ("NULL", "0.1 + 0.2", "-7", "'text'", "x'00ff'", NO_TEXT, "CAST(x'6100' AS TEXT)")


def every_entry(file: Path, opened: Opened) -> list[tuple[Any, ...]]:
    with opened(file) as rows:
        return [row for chunk in rows.chunks(schema.entries) for row in chunk]


@pytest.mark.parametrize("column", schema.entries.columns)
@pytest.mark.parametrize("value", STRANGE)
def test_a_value_is_read_as_it_is_stored(file: Path, column: str, value: str) -> None:
    with tampering(file, lax=True) as run:
        run(f"UPDATE entries SET {column} = {value} WHERE stream = 'table/1' AND version = 2")
    with closing(sqlite3.connect(file)) as connection:
        connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        stored = connection.execute("SELECT * FROM entries").fetchall()
    in_use, alone = (every_entry(file, opened) for opened in (open_sqlite_rows, open_house_file))

    assert len(stored) == 9
    assert sorted(map(repr, in_use)) == sorted(map(repr, stored))
    assert alone == in_use


@pytest.mark.parametrize("opened", [open_sqlite_rows, open_house_file])
@pytest.mark.parametrize("size", [1, 2, 250])
def test_text_that_is_none_keeps_its_bytes_and_hides_nothing_after_it(
    file: Path, opened: Opened, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_rows, "CHUNK_ROWS", size)
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
    with open_house_file(file) as rows:
        report = verify_log(rows, public_keys={})
        assert sorted(file.parent.iterdir()) == beside

    assert (found(report), report.entries) == ([], 9)
    assert (sorted(file.parent.iterdir()), file.read_bytes()) == (beside, before)


@pytest.mark.parametrize("stays", [True, False])
def test_a_house_that_comes_up_during_a_proof_has_it_asked_again(file: Path, stays: bool) -> None:
    with pytest.raises(StoreUnavailable, match="try again"):
        read_while_a_house_comes_up(file, stays=stays)


def read_while_a_house_comes_up(file: Path, *, stays: bool) -> None:
    with ExitStack() as house, open_house_file(file):
        store = house.enter_context(closing(SqliteStore(file)))
        bet(store, "table/1")
        if not stays:
            store.close()


def test_what_was_not_moved_into_the_file_yet_is_read_too(file: Path) -> None:
    with closing(SqliteStore(file)) as store:
        bet(store, "table/1")
        assert entries_told(file) == 10


def entries_told(file: Path) -> int:
    """Return how many entries the command says there are."""
    asked = ["log", "verify", "--json", "--database", str(file)]
    answer = subprocess.run(
        [sys.executable, "-m", "threedice", *asked], capture_output=True, check=False
    )
    entries: int = json.loads(answer.stdout)["entries"]
    return entries


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.sqlite"
    with tampering(file) as run:
        run("CREATE TABLE songs (name TEXT)")
    with (
        pytest.raises(StoreUnusable, match="tables of another program"),
        open_house_file(file),
    ):
        pass


@pytest.mark.parametrize(("version", "what"), [(99, "newer program"), (0, "another program")])
def test_a_file_of_another_version_is_refused(file: Path, version: int, what: str) -> None:
    with tampering(file) as run:
        run(f"UPDATE schema_versions SET version = {version}")
    with pytest.raises(StoreUnusable, match=what), open_house_file(file):
        pass


@pytest.mark.parametrize("value", ["NULL", "7", "x'31'", NO_TEXT, f"'{'1' * 5000}'"])
def test_a_version_that_is_none_is_refused(file: Path, value: str) -> None:
    with tampering(file, lax=True) as run:
        run("DROP TABLE schema_versions")  # a database that was written before there was one
        run(f"UPDATE meta SET value = {value} WHERE name = 'schema'")
    with pytest.raises((StoreUnusable, TamperedData)), open_house_file(file):
        pass


@pytest.mark.parametrize("opened", [open_sqlite_rows, open_house_file])
@pytest.mark.parametrize(
    "change",
    ["sql = replace(sql, 'NOT NULL', '/*' || CAST(x'ff' AS TEXT) || '*/ NOT NULL')",
     "sql = replace(sql, 'CREATE', CAST(x'c3' AS TEXT))"],
)  # fmt: skip
def test_definitions_that_are_no_text_are_told(file: Path, opened: Opened, change: str) -> None:
    with tampering(file) as run:
        run("PRAGMA writable_schema = ON")
        run(f"UPDATE sqlite_master SET {change} WHERE name = 'games'")

    assert {"the database", str(file)} & {*told_by(file, opened)}


def told_by(file: Path, opened: Opened) -> list[str]:
    try:
        with opened(file) as rows:
            return [each.where for each in verify_log(rows, public_keys={}).findings]
    except TamperedData as tampered:
        return [tampered.where]


def test_what_a_link_leads_to_is_read_with_all_that_is_beside_it(file: Path) -> None:
    link = file.parent / "elsewhere" / "linked.sqlite"
    link.parent.mkdir()
    link.symlink_to(file)
    with closing(SqliteStore(file)) as store:
        bet(store, "table/1")
        assert entries_told(link) == 10


def test_an_empty_log_that_was_left_behind_is_nobodys(file: Path) -> None:
    file.with_name(f"{file.name}-wal").touch()
    beside = sorted(file.parent.iterdir())
    with open_house_file(file) as rows:
        assert verify_log(rows, public_keys={}).entries == 9

    assert sorted(file.parent.iterdir()) == beside


def test_a_transaction_that_was_broken_off_is_not_read_half_done(file: Path) -> None:
    copy = file.with_name("copy.sqlite")
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        for statement in (
            "PRAGMA journal_mode = DELETE",
            "PRAGMA cache_size = 1",
            "BEGIN",
            "UPDATE entries SET data = zeroblob(20000)",
        ):
            connection.execute(statement)
        for name, its in ((file.name, copy.name), (f"{file.name}-journal", f"{copy.name}-journal")):
            file.with_name(its).write_bytes(file.with_name(name).read_bytes())
        connection.execute("ROLLBACK")
    assert copy.read_bytes() != file.read_bytes()

    with pytest.raises(TamperedData, match="cannot be read"), open_house_file(copy):
        pass


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="is a folder"), open_house_file(tmp_path):
        pass


def test_a_file_that_is_no_database_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "log.sqlite"
    file.write_bytes(b"no database" * 100)
    with pytest.raises(TamperedData, match="not a database"), open_house_file(file):
        pass
