"""Checkpoints after a restore, and the verification of those that it gave up."""

from __future__ import annotations

from dataclasses import dataclass
from shutil import copytree
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tests.log.inspection import finding_places, finding_texts, tamper
from tests.log.proposals import bet
from threedice.errors import TamperedData
from threedice.log.proof.checkpoint_files import (
    CHECKPOINTS_FILE,
    CheckpointFiles,
    encode_checkpoint_line,
    read_checkpoints,
)
from threedice.log.proof.checkpoints import (
    RESTORE_REMEDY,
    CheckpointSigner,
    RestoreMark,
    decode_checkpoint,
    link_hash,
    read_last_checkpoints,
    sign_checkpoint,
    sign_restore,
)
from threedice.log.proof.keys import open_keys, rotate_signing_key
from threedice.log.proof.verification import verify_log
from threedice.log.stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from threedice.log.proof import VerificationReport
    from threedice.log.proof.checkpoint_files import ExternalCheckpoint
    from threedice.log.proof.keys import SigningKeys
    from threedice.log.records import Checkpoint
    from threedice.log.store import Store


@dataclass
class RestorableHouse:
    """A log in memory, copies of it at each checkpoint, and its state directory."""

    state: Path

    def __post_init__(self) -> None:
        self.keys, self.store = open_keys(self.state), MemoryStore()
        self.backups: dict[int, MemoryStore] = {}

    @property
    def file(self) -> list[Checkpoint]:
        return read_checkpoints(self.state / CHECKPOINTS_FILE)

    def run(self, count: int) -> None:
        """Create checkpoints, each after a bet, and a backup at each."""
        signer = CheckpointSigner(self.store, self.keys, self.state)
        for _ in range(count):
            bet(self.store, "table/1", "cage/ann")
            made = signer.create_checkpoint(at=1)
            self.backups[made.number] = copy_of(self.store)

    def restore(self, number: int, known: Iterable[Checkpoint] | None = None) -> Checkpoint:
        """Restore the backup at a checkpoint beside the state directory."""
        self.store = copy_of(self.backups[number])
        report = self.verify(self.file if known is None else known, restoring=True)
        assert report.is_sound, report.findings
        made = restore_mark(self.store, self.keys, report.given_up)
        CheckpointSigner(self.store, self.keys, self.state)  # completes the file
        return made

    def verify(
        self, against: Iterable[ExternalCheckpoint] = (), *, restoring: bool = False
    ) -> VerificationReport:
        return verify_log(
            self.store, public_keys=self.keys.public, against=against, restoring=restoring
        )

    def findings(self, against: Iterable[Checkpoint] = ()) -> list[str]:
        return finding_texts(self.verify(against))


def restore_mark(store: Store, keys: SigningKeys, given_up: Checkpoint | None) -> Checkpoint:
    """Sign the first checkpoint after a restore, and store it."""
    with store.open_rows() as rows:
        kept = read_last_checkpoints(rows)
    made = sign_restore(keys, 7, store.heads(), kept, given_up)
    store.add_checkpoint(made, after=kept[-1].number)
    return made


def copy_of(store: MemoryStore) -> MemoryStore:
    copy = MemoryStore()
    store.connection.backup(copy.connection)
    return copy


@pytest.fixture
def house(tmp_path: Path) -> RestorableHouse:
    house = RestorableHouse(tmp_path)
    house.run(5)
    return house


def numbers(checkpoints: Sequence[Checkpoint]) -> list[int]:
    return [each.number for each in checkpoints]


def test_checkpoint_after_a_restore_records_what_is_given_up(house: RestorableHouse) -> None:
    old = house.file
    first = house.restore(3)

    body = decode_checkpoint(first)
    mark = RestoreMark(at=7, after=3, last=5, last_hash=link_hash(old[4]))
    assert (body.number, body.full, body.previous) == (6, True, link_hash(old[2]))
    assert (body.restore, body.restores) == (mark, (mark,))
    assert numbers(house.store.checkpoints()) == [1, 2, 3, 6]
    assert house.file == [*old, first]


