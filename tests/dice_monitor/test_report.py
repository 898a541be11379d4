"""What the rolls of a set show: points to draw, levels, three sentences."""

from __future__ import annotations

import random
from math import log
from typing import TYPE_CHECKING

import pytest

from threedice.dice import ROLLS
from threedice.dice_monitor import DiceMonitor, ObservedRoll, report_on

if TYPE_CHECKING:
    from threedice.dice_monitor.report import DiceReport

COLOURS = ("red", "green", "blue")


def codes(report: DiceReport) -> list[str]:
    return [sentence.code for sentence in report.explanation]


def test_report_of_no_rolls_says_that_nothing_speaks_for_a_change() -> None:
    report = report_on([])

    assert codes(report) == ["watched", "no-level-reached", "continue"]
    assert (report.peak.round, report.peak.log10_evidence, report.is_alarming) == (0, 0.0, False)
    assert [tuple(point) for point in report.points()] == [(0, 0.0)]


def test_report_equals_the_monitor_after_the_same_rolls() -> None:
    rolls = random.Random(2).choices(ROLLS, k=50)
    monitor = DiceMonitor.start(COLOURS)
    for roll in rolls:
        monitor = monitor.update(roll, COLOURS)

    report = report_on([ObservedRoll(roll, COLOURS) for roll in rolls], COLOURS)

    assert report.monitor == monitor
    assert report.log10_evidence == pytest.approx(monitor.log_evidence / log(10))
    assert sum(report.counts[""]) == 150
    assert [sum(report.counts[name]) for name in COLOURS] == [50, 50, 50]


@pytest.mark.parametrize(
    ("rounds", "advice"), [(3, "continue"), (4, "warn"), (5, "inspect"), (6, "replace")]
)
def test_advice_follows_the_highest_level_that_was_reached(rounds: int, advice: str) -> None:
    report = report_on([(6, 6, 6)] * rounds)

    assert codes(report)[2] == advice
    assert report.is_alarming == (advice != "continue")


def test_level_sentence_names_the_highest_level_and_its_round() -> None:
    report = report_on([(6, 6, 6)] * 40)

    highest = report.crossings[-1]
    assert report.explanation[1].facts == {"evidence": 1000, "round": highest.round}


def test_advice_is_a_change_where_the_evidence_asks_for_no_inspection() -> None:
    fair, loaded = [(1, 2, 3), (4, 5, 6)], [(6, 6, 6), (1, 2, 3), (4, 5, 6)]
    report = report_on([*fair * 2500, *loaded * 75])

    assert report.is_alarming
    assert codes(report)[2] == "change"
    assert report.explanation[2].facts == {"round": report.monitor.changed}


def test_points_are_few_and_keep_start_end_highest_and_crossings() -> None:
    rolls = [*random.Random(4).choices(ROLLS, k=700), *[(6, 6, 6)] * 60]
    report = report_on(rolls)

    points = report.points(most=50)

    rounds = [point.round for point in points]
    assert rounds == sorted(set(rounds))
    assert len(points) <= 50 + 5
    assert {0, 760, report.peak.round, *(each.round for each in report.crossings)} <= set(rounds)
    assert points[-1].log10_evidence == report.log10_evidence


def test_report_says_that_single_dice_are_not_told_apart_unless_they_are() -> None:
    assert "single-die" in report_on([(1, 2, 3)]).not_shown
    assert "single-die" not in report_on([ObservedRoll((1, 2, 3), COLOURS)], COLOURS).not_shown
