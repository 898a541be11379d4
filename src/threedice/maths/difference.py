"""How two games differ: in their clauses, in what they allow and pay, and in the house edge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from threedice.maths.figures import box_figures
from threedice.rulebook.game import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from fractions import Fraction

    from threedice.rulebook import Game
    from threedice.rulebook.schema import Clause


@dataclass(frozen=True, slots=True)
class Change:
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
class Difference:
    """All differences between two games."""

    clauses: tuple[Change, ...]
    behaviour: tuple[Change, ...]
    boxes: tuple[BoxChange, ...]


def difference(
    one: Game, other: Game, clauses: Mapping[str, Clause], other_clauses: Mapping[str, Clause]
) -> Difference:
    """Return how the second game differs from the first."""
    return Difference(
        tuple(_clause_changes(clauses, other_clauses)),
        tuple(_changes(_conduct(one), _conduct(other))),
        tuple(_box_changes(one, other)),
    )


def _clause_changes(clauses: Mapping[str, Clause], other: Mapping[str, Clause]) -> Iterator[Change]:
    for number in dict.fromkeys([*clauses, *other]):
        before, after = (_clause(each.get(number)) for each in (clauses, other))
        if before != after:
            yield Change(number, before, after)


def _clause(clause: Clause | None) -> str:
    return f"[{clause.status}] {clause.summary}" if clause else ""


def _conduct(game: Game) -> dict[str, Any]:
    """Return what a game allows and demands as plain data, its boxes and its name aside."""
    facts: dict[str, Any] = plain(game.facts)
    return {key: value for key, value in facts.items() if key not in ("id", "boxes")}


def _changes(before: Any, after: Any, path: str = "") -> Iterator[Change]:
    """Walk two trees of plain data side by side."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            below = f"{path}.{key}" if path else key
            yield from _changes(before.get(key), after.get(key), below)
    elif before != after and not path.endswith("clause"):
        yield Change(path, _text(before), _text(after))


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
