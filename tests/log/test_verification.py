"""Verification of sound and damaged logs on every store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest
from msgspec.structs import astuple

from tests.log.conftest import open_kind
from tests.log.inspection import RecordingVisitor, finding_places, finding_texts, tampering
from tests.log.proposals import background_writes, play
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


def test_sound_log_passes_verification_on_every_store(store: Store, tmp_path: Path) -> None:
    keys = open_keys(tmp_path)
    signer = CheckpointSigner(store, keys, tmp_path)
    play(store)
    signer.create_checkpoint(at=1)
    play(store)
    signer.create_checkpoint(at=2)
    report = verify_log(store, public_keys=keys.public, against=store.checkpoints())

    assert finding_texts(report) == []
    assert report.is_sound
    assert (report.streams, report.entries, report.answers) == (3, 18, 8)
    assert (report.games, report.checkpoints) == (1, 2)


def test_empty_log_passes_verification(store: Store) -> None:
    assert verify_log(store, public_keys={}).is_sound


def test_visitor_receives_every_entry_in_order(store: Store) -> None:
    play(store)
    seen = RecordingVisitor()
    verify_log(store, public_keys={}, visitor=seen)

    assert seen.rows == [
        astuple(entry) for stream in store.streams() for entry in store.scan(stream)
    ]


def test_verification_progress_ends_at_the_number_of_entries(store: Store) -> None:
    play(store)
    progress: list[tuple[int, int]] = []
    verify_log(store, public_keys={}, progress=lambda done, total: progress.append((done, total)))

    assert progress[-1] == (9, 9)


def test_verification_can_be_limited_to_some_streams(store: Store) -> None:
    play(store)
    seen = RecordingVisitor()
    report = verify_log(store, public_keys={}, streams=["table/1", "none"], visitor=seen)

    assert finding_texts(report) == []
    assert (report.streams, report.entries) == (1, 4)
    assert {stream for stream, *_ in seen.rows} == {"table/1"}


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_log_passes_verification_during_writes(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with (
        closing(open_kind(kind, request, tmp_path)) as store,
        background_writes(store, "table/1", "cage/ann") as writer,
    ):
        reports: dict[int, list[str]] = {}
        while len(reports) < 8 and writer.is_alive():  # until it was seen at as many moments
            report = verify_log(store, public_keys={})
            reports[report.entries] = finding_texts(report)

    assert list(reports.values()) == [[]] * 8


# --- findings -----------------------------------------------------------------------------------


def test_visitor_receives_a_stream_up_to_its_damage(file: Path) -> None:
    with tampering(file) as run:
        run("UPDATE entries SET at = at + 1 WHERE stream = 'table/1' AND version = 3")
    seen = RecordingVisitor()
    report = verify_log(file, public_keys={}, visitor=seen)

    assert finding_places(report) == ["table/1 version 3"]
    assert [row[1] for row in seen.rows if row[0] == "table/1"] == [1, 2]
    assert [row[1] for row in seen.rows if row[0] == "table/2"] == [1, 2, 3]
    assert seen.stopped == ["table/1"]


def test_error_raised_by_the_visitor_is_a_finding(file: Path) -> None:
    class FailingVisitor(RecordingVisitor):
        def visit(self, rows: Sequence[StoredRow]) -> None:
            stream, version, *_ = rows[-1]
            if version >= 3:
                raise TamperedData(f"balance of {stream}", "is not what its entries add up to")

    report = verify_log(file, public_keys={}, visitor=FailingVisitor())
    assert finding_places(report) == ["balance of table/1", "balance of table/2"]


def test_verification_collects_all_findings(file: Path) -> None:
    with tampering(file) as run:
        run("UPDATE entries SET data = x'00' WHERE version = 1")
        run("UPDATE games SET canonical = x'00'")
    places = finding_places(verify_log(file, public_keys={}))

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
def test_findings_do_not_depend_on_the_chunk_size(
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
    whole, shown = verify_and_record(store.path, keys)
    assert whole.findings

    for size in (1, 2, 3, 5):
        monkeypatch.setattr(sqlite_rows, "CHUNK_ROWS", size)
        assert verify_and_record(store.path, keys) == (whole, shown)


def verify_and_record(file: Path, keys: SigningKeys) -> tuple[VerificationReport, list[StoredRow]]:
    seen = RecordingVisitor()
    return verify_log(file, public_keys=keys.public, visitor=seen), seen.rows


# --- unreadable data ----------------------------------------------------------------------------


def test_missing_table_is_a_finding_and_the_rest_is_verified(file: Path) -> None:
    with tampering(file) as run:
        run("DROP TABLE answers")
        run("UPDATE games SET canonical = x'00'")
    report = verify_log(file, public_keys={})

    assert "table answers: cannot be read: no such table: answers" in finding_texts(report)
    assert any(where.startswith("game ") for where in finding_places(report))
    assert report.entries == 9


def test_missing_table_in_postgres_is_a_finding(postgres_url: str) -> None:
    store = PostgresStore(postgres_url)
    play(store)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("DROP TABLE answers")
    report = verify_log(store, public_keys={})
    store.close()

    assert "table answers" in finding_places(report)


def test_verification_of_a_file_that_is_not_a_database_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "log.sqlite").write_bytes(b"no database" * 100)

    (finding,) = verify_log(tmp_path / "log.sqlite", public_keys={}).findings
    assert finding.where == str(tmp_path / "log.sqlite")


def test_verification_of_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="does it exist"):
        verify_log(tmp_path / "none.sqlite", public_keys={})


def test_verification_of_a_locked_file_is_unavailable(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threedice.db.sqlite.BUSY_TIMEOUT_SECONDS", 0.0)
    with closing(sqlite3.connect(file, isolation_level=None)) as holder:
        holder.execute("PRAGMA journal_mode = DELETE")
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreUnavailable, match="another process"):
            verify_log(file, public_keys={})
