"""The dice monitor of a table: the evidence against fair dice, for each set of dice.

It replays the rolls of the whole log, in the queue for history.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from litestar import Response, get

from threedice.api.context import Context, CurrentCaller
from threedice.api.http.answer_cache import Answer
from threedice.api.http.requests import TableId
from threedice.api.routes.commands import json_response
from threedice.api.routes.tables import require_table, require_table_staff
from threedice.dice_monitor import CHANGE_THRESHOLD, LEVELS, DiceReport, report_on
from threedice.dice_monitor.report import Limitation, SentenceCode
from threedice.house.reports.dice_rolls import SetRolls, read_dice_sets
from threedice.house.stream_state import table_stream
from threedice.table.commands import Die


class EvidencePointView(msgspec.Struct, frozen=True):
    """The evidence after a round of the set, as a power of ten."""

    round: int
    log10_evidence: float


class AlarmView(msgspec.Struct, frozen=True):
    """A threshold, and the round of the set and of the table in which it was reached, or 0."""

    alarm: Literal["warn", "inspect", "replace", "change"]
    threshold: int
    round: int
    table_round: int


class FaceCountsView(msgspec.Struct, frozen=True):
    """How often each of the six faces came: on all dice, or on the die that `die` names."""

    die: str
    counts: list[int]


class SentenceView(msgspec.Struct, frozen=True):
    """A sentence of the explanation, as its code and its facts."""

    code: SentenceCode
    facts: dict[str, float]


class DiceSetReport(msgspec.Struct, frozen=True):
    """The findings on the rolls of one set of dice.

    `piece` is empty for the rounds without a registered set. `levels` are the thresholds of the
    evidence, lowest first; `change` is that of the detector. `points` are for a drawing.
    """

    piece: str
    serial: str
    dice: list[Die]
    installed: bool
    rounds: int
    log10_evidence: float
    highest: EvidencePointView
    levels: list[AlarmView]
    change: AlarmView
    counts: list[FaceCountsView]
    explanation: list[SentenceView]
    not_shown: list[Limitation]
    points: list[EvidencePointView]


class DiceMonitorView(msgspec.Struct, frozen=True):
    """The reports of all sets of a table, in the order in which they first served."""

    sets: list[DiceSetReport]


@get("/api/tables/{table:str}/dice-monitor", name="watch-dice")
async def watch_dice(
    context: Context, caller: CurrentCaller, table: TableId
) -> Response[DiceMonitorView]:
    """Show the evidence against fair dice, for each set of dice of a table."""
    require_table_staff(caller, table)
    await require_table(context, table)
    answer = await context.history.run(caller.account.id, _report_on_sets, context, table)
    return json_response(answer.body)


def _report_on_sets(context: Context, table: str) -> Answer:
    """Report on the sets; the answer is cached until an event can have changed it."""
    entries = context.house.command_handler.store.scan(table_stream(table))
    sets, version = read_dice_sets(entries)
    key = ("dice-monitor", table, version)
    return context.answers.get_or_build(
        key, lambda: DiceMonitorView([_set_report(each) for each in sets])
    )


def _set_report(dice_set: SetRolls) -> DiceSetReport:
    report = report_on(roll.faces for roll in dice_set.rolls)
    monitor = report.monitor
    return DiceSetReport(
        piece=dice_set.name,
        serial=dice_set.serial,
        dice=list(dice_set.dice),
        installed=dice_set.installed,
        rounds=monitor.rounds,
        log10_evidence=report.log10_evidence,
        highest=EvidencePointView(*report.peak),
        levels=[
            AlarmView(level.name, level.evidence, number, _table_round(dice_set, number))
            for level, number in zip(LEVELS, monitor.crossed, strict=True)
        ],
        change=AlarmView(
            "change", CHANGE_THRESHOLD, monitor.changed, _table_round(dice_set, monitor.changed)
        ),
        counts=[FaceCountsView(die, list(counts)) for die, counts in report.counts.items()],
        explanation=_sentences(report),
        not_shown=list(report.not_shown),
        points=[EvidencePointView(*point) for point in report.points()],
    )


def _table_round(dice_set: SetRolls, number: int) -> int:
    return dice_set.rolls[number - 1].round if number else 0


def _sentences(report: DiceReport) -> list[SentenceView]:
    return [SentenceView(each.code, dict(each.facts)) for each in report.explanation]
