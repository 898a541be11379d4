"""Read rolls that were tallied elsewhere from a CSV file, for `threedice dice-monitor --csv`."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from threedice.dice import FaceNames
from threedice.dice_monitor import ObservedRoll
from threedice.dice_monitor.monitor import MAX_DICE
from threedice.errors import InvalidInput, UnknownName

DICE_COLUMNS: Final = ("die1", "die2", "die3")
OPTIONAL_COLUMNS: Final = ("set", "colours")
_COLUMNS_HINT: Final = (
    f"the first line names the columns {','.join(DICE_COLUMNS)}"
    f" and, if wanted, {' and '.join(OPTIONAL_COLUMNS)}"
)


@dataclass(slots=True)
class TalliedSet:
    """The rolls of one dice set with the lines they stand on, and the colours of its dice."""

    rolls: list[ObservedRoll] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    colours: tuple[str, ...] = ()


def read_tallied_sets(file: Path, faces: FaceNames) -> dict[str, TalliedSet]:
    """Read the dice sets of a file by name, "" without a column for it; errors name the line."""
    sets: dict[str, TalliedSet] = {}
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, strict=True)
            columns = _read_columns(file, next(reader, []))
            for row in reader:
                where = f"{file} line {reader.line_num}"
                if len(row) != len(columns):
                    raise InvalidInput(
                        f"{where} has {len(row)} cells and needs {len(columns)}; give one roll in"
                        " each line"
                    )
                tallied = sets.setdefault(_cell(row, columns, "set"), TalliedSet())
                _add_row(tallied, row, columns, faces, where)
                tallied.lines.append(reader.line_num)
    except UnicodeDecodeError:
        raise InvalidInput(f"{file} is not text in UTF-8; export it as CSV in UTF-8") from None
    except csv.Error as error:
        raise InvalidInput(
            f"{file} line {reader.line_num}: {error}; separate columns by commas"
        ) from None
    if not sets:
        raise InvalidInput(f"{file} holds no roll; give one line for each round")
    return sets


def _read_columns(file: Path, names: list[str]) -> dict[str, int]:
    """Return the place of each column."""
    stripped = [name.strip().lower() for name in names]
    unknown = [name for name in stripped if name not in (*DICE_COLUMNS, *OPTIONAL_COLUMNS)]
    missing = [name for name in DICE_COLUMNS if name not in stripped]
    if unknown or missing or len(set(stripped)) != len(stripped):
        problem = (
            f"unknown column {unknown[0]!r}"
            if unknown
            else f"no column {missing[0]}"
            if missing
            else "a column is named twice"
        )
        raise InvalidInput(f"{file} line 1: {problem}; {_COLUMNS_HINT}")
    return {name: place for place, name in enumerate(stripped)}


def _add_row(
    tallied: TalliedSet,
    row: list[str],
    columns: dict[str, int],
    faces: FaceNames,
    where: str,
) -> None:
    try:
        roll = faces.roll(_cell(row, columns, name) for name in DICE_COLUMNS)
    except UnknownName as error:
        raise InvalidInput(
            f"{where}: {error.name!r} is not a face; give three of {', '.join(faces.names)}"
        ) from None
    colours = tuple(_cell(row, columns, "colours").lower().split())
    if tallied.rolls and bool(colours) != bool(tallied.colours):
        raise InvalidInput(
            f"{where}: some rolls of a set have colours and some have none; give them for all"
            " rolls of the set or for none"
        )
    if colours and (len(colours) != 3 or len(set(colours)) != 3):
        raise InvalidInput(
            f"{where}: the colours {' '.join(colours)!r}; give three different ones in the order"
            " of the dice, such as red green blue"
        )
    tallied.colours = tuple(dict.fromkeys((*tallied.colours, *colours)))
    if len(tallied.colours) > MAX_DICE:
        raise InvalidInput(
            f"{where}: {tallied.colours[-1]!r} is die {len(tallied.colours)} of its set, and a set"
            f" has at most {MAX_DICE}; check the spelling, or name another set"
        )
    tallied.rolls.append(ObservedRoll(roll, colours))


def _cell(row: list[str], columns: dict[str, int], name: str) -> str:
    return row[columns[name]].strip() if name in columns else ""
