"""The browser's fold of events, compared with the view of the server at every version.

Random commands run at tables of every game, seen by staff, two players and a player without a seat.
Node folds the events of each viewer as a page does, and compares the result with the server's view.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from screens.build import node

from tests.properties.watched_table import EVENTS, RUNS, plan_watched_runs
from threedice.api.routes.games import game_view

if TYPE_CHECKING:
    import pytest

SCRIPT = Path(__file__).with_name("fold_cases.mjs")


def write_cases(file: Path, runs: int) -> Counter[str]:
    """Play tables into a file of cases, and return how often each event occurred."""
    counts: Counter[str] = Counter()
    games: set[str] = set()
    with file.open("wb") as cases:
        for run in plan_watched_runs(runs):
            table = run.play(keeps_steps=True)
            if table.game.hash not in games:
                games.add(table.game.hash)
                view = game_view(table.game, run.game.rpartition("/")[0])
                cases.write(msgspec.json.encode(view) + b"\n")
            counts += table.counts
            for viewer in table.viewers:
                history = {
                    "name": viewer.name,
                    "seesAll": viewer.audience == "staff",
                    "view": viewer.first,
                    "steps": viewer.steps,
                }
                cases.write(msgspec.json.encode(history) + b"\n")
    return counts


def test_views_and_nets_computed_by_the_browser_are_those_of_the_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cases.jsonl"
    counts = write_cases(file, RUNS)
    process = subprocess.run([node(), str(SCRIPT), str(file)], capture_output=True, check=False)
    assert process.returncode == 0, process.stderr.decode()
    report = json.loads(process.stdout)
    with capsys.disabled():
        print(  # noqa: T201
            f"\n{counts.total()} events, {report['compared']} views compared, "
            f"{report['nets']} expected nets, {report['shared']} of apportioned bets"
        )
        print(", ".join(f"{name} {counts[name]}" for name in sorted(EVENTS)))  # noqa: T201
    assert report["count"] == 0, json.dumps(report["differences"], indent=1)[:6000]
    assert report["nets"] > 100
    assert report["shared"] > 0
    assert {name for name in EVENTS if not counts[name]} == set()
