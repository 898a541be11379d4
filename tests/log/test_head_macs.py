"""MACs of heads: which heads have a valid one, and how a database adopts the key."""

from __future__ import annotations

import hmac
import stat
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.log.proposals import bet, play
from threedice.errors import StoreUnusable
from threedice.log.entry import Head
from threedice.log.proof.checkpoints import CheckpointSigner, decode_checkpoint
from threedice.log.proof.head_macs import HeadMacs, open_head_macs, read_head_macs
from threedice.log.proof.keys import open_keys
from threedice.log.records import Snapshot
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.log.store import Store


def foreign_streams(store: Store, macs: HeadMacs) -> set[str]:
    """Return the streams whose heads have no valid MAC."""
    heads = store.heads_with_macs()
    return {name for name, (head, mac) in heads.items() if not macs.is_valid(name, head, mac)}


def adopt_empty(state_dir: Path) -> HeadMacs:
    """Let a new database adopt the key of a state directory."""
    store = MemoryStore()
    return open_head_macs(store.database, state_dir)


# --- MACs ---------------------------------------------------------------------------------------


def test_mac_is_valid_only_for_its_stream_version_hash_and_key() -> None:
    macs, head = HeadMacs(b"k" * 32), Head(7, b"h" * 32)
    mac = macs.compute("table/1", head)

    assert macs.is_valid("table/1", head, mac)
    assert not macs.is_valid("table/2", head, mac)
    assert not macs.is_valid("table/1", Head(8, head.hash), mac)
    assert not macs.is_valid("table/1", Head(7, b"i" * 32), mac)
    assert not macs.is_valid("table/1", head, b"")
    assert not HeadMacs(b"l" * 32).is_valid("table/1", head, mac)


def test_mac_is_the_hmac_of_version_hash_and_stream() -> None:
    key, head = bytes(range(32)), Head(7, b"h" * 32)
    message = (7).to_bytes(8) + head.hash + "cage/\u00e4nn".encode()
    expected = hmac.new(key, message, "sha256").digest()
    assert HeadMacs(key).compute("cage/\u00e4nn", head) == expected


def test_every_commit_writes_a_valid_mac_with_each_head_that_it_moves(
    store: Store, tmp_path: Path
) -> None:
    store.head_macs = macs = open_head_macs(store.database, tmp_path)
    play(store)

    assert foreign_streams(store, macs) == set()
    bet(store, "table/1", "cage/bob")
    assert foreign_streams(store, macs) == set()


def test_entries_written_without_the_key_leave_a_head_without_a_valid_mac(
    store: Store, tmp_path: Path
) -> None:
    macs = open_head_macs(store.database, tmp_path)
    store.head_macs = macs
    play(store)
    store.head_macs = None
    bet(store, "table/1", "cage/eve")

    assert foreign_streams(store, macs) == {"table/1", "cage/eve"}


# --- adoption -----------------------------------------------------------------------------------


def test_first_use_creates_a_private_key_and_adopts_all_present_heads(
    store: Store, tmp_path: Path
) -> None:
    play(store)

    macs = open_head_macs(store.database, tmp_path)

    assert foreign_streams(store, macs) == set()
    file = tmp_path / "keys" / "log.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.name for each in file.parent.iterdir()] == ["log.key"]
    assert open_head_macs(store.database, tmp_path).key_id == macs.key_id


def test_heads_are_adopted_only_once(store: Store, tmp_path: Path) -> None:
    macs = open_head_macs(store.database, tmp_path)
    play(store)  # without the key

    again = open_head_macs(store.database, tmp_path)

    assert foreign_streams(store, again) == {"table/1", "table/2", "cage/ann"}
    assert again.key_id == macs.key_id


def test_more_heads_than_one_statement_holds_are_adopted(tmp_path: Path) -> None:
    store = MemoryStore()
    for number in range(2100):
        bet(store, f"cage/{number}")

    assert foreign_streams(store, open_head_macs(store.database, tmp_path)) == set()


def test_adoption_that_was_interrupted_before_the_commit_starts_again(tmp_path: Path) -> None:
    store = MemoryStore()
    play(store)
    store.connection.execute(
        "CREATE TEMP TRIGGER full BEFORE UPDATE ON streams BEGIN SELECT RAISE(ABORT, 'full'); END"
    )
    with pytest.raises(Exception, match="full"):
        open_head_macs(store.database, tmp_path)
    assert read_head_macs(tmp_path) is None
    store.connection.execute("DROP TRIGGER full")

    macs = open_head_macs(store.database, tmp_path)

    assert foreign_streams(store, macs) == set()
    assert [each.name for each in (tmp_path / "keys").iterdir()] == ["log.key"]


def test_adoption_that_was_interrupted_after_the_commit_is_completed(tmp_path: Path) -> None:
    store = MemoryStore()
    macs = open_head_macs(store.database, tmp_path)
    keys = tmp_path / "keys"
    (keys / "log.key").rename(keys / f"log-{macs.key_id}.new")

    assert open_head_macs(store.database, tmp_path).key_id == macs.key_id
    assert [each.name for each in keys.iterdir()] == ["log.key"]


# --- wrong keys ---------------------------------------------------------------------------------


