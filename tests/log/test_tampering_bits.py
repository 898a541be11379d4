"""Any flipped bit of a stored log is detected and located.

Each test prints what it injected and what was found (`pytest -s`).
"""

from __future__ import annotations

import os
import random
import sqlite3
from contextlib import closing
from itertools import chain, product
from typing import TYPE_CHECKING, Any

from tests.log.inspection import describe_findings
from tests.log.proposals import bet, write_sample_log
from threedice.log.proof.checkpoints import CheckpointSigner
from threedice.log.proof.keys import open_keys
from threedice.log.proof.verification import verify_log
from threedice.log.records import decode_spans
from threedice.log.stores import schema
from threedice.log.stores.sqlite_rows import SqliteRows, open_sqlite_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from threedice.log.stores.schema import DatabaseTable

FILE_FLIPS = 600
BITS = int(os.environ.get("THREEDICE_BITS", "1"))
"""How many bits of each byte are flipped one by one; `make faults` flips all eight."""
PROVED = (schema.entries, schema.streams, schema.answers, schema.games)


# --- every bit ----------------------------------------------------------------------------------


def test_flipped_bit_of_every_byte_is_detected_and_located(tmp_path: Path) -> None:
    store = write_sample_log(tmp_path)
    store.close()
    injected, refused = 0, 0
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        rows = SqliteRows(connection)
        assert verify_log(rows, public_keys={}).is_sound
        for table in PROVED:
            bits, unmade = _flip_all(connection, rows, table)
            print(f"{table.name}: {bits} bits flipped, all found; {unmade} more refused")  # noqa: T201
            injected, refused = injected + bits, refused + unmade
        assert verify_log(rows, public_keys={}).is_sound
    assert injected >= 12_500 * BITS
    assert refused < injected / 1000  # a key that another row has: no database would hold it


def test_flipped_bit_of_every_byte_of_a_checkpoint_is_detected_and_located(tmp_path: Path) -> None:
    keys, store = open_keys(tmp_path), write_sample_log(tmp_path)
    signer = CheckpointSigner(store, keys, tmp_path)
    signer.create_checkpoint(at=1)
    bet(store, "table/1")
    signer.create_checkpoint(at=2)
    store.close()
    injected = 0
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        rows = SqliteRows(connection)
        for rowid, column, value in _cells(connection, schema.checkpoints):
            for flipped, cast in _flips(value, BITS):
                connection.execute("BEGIN")
                assert _is_set(connection, "checkpoints", column, cast, flipped, rowid)
                report = verify_log(rows, public_keys=keys.public, streams=())
                connection.execute("ROLLBACK")
                assert any(each.where.startswith("checkpoint") for each in report.findings)
                injected += 1
    print(f"checkpoints: {injected} bits flipped, all found")  # noqa: T201
    assert injected > 625 * BITS


def test_flipped_bits_are_found_by_a_verification_of_all_tables(tmp_path: Path) -> None:
    store, choose, injected = write_sample_log(tmp_path), random.Random(5), 0
    store.close()
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        rows = SqliteRows(connection)
        for table in PROVED:
            for rowid, column, value in _cells(connection, table):
                _, places = _affected(connection, table, rowid, column)
                for flipped, cast in choose.sample(list(_flips(value)), 2):
                    connection.execute("BEGIN")
                    if _is_set(connection, table.name, column, cast, flipped, rowid):
                        found = [each.where for each in verify_log(rows, public_keys={}).findings]
                        assert any(each.startswith(places) for each in found), (column, flipped)
                        injected += 1
                    connection.execute("ROLLBACK")
    print(f"{injected} bits flipped, all found among everything")  # noqa: T201
    assert injected > 1000


def _flip_all(
    connection: sqlite3.Connection, rows: SqliteRows, table: DatabaseTable
) -> tuple[int, int]:
    injected, refused = 0, 0
    for rowid, column, value in _cells(connection, table):
        affected, places = _affected(connection, table, rowid, column)
        for flipped, cast in _flips(value, BITS):
            connection.execute("BEGIN")
            if not _is_set(connection, table.name, column, cast, flipped, rowid):
                refused += 1
            else:
                report = verify_log(rows, public_keys={}, streams=affected)
                found = [finding.where for finding in report.findings]
                assert any(each.startswith(places) for each in found), (column, value, flipped)
                injected += 1
            connection.execute("ROLLBACK")
    return injected, refused


