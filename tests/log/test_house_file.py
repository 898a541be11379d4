"""Reading a house's file as stored, without changing it, also while a house has it open."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.log.inspection import finding_texts, tampering
from tests.log.proposals import bet
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
def test_column_values_are_read_as_stored(file: Path, column: str, value: str) -> None:
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
def test_invalid_utf8_keeps_its_bytes_and_later_rows_are_read(
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


def test_verifying_a_closed_file_changes_nothing(file: Path) -> None:
    beside, before = sorted(file.parent.iterdir()), file.read_bytes()
    with open_house_file(file) as rows:
        report = verify_log(rows, public_keys={})
        assert sorted(file.parent.iterdir()) == beside

    assert (finding_texts(report), report.entries) == ([], 9)
    assert (sorted(file.parent.iterdir()), file.read_bytes()) == (beside, before)


@pytest.mark.parametrize("stays", [True, False])
def test_house_starting_during_a_verification_makes_the_file_unavailable(
    file: Path, stays: bool
) -> None:
    with pytest.raises(StoreUnavailable, match="try again"):
        read_while_a_house_comes_up(file, stays=stays)


def read_while_a_house_comes_up(file: Path, *, stays: bool) -> None:
    with ExitStack() as house, open_house_file(file):
        store = house.enter_context(closing(SqliteStore(file)))
        bet(store, "table/1")
        if not stays:
            store.close()


def test_verification_reads_entries_of_the_write_ahead_log(file: Path) -> None:
    with closing(SqliteStore(file)) as store:
        bet(store, "table/1")
        assert count_entries(file) == 10


def count_entries(file: Path) -> int:
    """Return the number of entries that the verify command reports."""
    asked = ["log", "verify", "--json", "--database", str(file)]
    answer = subprocess.run(
        [sys.executable, "-m", "threedice", *asked], capture_output=True, check=False
    )
    entries: int = json.loads(answer.stdout)["entries"]
    return entries


def test_file_of_another_program_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.sqlite"
    with tampering(file) as run:
        run("CREATE TABLE songs (name TEXT)")
    with (
        pytest.raises(StoreUnusable, match="tables of another program"),
        open_house_file(file),
    ):
        pass


@pytest.mark.parametrize(("version", "what"), [(99, "newer program"), (0, "another program")])
def test_file_of_another_schema_version_is_refused(file: Path, version: int, what: str) -> None:
    with tampering(file) as run:
        run("DELETE FROM schema_versions")
        run(f"INSERT INTO schema_versions (version) VALUES ({version})")
    with pytest.raises(StoreUnusable, match=what), open_house_file(file):
        pass


@pytest.mark.parametrize("value", ["NULL", "7", "x'31'", NO_TEXT, f"'{'1' * 5000}'"])
def test_malformed_schema_version_is_refused(file: Path, value: str) -> None:
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
def test_schema_definition_with_invalid_utf8_is_found(
    file: Path, opened: Opened, change: str
) -> None:
    with tampering(file) as run:
        run("PRAGMA writable_schema = ON")
        run(f"UPDATE sqlite_master SET {change} WHERE name = 'games'")

    assert {"the database", str(file)} & {*finding_places_of(file, opened)}


def finding_places_of(file: Path, opened: Opened) -> list[str]:
    try:
        with opened(file) as rows:
            return [each.where for each in verify_log(rows, public_keys={}).findings]
    except TamperedData as tampered:
        return [tampered.where]


def test_file_behind_a_symlink_is_read_with_its_write_ahead_log(file: Path) -> None:
    link = file.parent / "elsewhere" / "linked.sqlite"
    link.parent.mkdir()
    link.symlink_to(file)
    with closing(SqliteStore(file)) as store:
        bet(store, "table/1")
        assert count_entries(link) == 10


def test_empty_write_ahead_log_does_not_mark_a_file_as_in_use(file: Path) -> None:
    file.with_name(f"{file.name}-wal").touch()
    beside = sorted(file.parent.iterdir())
    with open_house_file(file) as rows:
        assert verify_log(rows, public_keys={}).entries == 9

    assert sorted(file.parent.iterdir()) == beside


def test_file_with_a_hot_journal_is_refused(file: Path) -> None:
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


def test_folder_instead_of_a_house_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="is a folder"), open_house_file(tmp_path):
        pass


def test_house_file_that_is_not_a_database_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "log.sqlite"
    file.write_bytes(b"no database" * 100)
    with pytest.raises(TamperedData, match="not a database"), open_house_file(file):
        pass