def test_restored_house_goes_on_signing_after_a_restart(house: RestorableHouse) -> None:
    house.restore(3)
    house.run(2)

    assert numbers(house.store.checkpoints()) == [1, 2, 3, 6, 7, 8]
    assert numbers(house.file) == list(range(1, 9))
    assert decode_checkpoint(house.file[-1]).restore is None
    report = house.verify(house.file)
    assert report.is_sound
    assert [(each.number, each.after, each.last) for each in report.restores] == [(6, 3, 5)]


@pytest.mark.parametrize("last", range(1, 9))
def test_copies_of_the_checkpoint_file_from_before_and_after_a_restore_pass_verification(
    house: RestorableHouse, last: int
) -> None:
    house.restore(3)
    house.run(2)
    assert house.findings(house.file[:last]) == []
    assert house.findings(house.file[last - 1 :]) == []


def test_checkpoint_that_no_restore_gave_up_is_found(house: RestorableHouse) -> None:
    stale = house.file[:4]
    house.run(1)
    longer = house.file
    (house.state / CHECKPOINTS_FILE).unlink()
    house.restore(3, known=stale)

    assert house.findings(longer[:4]) == []
    (finding,) = [each for each in house.findings(longer) if each.startswith("checkpoint 5")]
    assert "checkpoint 5: differs from the copy kept outside the store; " in finding
    assert "restore the backup again with --against" in finding
    (finding,) = [each for each in house.findings(longer) if each.startswith("checkpoint 6")]
    assert (
        finding == f"checkpoint 6: is kept outside the store, but missing in it; {RESTORE_REMEDY}"
    )


def test_altered_checkpoint_that_was_given_up_is_found(house: RestorableHouse) -> None:
    house.restore(2)
    file = house.file
    altered = replace(file[3], body=file[3].body.replace(b'"at":1', b'"at":2'))
    assert house.findings([*file[:3], altered, *file[4:]]) == [
        f"checkpoint 4: its signature is not that of the key {house.keys.key_id}"
    ]
    signed_again = sign_checkpoint(house.keys, replace(decode_checkpoint(file[3]), at=2))
    assert house.findings([*file[:3], signed_again, *file[4:]]) == [
        "checkpoint 5: outside the store, does not hold the hash of checkpoint 4"
    ]
    last_again = sign_checkpoint(house.keys, replace(decode_checkpoint(file[4]), at=2))
    assert house.findings([*file[:4], last_again, *file[5:]]) == [
        "checkpoint 5: outside the store, is not the one that later checkpoints refer to"
    ]
    first_again = sign_checkpoint(
        house.keys, replace(decode_checkpoint(file[2]), previous=link_hash(file[0]))
    )
    assert house.findings([first_again]) == [
        "checkpoint 3: outside the store, does not hold the hash of checkpoint 2"
    ]


def test_checkpoint_left_out_among_those_given_up_is_found(house: RestorableHouse) -> None:
    house.restore(2)
    file = house.file
    assert house.findings([*file[:3], *file[4:]]) == [
        "checkpoint 5: outside the store, directly follows checkpoint 3"
    ]


def test_store_cut_back_without_a_restore_mark_is_found(house: RestorableHouse) -> None:
    house.store = house.backups[3]
    missing = f"is kept outside the store, but missing in it; {RESTORE_REMEDY}"
    assert [each for each in house.findings(house.file) if each.startswith("checkpoint")] == [
        f"checkpoint 4: {missing}",
        f"checkpoint 5: {missing}",
    ]
    with pytest.raises(
        TamperedData, match=r"checkpoint 4: .* has none; .*`threedice restore FILE`"
    ):
        CheckpointSigner(house.store, house.keys, house.state)


