"""The compiled monitor equals the plain one, and the study reads its alarms correctly."""

from __future__ import annotations

from dataclasses import replace
from math import exp, inf, log
from typing import Any

import numpy as np
import pytest

from threedice.dice import ROLLS, Roll
from threedice.dice_monitor import DiceMonitor
from threedice.errors import InvalidInput
from threedice.sim.dice_monitor_study import (
    REPLACE,
    LoadedDie,
    SetAlarms,
    SetLives,
    StudySize,
    changes,
    fair_runs,
    false_alarm_batches,
    searches,
    watch,
)
from threedice.sim.estimates import estimate_proportion_exactly
from threedice.sim.jobs import generator_key
from threedice.sim.kernels.compiler import compile_inline, link
from threedice.sim.kernels.dice_monitor import CHANGE, LOADING_STREAM
from threedice.sim.kernels.generator import (
    ROLLS_PER_BLOCK,
    draw_block,
    first_roll,
    philox,
    shift_to_next_roll,
)

COLOURS = ("red", "green", "blue")
LOADED = (LoadedDie(6, 0.5), LoadedDie(2, 0.9, opposite_loses=True))


quick_block: Any = compile_inline(link(draw_block, compile_inline, {}))
quick_philox: Any = compile_inline(link(philox, compile_inline, {}))


