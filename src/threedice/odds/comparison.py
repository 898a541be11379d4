"""Compare games: the alternative readings of one rulebook, and two games with each other.

`readings_in_force` shows how each alternative reading changes the house edge; `compare_games` lists
the differences of two games in clauses, rules, odds and house edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from threedice.odds.figures import box_figures, format_odds
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
    """Another reading of a clause, and the house edges it would change: box -> (now, then).

    A box that only one of the two readings offers has the edge None under the other.
    """

    name: str
    text: str
    edge_changes: Mapping[str, tuple[Fraction | None, Fraction | None]]


@dataclass(frozen=True, slots=True)
class ReadingInForce:
    """A question that a rule document leaves open, the answer in force, and the other answers."""

    name: str
    clauses: tuple[str, ...]
    question: str
    choice: str
    text: str
    alternatives: tuple[AlternativeReading, ...]


def readings_in_force(source: RulebookSource, game: Game) -> tuple[ReadingInForce, ...]:
    """Return every reading of a game, with the edge changes of its alternatives."""
    return tuple(
        _describe_reading(source, game, name, choice) for name, choice in game.readings.items()
    )


def _describe_reading(source: RulebookSource, game: Game, name: str, choice: str) -> ReadingInForce:
    reading = source.book.readings[name]
    others = {other: option for other, option in reading.options.items() if other != choice}
    changes_odds = any(COMPILED_TABLES & option.set.keys() for option in reading.options.values())
    return ReadingInForce(
        name,
        clause_numbers(reading.clause),
        reading.question,
        choice,
        reading.options[choice].says,
        tuple(
            AlternativeReading(
                other,
                option.says,
                _edge_changes(source, game, name, other) if changes_odds else {},
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
        if _payment(now.get(box_id)) != _payment(then.get(box_id))
    }


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A difference between two games at `where`; an entry that a game lacks is empty text."""

    where: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class BoxChange:
    """A box that pays differently, or that only one game offers."""

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
        before, after = _clause_text(clauses.get(number)), _clause_text(other.get(number))
        if before != after:
            yield RuleChange(number, before, after)


def _clause_text(clause: Clause | None) -> str:
    return f"[{clause.status}] {clause.summary}" if clause else ""


def _conduct(game: Game) -> dict[str, Any]:
    """Return the rules of a game as plain data, without its boxes and its id."""
    facts: dict[str, Any] = to_plain_data(game.facts)
    return {key: value for key, value in facts.items() if key not in ("id", "boxes")}


def _rule_changes(before: Any, after: Any, path: str = "") -> Iterator[RuleChange]:
    """Yield the differences between two trees of plain data."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            child = f"{path}.{key}" if path else key
            yield from _rule_changes(before.get(key), after.get(key), child)
    elif before != after and not path.endswith("clause"):
        yield RuleChange(path, _text(before), _text(after))


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(_text(item) for item in value)
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _box_changes(game: Game, other_game: Game) -> Iterator[BoxChange]:
    for box_id in dict.fromkeys([*game.boxes, *other_game.boxes]):
        before, after = game.boxes.get(box_id), other_game.boxes.get(box_id)
        if _payment(before) != _payment(after):
            yield BoxChange(box_id, _odds(before), _odds(after), _edge(before), _edge(after))


def _payment(box: Box | None) -> object:
    """Return the facts that decide what a box pays, for comparison."""
    return (box.lines, box.throws) if box else None


def _odds(box: Box | None) -> str:
    return format_odds(box) if box else ""


def _edge(box: Box | None) -> Fraction | None:
    return box_figures(box).edge if box else None
