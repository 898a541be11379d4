"""What the readings of a game are, and what each alternative would do to the house edge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from threedice.maths.figures import box_figures
from threedice.rulebook.conduct import cited
from threedice.rulebook.library import compile_layout

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from threedice.rulebook import Game
    from threedice.rulebook.source import Source

_PAYING = {"dice", "wagers", "pay_tables"}


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another way to read a clause, and the boxes whose edge it would change: (now, then)."""

    name: str
    says: str
    edges: Mapping[str, tuple[Fraction, Fraction]]


@dataclass(frozen=True, slots=True)
class ReadingInForce:
    """A question a document leaves open, the answer in force, and the other answers."""

    name: str
    clauses: tuple[str, ...]
    question: str
    choice: str
    says: str
    alternatives: tuple[Alternative, ...]


def readings_in_force(source: Source, game: Game) -> tuple[ReadingInForce, ...]:
    """Return every reading of a game with what its alternatives would change."""
    return tuple(_reading(source, game, name, choice) for name, choice in game.readings.items())


def _reading(source: Source, game: Game, name: str, choice: str) -> ReadingInForce:
    reading = source.book.readings[name]
    others = {other: option for other, option in reading.options.items() if other != choice}
    pays = any(_PAYING & option.set.keys() for option in reading.options.values())
    return ReadingInForce(
        name,
        cited(reading.clause),
        reading.question,
        choice,
        reading.options[choice].says,
        tuple(
            Alternative(other, option.says, _changes(source, game, name, other) if pays else {})
            for other, option in others.items()
        ),
    )


def _changes(
    source: Source, game: Game, name: str, other: str
) -> dict[str, tuple[Fraction, Fraction]]:
    layout = game.id.rpartition("/")[2]
    then = compile_layout(source, layout, {**game.readings, name: other})
    return {
        box.id: (box_figures(box).edge, box_figures(then.boxes[box.id]).edge)
        for box in game.boxes.values()
        if box.id in then.boxes and box.lines != then.boxes[box.id].lines
    }