def _cells(connection: sqlite3.Connection, table: DatabaseTable) -> Iterator[tuple[int, str, Any]]:
    for name in table.columns:
        for rowid, value in connection.execute(
            f"SELECT rowid, {name} FROM {table.name}"
        ).fetchall():
            if value != b"":  # has no bits
                yield rowid, name, value


def _flips(value: Any, bits: int = 8) -> Iterator[tuple[Any, str]]:
    """Yield a value with bits of each of its bytes flipped, and its SQL expression."""
    if isinstance(value, int):
        for flipped in _flipped(value.to_bytes(8, signed=True), bits):
            yield int.from_bytes(flipped, signed=True), "?"
        return
    data = value.encode() if isinstance(value, str) else value
    for flipped in _flipped(data, bits):
        yield flipped, "CAST(? AS TEXT)" if isinstance(value, str) else "?"


def _flipped(data: bytes, bits: int) -> Iterator[bytes]:
    """Yield data with one bit flipped, for some bits of each byte, which vary from byte to byte."""
    for place, bit in product(range(len(data)), range(bits)):
        other = bytes([data[place] ^ (1 << (place + bit) % 8)])
        yield data[:place] + other + data[place + 1 :]


def _is_set(
    connection: sqlite3.Connection, table: str, column: str, cast: str, value: Any, rowid: int
) -> bool:
    try:
        connection.execute(f"UPDATE {table} SET {column} = {cast} WHERE rowid = ?", (value, rowid))
    except sqlite3.IntegrityError:
        return False
    return True


def _affected(
    connection: sqlite3.Connection, table: DatabaseTable, rowid: int, column: str
) -> tuple[Sequence[str], tuple[str, ...]]:
    """Return the streams to verify after a change, and the places where it must be found."""
    row = connection.execute(f"SELECT * FROM {table.name} WHERE rowid = ?", (rowid,)).fetchone()
    match table.name:
        case "entries" if column in ("stream", "version"):
            return row[:1], (f"{row[0]} version", f"head of {row[0]}")
        case "entries":
            return row[:1], (f"{row[0]} version {row[1]}",)
        case "streams":
            return row[:1], (f"head of {row[0]}",)
        case "games":
            return (), ("game ",)
        case _:
            streams = tuple(span.stream for span in decode_spans(row[3]))
            wrote = tuple(f"{stream} version" for stream in streams)
            return streams, (f"answer to {row[0]} {row[1]}", *wrote)


# --- bits of the file ---------------------------------------------------------------------------


def test_flipped_bits_of_the_file_are_found_or_leave_the_content_unchanged(tmp_path: Path) -> None:
    keys, store = open_keys(tmp_path), write_sample_log(tmp_path)
    CheckpointSigner(store, keys, tmp_path).create_checkpoint(at=1)
    store.close()
    whole, content = store.path.read_bytes(), _content(store.path)
    assert all(content)
    rolls, found, idle = random.Random(1), 0, 0
    for number in range(FILE_FLIPS):
        place, bit = rolls.randrange(len(whole)), rolls.randrange(8)
        damaged = tmp_path / f"damaged-{number}.sqlite"
        damaged.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << bit)]) + whole[place + 1 :])
        report = verify_log(damaged, public_keys=keys.public)
        if report.is_sound:
            assert _content(damaged) == content, f"bit {bit} of byte {place}"
            idle += 1
        else:
            found += 1
        for file in tmp_path.glob(f"{damaged.name}*"):
            file.unlink()
    print(f"{FILE_FLIPS} bits of the file flipped: {found} found, {idle} in unused space")  # noqa: T201
    assert found > FILE_FLIPS / 12


def test_corrupted_index_is_found(tmp_path: Path) -> None:
    with closing(write_sample_log(tmp_path)) as store:
        store.set_person("player-1", b"Ann")
    whole = store.path.read_bytes()
    # in the table and in its index, and also in its record, the index of that, and the log
    assert whole.count(b"player-1") == 5
    store.path.write_bytes(whole.replace(b"player-1", b"player-x", 1))
    report = verify_log(store.path, public_keys={})
    print(f"a name in an index changed: {describe_findings(report.findings)}")  # noqa: T201

    assert {finding.where for finding in report.findings} == {"the database"}


def _content(file: Path) -> list[list[tuple[Any, ...]]]:
    with open_sqlite_rows(file) as rows:
        tables = (*PROVED, schema.checkpoints)
        return [list(chain.from_iterable(rows.chunks(table))) for table in tables]
