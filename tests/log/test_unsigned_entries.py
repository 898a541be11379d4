"""Verification of entries after the last checkpoint: reported, and judged by their MACs."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.log.inspection import finding_places, finding_texts, tamper
from tests.log.proposals import bet, play
from threedice.log.proof.checkpoints import CheckpointSigner
from threedice.log.proof.head_macs import HeadMacs, open_head_macs
from threedice.log.proof.keys import open_keys
from threedice.log.proof.unsigned import UnsignedTail
from threedice.log.proof.verification import verify_log
from threedice.log.stores.memory import MemoryStore

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.log.proof import VerificationReport
    from threedice.log.store import Store


def verify(store: Store, folder: Path, *, macs: bool = True) -> VerificationReport:
    head_macs = open_head_macs(store.database, folder) if macs else None
    return verify_log(store, public_keys=open_keys(folder).public, head_macs=head_macs)


def sign(store: Store, folder: Path) -> None:
    CheckpointSigner(store, open_keys(folder), folder).create_checkpoint(at=1)


def write_foreign(store: Store, *streams: str, entries: int = 1) -> None:
    """Write entries as somebody without the key would."""
    macs, store.head_macs = store.head_macs, None
    bet(store, *streams, entries=entries)
    store.head_macs = macs


@pytest.fixture
def written(tmp_path: Path) -> MemoryStore:
    """Return a signed log."""
    store = MemoryStore()
    store.head_macs = open_head_macs(store.database, tmp_path)
    play(store)
    sign(store, tmp_path)
    return store


def test_unsigned_entries_are_reported_with_their_times_and_are_no_finding(
    store: Store, tmp_path: Path
) -> None:
    store.head_macs = open_head_macs(store.database, tmp_path)
    play(store)
    sign(store, tmp_path)
    assert verify(store, tmp_path).unsigned == ()

    first, last = bet(store, "table/1", "table/9"), bet(store, "table/1", entries=2)

    report = verify(store, tmp_path)
    assert report.is_sound
    at, later = first.appends[0].entries[0].at, last.appends[0].entries[-1].at
    assert report.unsigned == (
        UnsignedTail("table/1", 5, 7, at, later),
        UnsignedTail("table/9", 1, 1, at, at),
    )
    assert (report.unsigned_entries, report.judged_macs) == (4, True)
    assert not verify(store, tmp_path, macs=False).judged_macs


def test_foreign_entries_are_findings_that_name_stream_and_versions(
    store: Store, tmp_path: Path
) -> None:
    store.head_macs = open_head_macs(store.database, tmp_path)
    play(store)
    sign(store, tmp_path)
    write_foreign(store, "table/1", "cage/eve", entries=2)

    report = verify(store, tmp_path)

    what = "not written by this house: the MAC of the head is not valid"
    assert finding_texts(report) == [
        f"cage/eve versions 1 to 2: {what}",
        f"table/1 versions 5 to 6: {what}",
    ]
    assert verify(store, tmp_path, macs=False).is_sound


def test_every_changed_bit_of_a_mac_is_a_finding(written: MemoryStore, tmp_path: Path) -> None:
    _, mac = written.head_with_mac("table/2")
    for bit in random.Random(1).sample(range(256), 16):
        flipped = bytearray(mac)
        flipped[bit // 8] ^= 1 << bit % 8
        tamper(written, "UPDATE streams SET mac = ? WHERE stream = 'table/2'", bytes(flipped))
        assert finding_places(verify(written, tmp_path)) == ["head of table/2"]


def test_database_that_lost_the_id_of_its_key_is_a_finding(
    written: MemoryStore, tmp_path: Path
) -> None:
    macs = open_head_macs(written.database, tmp_path)
    tamper(written, "DELETE FROM meta WHERE name = 'mac-key'")

    report = verify_log(written, public_keys=open_keys(tmp_path).public, head_macs=macs)
    assert finding_places(report) == ["meta"]


def test_foreign_entries_are_named_also_if_the_id_of_the_key_was_removed(
    written: MemoryStore, tmp_path: Path
) -> None:
    macs = open_head_macs(written.database, tmp_path)
    write_foreign(written, "table/1")
    tamper(written, "DELETE FROM meta WHERE name = 'mac-key'")

    report = verify_log(written, public_keys=open_keys(tmp_path).public, head_macs=macs)
    assert finding_places(report) == ["meta", "table/1 version 5"]


def test_malformed_heads_are_findings_and_do_not_fail_the_verification(
    written: MemoryStore, tmp_path: Path
) -> None:
    tamper(written, "UPDATE streams SET version = -1, hash = x'00' WHERE stream = 'table/1'")
    tamper(written, "INSERT INTO streams VALUES ('table/9', 3, x'', x'')")

    places = finding_places(verify(written, tmp_path))

    assert {"head of table/1", "head of table/9"} <= set(places)


@pytest.mark.parametrize(
    ("statement", "place"),
    [
        ("INSERT INTO meta VALUES ('backdoor', 'open')", "meta"),
        ("INSERT INTO leases VALUES ('backdoor', 'eve', 1e12)", "leases"),
    ],
)
def test_unknown_row_of_meta_or_leases_is_a_finding(
    statement: str, place: str, written: MemoryStore, tmp_path: Path
) -> None:
    assert written.acquire_lease("dealer/1", "somebody", 5)
    written.suspend("the disk is full")
    assert verify(written, tmp_path).is_sound

    tamper(written, statement)

    (finding,) = verify(written, tmp_path).findings
    assert (finding.where, "'backdoor'" in finding.what) == (place, True)


def test_macs_of_another_key_are_not_valid(written: MemoryStore) -> None:
    report = verify_log(written, public_keys={}, head_macs=HeadMacs(bytes(32)))
    assert "meta" in finding_places(report)