def test_database_whose_key_is_missing_is_refused(tmp_path: Path) -> None:
    store = MemoryStore()
    macs = open_head_macs(store.database, tmp_path)
    (tmp_path / "keys" / "log.key").unlink()

    with pytest.raises(StoreUnusable, match=rf"is missing: .* {macs.key_id}. Put it back"):
        open_head_macs(store.database, tmp_path)
    assert read_head_macs(tmp_path) is None


def test_database_with_the_key_of_another_is_refused(tmp_path: Path) -> None:
    store = MemoryStore()
    open_head_macs(store.database, tmp_path)

    adopt_empty(tmp_path / "other")
    (tmp_path / "other" / "keys" / "log.key").replace(tmp_path / "keys" / "log.key")

    with pytest.raises(
        StoreUnusable, match="put the right one back from its copy or from a backup"
    ):
        open_head_macs(store.database, tmp_path)


def test_database_with_entries_that_has_forgotten_its_key_is_refused(tmp_path: Path) -> None:
    store = MemoryStore()
    store.head_macs = open_head_macs(store.database, tmp_path)
    play(store)
    store.connection.execute("DELETE FROM meta WHERE name = 'mac-key'")

    with pytest.raises(StoreUnusable, match="its row in meta was deleted"):
        open_head_macs(store.database, tmp_path)


@pytest.mark.parametrize(
    "cover",
    [
        "DELETE FROM snapshots",
        "UPDATE streams SET mac = x''",
        "UPDATE streams SET mac = x'' WHERE stream = 'table/1'",
    ],
)
def test_database_that_had_a_key_adopts_no_other(tmp_path: Path, cover: str) -> None:
    store = MemoryStore()
    store.head_macs = open_head_macs(store.database, tmp_path)
    play(store)
    CheckpointSigner(store, open_keys(tmp_path), tmp_path).create_checkpoint(at=1)
    (tmp_path / "keys" / "log.key").unlink()
    for statement in ("DELETE FROM meta WHERE name = 'mac-key'", cover):
        store.connection.execute(statement)

    with pytest.raises(StoreUnusable, match="threedice keys replace"):
        open_head_macs(store.database, tmp_path)
    assert [each.name for each in (tmp_path / "keys").glob("log*")] == []


def test_snapshot_with_a_mac_shows_that_a_database_had_a_key(tmp_path: Path) -> None:
    store = MemoryStore()
    store.head_macs = open_head_macs(store.database, tmp_path)
    play(store)
    store.save_snapshot(Snapshot("table/1", "state", "f", store.head("table/1"), b""))
    (tmp_path / "keys" / "log.key").unlink()
    for statement in ("DELETE FROM meta WHERE name = 'mac-key'", "UPDATE streams SET mac = x''"):
        store.connection.execute(statement)

    with pytest.raises(StoreUnusable, match="threedice keys replace"):
        open_head_macs(store.database, tmp_path)


def test_checkpoints_before_the_first_key_do_not_keep_a_database_from_adopting_one(
    tmp_path: Path,
) -> None:
    store = MemoryStore()
    play(store)
    signer = CheckpointSigner(store, open_keys(tmp_path), tmp_path)
    before = signer.create_checkpoint(at=1)
    store.head_macs = macs = open_head_macs(store.database, tmp_path)
    after = signer.create_checkpoint(at=2)

    assert foreign_streams(store, macs) == set()
    assert b"log_key" not in before.body
    assert decode_checkpoint(after).log_key == macs.key_id


def test_empty_database_adopts_the_key_of_its_state_directory(tmp_path: Path) -> None:
    macs = adopt_empty(tmp_path)
    assert adopt_empty(tmp_path).key_id == macs.key_id


@pytest.mark.parametrize("damage", ["short", "readable by others"])
def test_damaged_or_exposed_key_is_refused(damage: str, tmp_path: Path) -> None:
    adopt_empty(tmp_path)
    file = tmp_path / "keys" / "log.key"
    if damage == "short":
        file.write_bytes(b"short")
    else:
        file.chmod(0o644)
    with pytest.raises(StoreUnusable, match=r"damaged|open to other users"):
        read_head_macs(tmp_path)


# --- checkpoints --------------------------------------------------------------------------------


def test_checkpoint_does_not_sign_heads_without_a_valid_mac(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "log.sqlite")
    with closing(store):
        store.head_macs = open_head_macs(store.database, tmp_path)
        play(store)
        signer = CheckpointSigner(store, open_keys(tmp_path), tmp_path)
        first = decode_checkpoint(signer.create_checkpoint(at=1))
        store.head_macs = None
        bet(store, "table/1", "cage/eve")
        store.head_macs = open_head_macs(store.database, tmp_path)
        bet(store, "table/2")

        for again in (signer, CheckpointSigner(store, open_keys(tmp_path), tmp_path)):
            body = decode_checkpoint(again.create_checkpoint(at=2))
            assert "cage/eve" not in body.heads
            assert body.heads.get("table/1", first.heads["table/1"]) == first.heads["table/1"]
            assert again.foreign.keys() == {"table/1", "cage/eve"}
        assert body.full
        assert body.heads["table/2"][0] == store.head("table/2").version
