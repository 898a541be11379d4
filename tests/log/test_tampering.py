"""Tampering with a stored log by anyone with database access is found.

Each test prints what it injected and what was found (`pytest -s`).
"""

from __future__ import annotations

import shutil
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.log.inspection import describe_findings, tampering
from tests.log.proposals import bet, write_sample_log
from threedice.errors import TamperedData
from threedice.log.entry import EMPTY_HEAD, Entry, NewEntry, extend_stream
from threedice.log.proof.checkpoint_files import CHECKPOINTS_FILE, read_checkpoints
from threedice.log.proof.checkpoints import CheckpointSigner
from threedice.log.proof.keys import SigningKeys, open_keys
from threedice.log.proof.verification import verify_log
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class House:
    """A stored log with checkpoints in the store and outside it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.keys = folder, open_keys(folder)
        store = write_sample_log(folder)
        signer = CheckpointSigner(store, self.keys, folder)
        signer.create_checkpoint(at=1)
        for _ in range(3):
            bet(store, "table/1", "cage/1", account="cage/1")
            signer.create_checkpoint(at=2)
        self.path, self.checkpoints = store.path, read_checkpoints(folder / CHECKPOINTS_FILE)
        store.close()

    def find(self, what: str, *, outside: bool = False) -> list[str]:
        against = self.checkpoints if outside else ()
        report = verify_log(self.path, public_keys=self.keys.public, against=against)
        print(f"{what}: {describe_findings(report.findings)}")  # noqa: T201
        return [finding.where for finding in report.findings]

    def entries(self, stream: str) -> list[Entry]:
        with closing(SqliteStore(self.path)) as store:
            return list(store.scan(stream))


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def test_untouched_log_is_sound(house: House) -> None:
    assert house.find("nothing", outside=True) == []


def test_deletion_of_any_entry_is_located(house: House) -> None:
    whole = house.path.read_bytes()
    for stream in ("table/1", "cage/1"):
        last = len(house.entries(stream))
        for version in range(1, last + 1):
            house.path.write_bytes(whole)
            with tampering(house.path) as run:
                run("DELETE FROM entries WHERE stream = ? AND version = ?", stream, version)
            expected = f"head of {stream}" if version == last else f"{stream} version {version}"
            assert expected in house.find(f"{stream} version {version} deleted")


def test_deletion_with_later_versions_renumbered_is_located(house: House) -> None:
    with tampering(house.path) as run:
        run("DELETE FROM entries WHERE stream = 'table/1' AND version = 3")
        for version in range(4, len(house.entries("table/1")) + 2):
            run(
                "UPDATE entries SET version = version - 1 WHERE stream = 'table/1' AND version = ?",
                version,
            )
    assert "table/1 version 3" in house.find("deleted and renumbered")


def test_entry_inserted_at_the_end_is_located(house: House) -> None:
    last = house.entries("table/1")[-1]
    (added,), head = extend_stream(
        _head(last), "table/1", last.at, last.cause, [NewEntry("BetPlaced", 1, b"forged")]
    )
    with tampering(house.path) as run:
        run(INSERT, *_row(added))
    assert "head of table/1" in house.find("an entry inserted at the end")

    with tampering(house.path) as run:
        run(
            "UPDATE streams SET version = ?, hash = ? WHERE stream = ?", *_head_row(head), "table/1"
        )
    places = house.find("an entry inserted at the end, with its head")
    assert any(where.startswith("answer to cage/1") for where in places)


def test_insertion_in_the_middle_is_located(house: House) -> None:
    entries = house.entries("table/1")
    with tampering(house.path) as run:
        for version in range(len(entries), 4, -1):
            run(
                "UPDATE entries SET version = version + 1 WHERE stream = 'table/1' AND version = ?",
                version,
            )
        run(INSERT, *_row(entries[4])[:5], b"forged", *_row(entries[4])[6:])
    assert "table/1 version 5" in house.find("an entry inserted as version 5")


def test_swap_of_two_entries_is_located(house: House) -> None:
    with tampering(house.path) as run:
        _swap(run, ("table/1", 3), ("table/1", 4))
    places = house.find("versions 3 and 4 swapped")
    assert {"table/1 version 3", "table/1 version 4"} <= set(places)


def test_swap_between_streams_is_located(house: House) -> None:
    with tampering(house.path) as run:
        _swap(run, ("table/1", 3), ("table/2", 3))
    places = house.find("version 3 of two tables swapped")
    assert {"table/1 version 3", "table/2 version 3"} <= set(places)


def test_swap_of_two_answers_is_located(house: House) -> None:
    with tampering(house.path) as run:
        run("CREATE TABLE old AS SELECT rowid AS row, spans FROM answers WHERE rowid IN (1, 2)")
        run("UPDATE answers SET spans = (SELECT spans FROM old WHERE row = 2) WHERE rowid = 1")
        run("UPDATE answers SET spans = (SELECT spans FROM old WHERE row = 1) WHERE rowid = 2")
        run("DROP TABLE old")
    places = house.find("the spans of two answers swapped")
    assert len([where for where in places if where.startswith("answer to ")]) == 2


def test_truncation_of_the_tail_is_found_by_checkpoints(house: House) -> None:
    last = len(house.entries("table/1"))
    cut = house.entries("table/1")[: last - 1]
    with tampering(house.path) as run:
        _forget_command(run, "table/1", last)
        run("UPDATE streams SET version = ?, hash = ? WHERE stream = ?", *_end(cut), "table/1")
        left = house.entries("cage/1")
        run("UPDATE streams SET version = ?, hash = ? WHERE stream = ?", *_end(left), "cage/1")
    places = house.find("the last command cut off, with heads and answer")
    assert {f"table/1 version {last}", f"cage/1 version {len(left) + 1}"} == set(places)


def test_truncation_of_entries_and_checkpoints_is_found_by_external_checkpoints(
    house: House,
) -> None:
    last = len(house.entries("table/1"))
    cut = house.entries("table/1")[: last - 1]
    with tampering(house.path) as run:
        _forget_command(run, "table/1", last)
        run("UPDATE streams SET version = ?, hash = ? WHERE stream = ?", *_end(cut), "table/1")
        left = house.entries("cage/1")
        run("UPDATE streams SET version = ?, hash = ? WHERE stream = ?", *_end(left), "cage/1")
        run("DELETE FROM checkpoints WHERE number = 4")
    assert house.find("the last command and checkpoint cut off") == []
    places = house.find("the same, against those outside", outside=True)
    assert {"checkpoint 4", f"table/1 version {last}"} <= set(places)


def test_rewritten_stream_is_found_by_checkpoints(house: House) -> None:
    entries = house.entries("table/1")
    with tampering(house.path) as run:
        _rewrite(run, entries, 3, b"forged")
    places = house.find("table/1 rewritten from version 3, with all hashes and its head")
    signed = len(entries) - 3
    assert places == [f"table/1 versions 1 to {signed}"]


def test_rewritten_entries_are_located_between_two_checkpoints(house: House) -> None:
    entries = house.entries("table/1")
    with tampering(house.path) as run:
        _rewrite(run, entries, len(entries) - 1, b"forged")
    places = house.find("table/1 rewritten from its last version but one")
    assert places == [f"table/1 version {len(entries) - 1}"]


def test_checkpoints_signed_again_with_a_foreign_key_are_found(
    house: House, tmp_path: Path
) -> None:
    entries = house.entries("table/1")
    with tampering(house.path) as run:
        _rewrite(run, entries, 3, b"forged")
        run("DELETE FROM checkpoints")
    _sign_again(house.path, open_keys(tmp_path / "foreign"), tmp_path / "foreign")

    assert house.find("rewritten and signed with a foreign key") == ["checkpoint 1"]
    places = house.find("the same, against those outside", outside=True)
    assert f"table/1 versions 1 to {len(entries) - 3}" in places


def test_checkpoints_signed_again_with_the_house_key_are_found_by_external_checkpoints(
    house: House, tmp_path: Path
) -> None:
    entries = house.entries("table/1")
    with tampering(house.path) as run:
        _rewrite(run, entries, 3, b"forged")
        run("DELETE FROM checkpoints")
    (tmp_path / "elsewhere").mkdir()
    _sign_again(house.path, house.keys, tmp_path / "elsewhere")

    assert house.find("rewritten and signed by the house itself") == []
    places = house.find("the same, against those outside", outside=True)
    assert f"table/1 versions 1 to {len(entries) - 3}" in places
    assert "checkpoint 4" in places


def test_checkpoints_removed_from_the_store_are_found_by_external_checkpoints(house: House) -> None:
    with tampering(house.path) as run:
        run("DELETE FROM checkpoints WHERE number > 2")
    places = house.find("the last checkpoints removed", outside=True)
    assert places == ["checkpoint 3", "checkpoint 4"]

    with (
        closing(SqliteStore(house.path)) as store,
        pytest.raises(TamperedData, match="checkpoint 3"),
    ):
        CheckpointSigner(store, house.keys, house.folder)


def test_older_copy_of_the_database_is_found_by_external_checkpoints(
    tmp_path: Path,
) -> None:
    keys, store = open_keys(tmp_path), write_sample_log(tmp_path)
    signer = CheckpointSigner(store, keys, tmp_path)
    signer.create_checkpoint(at=1)
    store.close()
    shutil.copy(store.path, tmp_path / "older.sqlite")
    with closing(SqliteStore(store.path)) as store:
        bet(store, "table/1")
        CheckpointSigner(store, keys, tmp_path).create_checkpoint(at=2)
    outside = read_checkpoints(tmp_path / CHECKPOINTS_FILE)
    report = verify_log(tmp_path / "older.sqlite", public_keys=keys.public, against=outside)
    print(f"an older copy in place of the database: {describe_findings(report.findings)}")  # noqa: T201

    assert [finding.where for finding in report.findings] == ["checkpoint 2", "table/1 version 8"]


INSERT = "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


def _row(entry: Entry) -> tuple[Any, ...]:
    return tuple(getattr(entry, name) for name in entry.__struct_fields__)


def _head(entry: Entry) -> Any:
    return type(EMPTY_HEAD)(entry.version, entry.hash)


def _head_row(head: Any) -> tuple[int, bytes]:
    return head.version, head.hash


def _end(entries: Sequence[Entry]) -> tuple[int, bytes]:
    return entries[-1].version, entries[-1].hash


def _swap(run: Any, one: tuple[str, int], other: tuple[str, int]) -> None:
    """Swap the stream and version of two entries."""
    move = "UPDATE entries SET stream = ?, version = ? WHERE stream = ? AND version = ?"
    run(move, "aside", 1, *one)
    run(move, *one, *other)
    run(move, *other, "aside", 1)


def _forget_command(run: Any, stream: str, version: int) -> None:
    """Delete all entries of the command behind an entry, and its answer."""
    run("DELETE FROM answers WHERE instr(CAST(spans AS TEXT), ?)", f'["{stream}",{version},')
    run(
        "DELETE FROM entries WHERE cause = (SELECT cause FROM entries"
        " WHERE stream = ? AND version = ?)",
        stream,
        version,
    )


def _rewrite(run: Any, entries: Sequence[Entry], version: int, data: bytes) -> None:
    """Change an entry, and recompute all later hashes and the head."""
    head = _head(entries[version - 2])
    for entry in entries[version - 1 :]:
        new_data = data if entry.version == version else entry.data
        records = [NewEntry(entry.kind, entry.schema, new_data)]
        (changed,), head = extend_stream(head, entry.stream, entry.at, entry.cause, records)
        run(
            "UPDATE entries SET data = ?, hash = ? WHERE stream = ? AND version = ?",
            changed.data,
            changed.hash,
            changed.stream,
            changed.version,
        )
    stream = entries[0].stream
    run("UPDATE streams SET hash = ? WHERE stream = ?", head.hash, stream)


def _sign_again(path: Path, keys: SigningKeys, state: Path) -> None:
    with closing(SqliteStore(path)) as store:
        CheckpointSigner(store, keys, state).create_checkpoint(at=9)
