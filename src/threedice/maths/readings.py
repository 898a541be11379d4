"""What the readings of a game are, and what each alternative would do to the house edge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from threedice.maths.figures import box_figures
from threedice.rulebook.conduct import cited
from threedice.rulebook.library import COMPILED, compile_layout

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from threedice.rulebook import Box, Game
    from threedice.rulebook.source import Source


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another way to read a clause, and the boxes whose edge it would change: (now, then).

    A box that only one of the two readings offers has no edge under the other.
    """

    name: str
    says: str
    edges: Mapping[str, tuple[Fraction | None, Fraction | None]]


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
    pays = any(COMPILED & option.set.keys() for option in reading.options.values())
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
) -> dict[str, tuple[Fraction | None, Fraction | None]]:
    layout = game.id.rpartition("/")[2]
    now = game.boxes
    then = compile_layout(source, layout, {**game.readings, name: other}).boxes
    return {
        box_id: (_edge(now.get(box_id)), _edge(then.get(box_id)))
        for box_id in dict.fromkeys([*now, *then])
        if _lines(now.get(box_id)) != _lines(then.get(box_id))
    }


def _edge(box: Box | None) -> Fraction | None:
    return box_figures(box).edge if box else None


def _lines(box: Box | None) -> object:
    return (box.lines, box.throws) if box else None
