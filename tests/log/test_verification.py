"""Verification: sound logs are found sound on every store, and all that is found is told."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.log.conftest import open_kind
from tests.log.logs import Seen, as_row, at, found, play, tampering, writing
from threedice.errors import StoreUnavailable, StoreUnusable, TamperedData
from threedice.log.proof.checkpoints import CheckpointSigner
from threedice.log.proof.keys import SigningKeys, open_keys
from threedice.log.proof.verification import verify_log
from threedice.log.stores import sqlite_rows
from threedice.log.stores.postgres import PostgresStore
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from threedice.log.proof import VerificationReport
    from threedice.log.records import StoredRow
    from threedice.log.store import Store


def test_sound_log_is_found_sound_on_every_store(store: Store, tmp_path: Path) -> None:
    keys = open_keys(tmp_path)
    notary = CheckpointSigner(store, keys, tmp_path)
    play(store)
    notary.create_checkpoint(at=1)
    play(store)
    notary.create_checkpoint(at=2)
    report = verify_log(store, public_keys=keys.public, against=store.checkpoints())

    assert found(report) == []
    assert report.is_sound
    assert (report.streams, report.entries, report.answers) == (3, 18, 8)
    assert (report.games, report.checkpoints) == (1, 2)


def test_empty_log_is_sound(store: Store) -> None:
    assert verify_log(store, public_keys={}).is_sound


def test_every_entry_is_shown_in_order(store: Store) -> None:
    play(store)
    seen = Seen()
    verify_log(store, public_keys={}, visitor=seen)

    assert seen.rows == [
        as_row(entry) for stream in store.streams() for entry in store.scan(stream)
    ]


def test_progress_ends_with_all_entries(store: Store) -> None:
    play(store)
    heard: list[tuple[int, int]] = []
    verify_log(store, public_keys={}, progress=lambda done, total: heard.append((done, total)))

    assert heard[-1] == (9, 9)


def test_some_streams_alone_can_be_verified(store: Store) -> None:
    play(store)
    seen = Seen()
    report = verify_log(store, public_keys={}, streams=["table/1", "none"], visitor=seen)

    assert found(report) == []
    assert (report.streams, report.entries) == (1, 4)
    assert {stream for stream, *_ in seen.rows} == {"table/1"}


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_log_that_is_being_written_is_found_sound(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with (
        closing(open_kind(kind, request, tmp_path)) as store,
        writing(store, "table/1", "cage/ann") as writer,
    ):
        reports: dict[int, list[str]] = {}
        while len(reports) < 8 and writer.is_alive():  # until it was seen at as many moments
            report = verify_log(store, public_keys={})
            reports[report.entries] = found(report)

    assert list(reports.values()) == [[]] * 8


# --- what is found ------------------------------------------------------------------------------


def test_what_is_shown_ends_where_a_stream_is_damaged(file: Path) -> None:
    with tampering(file) as run:
        run("UPDATE entries SET at = at + 1 WHERE stream = 'table/1' AND version = 3")
    seen = Seen()
    report = verify_log(file, public_keys={}, visitor=seen)

    assert at(report) == ["table/1 version 3"]
    assert [row[1] for row in seen.rows if row[0] == "table/1"] == [1, 2]
    assert [row[1] for row in seen.rows if row[0] == "table/2"] == [1, 2, 3]
    assert seen.stopped == ["table/1"]


def test_what_a_fold_finds_is_a_finding(file: Path) -> None:
    class Fold(Seen):
        def visit(self, rows: Sequence[StoredRow]) -> None:
            stream, version, *_ = rows[-1]
            if version >= 3:
                raise TamperedData(f"balance of {stream}", "is not what its entries add up to")

    report = verify_log(file, public_keys={}, visitor=Fold())
    assert at(report) == ["balance of table/1", "balance of table/2"]


def test_all_findings_are_collected(file: Path) -> None:
    with tampering(file) as run:
        run("UPDATE entries SET data = x'00' WHERE version = 1")
        run("UPDATE games SET canonical = x'00'")
    places = at(verify_log(file, public_keys={}))

    assert places[:3] == ["cage/ann version 1", "table/1 version 1", "table/2 version 1"]
    assert places[3].startswith("game ")
    assert len(places) == 4


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET at = at + 1 WHERE stream = 'table/1' AND version = 3",
        "UPDATE entries SET hash = zeroblob(32) WHERE stream = 'table/1'",
        "UPDATE entries SET cause = zeroblob(32) WHERE version = 2",
        "DELETE FROM entries WHERE version = 2",
        "UPDATE entries SET version = 9 WHERE stream = 'table/2' AND version = 2",
        "UPDATE entries SET stream = 'table/0' WHERE stream = 'table/2' AND version > 1",
        "UPDATE answers SET spans = CAST('[[\"table/2\",1,2]]' AS BLOB) WHERE account = 'bob'",
        "DELETE FROM streams",
        "DELETE FROM checkpoints WHERE number = 1",
    ],
)
def test_the_same_is_found_however_many_rows_are_read_at_a_time(
    statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, store = open_keys(tmp_path), SqliteStore(tmp_path / "log.sqlite")
    play(store)
    CheckpointSigner(store, keys, tmp_path).create_checkpoint(at=1)
    play(store)
    CheckpointSigner(store, keys, tmp_path).create_checkpoint(at=2)
    store.close()
    with tampering(store.path) as run:
        run(statement)
    whole, shown = seen_of(store.path, keys)
    assert whole.findings

    for size in (1, 2, 3, 5):
        monkeypatch.setattr(sqlite_rows, "CHUNK_ROWS", size)
        assert seen_of(store.path, keys) == (whole, shown)


def seen_of(file: Path, keys: SigningKeys) -> tuple[VerificationReport, list[StoredRow]]:
    seen = Seen()
    return verify_log(file, public_keys=keys.public, visitor=seen), seen.rows


# --- what cannot be read ------------------------------------------------------------------------


def test_missing_table_is_a_finding_and_the_rest_is_verified(file: Path) -> None:
    with tampering(file) as run:
        run("DROP TABLE answers")
        run("UPDATE games SET canonical = x'00'")
    report = verify_log(file, public_keys={})

    assert "table answers: cannot be read: no such table: answers" in found(report)
    assert any(where.startswith("game ") for where in at(report))
    assert report.entries == 9


def test_missing_table_in_postgres_is_a_finding(postgres_url: str) -> None:
    store = PostgresStore(postgres_url)
    play(store)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("DROP TABLE answers")
    report = verify_log(store, public_keys={})
    store.close()

    assert "table answers" in at(report)


def test_file_that_is_no_database_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "log.sqlite").write_bytes(b"no database" * 100)

    (finding,) = verify_log(tmp_path / "log.sqlite", public_keys={}).findings
    assert finding.where == str(tmp_path / "log.sqlite")


def test_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="does it exist"):
        verify_log(tmp_path / "none.sqlite", public_keys={})


def test_file_that_another_holds_is_away(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("threedice.db.sqlite.BUSY_TIMEOUT_SECONDS", 0.0)
    with closing(sqlite3.connect(file, isolation_level=None)) as holder:
        holder.execute("PRAGMA journal_mode = DELETE")
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreUnavailable, match="another process"):
            verify_log(file, public_keys={})
