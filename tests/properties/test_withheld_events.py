"""Events that a viewer of a table does not see: they change nothing that the viewer sees."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.properties.watched_table import EVENTS, RUNS, plan_watched_runs
from threedice.house.events import TableStreamEvent


@pytest.mark.no_cover  # every line is covered by other tests
def test_event_withheld_from_a_viewer_changes_nothing_in_their_view() -> None:
    withheld: Counter[str] = Counter()
    unannounced: list[str] = []
    for run in plan_watched_runs(RUNS):
        table = run.play(keeps_steps=False)
        withheld += table.withheld
        unannounced += table.unannounced

    assert unannounced[:5] == []
    may_be_withheld = {
        each.__name__ for each in TableStreamEvent.__args__ if each.audience.seen_by != "everybody"
    }
    assert may_be_withheld & EVENTS == set(withheld)
