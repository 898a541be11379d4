"""Checkpoints: when they are due, what they say, and that store and file hold the same."""

from __future__ import annotations

from threading import Barrier, Thread
from typing import TYPE_CHECKING

import pytest

from tests.log.logs import bet
from threedice.errors import Conflicted, StoreFailed, Tampered
from threedice.log.checkpoints import (
    FILE,
    Notary,
    Policy,
    decode,
    due,
    heads_signed,
    line,
    link_to,
    read_checkpoints,
    read_lines,
)
from threedice.log.entry import EMPTY, Head
from threedice.log.keys import is_signed, open_keys, rotate
from threedice.log.memory import MemoryStore
from threedice.log.store import Checkpoint

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("policy", "settled", "seconds", "expected"),
    [
        (Policy(rounds=1, seconds=None), 0, 1e6, False),
        (Policy(rounds=1, seconds=None), 1, 0, True),
        (Policy(rounds=3, seconds=None), 2, 0, False),
        (Policy(rounds=3, seconds=None), 3, 0, True),
        (Policy(rounds=None, seconds=10), 99, 9.999999, False),
        (Policy(rounds=None, seconds=10), 0, 10, True),
        (Policy(rounds=2, seconds=10), 1, 9, False),
        (Policy(rounds=2, seconds=10), 1, 10, True),
        (Policy(rounds=None, seconds=None), 99, 1e6, False),
    ],
)
def test_due_after_rounds_or_seconds(
    policy: Policy, settled: int, seconds: float, expected: bool
) -> None:
    now = 1_000_000 + round(seconds * 1_000_000)
    assert due(policy, settled=settled, last=1_000_000, now=now) is expected


def test_checkpoint_says_which_heads_there_are(tmp_path: Path) -> None:
    store, keys = MemoryStore(), open_keys(tmp_path)
    bet(store, "table/1", "cage/ann")
    made = Notary(store, keys, tmp_path).make(at=7)

    body = decode(made)
    assert (body.number, body.at, body.previous, body.full) == (1, 7, "0" * 64, True)
    assert heads_signed([made]) == store.heads()
    assert is_signed(keys.public[made.key_id], made.body, made.signature)
    assert store.checkpoints() == [made] == read_checkpoints(tmp_path / FILE)


def test_each_holds_on_to_the_one_before(tmp_path: Path) -> None:
    store = MemoryStore()
    notary = Notary(store, open_keys(tmp_path), tmp_path)
    first, second = notary.make(at=1), notary.make(at=2)

    assert decode(second).previous == link_to(first)
    assert decode(second).number == 2


def test_only_moved_heads_are_said_between_full_ones(tmp_path: Path) -> None:
    store = MemoryStore()
    for number in range(10):
        bet(store, f"table/{number}")
    notary = Notary(store, open_keys(tmp_path), tmp_path)
    bodies, seen = [], []
    for number in range(25):
        bet(store, f"table/{number % 10}")
        bodies.append(decode(notary.make(at=number)))
        seen.append(store.heads())

    made = store.checkpoints()
    assert [heads_signed(made[: number + 1]) for number in range(len(made))] == seen
    assert [number for number, body in enumerate(bodies) if body.full] == [0, 10, 20]
    assert all(len(body.heads) == 1 for body in bodies if not body.full)


def test_restart_goes_on_from_the_last(tmp_path: Path) -> None:
    store, keys = MemoryStore(), open_keys(tmp_path)
    last = Notary(store, keys, tmp_path).make(at=1)
    bet(store, "table/1")
    made = Notary(store, keys, tmp_path).make(at=2)

    assert decode(made).previous == link_to(last)
    assert read_checkpoints(tmp_path / FILE) == [last, made] == store.checkpoints()


def test_rotated_key_signs_the_next_one(tmp_path: Path) -> None:
    store = MemoryStore()
    notary = Notary(store, open_keys(tmp_path), tmp_path)
    first = notary.make(at=1)
    new = rotate(tmp_path)
    notary.use(new)
    second = notary.make(at=2)

    assert (first.key_id, second.key_id) == (decode(first).key_id, new.key_id)
    assert is_signed(new.public[second.key_id], second.body, second.signature)
    assert is_signed(new.public[first.key_id], first.body, first.signature)


def test_hash_of_a_checkpoint_covers_its_signature(tmp_path: Path) -> None:
    made = Notary(MemoryStore(), open_keys(tmp_path), tmp_path).make(at=1)
    other = Checkpoint(made.number, made.body, made.key_id, bytes(64))

    assert link_to(other) != link_to(made)


