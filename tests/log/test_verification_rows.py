"""Verification locates invalid rows in SQLite and PostgreSQL."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from tests.log.inspection import finding_places, finding_texts, tampering
from tests.log.proposals import play
from threedice.log.entry import EMPTY_HEAD, Entry, NewEntry, extend_stream, hash_entry
from threedice.log.proof.answers import SpanSums
from threedice.log.proof.chains import ChainVerifier
from threedice.log.proof.checkpoint_verification import SignedHashes
from threedice.log.proof.checkpoints import CheckpointSigner
from threedice.log.proof.keys import open_keys
from threedice.log.proof.verification import verify_log
from threedice.log.stores.postgres import PostgresStore
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from threedice.log.proof import IntegrityFinding

# --- the hash -----------------------------------------------------------------------------------

words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)


@given(
    stream=words,
    at=st.integers(-(2**63), 2**63 - 1),
    cause=st.binary(min_size=32, max_size=32),
    records=st.lists(
        st.builds(NewEntry, words, st.integers(0, 2**16 - 1), st.binary(max_size=300)),
        min_size=1,
        max_size=5,
    ),
    wrong=st.integers(0, 4),
)
def test_verified_hash_equals_the_hash_of_the_entry(
    stream: str, at: int, cause: bytes, records: list[NewEntry], wrong: int
) -> None:
    entries, head = extend_stream(EMPTY_HEAD, stream, at, cause, records)
    stored = [(*astuple(entry)[:7], chained_anew(entries, entry)) for entry in entries]
    assert follow(stream, stored, head.version, head.hash) == []

    place = wrong % len(stored)
    stored[place] = (*stored[place][:7], sha256(stored[place][7]).digest())
    assert f"{stream} version {place + 1}" in [
        finding.where for finding in follow(stream, stored, head.version, head.hash)
    ]


def chained_anew(entries: Sequence[Entry], entry: Entry) -> bytes:
    before = entries[entry.version - 2].hash if entry.version > 1 else EMPTY_HEAD.hash
    return hash_entry(before, *astuple(entry)[:7])


def follow(
    stream: str, stored: list[tuple[Any, ...]], version: int, digest: bytes
) -> list[IntegrityFinding]:
    findings: list[IntegrityFinding] = []
    heads, sums = {stream: (version, digest)}, SpanSums(bytes(32))
    chains = ChainVerifier(heads, SignedHashes(), sums.add_found, findings, None)
    chains.check_rows(stored)
    chains.finish()
    return findings


# --- values -------------------------------------------------------------------------------------


ENTRY_COLUMNS = ("version", "at", "kind", "schema", "data", "cause", "hash")
STRANGE = (None, 1.5, "text", b"\0bytes", 2**63 - 1, -1, "\0", "x" * 70_000, b"")


@pytest.mark.parametrize("column", ENTRY_COLUMNS)
def test_invalid_values_in_entries_are_located(file: Path, column: str) -> None:
    row = rowid(file, "entries", "stream = 'table/1' AND version = 2")
    for value in STRANGE:
        with tampering(file, lax=True) as run:
            run(f"UPDATE entries SET {column} = ? WHERE rowid = ?", value, row)
        places = finding_places(verify_log(file, public_keys={}))
        assert "table/1 version 2" in places, (value, places)


@pytest.mark.parametrize(
    ("table", "column", "row", "place"),
    [
        ("entries", "stream", "stream = 'table/1' AND version = 1", "table/1 version 1"),
        ("streams", "stream", "stream = 'table/1'", "head of table/1"),
        ("streams", "version", "stream = 'table/1'", "head of table/1"),
        ("streams", "hash", "stream = 'table/1'", "head of table/1"),
        ("answers", "account", "rowid = 1", "table/1 version 1"),
        ("answers", "key", "rowid = 1", "table/1 version 1"),
        ("answers", "command_hash", "rowid = 1", "table/1 version 1"),
        ("answers", "spans", "rowid = 1", "table/1 version 1"),
        ("games", "hash", "rowid = 1", "game "),
        ("games", "canonical", "rowid = 1", "game "),
    ],
)
def test_invalid_values_in_other_tables_are_located(
    file: Path, table: str, column: str, row: str, place: str
) -> None:
    number = rowid(file, table, row)
    for value in STRANGE:
        with tampering(file, lax=True) as run:
            run(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", value, number)
        places = finding_places(verify_log(file, public_keys={}))
        assert any(where.startswith(place) for where in places), (value, places)


def rowid(file: Path, table: str, row: str) -> int:
    ((number,),) = iter_rows(file, f"SELECT rowid FROM {table} WHERE {row}")
    return int(number)


def iter_rows(file: Path, sql: str) -> Iterator[tuple[Any, ...]]:
    with closing(sqlite3.connect(file)) as connection:
        yield from connection.execute(sql).fetchall()


def test_invalid_utf8_is_located(file: Path) -> None:
    with tampering(file) as run:
        run("UPDATE entries SET kind = CAST(x'ff80' AS TEXT) WHERE stream = 'table/1'")
        run("UPDATE streams SET stream = CAST(x'ff' AS TEXT) WHERE stream = 'table/2'")
    report = verify_log(file, public_keys={})

    assert "table/1 version 3: its kind is not valid text" in finding_texts(report)
    assert "cage/ann version 1" not in finding_places(report)
    assert "head of table/2" in finding_places(report)


def test_stream_name_with_invalid_utf8_is_located(file: Path) -> None:
    with tampering(file) as run:
        run("UPDATE entries SET stream = CAST(x'ff' AS TEXT) WHERE stream = 'table/2'")
    report = verify_log(file, public_keys={})

    assert r"stream '\udcff'" in finding_places(report)
    assert "head of table/2" in finding_places(report)


def test_cause_that_is_too_long_is_located(file: Path) -> None:
    cause = next(iter_rows(file, "SELECT cause FROM entries WHERE stream = 'table/2'"))[0]
    with tampering(file) as run:
        run("UPDATE entries SET cause = ? WHERE stream = 'table/2'", cause + b"\0")

    assert "table/2 version 2: its cause is not 32 bytes long" in finding_texts(
        verify_log(file, public_keys={})
    )


def test_wrong_hash_of_an_entry_is_one_finding(file: Path) -> None:
    with tampering(file) as run:
        run("UPDATE entries SET hash = randomblob(32) WHERE stream = 'table/1' AND version = 2")

    assert finding_places(verify_log(file, public_keys={})) == ["table/1 version 2"]


def test_changed_signed_entry_contradicts_its_checkpoint(tmp_path: Path) -> None:
    keys, store = open_keys(tmp_path), SqliteStore(tmp_path / "log.sqlite")
    play(store)
    CheckpointSigner(store, keys, tmp_path).create_checkpoint(at=1)
    play(store)
    store.close()
    with tampering(store.path) as run:
        run("UPDATE entries SET hash = zeroblob(32) WHERE stream = 'table/1' AND version = 4")

    assert finding_texts(verify_log(store.path, public_keys=keys.public)) == [
        "table/1 version 4: its hash is not that of its columns and of the entry before it",
        "table/1 versions 1 to 4: differs from checkpoint 1",
    ]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE entries SET data = '\\x00' WHERE stream = 'table/2' AND version = 2", 2),
        ("UPDATE entries SET schema = -1 WHERE stream = 'table/2' AND version = 3", 3),
        ("UPDATE entries SET at = -at WHERE stream = 'table/2' AND version = 1", 1),
        ("DELETE FROM entries WHERE stream = 'table/2' AND version = 2", 2),
        (
            "ALTER TABLE entries ALTER cause DROP NOT NULL;"
            "UPDATE entries SET cause = NULL WHERE stream = 'table/2' AND version = 2",
            2,
        ),
        (
            "ALTER TABLE entries ALTER version TYPE numeric;"
            "UPDATE entries SET version = 1e30 WHERE stream = 'table/2' AND version = 3",
            3,
        ),
    ],
)
def test_tampering_in_postgres_is_located(postgres_url: str, statement: str, expected: int) -> None:
    store = PostgresStore(postgres_url)
    play(store)
    with psycopg.connect(postgres_url) as connection:
        connection.execute(statement.encode())
    report = verify_log(store, public_keys={})
    store.close()

    assert f"table/2 version {expected}" in finding_places(report)
