"""When the disk fails, nothing is acknowledged any more and nothing acknowledged is lost."""

from __future__ import annotations

import sys
from random import Random

import pytest

from tests.faults.disk import Call, Failing, Fault
from tests.faults.disk_store import LOG, opened
from tests.faults.io_faults import WAYS, io_faults, scripted
from tests.faults.io_writing import attempt, by_store
from tests.faults.power_recording import KINDS, Kind, bases

SEED = 20_240_607


@pytest.mark.parametrize(("way", "kind"), list(zip(WAYS, KINDS, strict=False)), ids=str)
def test_no_fault_at_any_call_loses_what_was_acknowledged_or_goes_unnoticed(
    way: str, kind: Kind, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = io_faults(way, SEED, kind)
    with capsys.disabled():
        sys.stdout.write(f"\nseed {SEED}, by the {way}, {kind}: {tally}\n")
    assert not tally.problems, tally.problems[:10]
    assert not tally.hidden, "a failure went by, and more was acknowledged after it"
    assert tally.halts > 200
    assert tally.refused > tally.halts


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_log_that_a_crash_left_is_moved_into_the_file_before_it_is_written_to(
    kind: Kind,
) -> None:
    """It may end within a sector, which a power cut would tear while it is written again."""
    script = scripted(bases()[0], kind, "store", 6, Random(SEED))
    unharmed = kind.new(script.base.image)
    with by_store() as way:
        attempt(unharmed, script.batches, way)
        left_logs = 0
        for at, call in enumerate(unharmed.calls):
            if call is not Call.SYNC:
                continue
            disk = kind.new(script.base.image)
            disk.failing = Failing(Fault.BROKEN, at)
            left = attempt(disk, script.batches, way).left.copy()
            left.forget(LOG)
            log, before = left.names.get(LOG), len(left.trace)
            if log is None or not log.content:
                continue
            with opened(left):
                done = [each.call for each in left.trace[before:] if each.file == log.number]
                done = [call for call in done if call is not Call.SYNC]
            assert done[0] is Call.TRUNCATE
            left_logs += Call.WRITE in done
    assert left_logs > 0, "no server that started again wrote anything"
