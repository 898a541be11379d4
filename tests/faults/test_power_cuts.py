"""The simulated disk loses what it may lose, and the store loses nothing on it."""

from __future__ import annotations

import sys
from random import Random

import pytest

from tests.faults.disk import Disk, DiskFailed, Failing, Fault
from tests.faults.disk_store import opened
from tests.faults.power_cuts import every_moment, power_cuts
from tests.faults.power_recording import KINDS, Kind, bases, record

SEED = 20_240_607
OLD, NEW = b"old" * 700, b"new" * 700


def written(kind: Kind, *, synced: bool) -> Disk:
    """Return a disk whose only file was overwritten."""
    disk = kind.new({"file": OLD})
    file = disk.open("file")
    disk.write(file, 0, NEW)
    if synced:
        disk.sync(file)
    return disk


def found(disk: Disk, cuts: int = 200) -> set[bytes | None]:
    """Return what is found in the file after power cuts."""
    random = Random(SEED)
    return {disk.cut(random).image.get("file") for _ in range(cuts)}


# --- the disk -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_what_is_synced_survives_every_cut(kind: Kind) -> None:
    assert found(written(kind, synced=True)) == {NEW}


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_what_is_not_synced_is_there_or_not_or_torn(kind: Kind) -> None:
    assert found(written(kind, synced=False)) > {OLD, NEW}


def test_sectors_reach_the_disk_in_any_order() -> None:
    first, second = (slice(512 * number, 512 * number + 512) for number in (0, 1))
    states = {
        (image[first] == NEW[first], image[second] == NEW[second])
        for image in found(written(Kind(512, True), synced=False))
        if image is not None
    }
    assert states == {(False, False), (False, True), (True, False), (True, True)}


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_only_without_powersafe_overwrite_do_neighbouring_bytes_suffer(kind: Kind) -> None:
    disk = kind.new({"file": OLD})
    disk.write(disk.open("file"), 100, b"x" * 50)
    spared = all(
        image and image[:100] + image[150:] == OLD[:100] + OLD[150:] for image in found(disk)
    )
    assert spared == kind.powersafe


def test_a_new_name_and_a_removed_one_are_durable_when_a_new_file_is_synced() -> None:
    disk = Disk({"file": OLD})
    disk.delete("file", durably=False)
    assert found(disk) == {OLD, None}
    other = disk.open("other")
    disk.write(other, 0, b"here")
    disk.sync(other)
    assert found(disk) == {None}
    assert disk.cut(Random(SEED)).image == {"other": b"here"}


def test_a_truncation_may_be_undone_until_it_is_synced() -> None:
    disk = Disk({"file": OLD})
    file = disk.open("file")
    disk.truncate(file, 10)
    assert found(disk) == {OLD, OLD[:10]}
    disk.sync(file)
    assert found(disk) == {OLD[:10]}


def test_what_a_failed_sync_left_no_later_sync_makes_durable() -> None:
    disk = written(Kind(512, True), synced=False)
    file = disk.open("file")
    disk.failing = Failing(Fault.UNSYNCED, len(disk.calls))
    with pytest.raises(DiskFailed):
        disk.sync(file)
    disk.sync(file)
    assert disk.image() == {"file": NEW}
    assert OLD in found(disk)
    disk.write(file, 0, NEW)
    disk.sync(file)
    assert found(disk) == {NEW}


def test_a_recording_done_again_leaves_the_same_disk() -> None:
    base = bases()[0]
    disk = Disk(base.image)
    steps = base.play.after(Random(SEED)).round()
    recording = record(base, disk, steps, level="FULL", fold_every=60)
    again = Kind(4096, True).replayed(base.image, recording.trace)
    assert again.image() == disk.image()
    assert again.cut(Random(SEED)) == disk.cut(Random(SEED))


# --- the store on it ----------------------------------------------------------------------------


def test_nothing_acknowledged_is_lost_by_power_cuts(capsys: pytest.CaptureFixture[str]) -> None:
    tally = power_cuts(2000, SEED)
    with capsys.disabled():
        sys.stdout.write(f"\nseed {SEED}: {tally}\n")
    assert not tally.problems, tally.problems[:10]
    assert min(tally.dropped, tally.torn, tally.reordered, tally.twice) > 100
    assert min(tally.present, tally.absent) > 100


def test_nothing_is_lost_by_a_cut_at_any_operation_of_a_round() -> None:
    tally = every_moment(1, SEED)
    assert not tally.problems, tally.problems[:10]
    assert tally.rounds == len(bases())


def test_syncing_only_at_checkpoints_is_seen_to_lose_acknowledged_proposals() -> None:
    tally = power_cuts(300, SEED, level="NORMAL")
    assert tally.lost > 0
    assert tally.damaged == 0


def test_never_syncing_is_seen_to_lose_and_to_damage() -> None:
    tally = power_cuts(300, SEED, level="OFF")
    assert tally.lost > 0
    assert tally.damaged > 0


def test_the_store_takes_a_weakened_connection_for_a_durable_one() -> None:
    with opened(Disk({}), level="OFF") as store:
        assert store.heads() == {}
