"""Roll-ups: old checkpoints leave the store, stay verifiable, and cost nothing at start."""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise
from threading import Barrier, Thread
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tests.log.inspection import finding_texts, put_entries, set_head, tamper
from tests.log.proposals import bet
from tests.log.test_restored_checkpoints import restore_mark
from threedice.errors import StreamConflict, TamperedData
from threedice.log.proof.checkpoint_files import (
    CHECKPOINTS_FILE,
    CheckpointFiles,
    encode_checkpoint_line,
    read_checkpoints,
)
from threedice.log.proof.checkpoints import (
    MAX_SIGN_ATTEMPTS,
    RESTORE_REMEDY,
    CheckpointBody,
    CheckpointSigner,
    RollUp,
    decode_checkpoint,
    link_hash,
    sign_checkpoint,
    signed_heads,
)
from threedice.log.proof.keys import open_keys
from threedice.log.proof.verification import verify_log
from threedice.log.stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from threedice.log.proof.checkpoint_files import ExternalCheckpoint
    from threedice.log.records import Checkpoint
    from threedice.log.store import Store

KEPT = 5


class RolledUpHouse:
    """A log in memory with many checkpoints, of which the store keeps few."""

    def __init__(self, state: Path, count: int = 40) -> None:
        self.state, self.keys, self.store = state, open_keys(state), MemoryStore()
        for number in range(3):
            bet(self.store, f"table/{number}")
        self.run(count)

    @property
    def path(self) -> Path:
        return self.state / CHECKPOINTS_FILE

    @property
    def file(self) -> list[Checkpoint]:
        return read_checkpoints(self.path)

    def signer(self) -> CheckpointSigner:
        return CheckpointSigner(self.store, self.keys, self.state, kept=KEPT)

    def run(self, count: int) -> None:
        signer = self.signer()
        for number in range(count):
            bet(self.store, f"table/{number % 2}")
            signer.create_checkpoint(at=number)

    def findings(self, against: Iterable[ExternalCheckpoint] = ()) -> list[str]:
        return finding_texts(verify_log(self.store, public_keys=self.keys.public, against=against))

    def replace_last(self, body: CheckpointBody) -> None:
        """Sign the last checkpoint again with another body."""
        tamper(self.store, "DELETE FROM checkpoints WHERE number = ?", body.number)
        self.store.add_checkpoint(sign_checkpoint(self.keys, body))


@pytest.fixture
def house(tmp_path: Path) -> RolledUpHouse:
    return RolledUpHouse(tmp_path)


def numbers(checkpoints: Sequence[Checkpoint]) -> list[int]:
    return [each.number for each in checkpoints]


# --- rolling up ---------------------------------------------------------------------------------


def test_store_keeps_a_limited_number_of_checkpoints_and_the_file_all(tmp_path: Path) -> None:
    house = RolledUpHouse(tmp_path, 0)
    for _ in range(8):
        house.run(10)
        assert KEPT <= len(house.store.checkpoints()) <= 3 * KEPT + 1
        assert house.findings(house.file) == []
    assert numbers(house.file) == list(range(1, 81))


def test_signed_heads_are_known_from_the_checkpoints_that_are_kept(house: RolledUpHouse) -> None:
    assert signed_heads(house.store.checkpoints()) == house.store.heads()


def test_roll_up_holds_the_hash_of_the_last_checkpoint_it_replaces(house: RolledUpHouse) -> None:
    bodies = [decode_checkpoint(each) for each in house.store.checkpoints()]
    roll_up = next(body.rolled_up for body in reversed(bodies) if body.full)
    assert roll_up is not None
    assert bodies[0].number == roll_up.up_to + 1
    assert roll_up.last_hash == link_hash(house.file[roll_up.up_to - 1])


def test_checkpoint_without_changes_is_full_now_and_then(tmp_path: Path) -> None:
    house = RolledUpHouse(tmp_path, 1)
    signer = house.signer()
    bodies = [decode_checkpoint(signer.create_checkpoint(at=1)) for _ in range(3 * KEPT)]
    assert [body.full for body in bodies] == ([True] + [False] * (KEPT - 1)) * 3


def plain_house(state: Path, count: int) -> RolledUpHouse:
    """Return a house with checkpoints from before there were roll-ups."""
    house = RolledUpHouse(state, 0)
    signer = CheckpointSigner(house.store, house.keys, state)
    for number in range(count):
        bet(house.store, f"table/{number % 2}")
        signer.create_checkpoint(at=number)
    return house


def test_checkpoints_from_before_roll_ups_are_deleted_a_few_at_a_time(tmp_path: Path) -> None:
    house, counts = plain_house(tmp_path, 50), [50]
    house.signer()
    assert len(house.store.checkpoints()) == 50
    while counts[-1] > 3 * KEPT:
        house.run(1)
        counts.append(len(house.store.checkpoints()))
        assert house.findings(house.file) == []
    assert all(before - after <= 2 * KEPT for before, after in pairwise(counts))


