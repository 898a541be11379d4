"""Measure the dice monitor: false alarms, rounds to find loaded dice, delays after a change.

Run it with `python benchmarks/dice_monitor.py`; it needs the extra `sim`, and takes some minutes.
The exit code is 1 if the evidence of fair dice reaches 1000 in more than one of a thousand lives,
or if loaded dice are found later than they must be.
"""

from __future__ import annotations

import argparse
import random
import sys
from time import process_time
from typing import TYPE_CHECKING

from threedice.dice_monitor import CHANGE_THRESHOLD, LEVELS, DiceMonitor
from threedice.sim.dice_monitor_study import (
    MAX_MEDIAN_ROUNDS,
    REPLACE,
    StudySize,
    changes,
    fair_runs,
    false_alarm_batches,
    searches,
)
from threedice.sim.estimates import estimate_proportion_exactly
from threedice.sim.kernels.dice_monitor import CHANGE

if TYPE_CHECKING:
    from collections.abc import Iterator


def check_false_alarms(size: StudySize) -> Iterator[str]:
    """Print the false alarms of fair dice, and yield the musts that are not met."""
    batches = false_alarm_batches(size)
    lives = size.lives * size.batches
    print(f"fair dice, {lives:,} lives of {size.rounds:,} rounds, exact 95 % intervals:")
    for column, level in enumerate(LEVELS):
        raised = [int((batch.alarms[:, column] > 0).sum()) for batch in batches]
        rate = estimate_proportion_exactly(sum(raised), lives)
        print(
            f"  {level.name}, {level.evidence}: {rate.value:.6f} ({rate.low:.6f} to"
            f" {rate.high:.6f}), at most {1 / level.evidence:.6f}; by batch: {raised}"
        )
        if rate.value > 1 / level.evidence:
            yield f"fair dice reach {level.evidence} in {rate.value:.6f} of their lives"


def check_searches(size: StudySize) -> Iterator[str]:
    """Print the rounds to find loaded dice, and yield the musts that are not met."""
    print(f"rounds until the evidence reaches {LEVELS[REPLACE].evidence}: 10 %, median, 90 %:")
    for name, found in searches(size):
        low, median, high = found.delays(REPLACE)
        print(
            f"  {name}: {low:,.0f}, {median:,.0f}, {high:,.0f} ({found.setup.lives:,} lives)",
            flush=True,
        )
        most = MAX_MEDIAN_ROUNDS.get(found.setup.loads[0].excess)
        is_must = len(found.setup.loads) == 3 and not found.setup.by_die
        plain = not found.setup.loads[0].opposite_loses
        if most and is_must and plain and median > most:
            yield f"{name} are found in {median:,.0f} rounds, not {most:,}"


def print_detector(size: StudySize) -> None:
    """Print the run length of the detector under fair dice, and its delays after a change."""
    runs = fair_runs(size)
    mean, low, high = runs.run_length()
    alarms = int((runs.alarms[:, CHANGE] > 0).sum())
    print(
        f"detector under fair dice, {size.runs} runs of up to {size.run_rounds:,} rounds: {alarms}"
        f" alarms, {mean:.3g} rounds per alarm ({low:.3g} to {high:.3g}); at least"
        f" {CHANGE_THRESHOLD:.3g} by the theorem"
    )
    print("rounds from a change after round 5,000 to the alarm, 10 %, median, 90 %:")
    for name, found in changes(size):
        for what, column in (("detector", CHANGE), ("evidence 1000", REPLACE)):
            low, median, high = found.delays(column)
            print(f"  {name}, {what}: {low:,.0f}, {median:,.0f}, {high:,.0f}")


def print_cost(rounds: int = 2000) -> None:
    """Print the time of a round in plain Python."""
    dice = random.Random(1)
    for colours in ((), ("red", "green", "blue")):
        rolls = [
            (dice.randint(1, 6), dice.randint(1, 6), dice.randint(1, 6)) for _ in range(rounds)
        ]
        monitor, start = DiceMonitor.start(colours), process_time()
        for roll in rolls:
            monitor = monitor.update(roll, colours)
        micros = (process_time() - start) / rounds * 1e6
        print(f"a round in plain Python, {'by colour' if colours else 'pooled'}: {micros:.0f} us")


def main() -> int:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = StudySize()
    parser.add_argument("--batches", type=int, default=default.batches, help="of fair lives")
    parser.add_argument("--lives", type=int, default=default.lives, help="in a batch")
    parser.add_argument("--searches", type=int, default=default.searches, help="of each kind")
    parser.add_argument("--runs", type=int, default=default.runs, help="of the detector")
    parser.add_argument("--seed", type=int, default=default.seed)
    size = StudySize(**vars(parser.parse_args()))
    print_cost()
    missed = [*check_false_alarms(size), *check_searches(size)]
    print_detector(size)
    for each in missed:
        print(f"missed: {each}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
