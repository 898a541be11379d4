"""Compare games: alternative readings of one rulebook, and two rulebooks with each other.

What the readings of a game are, and what each alternative would do to the house edge.

How two games differ: in their clauses, in what they allow and pay, and in the house edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from threedice.odds.figures import box_figures
from threedice.rulebook.conduct import clause_numbers
from threedice.rulebook.game import to_plain_data
from threedice.rulebook.library import COMPILED_TABLES, compile_layout

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from fractions import Fraction

    from threedice.rulebook import Box, Game
    from threedice.rulebook.schema import Clause
    from threedice.rulebook.source import RulebookSource


@dataclass(frozen=True, slots=True)
class AlternativeReading:
    """Another way to read a clause, and the boxes whose edge it would change: (now, then).

    A box that only one of the two readings offers has no edge under the other.
    """

    name: str
    text: str
    edge_changes: Mapping[str, tuple[Fraction | None, Fraction | None]]


@dataclass(frozen=True, slots=True)
class ReadingInForce:
    """A question a document leaves open, the answer in force, and the other answers."""

    name: str
    clauses: tuple[str, ...]
    question: str
    choice: str
    text: str
    alternatives: tuple[AlternativeReading, ...]


def readings_in_force(source: RulebookSource, game: Game) -> tuple[ReadingInForce, ...]:
    """Return every reading of a game with what its alternatives would change."""
    return tuple(
        _describe_reading(source, game, name, choice) for name, choice in game.readings.items()
    )


def _describe_reading(source: RulebookSource, game: Game, name: str, choice: str) -> ReadingInForce:
    reading = source.book.readings[name]
    others = {other: option for other, option in reading.options.items() if other != choice}
    pays = any(COMPILED_TABLES & option.set.keys() for option in reading.options.values())
    return ReadingInForce(
        name,
        clause_numbers(reading.clause),
        reading.question,
        choice,
        reading.options[choice].says,
        tuple(
            AlternativeReading(
                other, option.says, _edge_changes(source, game, name, other) if pays else {}
            )
            for other, option in others.items()
        ),
    )


def _edge_changes(
    source: RulebookSource, game: Game, name: str, other: str
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


@dataclass(frozen=True, slots=True)
class RuleChange:
    """One place where two games differ; nothing stands for what one of them lacks."""

    where: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class BoxChange:
    """A box that pays differently, or is offered by one game only."""

    box: str
    before: str
    after: str
    edge_before: Fraction | None
    edge_after: Fraction | None


@dataclass(frozen=True, slots=True)
class GameDifference:
    """All differences between two games."""

    clauses: tuple[RuleChange, ...]
    behaviour: tuple[RuleChange, ...]
    boxes: tuple[BoxChange, ...]


def compare_games(
    before: Game,
    after: Game,
    clauses_before: Mapping[str, Clause],
    clauses_after: Mapping[str, Clause],
) -> GameDifference:
    """Return how the second game differs from the first."""
    return GameDifference(
        tuple(_clause_changes(clauses_before, clauses_after)),
        tuple(_rule_changes(_conduct(before), _conduct(after))),
        tuple(_box_changes(before, after)),
    )


def _clause_changes(
    clauses: Mapping[str, Clause], other: Mapping[str, Clause]
) -> Iterator[RuleChange]:
    for number in dict.fromkeys([*clauses, *other]):
        before, after = (_clause(each.get(number)) for each in (clauses, other))
        if before != after:
            yield RuleChange(number, before, after)


def _clause(clause: Clause | None) -> str:
    return f"[{clause.status}] {clause.summary}" if clause else ""


def _conduct(game: Game) -> dict[str, Any]:
    """Return what a game allows and demands as plain data, its boxes and its name aside."""
    facts: dict[str, Any] = to_plain_data(game.facts)
    return {key: value for key, value in facts.items() if key not in ("id", "boxes")}


def _rule_changes(before: Any, after: Any, path: str = "") -> Iterator[RuleChange]:
    """Walk two trees of plain data side by side."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            below = f"{path}.{key}" if path else key
            yield from _rule_changes(before.get(key), after.get(key), below)
    elif before != after and not path.endswith("clause"):
        yield RuleChange(path, _text(before), _text(after))


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(_text(each) for each in value)
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _box_changes(one: Game, other: Game) -> Iterator[BoxChange]:
    for box_id in dict.fromkeys([*one.boxes, *other.boxes]):
        before, after = one.boxes.get(box_id), other.boxes.get(box_id)
        if before and after and (before.lines, before.throws) == (after.lines, after.throws):
            continue
        yield BoxChange(
            box_id,
            " / ".join(str(line.odds) for line in before.lines) if before else "",
            " / ".join(str(line.odds) for line in after.lines) if after else "",
            box_figures(before).edge if before else None,
            box_figures(after).edge if after else None,
        )
