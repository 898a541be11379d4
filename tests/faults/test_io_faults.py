"""When the disk fails, nothing is acknowledged any more and nothing acknowledged is lost."""

from __future__ import annotations

import sys

import pytest

from tests.faults.io_faults import WAYS, io_faults
from tests.faults.power_recording import KINDS, Kind

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
