"""After an I/O fault nothing more is acknowledged, and no acknowledged write is lost."""

from __future__ import annotations

import sys
from random import Random

import pytest

from tests.faults.io_faults import WRITE_PATHS, attempt, io_faults, make_script, write_directly
from tests.faults.recorded_rounds import DISK_KINDS, DiskKind, base_databases
from tests.faults.simulated_disk import Call, Fault, FaultPlan
from tests.faults.sqlite_on_disk import LOG, open_on_disk

SEED = 20_240_607


@pytest.mark.parametrize(("way", "kind"), list(zip(WRITE_PATHS, DISK_KINDS, strict=False)), ids=str)
def test_io_fault_at_any_call_is_noticed_and_loses_no_acknowledged_write(
    way: str, kind: DiskKind, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = io_faults(way, SEED, kind, most=2 if way == "store" else 3)
    with capsys.disabled():
        sys.stdout.write(f"\nseed {SEED}, by the {way}, {kind}: {tally}\n")
    assert not tally.problems, tally.problems[:10]
    assert not tally.hidden, "writes were acknowledged after an unnoticed failure"
    assert tally.halts > 200
    assert tally.refused > tally.halts


@pytest.mark.parametrize("kind", DISK_KINDS, ids=str)
def test_write_ahead_log_left_by_a_crash_is_checkpointed_before_new_writes(
    kind: DiskKind,
) -> None:
    """The log may end within a sector, which a power cut could tear when it is written again."""
    script = make_script(base_databases()[0], kind, "store", 6, Random(SEED))
    unharmed = kind.new(script.base.image)
    with write_directly() as way:
        attempt(unharmed, script.batches, way)
        left_logs = 0
        for at, call in enumerate(unharmed.calls):
            if call is not Call.SYNC:
                continue
            disk = kind.new(script.base.image)
            disk.fault_plan = FaultPlan(Fault.BROKEN, at)
            left = attempt(disk, script.batches, way).left.copy()
            left.drop_abandoned(LOG)
            log, before = left.names.get(LOG), len(left.trace)
            if log is None or not log.content:
                continue
            with open_on_disk(left):
                done = [each.call for each in left.trace[before:] if each.file == log.number]
                done = [call for call in done if call is not Call.SYNC]
            assert done[0] is Call.TRUNCATE
            left_logs += Call.WRITE in done
    assert left_logs > 0, "no restarted server wrote to the log"