def test_rolled_up_checkpoints_can_be_deleted_without_signing_another(tmp_path: Path) -> None:
    house = plain_house(tmp_path, 50)
    signer = house.signer()
    last = signer.create_checkpoint(at=1)
    while signer.has_rolled_up:
        signer.delete_rolled_up()
        assert house.findings(house.file) == []
    assert numbers(house.store.checkpoints()) == list(range(46, 52))
    assert house.store.checkpoints()[-1] == last


def test_checkpoints_that_do_not_link_are_not_deleted(tmp_path: Path) -> None:
    house = plain_house(tmp_path, 50)
    house.path.write_bytes(b"".join(map(encode_checkpoint_line, house.file[-KEPT:])))
    tamper(house.store, "UPDATE checkpoints SET signature = zeroblob(64) WHERE number = 7")
    for _ in range(10):
        house.run(1)
    assert house.store.checkpoints()[0].number == 7
    assert f"checkpoint 7: its signature is not that of the key {house.keys.key_id}" in (
        house.findings()
    )


@pytest.mark.parametrize("kind", ["plain", "rolled up"])
def test_start_reads_as_many_checkpoints_however_many_there_are(tmp_path: Path, kind: str) -> None:
    def rows_read(count: int) -> int:
        state = tmp_path / str(count)
        house = plain_house(state, count) if kind == "plain" else RolledUpHouse(state, count)
        house.path.write_bytes(b"".join(map(encode_checkpoint_line, house.file[-KEPT:])))
        read, query = 0, house.store._query

        def counting(sql: str, params: Sequence[object] = ()) -> list[tuple[object, ...]]:
            nonlocal read
            rows = query(sql, params)
            read += len(rows)
            return rows

        house.store._query = counting
        signer = house.signer()
        bet(house.store, "table/1")
        signer.create_checkpoint(at=1)
        return read

    assert rows_read(400) <= rows_read(40)


def test_start_reads_only_the_end_of_the_file(house: RolledUpHouse) -> None:
    text = house.path.read_bytes()
    house.path.write_bytes(b"nonsense\n" * 20_000 + text)
    house.run(1)
    assert house.path.read_bytes().startswith(b"nonsense\n" * 20_000 + text)
    lines = CheckpointFiles(growing=house.path)
    assert len([each for each in lines if isinstance(each, TamperedData)]) == 20_000


def test_checkpoint_longer_than_a_block_of_the_file_is_read_at_start(tmp_path: Path) -> None:
    house = RolledUpHouse(tmp_path, 1)
    for number in range(1200):
        bet(house.store, f"cage/{number}")
    house.run(1)
    assert len(house.path.read_bytes().splitlines()[-1]) > 1 << 16
    house.run(1)
    assert house.file == house.store.checkpoints()


# --- several servers ----------------------------------------------------------------------------


