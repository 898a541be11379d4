"""The simulated disk can lose unsynced data, and the store loses no acknowledged proposal on it."""

from __future__ import annotations

import sys
from random import Random

import pytest

from tests.faults.power_cuts import every_moment, power_cuts
from tests.faults.recorded_rounds import DISK_KINDS, DiskKind, base_databases, record
from tests.faults.simulated_disk import Disk, DiskFailed, Fault, FaultPlan
from tests.faults.sqlite_on_disk import open_on_disk

SEED = 20_240_607
OLD, NEW = b"old" * 700, b"new" * 700


def overwritten_disk(kind: DiskKind, *, synced: bool) -> Disk:
    """Return a disk whose only file was overwritten."""
    disk = kind.new({"file": OLD})
    file = disk.open("file")
    disk.write(file, 0, NEW)
    if synced:
        disk.sync(file)
    return disk


def surviving_contents(disk: Disk, cuts: int = 200) -> set[bytes | None]:
    """Return the contents of the file after power cuts."""
    random = Random(SEED)
    return {disk.cut(random).image.get("file") for _ in range(cuts)}


# --- the disk -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", DISK_KINDS, ids=str)
def test_synced_data_survives_every_power_cut(kind: DiskKind) -> None:
    assert surviving_contents(overwritten_disk(kind, synced=True)) == {NEW}


@pytest.mark.parametrize("kind", DISK_KINDS, ids=str)
def test_unsynced_data_is_kept_lost_or_torn(kind: DiskKind) -> None:
    assert surviving_contents(overwritten_disk(kind, synced=False)) > {OLD, NEW}


def test_unsynced_sectors_reach_the_disk_in_any_order() -> None:
    first, second = (slice(512 * number, 512 * number + 512) for number in (0, 1))
    states = {
        (image[first] == NEW[first], image[second] == NEW[second])
        for image in surviving_contents(overwritten_disk(DiskKind(512, True), synced=False))
        if image is not None
    }
    assert states == {(False, False), (False, True), (True, False), (True, True)}


@pytest.mark.parametrize("kind", DISK_KINDS, ids=str)
def test_neighbouring_bytes_change_only_without_powersafe_overwrite(kind: DiskKind) -> None:
    disk = kind.new({"file": OLD})
    disk.write(disk.open("file"), 100, b"x" * 50)
    spared = all(
        image and image[:100] + image[150:] == OLD[:100] + OLD[150:]
        for image in surviving_contents(disk)
    )
    assert spared == kind.powersafe


def test_file_names_become_durable_when_a_new_file_is_synced() -> None:
    disk = Disk({"file": OLD})
    disk.delete("file", durably=False)
    assert surviving_contents(disk) == {OLD, None}
    other = disk.open("other")
    disk.write(other, 0, b"here")
    disk.sync(other)
    assert surviving_contents(disk) == {None}
    assert disk.cut(Random(SEED)).image == {"other": b"here"}


def test_truncation_can_be_lost_until_it_is_synced() -> None:
    disk = Disk({"file": OLD})
    file = disk.open("file")
    disk.truncate(file, 10)
    assert surviving_contents(disk) == {OLD, OLD[:10]}
    disk.sync(file)
    assert surviving_contents(disk) == {OLD[:10]}


def test_data_of_a_failed_sync_is_not_made_durable_by_a_later_sync() -> None:
    disk = overwritten_disk(DiskKind(512, True), synced=False)
    file = disk.open("file")
    disk.fault_plan = FaultPlan(Fault.UNSYNCED, len(disk.calls))
    with pytest.raises(DiskFailed):
        disk.sync(file)
    disk.sync(file)
    assert disk.image() == {"file": NEW}
    assert OLD in surviving_contents(disk)
    disk.write(file, 0, NEW)
    disk.sync(file)
    assert surviving_contents(disk) == {NEW}


def test_replayed_recording_leaves_the_same_disk() -> None:
    base = base_databases()[0]
    disk = Disk(base.image)
    steps = base.generator.fork(Random(SEED)).round()
    recording = record(base, disk, steps, level="FULL", checkpoint_every=60)
    again = DiskKind(4096, True).replayed(base.image, recording.trace)
    assert again.image() == disk.image()
    assert again.cut(Random(SEED)) == disk.cut(Random(SEED))


# --- the store on the disk ----------------------------------------------------------------------


def test_power_cuts_lose_no_acknowledged_proposal(capsys: pytest.CaptureFixture[str]) -> None:
    tally = power_cuts(2000, SEED)
    with capsys.disabled():
        sys.stdout.write(f"\nseed {SEED}: {tally}\n")
    assert not tally.problems, tally.problems[:10]
    assert min(tally.dropped, tally.torn, tally.reordered, tally.twice) > 100
    assert min(tally.present, tally.absent) > 50


def test_power_cut_at_any_operation_loses_no_acknowledged_proposal() -> None:
    tally = every_moment(1, SEED)
    assert not tally.problems, tally.problems[:10]
    assert tally.rounds == len(base_databases())


def test_syncing_only_at_checkpoints_loses_acknowledged_proposals() -> None:
    tally = power_cuts(150, SEED, level="NORMAL")
    assert tally.lost > 0
    assert tally.damaged == 0


def test_never_syncing_loses_proposals_and_damages_databases() -> None:
    tally = power_cuts(150, SEED, level="OFF")
    assert tally.lost > 0
    assert tally.damaged > 0


def test_store_accepts_a_weakened_connection_as_durable() -> None:
    with open_on_disk(Disk({}), level="OFF") as store:
        assert store.heads() == {}
