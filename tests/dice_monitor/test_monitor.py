"""The monitor of a dice set: levels that stand, dice told apart, the detector of changes."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threedice.dice import FACES, ROLLS, Roll
from threedice.dice_monitor import CHANGE_THRESHOLD, LEVELS, DiceMonitor
from threedice.dice_monitor.detector import NO_ROUNDS, advance
from threedice.dice_monitor.mixture import TARGETS, log_mean
from threedice.errors import InvalidInput

COLOURS = ("red", "green", "blue")
FIVE = ("a", "b", "c", "d", "e")
rolls = st.lists(st.sampled_from(ROLLS), max_size=20)


def after(seen: list[Roll], dice: tuple[str, ...] = ()) -> DiceMonitor:
    monitor = DiceMonitor.start(dice)
    for roll in seen:
        monitor = monitor.update(roll, dice[:3])
    return monitor


def exact_detector(seen: tuple[tuple[int, ...], ...]) -> Fraction:
    """Return the detector after some rounds as a fraction, start by start."""
    total = Fraction(0)
    for target in TARGETS:
        for start in range(len(seen)):
            ratio = Fraction(1)
            for face in (face for faces in seen[start:] for face in faces):
                ratio *= target[face - 1]
            total += ratio
    return total / len(TARGETS)


def test_new_set_has_evidence_one_and_no_alarm() -> None:
    monitor = DiceMonitor.start()

    assert (monitor.log_evidence, monitor.level, monitor.changed) == (0.0, None, 0)


@given(rolls)
def test_evidence_of_dice_told_apart_is_the_mean_of_all_and_each(seen: list[Roll]) -> None:
    monitor = after(seen, COLOURS)

    alone = [
        after(seen).log_evidence,
        *(track.evidence.log_total for track in monitor.tracks[1:]),
    ]

    assert monitor.log_evidence == pytest.approx(log_mean(alone) if seen else 0.0, abs=1e-12)
    assert [track.evidence.counts for track in monitor.tracks[1:]] == [
        tuple([roll[die] for roll in seen].count(face) for face in FACES) for die in range(3)
    ]


def test_alarm_stands_when_the_evidence_falls_again() -> None:
    loaded = after([(6, 6, 6)] * 5)
    level = loaded.level

    later = loaded
    for _ in range(100):
        later = later.update((1, 2, 3)).update((4, 5, 6))

    assert level is not None
    assert later.log_evidence < log(level.evidence)
    assert (later.level, later.crossed) == (level, loaded.crossed)


def test_levels_are_reached_at_their_evidence() -> None:
    monitor = DiceMonitor.start()
    reached: dict[str, float] = {}
    for number in range(1, 12):
        before, monitor = monitor, monitor.update((5, 5, 5))
        for level, first in zip(LEVELS, monitor.crossed, strict=True):
            if first == number:
                reached[level.name] = level.evidence
                assert before.log_evidence < log(level.evidence) <= monitor.log_evidence

    assert reached == {"warn": 20, "inspect": 100, "replace": 1000}


def test_die_that_is_not_thrown_keeps_its_evidence() -> None:
    monitor = DiceMonitor.start(FIVE).update((6, 6, 6), ("a", "c", "e"))

    counts = [sum(track.evidence.counts) for track in monitor.tracks]

    assert counts == [3, 1, 0, 1, 0, 1]
    assert [exp(max(track.log_sums)) for track in monitor.tracks] == pytest.approx(
        [1.2**3, 1.2, 1, 1.2, 1, 1.2]
    )


@given(st.lists(st.sampled_from(ROLLS), min_size=1, max_size=6))
def test_detector_equals_its_exact_sum_over_all_starts(seen: list[Roll]) -> None:
    assert after(seen).log_change == pytest.approx(log(exact_detector(tuple(seen))), abs=1e-12)


@pytest.mark.parametrize("rounds", [1, 2])
def test_expectation_of_the_detector_under_fair_dice_is_the_number_of_rounds(rounds: int) -> None:
    single = [(face,) for face in FACES]

    total = sum(map(exact_detector, product(single, repeat=rounds)), Fraction(0))

    assert total / 6**rounds == rounds


def test_detector_raises_an_alarm_after_a_change_before_the_evidence_asks_to_inspect() -> None:
    monitor = after([(1, 2, 3), (4, 5, 6)] * 2500)
    while not monitor.changed:
        monitor = monitor.update((6, 6, 6)).update((1, 2, 3)).update((4, 5, 6))

    assert monitor.changed > 5000
    assert monitor.level in (None, LEVELS[0])
    assert monitor.log_change >= log(CHANGE_THRESHOLD)
    assert monitor.update((1, 2, 3)).changed == monitor.changed


def test_sums_of_the_detector_do_not_overflow() -> None:
    sums = NO_ROUNDS
    for _ in range(3000):
        sums = advance(sums, (6, 6, 6))

    assert max(sums) == pytest.approx(3000 * 3 * log(1.2) + log(1 / (1 - 1.2**-3)))


@pytest.mark.parametrize("dice", [("a", "b"), ("a", "b", "b"), ("a", "b", "c", "d", "e", "f")])
def test_set_of_too_few_too_many_or_equal_dice_is_refused(dice: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput, match="three to 5 different dice"):
        DiceMonitor.start(dice)


@pytest.mark.parametrize(
    ("dice", "shown_by"),
    [
        (COLOURS, ()),
        (COLOURS, ("red", "green")),
        (COLOURS, ("red", "green", "pink")),
        (COLOURS, ("red", "green", "red")),
        ((), COLOURS),
    ],
)
def test_roll_without_the_dice_of_its_set_is_refused(
    dice: tuple[str, ...], shown_by: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidInput, match="dice"):
        DiceMonitor.start(dice).update((1, 2, 3), shown_by)


def test_roll_that_three_dice_cannot_show_is_refused() -> None:
    with pytest.raises(InvalidInput, match="1 to 6"):
        DiceMonitor.start().update((1, 2, 7))
