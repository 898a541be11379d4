"""`threedice dice-monitor`: the evidence of rolls against fair dice, from the log or from a file.

A CSV file is read without the extra `house`, so what needs it is imported within functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from threedice.cli.arguments import (
    DatabaseOption,
    JsonOption,
    argument,
    command_group,
    load_game,
    option,
)
from threedice.cli.dice_csv import read_tallied_sets
from threedice.cli.output import print_json, print_line, print_table
from threedice.dice import FACES, FaceNames
from threedice.dice_monitor import CHANGE_THRESHOLD, LEVELS, DiceReport, ObservedRoll, report_on
from threedice.errors import InvalidInput
from threedice.extras import require_extra

commands = command_group()

NUMBERED_FACES: Final = FaceNames(("1", "2", "3", "4", "5", "6"))

SENTENCES: Final = {
    "watched": "In {rounds} rounds the evidence against fair dice is {evidence_now}; its highest"
    " was {peak}, in round {peak_round} of the set.",
    "no-level-reached": "Fair dice reach {evidence} in at most one of {evidence} sets, however"
    " long and however often they are watched, and these dice have not reached it.",
    "level-reached": "It reached {evidence} in round {round} of the set: fair dice ever do so in"
    " at most one of {evidence} sets, however long and however often they are watched.",
    "continue": "Nothing speaks for a change of dice.",
    "warn": "Watch this set more closely: the next level asks for an inspection.",
    "inspect": "Inspect the dice of this set.",
    "replace": "Replace this set and inspect its dice.",
    "change": "The dice seem to have changed during the life of the set, by the detector's alarm"
    " in round {round}: inspect them.",
}
"""The English of the sentences of a report."""

NOT_SHOWN: Final = {
    "fairness": "that the dice are fair: one face 5 % too frequent on every die takes about 13,000"
    " rounds to find",
    "cause": "the cause: the dice, the tumbler, the throw or the entry of results",
    "independence": "patterns: only how often faces come is compared, not their order or which"
    " come together",
    "single-die": "which die is loaded, because it is not recorded which die shows which face; one"
    " loaded die among three is found late",
    "records": "mistakes of the record: a roll that was called wrongly counts as called",
}
"""The English of what a report does not show."""


@dataclass(frozen=True, slots=True)
class WatchedSet:
    """A dice set to report on; `places` says where each of its rolls comes from."""

    name: str
    rolls: Sequence[ObservedRoll]
    places: Sequence[int]
    dice: tuple[str, ...] = ()
    serial: str = ""


@commands.command("dice-monitor")
def monitor_dice(
    table: Annotated[str, argument("[TABLE]", "The id of a table.")] = "",
    csv: Annotated[
        Path | None,
        option(
            "FILE",
            "Read rolls from a CSV file instead: columns die1,die2,die3 and, if wanted, set (the"
            " name of the dice set) and colours (of the three dice, such as red green blue).",
            "--csv",
        ),
    ] = None,
    game: Annotated[
        str, option("GAME", "With --csv: the game whose faces the file names.", "--game")
    ] = "",
    database: DatabaseOption = "",
    as_json: JsonOption = False,
) -> None:
    """Watch the dice of a table or a CSV file for loaded faces.

    Rolls of a table are those of its settled rounds that stand, dealt by people or by the house,
    with a report for each set of dice that was installed.
    Levels of evidence: 20 warn, 100 inspect, 1000 replace. The exit code is 1 if the dice reached
    a level or seem to have changed, 0 if not.
    """
    if bool(table) == (csv is not None):
        raise typer.BadParameter("name a table, or a file with --csv")
    if csv is None:
        if game:
            raise typer.BadParameter("--game is for --csv; a table knows its game")
        faces, sets = _read_table(table, database)
        source, place = f"table {table}", "table round"
    else:
        faces = load_game(game, None).faces if game else NUMBERED_FACES
        sets = [
            WatchedSet(name, each.rolls, each.lines, each.colours)
            for name, each in read_tallied_sets(csv, faces).items()
        ]
        source, place = str(csv), "line"
    reports = [report_on(watched.rolls, watched.dice) for watched in sets]
    if as_json:
        pairs = zip(sets, reports, strict=True)
        print_json({"source": source, "sets": [_set_json(*each, faces, place) for each in pairs]})
    else:
        for watched, report in zip(sets, reports, strict=True):
            _print_set(source, watched, report, faces, place)
    raise typer.Exit(1 if any(report.is_alarming for report in reports) else 0)


def _read_table(table: str, database: str) -> tuple[FaceNames, list[WatchedSet]]:
    """Read the dice sets of a table and the names of its faces."""
    require_extra("house", "dice-monitor TABLE")
    from threedice.cli.log import open_log, table_entries
    from threedice.house.codec import decode
    from threedice.house.events import TableEstablished
    from threedice.house.reports.dice_rolls import read_dice_sets
    from threedice.house.stream_state import GameRegistry

    with open_log(database) as store:
        established = decode(next(table_entries(store, table)))
        if not isinstance(established, TableEstablished):
            raise InvalidInput(f"the log of table {table} does not begin with its setting up")
        faces = GameRegistry(store).load_pinned(established.game_hash).faces
        sets = read_dice_sets(table_entries(store, table)).sets
    if not any(each.rolls for each in sets):
        raise InvalidInput(f"no round of table {table} has been settled yet")
    unnamed = "whole history" if len(sets) == 1 else "not registered"
    return faces, [
        WatchedSet(
            each.name or unnamed,
            [ObservedRoll(roll.faces) for roll in each.rolls],
            [roll.round for roll in each.rolls],
            serial=each.serial,
        )
        for each in sets
    ]


# --- output -------------------------------------------------------------------------------------


def _set_json(
    watched: WatchedSet, report: DiceReport, faces: FaceNames, place: str
) -> dict[str, Any]:
    key = place.replace(" ", "_")

    def alarm(number: int, **facts: object) -> dict[str, object]:
        return {**facts, "round": number, key: watched.places[number - 1]}

    changed = report.monitor.changed
    return {
        "set": watched.name,
        "serial": watched.serial,
        "rounds": report.monitor.rounds,
        "log10_evidence": report.log10_evidence,
        "highest": report.peak._asdict(),
        "levels": [
            alarm(number, level=level.name, evidence=level.evidence)
            for level, number in report.crossings
        ],
        "change": alarm(changed, threshold=CHANGE_THRESHOLD) if changed else None,
        "counts": {
            name or "all dice": dict(zip(faces.names, counts, strict=True))
            for name, counts in report.counts.items()
        },
        "explanation": [
            {"code": each.code, "facts": each.facts, "text": _sentence(each.code, each.facts)}
            for each in report.explanation
        ],
        "not_shown": [{"code": code, "text": NOT_SHOWN[code]} for code in report.not_shown],
        "points": [list(point) for point in report.points()],
    }


def _print_set(
    source: str, watched: WatchedSet, report: DiceReport, faces: FaceNames, place: str
) -> None:
    serial = watched.serial and f", serial {watched.serial}"
    print_line(f"{source}{watched.name and f', set {watched.name}'}{serial}:")
    print_line(" ".join(_sentence(each.code, each.facts) for each in report.explanation))
    rows = [
        (level.name, str(level.evidence), *_alarm_cells(number, watched))
        for level, number in zip(LEVELS, report.monitor.crossed, strict=True)
    ]
    change = ("change", str(CHANGE_THRESHOLD), *_alarm_cells(report.monitor.changed, watched))
    columns = ("alarm", "threshold", "round", place)
    print_table(columns, [*rows, change], right=(1, 2, 3), heading="Alarms")
    counts = report.counts
    names = tuple(name or "all dice" for name in counts)
    table = [
        (faces.name(face), *(str(each[face - 1]) for each in counts.values())) for face in FACES
    ]
    expected = ("expected", *(f"{sum(each) / 6:.1f}" for each in counts.values()))
    right = range(1, len(names) + 1)
    print_table(("face", *names), [*table, expected], right=right, heading="Faces")
    print_line()
    print_line("This does not show:")
    for code in report.not_shown:
        print_line(f"- {NOT_SHOWN[code]}")
    print_line()


def _alarm_cells(number: int, watched: WatchedSet) -> tuple[str, str]:
    """Return the cells of an alarm: the round of the set, and where its roll comes from."""
    return (str(number), str(watched.places[number - 1])) if number else ("-", "-")


def _sentence(code: str, facts: Any) -> str:
    shown = {name: value for name, value in facts.items() if not name.startswith("log10_")}
    if code == "watched":
        shown["evidence_now"] = format_evidence(facts["log10_evidence"])
        shown["peak"] = format_evidence(facts["log10_peak"])
    return SENTENCES[code].format_map(shown)


def format_evidence(log10_evidence: float) -> str:
    """Format evidence: as a number with three digits, or as a power of ten where that is long.

    >>> format_evidence(-0.5), format_evidence(4.5), format_evidence(12.34)
    ('0.316', '31,623', '10^12.3')
    """
    if not -3 <= log10_evidence < 6:
        return f"10^{log10_evidence:.1f}"
    evidence = 10**log10_evidence
    return f"{evidence:,.0f}" if evidence >= 1000 else f"{evidence:.3g}"