def test_forged_restore_mark_is_found_and_not_built_upon(house: RestorableHouse) -> None:
    file = house.file
    forger = open_keys(house.state / "forger")
    house.store = house.backups[3]
    third = decode_checkpoint(file[2])
    mark = RestoreMark(at=7, after=3, last=5, last_hash=link_hash(file[4]))
    forged = replace(third, number=6, previous=link_hash(file[2]), full=True, restores=(mark,))
    for key_id in (house.keys.key_id, forger.key_id):
        signed = sign_checkpoint(forger, replace(forged, key_id=key_id))
        house.store = copy_of(house.backups[3])
        house.store.add_checkpoint(replace(signed, key_id=key_id), after=3)

        places = finding_places(house.verify(file))
        assert {"checkpoint 4", "checkpoint 5", "checkpoint 6"} <= set(places)
        with pytest.raises(TamperedData, match=r"checkpoint 4: .* has none"):
            CheckpointSigner(house.store, house.keys, house.state)


def test_restore_mark_after_another_checkpoint_is_found(house: RestorableHouse) -> None:
    house.restore(3)
    tamper(house.store, "DELETE FROM checkpoints WHERE number = 3")
    assert house.findings() == ["checkpoint 6: directly follows checkpoint 2"]


def test_full_checkpoint_that_omits_a_restore_is_found(house: RestorableHouse) -> None:
    house.restore(3)
    house.run(1)
    body = replace(decode_checkpoint(house.file[-1]), restores=())
    tamper(house.store, "DELETE FROM checkpoints WHERE number = 7")
    house.store.add_checkpoint(sign_checkpoint(house.keys, body))
    assert house.findings() == ["checkpoint 7: omits a restore that was signed before"]


def test_restores_can_follow_each_other(house: RestorableHouse) -> None:
    house.restore(3)  # 6
    house.run(2)  # 7, 8
    house.restore(7)  # 9 gives up 8
    house.run(1)  # 10
    house.restore(4)  # 11, from a backup of the first branch
    house.run(1)  # 12

    assert numbers(house.store.checkpoints()) == [1, 2, 3, 4, 11, 12]
    assert numbers(house.file) == list(range(1, 13))
    report = house.verify(house.file)
    assert report.is_sound, report.findings
    assert [(each.number, each.after, each.last) for each in report.restores] == [(11, 4, 10)]
    house.restore(7)  # 13
    report = house.verify(house.file)
    assert report.is_sound, report.findings
    assert [(each.number, each.after, each.last) for each in report.restores] == [
        (6, 3, 5),
        (13, 7, 12),
    ]


def test_restore_without_later_checkpoints_is_recorded(house: RestorableHouse) -> None:
    first = house.restore(5)
    assert first.number == 6
    report = house.verify(house.file)
    assert report.is_sound
    assert [(each.number, each.after, each.last) for each in report.restores] == [(6, 5, 5)]


@pytest.mark.parametrize("last", [2, 3, 4, 5])
def test_restored_store_is_accepted_beside_the_file_of_another_server(
    house: RestorableHouse, tmp_path: Path, last: int
) -> None:
    other = tmp_path / "other"
    copytree(tmp_path / "keys", other / "keys")
    file = other / CHECKPOINTS_FILE
    file.write_bytes(b"".join(map(encode_checkpoint_line, house.file[:last])))
    made = house.restore(3)

    CheckpointSigner(house.store, house.keys, other)
    assert read_checkpoints(file)[-1] == made
    assert finding_texts(house.verify(CheckpointFiles(growing=file))) == []


def test_checkpoint_given_up_after_a_rotation_passes_verification(tmp_path: Path) -> None:
    house = RestorableHouse(tmp_path)
    house.run(3)
    house.keys = rotate_signing_key(tmp_path)
    house.run(2)
    house.restore(2)
    house.run(1)
    assert house.findings(house.file) == []


def test_backup_of_another_branch_than_the_file_is_found_before_a_restore(
    house: RestorableHouse,
) -> None:
    file = house.file
    house.store = copy_of(house.backups[3])
    again = sign_checkpoint(house.keys, replace(decode_checkpoint(file[2]), at=99))
    tamper(house.store, "DELETE FROM checkpoints WHERE number = 3")
    house.store.add_checkpoint(again)
    report = house.verify(file, restoring=True)
    assert "checkpoint 3: differs from the copy kept outside the store" in finding_texts(report)
