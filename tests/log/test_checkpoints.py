"""Creation of checkpoints, their chain, and their copies in the store and in the file."""

from __future__ import annotations

from threading import Barrier, Thread
from typing import TYPE_CHECKING

import pytest

from tests.log.inspection import put_entries, set_head
from tests.log.proposals import bet
from threedice.errors import StoreFailed, StreamConflict, TamperedData
from threedice.log.entry import EMPTY_HEAD, Head
from threedice.log.proof.checkpoint_files import (
    CHECKPOINTS_FILE,
    CheckpointFiles,
    encode_checkpoint_line,
    read_checkpoints,
)
from threedice.log.proof.checkpoints import (
    CheckpointSigner,
    decode_checkpoint,
    link_hash,
    signed_heads,
)
from threedice.log.proof.keys import is_valid_signature, open_keys, rotate_signing_key
from threedice.log.records import Checkpoint
from threedice.log.stores.memory import MemoryStore

if TYPE_CHECKING:
    from pathlib import Path


def test_checkpoint_signs_the_heads_of_all_streams(tmp_path: Path) -> None:
    store, keys = MemoryStore(), open_keys(tmp_path)
    bet(store, "table/1", "cage/ann")
    made = CheckpointSigner(store, keys, tmp_path).create_checkpoint(at=7)

    body = decode_checkpoint(made)
    assert (body.number, body.at, body.previous, body.full) == (1, 7, "0" * 64, True)
    assert signed_heads([made]) == store.heads()
    assert is_valid_signature(keys.public[made.key_id], made.body, made.signature)
    assert store.checkpoints() == [made] == read_checkpoints(tmp_path / CHECKPOINTS_FILE)


def test_checkpoint_holds_the_hash_of_its_predecessor(tmp_path: Path) -> None:
    store = MemoryStore()
    signer = CheckpointSigner(store, open_keys(tmp_path), tmp_path)
    first, second = signer.create_checkpoint(at=1), signer.create_checkpoint(at=2)

    assert decode_checkpoint(second).previous == link_hash(first)
    assert decode_checkpoint(second).number == 2


def test_partial_checkpoint_lists_only_changed_heads(tmp_path: Path) -> None:
    store = MemoryStore()
    for number in range(10):
        bet(store, f"table/{number}")
    signer = CheckpointSigner(store, open_keys(tmp_path), tmp_path)
    bodies, seen = [], []
    for number in range(25):
        bet(store, f"table/{number % 10}")
        bodies.append(decode_checkpoint(signer.create_checkpoint(at=number)))
        seen.append(store.heads())

    made = store.checkpoints()
    assert [signed_heads(made[: number + 1]) for number in range(len(made))] == seen
    assert [number for number, body in enumerate(bodies) if body.full] == [0, 10, 20]
    assert all(len(body.heads) == 1 for body in bodies if not body.full)


def test_checkpoint_chain_continues_after_a_restart(tmp_path: Path) -> None:
    store, keys = MemoryStore(), open_keys(tmp_path)
    last = CheckpointSigner(store, keys, tmp_path).create_checkpoint(at=1)
    bet(store, "table/1")
    made = CheckpointSigner(store, keys, tmp_path).create_checkpoint(at=2)

    assert decode_checkpoint(made).previous == link_hash(last)
    assert read_checkpoints(tmp_path / CHECKPOINTS_FILE) == [last, made] == store.checkpoints()


def test_checkpoint_after_a_rotation_is_signed_with_the_new_key(tmp_path: Path) -> None:
    store = MemoryStore()
    signer = CheckpointSigner(store, open_keys(tmp_path), tmp_path)
    first = signer.create_checkpoint(at=1)
    new = rotate_signing_key(tmp_path)
    signer.set_keys(new)
    second = signer.create_checkpoint(at=2)

    assert (first.key_id, second.key_id) == (decode_checkpoint(first).key_id, new.key_id)
    assert is_valid_signature(new.public[second.key_id], second.body, second.signature)
    assert is_valid_signature(new.public[first.key_id], first.body, first.signature)


