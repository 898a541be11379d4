"""Measure the dice monitor: false alarms of fair dice, and how soon loaded dice are found.

`watch` plays the lives of many dice sets on all processors; life i of a seed has the same rolls
whatever the number of lives and threads. The other functions sum up what was seen.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from threedice.dice_monitor import CHANGE_THRESHOLD, LEVELS
from threedice.dice_monitor.mixture import opposite
from threedice.errors import InvalidInput
from threedice.sim.estimates import estimate_proportion_exactly
from threedice.sim.jobs import check_seed, generator_key
from threedice.sim.kernels.dice_monitor import (
    ANY_FACE,
    CHANGE,
    compiled_watch_lives,
    load_words,
    monitor_tables,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from threedice.sim.estimates import Estimate

ROUNDS_PER_TASK: Final = 2_000_000
"""Rounds of one task: a fraction of a second."""

MAX_ROUNDS: Final = 2**31
"""The most rounds of a life; the generator counts blocks of rounds in 32 bits."""

MAX_EVIDENCE_ROUNDS: Final = 1_000_000
"""The most rounds of a life with evidence, which needs tables of that size."""


@dataclass(frozen=True, slots=True)
class LoadedDie:
    """A die on which one face comes more often, by a share of 1/6.

    The other faces share the loss, or the `opposite_loses`.
    """

    face: int
    excess: float
    opposite_loses: bool = False

    def kernel_row(self) -> tuple[int, int, int]:
        """Return the row of `loads` for the kernel: faces count from 0 there."""
        replaced = opposite(self.face) - 1 if self.opposite_loses else ANY_FACE
        return self.face - 1, replaced, load_words(self.excess, opposite=self.opposite_loses)


@dataclass(frozen=True, slots=True)
class SetLives:
    """The lives of equal dice sets: how long, how loaded, and what watches them.

    `loads` are the loaded dice, the first ones of the three; the others are fair. Dice are loaded
    after the round `loaded_after`. With `by_die` it is recorded which die shows which face.
    """

    lives: int
    rounds: int
    seed: int = 1
    loads: tuple[LoadedDie, ...] = ()
    loaded_after: int = 0
    by_die: bool = False
    evidence: bool = True
    detector: bool = False


@dataclass(frozen=True, slots=True)
class SetAlarms:
    """The round of each alarm in each life, 0 for none: a column per level, then the detector."""

    setup: SetLives
    alarms: Any
    finals: Any

    def false_alarms(self, column: int) -> Estimate:
        """Estimate the probability of an alarm during a life, with an exact 95 % interval."""
        raised = int(np.count_nonzero(self.alarms[:, column]))
        return estimate_proportion_exactly(raised, self.setup.lives)

    def delays(self, column: int, shares: Sequence[float] = (0.1, 0.5, 0.9)) -> list[float]:
        """Return quantiles of the rounds from the loading of the dice to the alarm.

        Lives with an alarm before are left out; a life without one counts as infinitely long.
        """
        rounds = self.alarms[:, column]
        later = rounds[(rounds == 0) | (rounds > self.setup.loaded_after)]
        delays = np.where(later == 0, np.inf, later - self.setup.loaded_after)
        return [float(each) for each in np.quantile(delays, shares, method="higher")]

    def run_length(self) -> tuple[float, float, float]:
        """Estimate the average run length of the detector: the rounds per alarm, and 95 % bounds.

        Runs are cut off, so this takes alarms to be as likely in every round as in any other.
        """
        raised = self.alarms[:, CHANGE]
        total = int(np.where(raised == 0, self.setup.rounds, raised).sum())
        rate = estimate_proportion_exactly(int(np.count_nonzero(raised)), total)
        mean, low, high = (_inverse(each) for each in (rate.value, rate.high, rate.low))
        return mean, low, high


def _inverse(rate: float) -> float:
    return 1 / rate if rate else float("inf")


def watch(setup: SetLives, threads: int | None = None) -> SetAlarms:
    """Watch lives on all processors."""
    _check(setup)
    alarms = np.zeros((setup.lives, CHANGE + 1), np.int64)
    finals = np.zeros((setup.lives, 2))
    lives_per_task = max(1, ROUNDS_PER_TASK // setup.rounds)
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        tasks = [
            pool.submit(_watch_range, setup, first, alarms[part], finals[part])
            for first in range(0, setup.lives, lives_per_task)
            for part in [slice(first, min(first + lives_per_task, setup.lives))]
        ]
        for task in tasks:
            task.result()
    return SetAlarms(setup, alarms, finals)


def _check(setup: SetLives) -> None:
    check_seed(setup.seed)
    most = MAX_EVIDENCE_ROUNDS if setup.evidence else MAX_ROUNDS
    if setup.lives < 1 or not 1 <= setup.rounds <= most:
        raise InvalidInput(
            f"{setup.lives} lives of {setup.rounds} rounds; watch one or more, of 1 to {most:,}"
        )
    if len(setup.loads) > 3 or any(not 0 <= each.excess <= 1 for each in setup.loads):
        raise InvalidInput("load up to three dice, each by a share from 0 to 1")


def _watch_range(setup: SetLives, first: int, alarms: Any, finals: Any) -> None:
    fair = LoadedDie(1, 0.0)
    loads = [die.kernel_row() for die in (*setup.loads, fair, fair, fair)[:3]]
    loaded_after = setup.loaded_after if setup.loads else setup.rounds
    options = (setup.by_die, setup.evidence, setup.detector, loaded_after)
    tables = monitor_tables(setup.rounds if setup.evidence else 1)
    compiled_watch_lives()(
        np.uint64(first), len(alarms), setup.rounds, generator_key(setup.seed), options,
        np.array(loads, np.int64), tables, alarms, finals,
    )  # fmt: skip


# --- the study ----------------------------------------------------------------------------------

REPLACE: Final = len(LEVELS) - 1
"""Column of the level at which a set is replaced."""

MAX_MEDIAN_ROUNDS: Final = {0.2: 950, 0.1: 3400}
"""Within how many rounds three dice with a face this much too frequent must be found, in median."""


@dataclass(frozen=True, slots=True)
class StudySize:
    """Numbers of lives and runs of a study; the defaults are those of `make soak`."""

    batches: int = 10
    lives: int = 20_000
    rounds: int = 20_000
    searches: int = 20_000
    search_rounds: int = 100_000
    runs: int = 200
    run_rounds: int = CHANGE_THRESHOLD
    seed: int = 1


def false_alarm_batches(size: StudySize) -> list[SetAlarms]:
    """Watch fair dice, in batches with seeds of their own."""
    return [
        watch(SetLives(size.lives, size.rounds, size.seed + batch)) for batch in range(size.batches)
    ]


def searches(size: StudySize) -> Iterator[tuple[str, SetAlarms]]:
    """Watch loaded dice until they are found: all three dice or one, pooled and by colour."""
    for excess in (0.2, 0.1, 0.05):
        for count, name in ((3, "three dice"), (1, "one die")):
            lives = size.searches if count == 3 and excess > 0.05 else size.searches // 10
            setup = SetLives(lives, size.search_rounds, size.seed, (LoadedDie(6, excess),) * count)
            label = f"{name} +{excess:.0%}"
            yield f"{label}, pooled", watch(setup)
            yield f"{label}, by colour", watch(replace(setup, by_die=True))
    opposite_loses = (LoadedDie(6, 0.2, opposite_loses=True),) * 3
    setup = SetLives(size.searches // 10, size.search_rounds, size.seed, opposite_loses)
    yield "three dice +20%, opposite face -20%, pooled", watch(setup)


def fair_runs(size: StudySize) -> SetAlarms:
    """Watch fair dice with the detector alone, for as many rounds as its threshold."""
    return watch(SetLives(size.runs, size.run_rounds, size.seed, evidence=False, detector=True))


def changes(size: StudySize, loaded_after: int = 5000) -> Iterator[tuple[str, SetAlarms]]:
    """Watch dice that are loaded during their life, with the evidence and with the detector."""
    lives, rounds = size.searches // 10, size.search_rounds
    for count, name in ((3, "three dice"), (1, "one die")):
        for excess in (0.2, 0.1):
            loads = (LoadedDie(6, excess),) * count
            setup = SetLives(lives, rounds, size.seed, loads, loaded_after, detector=True)
            yield f"{name} +{excess:.0%}, pooled", watch(setup)
            yield f"{name} +{excess:.0%}, by colour", watch(replace(setup, by_die=True))
