"""Verification of checkpoints inside and outside the store, against each other and the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.log.inspection import finding_places, finding_texts, tamper, tampering
from tests.log.proposals import play
from threedice.log.proof.checkpoints import (
    RESTORE_REMEDY,
    CheckpointBody,
    CheckpointSigner,
    decode_checkpoint,
    link_hash,
    sign_checkpoint,
)
from threedice.log.proof.keys import open_keys, rotate_signing_key
from threedice.log.proof.verification import verify_log
from threedice.log.records import Checkpoint
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class House:
    """A log in memory with three checkpoints, which a test can replace."""

    def __init__(self, state: Path) -> None:
        self.keys, self.store, self.state = open_keys(state), MemoryStore(), state
        signer = CheckpointSigner(self.store, self.keys, state)
        for number in range(3):
            play(self.store)
            signer.create_checkpoint(at=number)
        self.made = self.store.checkpoints()

    def with_checkpoints(
        self, checkpoints: Sequence[Checkpoint], against: Sequence[Checkpoint] = ()
    ) -> list[str]:
        store = MemoryStore()
        self.store.connection.backup(store.connection)
        tamper(store, "DELETE FROM checkpoints")
        before = 0
        for checkpoint in checkpoints:
            store.add_checkpoint(checkpoint, after=before)
            before = checkpoint.number
        return finding_texts(verify_log(store, public_keys=self.keys.public, against=against))


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def changed(checkpoint: Checkpoint, **what: Any) -> CheckpointBody:
    body = decode_checkpoint(checkpoint)
    fields = {name: getattr(body, name) for name in body.__struct_fields__}
    return CheckpointBody(**(fields | what))


def test_matching_checkpoints_inside_and_outside_the_store_pass_verification(house: House) -> None:
    assert house.with_checkpoints(house.made, house.made) == []
    assert house.with_checkpoints(house.made, house.made[:2]) == []
    assert house.with_checkpoints(house.made, house.made[1:]) == []


def test_checkpoint_missing_from_the_store_is_found(house: House) -> None:
    first, second, third = house.made
    assert house.with_checkpoints([first, third]) == ["checkpoint 3: directly follows checkpoint 1"]
    assert house.with_checkpoints([second, third]) == ["checkpoint 2: is the first"]
    assert house.with_checkpoints([first, second], house.made) == [
        f"checkpoint 3: is kept outside the store, but missing in it; {RESTORE_REMEDY}"
    ]


def test_checkpoint_missing_outside_the_store_is_found(house: House) -> None:
    first, _, third = house.made
    assert house.with_checkpoints(house.made, [first, third]) == [
        "checkpoint 3: outside the store, directly follows checkpoint 1"
    ]


def test_external_checkpoint_in_two_versions_is_found(house: House) -> None:
    other = sign_checkpoint(house.keys, changed(house.made[2], at=99))
    assert house.with_checkpoints(house.made, [*house.made, other]) == [
        "checkpoint 3: is kept outside the store twice, with different content"
    ]


def test_checkpoint_that_differs_from_the_external_copy_is_found(house: House) -> None:
    other = sign_checkpoint(house.keys, changed(house.made[2], at=99))
    assert house.with_checkpoints([*house.made[:2], other], house.made) == [
        "checkpoint 3: differs from the copy kept outside the store"
    ]


def test_checkpoint_with_a_wrong_predecessor_hash_is_found(house: House) -> None:
    first, second, third = house.made
    again = sign_checkpoint(house.keys, changed(first, at=99))
    assert house.with_checkpoints([again, second, third]) == [
        "checkpoint 2: does not hold the hash of checkpoint 1"
    ]


def test_checkpoint_that_signs_an_earlier_version_is_found(house: House) -> None:
    *before, third = house.made
    heads = decode_checkpoint(house.made[1]).heads | {
        "table/1": decode_checkpoint(house.made[0]).heads["table/1"]
    }
    back = sign_checkpoint(house.keys, changed(third, full=True, heads=heads))
    assert house.with_checkpoints([*before, back]) == [
        "checkpoint 3: signs version 4 of table/1 after version 8 was signed"
    ]


def test_full_checkpoint_that_omits_a_stream_is_found(house: House) -> None:
    *before, third = house.made
    heads = {
        name: head for name, head in decode_checkpoint(third).heads.items() if name != "cage/ann"
    }
    short = sign_checkpoint(house.keys, changed(third, full=True, heads=heads))
    assert house.with_checkpoints([*before, short]) == [
        "checkpoint 3: omits cage/ann, which was signed before"
    ]


def test_checkpoint_with_an_unsigned_number_or_key_id_is_found(house: House) -> None:
    *before, third = house.made
    other = Checkpoint(4, third.body, third.key_id, third.signature)
    assert "checkpoint 4: its number or key id is not the signed one" in (
        house.with_checkpoints([*before, other])
    )
    other = Checkpoint(3, third.body, "0" * 16, third.signature)
    assert house.with_checkpoints([*before, other]) == [
        "checkpoint 3: its number or key id is not the signed one"
    ]


def test_unreadable_checkpoint_is_found(house: House) -> None:
    *before, third = house.made
    other = Checkpoint(3, b"nonsense", third.key_id, third.signature)
    (finding,) = house.with_checkpoints([*before, other])
    assert finding.startswith("checkpoint 3: cannot be read")


def test_checkpoint_with_a_null_column_is_found(tmp_path: Path) -> None:
    keys, store = open_keys(tmp_path), SqliteStore(tmp_path / "log.sqlite")
    CheckpointSigner(store, keys, tmp_path).create_checkpoint(at=1)
    store.close()
    with tampering(store.path, lax=True) as run:
        run("UPDATE checkpoints SET body = NULL")

    assert "checkpoint 1" in finding_places(verify_log(store.path, public_keys=keys.public))


def test_checkpoints_signed_before_and_after_a_rotation_pass_verification(tmp_path: Path) -> None:
    store = MemoryStore()
    signer = CheckpointSigner(store, open_keys(tmp_path), tmp_path)
    signer.create_checkpoint(at=1)
    keys = rotate_signing_key(tmp_path)
    signer.set_keys(keys)
    signer.create_checkpoint(at=2)
    assert verify_log(store, public_keys=keys.public).is_sound

    only_new = {keys.key_id: keys.public[keys.key_id]}
    assert finding_places(verify_log(store, public_keys=only_new)) == ["checkpoint 1"]


def test_checkpoint_signed_with_a_retired_key_is_found(tmp_path: Path) -> None:
    store, old = MemoryStore(), open_keys(tmp_path)
    CheckpointSigner(store, old, tmp_path).create_checkpoint(at=1)
    rotate_signing_key(tmp_path)
    keys = rotate_signing_key(tmp_path)
    second = CheckpointSigner(store, keys, tmp_path).create_checkpoint(at=2)
    play(store)
    heads = {name: (each.version, each.hash.hex()) for name, each in store.heads().items()}
    late = sign_checkpoint(old, CheckpointBody(3, 3, link_hash(second), True, heads, old.key_id))
    retired = f"checkpoint 3: is signed with the key {old.key_id}, retired by checkpoint 2"

    outside = finding_texts(verify_log(store, public_keys=keys.public, against=[late]))
    missing = f"checkpoint 3: is kept outside the store, but missing in it; {RESTORE_REMEDY}"
    assert outside == [missing, retired]
    store.add_checkpoint(late)
    assert finding_texts(verify_log(store, public_keys=keys.public)) == [retired]


def test_independent_trusted_keys_may_alternate(tmp_path: Path) -> None:
    store, states = MemoryStore(), [tmp_path / "one", tmp_path / "two"]
    servers = [CheckpointSigner(store, open_keys(state), state) for state in states]
    for number in range(4):
        servers[number % 2].create_checkpoint(at=number)
    keys = {**open_keys(states[0]).public, **open_keys(states[1]).public}
    assert verify_log(store, public_keys=keys).is_sound


def test_external_checkpoint_from_before_a_rotation_is_trusted(
    tmp_path: Path,
) -> None:
    store = MemoryStore()
    first = CheckpointSigner(store, open_keys(tmp_path), tmp_path).create_checkpoint(at=1)
    CheckpointSigner(store, keys := rotate_signing_key(tmp_path), tmp_path).create_checkpoint(at=2)
    tamper(store, "DELETE FROM checkpoints WHERE number = 1")

    assert finding_texts(verify_log(store, public_keys=keys.public, against=[first])) == [
        "checkpoint 2: is the first",
        "checkpoint 1: is kept outside the store, but missing in it",
    ]


def test_signed_head_missing_from_the_stream_is_found(house: House) -> None:
    *before, third = house.made
    heads = decode_checkpoint(third).heads | {"table/1": (12, "0" * 64), "table/9": (2, "0" * 64)}
    other = sign_checkpoint(house.keys, changed(third, heads=heads))
    assert house.with_checkpoints([*before, other]) == [
        "table/1 versions 9 to 12: differs from checkpoint 3",
        "table/9 versions 1 to 2: missing, and signed in checkpoint 3",
    ]


def test_checkpoints_link_to_their_predecessors(house: House) -> None:
    first, second, third = house.made
    assert [decode_checkpoint(each).previous for each in house.made[1:]] == [
        link_hash(first),
        link_hash(second),
    ]
    assert decode_checkpoint(third).number == 3
