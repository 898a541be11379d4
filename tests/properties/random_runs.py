"""The random tables of `test_table.py`, and many more of them on all cores.

`python -m tests.properties.random_runs --steps 10000000` prints how often each event and refusal
occurred. It stops at the first table that breaks an invariant: the traceback names the run, which
replays from its seed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tests.properties.random_table import GAMES_AND_READINGS, run_random_table
from threedice import Game, load
from threedice.table import events
from threedice.table.rules import TABLE_REFUSAL_TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.table.limits import LimitMode

FRACTIONAL = """
extends = "macau-sic-bo"
id = "fractional"
title = "Fractional"
[pay_tables.main.rows]
small.odds = "19 to 20"
big.odds = "11 to 10"
"""

STEPS_PER_RUN = 400
"""Long enough for a dozen rounds, short enough to read."""

MODES: tuple[LimitMode, ...] = ("refuse", "record")
EVENT_NAMES = {event.__name__ for event in events.AnyEvent.__args__}
EQUIPMENT_GAMES = ("nz-tai-sai-2008/1", "sg-rws-tai-sai-v6/e", "triple-dice/mat")
MAX_EQUIPMENT_RUNS = 1000
CHIP_GAMES = ("nz-tai-sai-2008/1", "sg-rws-tai-sai-v6/c", "triple-dice/mat")


@dataclass(frozen=True, slots=True)
class RandomRun:
    """A table for `STEPS_PER_RUN` random commands, of which a share may be about equipment."""

    game: str
    readings: dict[str, str] = field(default_factory=dict)
    mode: LimitMode = "record"
    seed: int = 0
    equipment_share: float | None = None
    chips_share: float | None = None

    def play(self) -> Counter[str]:
        """Play the table, and count its events, refusals and accepted commands."""
        game = _load(self.game, tuple(self.readings.items()))
        shares = {"equipment_share": self.equipment_share, "chips_share": self.chips_share}
        given = {name: share for name, share in shares.items() if share is not None}
        try:
            return run_random_table(game, self.mode, self.seed, STEPS_PER_RUN, **given).counts
        except BaseException as error:
            error.add_note(f"in {self}")
            raise


@cache
def _load(game: str, readings: tuple[tuple[str, str], ...]) -> Game:
    return load(game, dict(readings))


def plan_long_runs(
    name: str, readings: dict[str, str], mode: LimitMode, steps: int
) -> Iterator[RandomRun]:
    """Yield the share of a game in all long runs: more for games with rare events."""
    game = load(name, readings)
    runs = steps // (len(GAMES_AND_READINGS) * len(MODES) * STEPS_PER_RUN)
    rare = 6 if game.facts.shooter else 4 if "non-value" in game.facts.chips.kinds else 1
    rare = 3 if game.unit > 1 else rare
    for seed in range(runs * rare or 1):
        yield RandomRun(name, readings, mode, seed)


def plan_equipment_runs(name: str, steps: int) -> Iterator[RandomRun]:
    """Yield runs in which most commands are about equipment."""
    runs = steps // ((7 if load(name).facts.opening else 14) * STEPS_PER_RUN)
    for seed in range(min(runs, MAX_EQUIPMENT_RUNS) or 1):
        yield RandomRun(name, seed=seed, equipment_share=0.75)


def plan_chip_runs(name: str, steps: int) -> Iterator[RandomRun]:
    """Yield runs of tables that deal in chips."""
    for seed in range(steps // (2 * len(CHIP_GAMES) * STEPS_PER_RUN) or 1):
        yield RandomRun(name, seed=seed, equipment_share=0.02, chips_share=1.0)


def write_fractional_game(folder: Path) -> str:
    """Write the rulebook of a game whose odds need larger stakes, and return the game's name."""
    file = folder / "fractional.toml"
    file.write_text(FRACTIONAL, encoding="utf-8")
    return f"{file}/main"


def plan_all_runs(steps: int, folder: Path) -> Iterator[RandomRun]:
    """Yield the long runs of every game, and those about equipment and in chips."""
    for name, readings in [*GAMES_AND_READINGS, (write_fractional_game(folder), {})]:
        for mode in MODES:
            yield from plan_long_runs(name, readings, mode, steps)
    for name in EQUIPMENT_GAMES:
        yield from plan_equipment_runs(name, steps)
    for name in CHIP_GAMES:
        yield from plan_chip_runs(name, steps)


def describe_counts(seen: Counter[str]) -> str:
    """Return the numbers of commands, events and refusals."""
    lines = [f"{_count_commands(seen)} commands, {seen['accepted']} accepted"]
    for names in (sorted(EVENT_NAMES), sorted(TABLE_REFUSAL_TEXTS)):
        lines.append(", ".join(f"{name} {seen[name]}" for name in names))
    return "\n".join(lines)


def find_gaps(seen: Counter[str]) -> list[str]:
    """Return what occurred too rarely: accepted commands (a half), each event, each refusal."""
    commands = _count_commands(seen)
    enough = min(100, commands // 4_000)
    rare = {name for name in {*EVENT_NAMES, *TABLE_REFUSAL_TEXTS} if seen[name] < enough}
    return sorted(rare | ({"accepted"} if seen["accepted"] * 2 < commands else set()))


def _count_commands(seen: Counter[str]) -> int:
    return seen["accepted"] + seen["refused"]


def main() -> int:
    """Play all runs, one process per core."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10_000_000)
    steps = parser.parse_args().steps
    seen: Counter[str] = Counter()
    with TemporaryDirectory() as folder, ProcessPoolExecutor(os.cpu_count()) as pool:
        runs = plan_all_runs(steps, Path(folder))
        for counts in pool.map(RandomRun.play, runs, chunksize=8):
            seen.update(counts)
    gaps = find_gaps(seen)
    verdict = f"too rare: {', '.join(gaps)}" if gaps else "every invariant held"
    sys.stdout.write(f"{describe_counts(seen)}\n{verdict}\n")
    return 1 if gaps else 0


if __name__ == "__main__":
    sys.exit(main())
