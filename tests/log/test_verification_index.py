"""Verification compares the table of entries with its index, and checks the list of free pages."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.log.inspection import tampering
from tests.log.proposals import bet
from threedice.log.proof.verification import verify_log
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

NAME = b"table/of-cats"
"""Long enough to occur in the file only as the name of a stream."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with closing(SqliteStore(tmp_path / "log.sqlite")) as store:
        for _ in range(3):
            bet(store, NAME.decode(), entries=2)
    return store.path


def pages_of(file: Path, name: str) -> slice:
    """Return the position of the only page of a table or index in a file."""
    with closing(sqlite3.connect(file)) as connection:
        ((size,),) = connection.execute("PRAGMA page_size")
        ((page,),) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [name])
    return slice((page - 1) * size, page * size)


@pytest.mark.parametrize("where", ["entries", "sqlite_autoindex_entries_1"])
def test_stream_name_changed_in_only_the_table_or_the_index_is_found(
    file: Path, where: str
) -> None:
    whole, pages = bytearray(file.read_bytes()), pages_of(file, where)
    page = bytes(whole[pages])
    assert page.count(NAME) == 6
    whole[pages] = page.replace(NAME, b"table/of-cars", 1)
    file.write_bytes(whole)
    report = verify_log(file, public_keys={})

    assert report.findings[0].where == "head of table/of-cats"


def test_entry_missing_from_the_index_is_found(file: Path) -> None:
    index = pages_of(file, "sqlite_autoindex_entries_1")
    before = file.read_bytes()[index]
    with tampering(file) as run:
        run(
            "INSERT INTO entries SELECT stream, 99, at, kind, schema, data, cause, hash"
            " FROM entries WHERE version = 1"
        )
        run("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = bytearray(file.read_bytes())
    whole[index] = before
    file.write_bytes(whole)
    report = verify_log(file, public_keys={})

    assert [str(finding) for finding in report.findings] == [
        "the database: there are 7 entries, and 6 in their index sqlite_autoindex_entries_1, which"
        " leads to 6"
    ]


def test_page_in_use_that_the_list_of_free_pages_names_is_found(file: Path) -> None:
    with tampering(file) as run:
        run("CREATE TABLE removed (data BLOB)")
        run("INSERT INTO removed VALUES (zeroblob(20000))")
        run("DROP TABLE removed")
        run("PRAGMA wal_checkpoint(TRUNCATE)")
    assert not verify_log(file, public_keys={}).findings
    whole, used = bytearray(file.read_bytes()), pages_of(file, "entries")
    size = used.stop - used.start
    free_list = (int.from_bytes(whole[32:36]) - 1) * size
    whole[free_list + 8 : free_list + 12] = (used.stop // size).to_bytes(4)  # its first page
    file.write_bytes(whole)

    (finding, *_) = verify_log(file, public_keys={}).findings

    assert finding.where == "the database"