def test_what_another_server_said_is_not_said_again(tmp_path: Path) -> None:
    store = MemoryStore()
    for number in range(10):
        bet(store, f"table/{number}")
    states = [tmp_path / "one", tmp_path / "two"]
    one, two = (Notary(store, open_keys(state), state) for state in states)
    one.make(at=1)
    two.make(at=2)
    bet(store, "table/1")
    first = decode(one.make(at=3))
    bet(store, "table/2")
    second = decode(two.make(at=4))

    assert (first.full, second.full) == (False, False)
    assert (list(first.heads), list(second.heads)) == (["table/1"], ["table/2"])


def test_servers_on_one_database_do_not_collide(tmp_path: Path) -> None:
    store = MemoryStore()
    for number in range(10):
        bet(store, f"table/{number}")
    states = [tmp_path / "one", tmp_path / "two", tmp_path / "two"]
    notaries = [Notary(store, open_keys(state), state) for state in states]
    start = Barrier(len(notaries))

    def serve(notary: Notary, table: int) -> None:
        start.wait()
        for number in range(20):
            bet(store, f"table/{table}")
            notary.make(at=100 * table + number)

    threads = [Thread(target=serve, args=(each, table)) for table, each in enumerate(notaries)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    stored = store.checkpoints()
    assert [checkpoint.number for checkpoint in stored] == list(range(1, 61))
    for before, checkpoint in zip([None, *stored], stored, strict=False):
        assert decode(checkpoint).previous == link_to(before)
    assert heads_signed(stored) == store.heads()
    for notary, state in zip(notaries, states, strict=True):
        notary.make(at=99)
        assert read_checkpoints(state / FILE) == store.checkpoints()


def test_file_that_a_crash_left_behind_catches_up(tmp_path: Path) -> None:
    store, keys = MemoryStore(), open_keys(tmp_path)
    notary = Notary(store, keys, tmp_path)
    made = [notary.make(at=number) for number in range(3)]
    (tmp_path / FILE).write_bytes(line(made[0]) + line(made[1])[:20])
    assert read_checkpoints(tmp_path / FILE) == made[:1]

    Notary(store, keys, tmp_path)
    assert read_checkpoints(tmp_path / FILE) == made


def test_store_that_lost_checkpoints_is_noticed_at_the_start(tmp_path: Path) -> None:
    store, keys = MemoryStore(), open_keys(tmp_path)
    notary = Notary(store, keys, tmp_path)
    notary.make(at=1)
    notary.make(at=2)

    with pytest.raises(Tampered, match=r"checkpoint 1: .* the store has none"):
        Notary(MemoryStore(), keys, tmp_path)


def test_store_with_another_chain_is_noticed_at_the_start(tmp_path: Path) -> None:
    keys = open_keys(tmp_path)
    Notary(MemoryStore(), keys, tmp_path).make(at=1)
    (tmp_path / "other").mkdir()
    other = MemoryStore()
    Notary(other, keys, tmp_path / "other").make(at=2)

    with pytest.raises(Tampered, match=r"checkpoint 1: .* the store has another"):
        Notary(other, keys, tmp_path)


@pytest.mark.parametrize("head", [EMPTY, Head(1, bytes(32)), Head(2, bytes(32))])
def test_stream_that_went_back_is_not_signed(tmp_path: Path, head: Head) -> None:
    store = MemoryStore()
    notary = Notary(store, open_keys(tmp_path), tmp_path)
    bet(store, "table/1", entries=2)
    made = notary.make(at=1)
    store._heads["table/1"] = head

    with pytest.raises(Tampered, match=r"head of table/1: .* was signed at version 2"):
        notary.make(at=2)
    assert store.checkpoints() == [made]


@pytest.mark.parametrize("head", [EMPTY, Head(1, bytes(32)), Head(2, bytes(32))])
def test_stream_that_went_back_while_nobody_served_is_not_signed(
    tmp_path: Path, head: Head
) -> None:
    store, keys = MemoryStore(), open_keys(tmp_path)
    bet(store, "table/1", entries=2)
    notary = Notary(store, keys, tmp_path)
    notary.make(at=1)
    bet(store, "table/2")
    notary.make(at=2)
    made = store.checkpoints()
    store._heads["table/1"] = head

    with pytest.raises(Tampered, match=r"head of table/1: .* was signed at version 2"):
        Notary(store, keys, tmp_path).make(at=3)
    assert store.checkpoints() == made


@pytest.mark.parametrize("restarted", [False, True])
def test_stream_that_went_back_and_on_another_way_is_not_signed(
    tmp_path: Path, restarted: bool
) -> None:
    store, keys = MemoryStore(), open_keys(tmp_path)
    bet(store, "table/1", entries=2)
    notary = Notary(store, keys, tmp_path)
    notary.make(at=1)
    made = store.checkpoints()
    other = MemoryStore()
    for _ in range(3):
        bet(other, "table/1")
    store._entries["table/1"] = list(other.scan("table/1"))
    store._heads["table/1"] = other.head("table/1")

    with pytest.raises(Tampered, match="table/1 version 2: is not what was signed"):
        (Notary(store, keys, tmp_path) if restarted else notary).make(at=2)
    assert store.checkpoints() == made


def test_first_checkpoint_after_a_restart_holds_all_heads(tmp_path: Path) -> None:
    store, keys = MemoryStore(), open_keys(tmp_path)
    for number in range(5):
        bet(store, f"table/{number}")
    Notary(store, keys, tmp_path).make(at=1)
    bet(store, "table/1")
    made = Notary(store, keys, tmp_path).make(at=2)

    assert decode(made).full
    assert heads_signed([made]) == store.heads()


def test_retired_key_signs_nothing_more(tmp_path: Path) -> None:
    store, old = MemoryStore(), open_keys(tmp_path)
    serving = Notary(store, old, tmp_path)
    serving.make(at=1)
    new = rotate(tmp_path)
    started = Notary(store, old, tmp_path)  # its key was read just before the rotation
    assert started.make(at=2).key_id == new.key_id
    assert serving.make(at=3).key_id == new.key_id


def test_file_changed_while_serving_is_noticed(tmp_path: Path) -> None:
    store = MemoryStore()
    notary = Notary(store, open_keys(tmp_path), tmp_path)
    made = notary.make(at=1)
    (tmp_path / FILE).write_bytes(line(Checkpoint(1, b"{}", made.key_id, made.signature)))

    with pytest.raises(Tampered, match="checkpoint 1"):
        notary.make(at=2)


def test_line_removed_from_the_file_is_noticed(tmp_path: Path) -> None:
    store, keys = MemoryStore(), open_keys(tmp_path)
    notary = Notary(store, keys, tmp_path)
    made = [notary.make(at=number) for number in range(3)]
    (tmp_path / FILE).write_bytes(line(made[0]) + line(made[2]))

    with pytest.raises(Tampered, match="checkpoint 2: is no longer in"):
        Notary(store, keys, tmp_path)


def test_line_that_is_no_checkpoint_is_located(tmp_path: Path) -> None:
    file = tmp_path / FILE
    Notary(MemoryStore(), open_keys(tmp_path), tmp_path).make(at=1)
    file.write_bytes(file.read_bytes() + b"nonsense\n")

    with pytest.raises(Tampered, match=r"checkpoints\.jsonl line 2"):
        read_checkpoints(file)


@pytest.mark.parametrize("growing", [True, False])
def test_last_line_counts_though_nothing_ends_it(tmp_path: Path, growing: bool) -> None:
    store, file = MemoryStore(), tmp_path / FILE
    notary = Notary(store, open_keys(tmp_path), tmp_path)
    for at in (1, 2):
        notary.make(at=at)
    whole = file.read_bytes()
    file.write_bytes(whole.rstrip(b"\n"))
    assert read_lines(file, growing=growing) == (store.checkpoints(), [])

    file.write_bytes(whole[:-100])
    known, troubles = read_lines(file, growing=growing)
    assert known == store.checkpoints()[:1]
    assert [each.where for each in troubles] == ([] if growing else [f"{file} line 2"])


@pytest.mark.parametrize("body", [b"", b"\xff", b"{}", b'{"format": 2}'])
def test_body_that_says_nothing_is_tampered(body: bytes) -> None:
    with pytest.raises(Tampered, match="checkpoint 3: cannot be read"):
        decode(Checkpoint(3, body, "", b""))


def test_file_that_cannot_be_written_is_an_operating_failure(tmp_path: Path) -> None:
    store, keys = MemoryStore(), open_keys(tmp_path)
    notary = Notary(store, keys, tmp_path)
    (tmp_path / FILE).unlink()
    (tmp_path / FILE).mkdir()
    with pytest.raises(StoreFailed, match="cannot be written"):
        notary.make(at=1)

    (tmp_path / FILE).rmdir()
    made = notary.make(at=2)
    assert made.number == 2
    assert read_checkpoints(tmp_path / FILE) == store.checkpoints()


def test_number_that_is_always_taken_is_a_conflict(tmp_path: Path) -> None:
    class Crowded(MemoryStore):
        """Others are always quicker here."""

        def add_checkpoint(self, checkpoint: Checkpoint) -> None:
            raise Conflicted(f"there is another checkpoint {checkpoint.number} already")

    notary = Notary(Crowded(), open_keys(tmp_path), tmp_path)
    with pytest.raises(Conflicted, match="others made a checkpoint first"):
        notary.make(at=1)