def test_signers_roll_up_one_chain_concurrently(store: Store, tmp_path: Path) -> None:
    for number in range(3):
        bet(store, f"table/{number}")
    keys = open_keys(tmp_path)
    signers = [
        CheckpointSigner(store, keys, tmp_path, kept=KEPT),
        CheckpointSigner(store, keys, tmp_path, kept=KEPT),
    ]
    start, failures = Barrier(len(signers)), list[Exception]()

    def serve(signer: CheckpointSigner, table: int) -> None:
        start.wait()
        # A lost race is a checkpoint of the other signer, so that no signer can lose every race.
        for number in range(MAX_SIGN_ATTEMPTS - 1):
            bet(store, f"table/{table}")
            try:
                signer.create_checkpoint(at=number)
            except StreamConflict as conflict:
                failures.append(conflict)

    threads = [Thread(target=serve, args=(each, table)) for table, each in enumerate(signers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    last = signers[0].create_checkpoint(at=99)

    assert failures == []
    assert len(store.checkpoints()) <= 3 * KEPT + 2
    file = read_checkpoints(tmp_path / CHECKPOINTS_FILE)
    assert numbers(file) == list(range(1, last.number + 1))
    assert finding_texts(verify_log(store, public_keys=keys.public, against=file)) == []


def test_server_that_slept_through_roll_ups_signs_the_next_checkpoint(
    house: RolledUpHouse,
) -> None:
    sleeping = house.signer()
    first = sleeping.create_checkpoint(at=1)
    house.run(50)
    assert first not in house.store.checkpoints()
    bet(house.store, "table/2")
    made = sleeping.create_checkpoint(at=2)

    assert made.number == first.number + 51
    assert numbers(house.file) == list(range(1, made.number + 1))
    assert house.findings(house.file) == []


def test_server_whose_last_checkpoint_was_deleted_signs_no_more(house: RolledUpHouse) -> None:
    signer = house.signer()
    last = signer.create_checkpoint(at=1)
    tamper(house.store, "DELETE FROM checkpoints WHERE number > ?", last.number - 2)
    with pytest.raises(TamperedData, match=f"checkpoint {last.number}: is no longer in the store"):
        signer.create_checkpoint(at=2)
    tamper(house.store, "DELETE FROM checkpoints")
    with pytest.raises(TamperedData, match=f"checkpoint {last.number}: is no longer in the store"):
        signer.create_checkpoint(at=2)


# --- the file -----------------------------------------------------------------------------------


def test_file_that_was_moved_away_starts_again_with_the_last_checkpoints(
    house: RolledUpHouse,
) -> None:
    signer, archive = house.signer(), house.state / "archive.jsonl"
    for at in range(2):
        house.path.rename(archive)
        made = signer.create_checkpoint(at=at)
        assert house.file == house.store.checkpoints()[-KEPT:]
        assert house.file[-1] == made
        assert house.findings(CheckpointFiles((archive,), growing=house.path)) == []


@pytest.mark.parametrize("seen", [10, 20, 34, 39])
def test_file_too_far_behind_the_store_is_set_aside(house: RolledUpHouse, seen: int) -> None:
    checkpoints = house.file
    house.path.write_bytes(b"".join(map(encode_checkpoint_line, checkpoints[:seen])))
    house.signer()
    if seen >= 35:
        assert house.file == checkpoints
    else:
        assert house.file == checkpoints[-KEPT:]
        assert read_checkpoints(house.state / f"checkpoints-to-{seen}.jsonl") == checkpoints[:seen]
        house.path.write_bytes(b"".join(map(encode_checkpoint_line, checkpoints[:seen])))
        house.signer()
        assert (house.state / f"checkpoints-to-{seen}-1.jsonl").exists()
    assert house.findings(house.file) == []


def test_roll_up_without_a_known_signature_does_not_excuse_a_lost_checkpoint(
    tmp_path: Path,
) -> None:
    house = RolledUpHouse(tmp_path, 8)
    lines = house.path.read_bytes()
    last = house.store.checkpoints()[-1]
    forged = replace(decode_checkpoint(last), number=9, full=True, rolled_up=RollUp(8, "0" * 64))
    tamper(house.store, "DELETE FROM checkpoints")
    house.store.add_checkpoint(sign_checkpoint(open_keys(tmp_path / "forger"), forged), after=0)

    with pytest.raises(TamperedData, match=r"checkpoint 1: .* has none"):
        house.signer()
    assert house.path.read_bytes() == lines


# --- verification -------------------------------------------------------------------------------


def test_every_part_of_the_file_passes_verification(house: RolledUpHouse) -> None:
    for place in range(0, 41, 4):
        assert house.findings(house.file[:place]) == []
        assert house.findings(house.file[place:]) == []


def test_files_that_overlap_pass_verification_in_any_order(house: RolledUpHouse) -> None:
    assert house.findings([*house.file[:30], *house.file[20:]]) == []
    assert house.findings([*house.file[20:], *house.file[:30]]) == []


def test_gap_between_two_files_is_no_finding(house: RolledUpHouse) -> None:
    early, late = house.state / "early.jsonl", house.state / "late.jsonl"
    early.write_bytes(b"".join(map(encode_checkpoint_line, house.file[:5])))
    late.write_bytes(b"".join(map(encode_checkpoint_line, house.file[10:])))
    assert house.findings(CheckpointFiles((early, late))) == []
    late.write_bytes(early.read_bytes() + late.read_bytes())
    assert house.findings(CheckpointFiles((late,))) == [
        "checkpoint 11: outside the store, directly follows checkpoint 5"
    ]


def test_checkpoint_deleted_without_a_roll_up_is_found(house: RolledUpHouse) -> None:
    first = house.store.checkpoints()[0].number
    tamper(house.store, "DELETE FROM checkpoints WHERE number = ?", first)
    assert house.findings() == [f"checkpoint {first + 1}: is the first"]
    assert house.findings(house.file) == [
        f"checkpoint {first + 1}: is the first",
        f"checkpoint {first}: is kept outside the store, but missing in it",
    ]


def test_deletion_of_all_checkpoints_is_found(house: RolledUpHouse) -> None:
    file = house.file
    tamper(house.store, "DELETE FROM checkpoints")
    found = house.findings(file)
    assert [f"checkpoint {number}: is kept outside the store, but missing in it; {RESTORE_REMEDY}"
            for number in range(1, 41)] == found  # fmt: skip


def test_altered_copy_of_a_rolled_up_checkpoint_is_found(house: RolledUpHouse) -> None:
    file = house.file
    body = file[8].body
    file[8] = replace(file[8], body=body.replace(b'"at":8', b'"at":9'))
    assert house.findings(file) == [
        f"checkpoint 9: its signature is not that of the key {house.keys.key_id}"
    ]
    file[8] = replace(file[8], body=body, key_id="0" * 16)
    assert house.findings(file) == ["checkpoint 9: its number or key id is not the signed one"]


def test_rolled_up_checkpoint_signed_again_or_left_out_is_found(house: RolledUpHouse) -> None:
    file = house.file
    again = sign_checkpoint(house.keys, replace(decode_checkpoint(file[8]), at=99))
    assert house.findings([*file[:8], again, *file[9:]]) == [
        "checkpoint 10: outside the store, does not hold the hash of checkpoint 9"
    ]
    assert house.findings([*file[:8], *file[9:]]) == [
        "checkpoint 10: outside the store, directly follows checkpoint 8"
    ]
    last = house.store.checkpoints()[0].number - 1
    again = sign_checkpoint(house.keys, replace(decode_checkpoint(file[last - 1]), at=99))
    assert house.findings([*file[: last - 1], again, *file[last:]]) == [
        f"checkpoint {last}: outside the store, is not the one that later checkpoints refer to"
    ]


def test_roll_up_with_another_hash_is_found(house: RolledUpHouse) -> None:
    first = house.store.checkpoints()[0].number
    body = replace(decode_checkpoint(house.file[-1]), full=True)
    heads = {name: (each.version, each.hash.hex()) for name, each in house.store.heads().items()}
    for up_to, place in ((first - 1, first), (first + 1, 40)):
        house.replace_last(replace(body, heads=heads, rolled_up=RollUp(up_to, "0" * 64)))
        assert house.findings() == [
            f"checkpoint {place}: does not hold the hash of checkpoint {up_to}"
        ]
    house.replace_last(replace(body, heads=heads, rolled_up=None))
    assert "checkpoint 40: omits a roll-up that was signed before" in house.findings()


def test_entries_that_contradict_a_rolled_up_checkpoint_are_found(house: RolledUpHouse) -> None:
    other = MemoryStore()
    for _ in range(30):
        bet(other, "table/1")
    put_entries(house.store, other.scan("table/1"))
    set_head(house.store, "table/1", other.head("table/1"))
    places = "\n".join(house.findings(house.file))
    assert "differs from checkpoint 1 " in places or "differs from checkpoint 1\n" in places


def test_rolled_up_history_passes_verification_on_every_database(
    store: Store, tmp_path: Path
) -> None:
    keys = open_keys(tmp_path)
    signer = CheckpointSigner(store, keys, tmp_path, kept=KEPT)
    for at in range(30):
        bet(store, "table/1", "cage/ann")
        signer.create_checkpoint(at=at)
    with closing(store):
        report = verify_log(
            store, public_keys=keys.public, against=CheckpointFiles(growing=signer._file)
        )
    assert report.findings == ()
    assert report.checkpoints <= 3 * KEPT + 1


# --- restores -----------------------------------------------------------------------------------


def test_restore_is_still_known_after_its_checkpoint_was_rolled_up(tmp_path: Path) -> None:
    house = RolledUpHouse(tmp_path, 12)
    backup = MemoryStore()
    house.store.connection.backup(backup.connection)
    house.run(4)
    house.store = backup
    restore_mark(backup, house.keys, house.file[-1])
    house.run(40)

    assert house.store.checkpoints()[0].number > 17
    report = verify_log(house.store, public_keys=house.keys.public, against=house.file)
    assert report.findings == ()
    assert [(each.number, each.after, each.last) for each in report.restores] == [(17, 12, 16)]
    for last in range(10, 20):
        assert house.findings(house.file[:last]) == []


def test_backup_older_than_the_last_roll_up_can_be_restored(tmp_path: Path) -> None:
    house = RolledUpHouse(tmp_path, 12)
    backup = MemoryStore()
    house.store.connection.backup(backup.connection)
    house.run(40)
    house.store = backup
    file = CheckpointFiles(growing=house.path)
    report = verify_log(backup, public_keys=house.keys.public, against=file, restoring=True)
    assert report.findings == ()
    assert report.given_up is not None
    assert report.given_up.number == 52
    restore_mark(backup, house.keys, report.given_up)
    house.run(20)
    assert house.findings(house.file) == []
    assert numbers(house.file) == list(range(1, 74))


def test_checkpoints_appended_after_the_files_were_named_are_left_out(house: RolledUpHouse) -> None:
    named = CheckpointFiles(growing=house.path)
    before = list(named)
    house.run(1)

    assert list(named) == before
    assert len(list(CheckpointFiles(growing=house.path))) > len(before)