def test_hash_of_a_checkpoint_covers_its_signature(tmp_path: Path) -> None:
    made = CheckpointSigner(MemoryStore(), open_keys(tmp_path), tmp_path).create_checkpoint(at=1)
    other = Checkpoint(made.number, made.body, made.key_id, bytes(64))

    assert link_hash(other) != link_hash(made)


def test_partial_checkpoint_omits_heads_signed_by_another_server(tmp_path: Path) -> None:
    store = MemoryStore()
    for number in range(10):
        bet(store, f"table/{number}")
    states = [tmp_path / "one", tmp_path / "two"]
    one, two = (CheckpointSigner(store, open_keys(state), state) for state in states)
    one.create_checkpoint(at=1)
    two.create_checkpoint(at=2)
    bet(store, "table/1")
    first = decode_checkpoint(one.create_checkpoint(at=3))
    bet(store, "table/2")
    second = decode_checkpoint(two.create_checkpoint(at=4))

    assert (first.full, second.full) == (False, False)
    assert (list(first.heads), list(second.heads)) == (["table/1"], ["table/2"])


def test_concurrent_servers_build_one_checkpoint_chain(tmp_path: Path) -> None:
    store = MemoryStore()
    for number in range(10):
        bet(store, f"table/{number}")
    states = [tmp_path / "one", tmp_path / "two", tmp_path / "two"]
    signers = [CheckpointSigner(store, open_keys(state), state) for state in states]
    start = Barrier(len(signers))

    def serve(signer: CheckpointSigner, table: int) -> None:
        start.wait()
        for number in range(20):
            bet(store, f"table/{table}")
            signer.create_checkpoint(at=100 * table + number)

    threads = [Thread(target=serve, args=(each, table)) for table, each in enumerate(signers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    stored = store.checkpoints()
    assert [checkpoint.number for checkpoint in stored] == list(range(1, 61))
    for before, checkpoint in zip([None, *stored], stored, strict=False):
        assert decode_checkpoint(checkpoint).previous == link_hash(before)
    assert signed_heads(stored) == store.heads()
    for signer, state in zip(signers, states, strict=True):
        signer.create_checkpoint(at=99)
        assert read_checkpoints(state / CHECKPOINTS_FILE) == store.checkpoints()


def test_checkpoint_file_behind_the_store_is_completed_at_start(tmp_path: Path) -> None:
    store, keys = MemoryStore(), open_keys(tmp_path)
    signer = CheckpointSigner(store, keys, tmp_path)
    made = [signer.create_checkpoint(at=number) for number in range(3)]
    (tmp_path / CHECKPOINTS_FILE).write_bytes(
        encode_checkpoint_line(made[0]) + encode_checkpoint_line(made[1])[:20]
    )
    assert read_checkpoints(tmp_path / CHECKPOINTS_FILE) == made[:1]

    CheckpointSigner(store, keys, tmp_path)
    assert read_checkpoints(tmp_path / CHECKPOINTS_FILE) == made


def test_store_without_the_checkpoints_of_the_file_is_refused_at_start(tmp_path: Path) -> None:
    store, keys = MemoryStore(), open_keys(tmp_path)
    signer = CheckpointSigner(store, keys, tmp_path)
    signer.create_checkpoint(at=1)
    signer.create_checkpoint(at=2)

    with pytest.raises(TamperedData, match=r"checkpoint 1: .* the store has none"):
        CheckpointSigner(MemoryStore(), keys, tmp_path)


def test_store_with_another_checkpoint_chain_is_refused_at_start(tmp_path: Path) -> None:
    keys = open_keys(tmp_path)
    CheckpointSigner(MemoryStore(), keys, tmp_path).create_checkpoint(at=1)
    (tmp_path / "other").mkdir()
    other = MemoryStore()
    CheckpointSigner(other, keys, tmp_path / "other").create_checkpoint(at=2)

    with pytest.raises(TamperedData, match=r"checkpoint 1: .* the store has another"):
        CheckpointSigner(other, keys, tmp_path)


@pytest.mark.parametrize("head", [EMPTY_HEAD, Head(1, bytes(32)), Head(2, bytes(32))])
def test_stream_behind_its_signed_head_is_not_signed(tmp_path: Path, head: Head) -> None:
    store = MemoryStore()
    signer = CheckpointSigner(store, open_keys(tmp_path), tmp_path)
    bet(store, "table/1", entries=2)
    signer.create_checkpoint(at=1)
    signed = store.head("table/1")
    set_head(store, "table/1", head)
    bet(store, "table/2")

    signer.create_checkpoint(at=2)
    assert signer.foreign.keys() == {"table/1"}
    assert signed_heads(store.checkpoints()) == {
        "table/1": signed,
        "table/2": store.head("table/2"),
    }


@pytest.mark.parametrize("head", [EMPTY_HEAD, Head(1, bytes(32)), Head(2, bytes(32))])
def test_stream_behind_its_signed_head_is_not_signed_after_a_restart(
    tmp_path: Path, head: Head
) -> None:
    store, keys = MemoryStore(), open_keys(tmp_path)
    bet(store, "table/1", entries=2)
    signer = CheckpointSigner(store, keys, tmp_path)
    signer.create_checkpoint(at=1)
    bet(store, "table/2")
    signer.create_checkpoint(at=2)
    signed = signed_heads(store.checkpoints())
    set_head(store, "table/1", head)
    store.known_heads.clear()

    again = CheckpointSigner(store, keys, tmp_path)
    again.create_checkpoint(at=3)
    assert again.foreign.keys() == {"table/1"}
    assert signed_heads(store.checkpoints()) == signed


@pytest.mark.parametrize("restarted", [False, True])
def test_rewritten_stream_is_not_signed(tmp_path: Path, restarted: bool) -> None:
    store, keys = MemoryStore(), open_keys(tmp_path)
    bet(store, "table/1", entries=2)
    signer = CheckpointSigner(store, keys, tmp_path)
    signer.create_checkpoint(at=1)
    signed = signed_heads(store.checkpoints())
    other = MemoryStore()
    for _ in range(3):
        bet(other, "table/1")
    put_entries(store, other.scan("table/1"))
    set_head(store, "table/1", other.head("table/1"))
    if restarted:
        store.known_heads.clear()
        signer = CheckpointSigner(store, keys, tmp_path)

    signer.create_checkpoint(at=2)
    assert signer.foreign.keys() == {"table/1"}
    assert signed_heads(store.checkpoints()) == signed


def test_first_checkpoint_after_a_restart_lists_all_heads(tmp_path: Path) -> None:
    store, keys = MemoryStore(), open_keys(tmp_path)
    for number in range(5):
        bet(store, f"table/{number}")
    CheckpointSigner(store, keys, tmp_path).create_checkpoint(at=1)
    bet(store, "table/1")
    made = CheckpointSigner(store, keys, tmp_path).create_checkpoint(at=2)

    assert decode_checkpoint(made).full
    assert signed_heads([made]) == store.heads()


def test_retired_key_signs_no_more_checkpoints(tmp_path: Path) -> None:
    store, old = MemoryStore(), open_keys(tmp_path)
    serving = CheckpointSigner(store, old, tmp_path)
    serving.create_checkpoint(at=1)
    new = rotate_signing_key(tmp_path)
    started = CheckpointSigner(store, old, tmp_path)  # its key was read just before the rotation
    assert started.create_checkpoint(at=2).key_id == new.key_id
    assert serving.create_checkpoint(at=3).key_id == new.key_id


def test_changed_checkpoint_file_is_detected_while_serving(tmp_path: Path) -> None:
    store = MemoryStore()
    signer = CheckpointSigner(store, open_keys(tmp_path), tmp_path)
    made = signer.create_checkpoint(at=1)
    (tmp_path / CHECKPOINTS_FILE).write_bytes(
        encode_checkpoint_line(Checkpoint(1, b"{}", made.key_id, made.signature))
    )

    with pytest.raises(TamperedData, match="checkpoint 1"):
        signer.create_checkpoint(at=2)


def test_line_removed_from_the_checkpoint_file_is_detected(tmp_path: Path) -> None:
    store, keys = MemoryStore(), open_keys(tmp_path)
    signer = CheckpointSigner(store, keys, tmp_path)
    made = [signer.create_checkpoint(at=number) for number in range(3)]
    (tmp_path / CHECKPOINTS_FILE).write_bytes(
        encode_checkpoint_line(made[0]) + encode_checkpoint_line(made[2])
    )

    with pytest.raises(TamperedData, match="checkpoint 2: is no longer in"):
        CheckpointSigner(store, keys, tmp_path)


def test_malformed_line_of_the_checkpoint_file_is_located(tmp_path: Path) -> None:
    file = tmp_path / CHECKPOINTS_FILE
    CheckpointSigner(MemoryStore(), open_keys(tmp_path), tmp_path).create_checkpoint(at=1)
    file.write_bytes(file.read_bytes() + b"nonsense\n")

    with pytest.raises(TamperedData, match=r"checkpoints\.jsonl line 2"):
        read_checkpoints(file)


@pytest.mark.parametrize("growing", [True, False])
def test_last_checkpoint_line_is_read_without_a_newline(tmp_path: Path, growing: bool) -> None:
    store, file = MemoryStore(), tmp_path / CHECKPOINTS_FILE
    signer = CheckpointSigner(store, open_keys(tmp_path), tmp_path)
    for at in (1, 2):
        signer.create_checkpoint(at=at)
    whole = file.read_bytes()
    file.write_bytes(whole.rstrip(b"\n"))
    lines = CheckpointFiles(growing=file) if growing else CheckpointFiles((file,))
    assert [each for each in lines if each] == store.checkpoints()

    file.write_bytes(whole[:-100])
    known, *malformed = lines
    assert [known] == store.checkpoints()[:1]
    assert [each.where for each in malformed if isinstance(each, TamperedData)] == (
        [] if growing else [f"{file} line 2"]
    )


@pytest.mark.parametrize("body", [b"", b"\xff", b"{}", b'{"format": 2}'])
def test_malformed_checkpoint_body_is_reported_as_tampered(body: bytes) -> None:
    with pytest.raises(TamperedData, match="checkpoint 3: cannot be read"):
        decode_checkpoint(Checkpoint(3, body, "", b""))


def test_unwritable_checkpoint_file_is_a_store_failure(tmp_path: Path) -> None:
    store, keys = MemoryStore(), open_keys(tmp_path)
    signer = CheckpointSigner(store, keys, tmp_path)
    (tmp_path / CHECKPOINTS_FILE).unlink()
    (tmp_path / CHECKPOINTS_FILE).mkdir()
    with pytest.raises(StoreFailed, match="cannot be written"):
        signer.create_checkpoint(at=1)

    (tmp_path / CHECKPOINTS_FILE).rmdir()
    made = signer.create_checkpoint(at=2)
    assert made.number == 2
    assert read_checkpoints(tmp_path / CHECKPOINTS_FILE) == store.checkpoints()


def test_checkpoint_number_taken_by_other_servers_is_a_conflict(tmp_path: Path) -> None:
    class ContendedStore(MemoryStore):
        """A store in which other servers always sign first."""

        def add_checkpoint(self, checkpoint: Checkpoint, **_: int | None) -> None:
            raise StreamConflict(f"there is another checkpoint {checkpoint.number} already")

    signer = CheckpointSigner(ContendedStore(), open_keys(tmp_path), tmp_path)
    with pytest.raises(StreamConflict, match="other servers signed a checkpoint first"):
        signer.create_checkpoint(at=1)