def plain_rolls(setup: SetLives, life: int) -> list[Roll]:
    """Return the rolls of a life, drawn and loaded in plain Python."""
    rolls: list[Roll] = []
    keys = generator_key(setup.seed)
    for block in range(-(-setup.rounds // ROLLS_PER_BLOCK)):
        for first in quick_block(np.uint32(block), np.uint64(life), np.uint32(0), *keys):
            word = first
            for _ in range(3):
                rolls.append(ROLLS[int(first_roll(word))])
                word = shift_to_next_roll(word)
    return [
        plain_load(setup, life, place, roll) for place, roll in enumerate(rolls[: setup.rounds])
    ]


def plain_load(setup: SetLives, life: int, place: int, roll: Roll) -> Roll:
    if place < setup.loaded_after:
        return roll
    counter = np.uint32(place), np.uint32(life), np.uint32(0), LOADING_STREAM
    words = quick_philox(*counter, *generator_key(setup.seed))
    faces = list(roll)
    for die, load in enumerate(setup.loads):
        share = load.excess if load.opposite_loses else load.excess / 5
        is_replaced = not load.opposite_loses or faces[die] == 7 - load.face
        if is_replaced and int(words[die]) < round(share * 2**32):
            faces[die] = load.face
    return faces[0], faces[1], faces[2]


def assert_equal_to_plain(setup: SetLives) -> int:
    """Compare every life with plain Python; return the number of alarms."""
    seen = watch(setup, threads=1)
    dice = COLOURS if setup.by_die else ()
    for life in range(setup.lives):
        monitor = DiceMonitor.start(dice)
        for roll in plain_rolls(setup, life):
            monitor = monitor.update(roll, dice)
            if monitor.crossed[REPLACE] and monitor.changed:
                break
        assert tuple(seen.alarms[life]) == (*monitor.crossed, monitor.changed)
        assert seen.finals[life, 0] == pytest.approx(monitor.log_evidence, abs=1e-8)
        if not monitor.changed:  # the compiled detector stops at its alarm
            assert log(seen.finals[life, 1]) == pytest.approx(monitor.log_change, abs=1e-8)
    return int(np.count_nonzero(seen.alarms))


@pytest.mark.parametrize("by_die", [False, True])
def test_compiled_monitor_of_fair_dice_equals_the_plain_one(by_die: bool) -> None:
    assert_equal_to_plain(SetLives(3, 1000, 7, by_die=by_die, detector=True))


@pytest.mark.parametrize("by_die", [False, True])
def test_compiled_monitor_of_dice_loaded_late_equals_the_plain_one(by_die: bool) -> None:
    setup = SetLives(3, 1500, 8, LOADED, 200, by_die=by_die, detector=True)

    assert assert_equal_to_plain(setup) == 12


@pytest.mark.long
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("by_die", [False, True])
def test_compiled_monitor_equals_the_plain_one_on_100_lives(by_die: bool) -> None:
    fair = SetLives(50, 20_000, 9, by_die=by_die, detector=True)
    loaded = replace(fair, loads=(LoadedDie(3, 0.1),) * 3, loaded_after=3000, seed=10)

    assert_equal_to_plain(fair)
    assert assert_equal_to_plain(loaded) > 100


def test_lives_do_not_depend_on_the_number_of_threads_or_lives() -> None:
    setup = SetLives(6, 700_000, 5, evidence=False, detector=True)

    one, many = watch(setup, threads=1), watch(replace(setup, lives=4), threads=3)

    assert np.array_equal(one.finals[:4], many.finals)


def test_evidence_and_detector_do_not_change_each_other() -> None:
    setup = SetLives(20, 2000, 3, LOADED)

    evidence, detector = watch(setup), watch(replace(setup, evidence=False, detector=True))
    both = watch(replace(setup, detector=True))

    assert np.array_equal(both.alarms[:, :CHANGE], evidence.alarms[:, :CHANGE])
    assert np.array_equal(both.alarms[:, CHANGE], detector.alarms[:, CHANGE])


def test_loaded_dice_show_their_face_as_often_as_they_are_loaded() -> None:
    setup = SetLives(1, 24_000, 4, LOADED)
    rolls = plain_rolls(setup, 0)

    shares = [sum(roll[die] == face for roll in rolls) / 24_000 for die, face in
              ((0, 6), (0, 1), (1, 2), (1, 5), (1, 1), (2, 6))]  # fmt: skip

    expected = [1.5 / 6, 0.9 / 6, 1.9 / 6, 0.1 / 6, 1 / 6, 1 / 6]
    assert shares == pytest.approx(expected, abs=5 * (0.25 / 24_000) ** 0.5)


def seen_alarms(column: list[int], rounds: int = 1000, loaded_after: int = 0) -> SetAlarms:
    alarms = np.zeros((len(column), CHANGE + 1), np.int64)
    alarms[:, CHANGE] = column
    setup = SetLives(len(column), rounds, loads=(LoadedDie(6, 0.1),), loaded_after=loaded_after)
    return SetAlarms(setup, alarms, np.zeros((len(column), 2)))


def test_delays_count_from_the_loading_and_a_missing_alarm_is_infinite() -> None:
    seen = seen_alarms([0, 90, 110, 150, 120], loaded_after=100)

    assert seen.delays(CHANGE, (0.0, 0.5, 1.0)) == [10, 50, inf]


def test_run_length_divides_all_rounds_by_the_alarms() -> None:
    mean, low, high = seen_alarms([0, 500, 0, 0]).run_length()

    assert mean == pytest.approx(3500)
    assert 0 < low < mean < high
    assert seen_alarms([0]).run_length()[0] == inf


def test_false_alarms_have_an_exact_interval() -> None:
    assert seen_alarms([0, 0, 7, 0]).false_alarms(CHANGE) == estimate_proportion_exactly(1, 4)


@pytest.mark.parametrize(
    "setup",
    [
        SetLives(0, 10),
        SetLives(1, 0),
        SetLives(1, 10**6 + 1),
        SetLives(1, 10, loads=(LoadedDie(1, 0.1),) * 4),
        SetLives(1, 10, loads=(LoadedDie(1, 1.5),)),
        SetLives(1, 10, seed=-1),
    ],
)
def test_impossible_lives_are_refused(setup: SetLives) -> None:
    with pytest.raises(InvalidInput):
        watch(setup)


def test_small_study_finds_loaded_dice_and_few_fair_ones() -> None:
    size = StudySize(2, 50, 500, searches=50, search_rounds=6000, runs=2, run_rounds=20_000)

    fair, found = false_alarm_batches(size), dict(searches(size))

    assert sum(int(np.count_nonzero(batch.alarms[:, REPLACE])) for batch in fair) == 0
    three, one = found["three dice +20%, pooled"], found["one die +20%, by colour"]
    assert three.delays(REPLACE)[1] < one.delays(REPLACE)[1] < inf
    assert fair_runs(size).finals[0, 1] > 0
    assert all(each.setup.loaded_after == 5000 for _, each in changes(size))


@pytest.mark.parametrize(("count", "trials"), [(0, 10), (3, 10), (10, 10), (23, 20_000)])
def test_exact_interval_ends_where_the_tails_have_a_fortieth(count: int, trials: int) -> None:
    estimate = estimate_proportion_exactly(count, trials)

    if count:
        assert upper_tail(count, trials, estimate.low) == pytest.approx(0.025)
    if count < trials:
        missed = upper_tail(count + 1, trials, estimate.high)
        assert 1 - missed == pytest.approx(0.025)
    assert estimate.low <= estimate.value <= estimate.high


def upper_tail(count: int, trials: int, probability: float) -> float:
    """Return the probability of at least so many successes, adding terms one after another."""
    term = exp(trials * log(1 - probability))
    below = 0.0
    for k in range(count):
        below += term
        term *= (trials - k) / (k + 1) * probability / (1 - probability)
    return 1 - below
