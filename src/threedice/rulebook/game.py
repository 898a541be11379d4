"""A Game: one layout of a rulebook under chosen readings, compiled to a payoff for each roll.

`compiler` creates it; `odds`, `table`, `sim` and the screens read it. Its facts, everything that
can change a payment or a permitted act, have canonical bytes and a hash, and a Game can be rebuilt
from those bytes alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from hashlib import sha256
from math import lcm
from typing import TYPE_CHECKING, Any

import msgspec

from threedice.dice import (
    ROLLS,
    FaceNames,
    Roll,
    RollSet,
    as_known_faces,
    as_roll,
    contains,
    index,
    members,
    rolls_beginning_with,
)
from threedice.errors import InvalidInput, UnknownName
from threedice.money import Odds
from threedice.notebook import html_table
from threedice.rulebook.conditions import VOCABULARY, describe_condition
from threedice.rulebook.conduct import Conduct, RulebookStruct
from threedice.rulebook.felt_picture import felt_picture
from threedice.rulebook.schema import ConditionName

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from threedice.rulebook.felt import Felt


class OddsLineFacts(RulebookStruct, frozen=True, kw_only=True):
    """Odds, and the rolls that pay them as hexadecimal bits."""

    odds: str
    rolls: str


class ResolvedCondition(RulebookStruct, frozen=True, kw_only=True):
    """A condition under which a box wins, with its operands."""

    when: ConditionName
    of: list[int] = []
    unless: str = ""


class BoxFacts(RulebookStruct, frozen=True, kw_only=True):
    """The facts by which a box is settled: its odds lines and their clauses."""

    family: str
    ways: list[ResolvedCondition]
    parts: list[int]
    selection: list[str]
    lines: list[OddsLineFacts]
    rule: list[str]
    pays: list[str]
    throws: int = 1
    under: dict[str, list[str]] = {}


class GameFacts(Conduct, frozen=True, kw_only=True):
    """The facts that a Game's hash covers."""

    id: str
    version: str
    effective: str
    faces: list[str]
    readings: dict[str, str]
    boxes: dict[str, BoxFacts]
    areas: dict[str, list[str]] = {}


@dataclass(frozen=True, slots=True)
class OddsLine:
    """One way for a box to win: the odds, and the rolls that pay them."""

    odds: Odds
    rolls: RollSet


@dataclass(frozen=True, slots=True)
class Box:
    """A place on the layout: its winning condition and its odds."""

    id: str
    family: str
    name: str
    meaning: str
    ways: tuple[ResolvedCondition, ...]
    parts: tuple[int, ...]
    selection: tuple[str, ...]
    lines: tuple[OddsLine, ...]
    rule: tuple[str, ...]
    pays: tuple[str, ...]
    throws: int
    wins: RollSet
    """The rolls on which the box wins (or, over several throws, stays alive)."""
    unit: int
    """The number of equal parts of a stake in which every win is a whole number."""
    under: Mapping[str, tuple[str, ...]]
    """Clauses more specific than `rule`, for "win", "lose", "triple_win" and "triple_lose"."""

    def odds_on(self, roll: Roll) -> Odds | None:
        """Return the odds at which the box wins on a roll, or None if it loses."""
        return next((line.odds for line in self.lines if contains(line.rolls, roll)), None)

    def clauses_on(self, roll: Roll) -> tuple[str, ...]:
        """Return the clauses that decide the box on a roll, those on its odds last."""
        wins = contains(self.wins, roll)
        outcome = "win" if wins else "lose"
        clauses = self.under.get(outcome, self.rule)
        if len(set(roll)) == 1:
            clauses = self.under.get(f"triple_{outcome}", clauses)
        return tuple(dict.fromkeys(clauses + (self.pays if wins else ())))


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the payoff matrix: the result of a box on a roll, and its clauses."""

    box: str
    net: int
    odds: Odds | None
    clauses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConclusiveBoxes:
    """The boxes that the known dice decide."""

    won: frozenset[str]
    lost: frozenset[str]


@dataclass(frozen=True)
class Game:
    """A compiled game: payoffs, winning boxes and calls for every roll."""

    facts: GameFacts
    boxes: Mapping[str, Box]
    felt: Felt | None = None
    title: str = ""
    summaries: Mapping[str, str] = field(default_factory=dict)
    consolidated: str = ""
    """The date of the rulebook's consolidated text, if it has one."""
    stored: bytes = b""
    """The canonical bytes from which the game was rebuilt, if it was."""

    def __repr__(self) -> str:
        return f"<Game {self.id}, {len(self.boxes)} boxes>"

    @property
    def id(self) -> str:
        """The rulebook and the layout, as in `sg-rws-tai-sai-v6/a`."""
        return self.facts.id

    @property
    def book_id(self) -> str:
        """The rulebook's id, with which citations begin."""
        return self.id.rpartition("/")[0]

    @property
    def readings(self) -> dict[str, str]:
        """The option in force for each reading."""
        return self.facts.readings

    @cached_property
    def faces(self) -> FaceNames:
        """The names of the dice's faces."""
        return FaceNames(tuple(self.facts.faces))

    @cached_property
    def canonical(self) -> bytes:
        """The facts as bytes: sorted keys, no labels, no geometry."""
        return self.stored or msgspec.json.encode(
            to_plain_data(self.facts, include_defaults=False), order="sorted"
        )

    @cached_property
    def hash(self) -> str:
        """The SHA-256 of the canonical bytes, pinned by every round."""
        return sha256(self.canonical).hexdigest()

    @cached_property
    def unit(self) -> int:
        """The number of parts in which a stake is counted, so that every payoff is an integer."""
        return lcm(*(box.unit for box in self.boxes.values()))

    @cached_property
    def payoffs(self) -> dict[str, tuple[int, ...]]:
        """The payoff matrix: the net result on each of the 216 rolls, for boxes of one throw."""
        return {box.id: self._row(box) for box in self.boxes.values() if box.throws == 1}

    def _row(self, box: Box) -> tuple[int, ...]:
        row = [-self.unit] * len(ROLLS)
        for line in box.lines:
            net = int(line.odds.ratio * self.unit)
            for roll in members(line.rolls):
                row[index(roll)] = net
        return tuple(row)

    @cached_property
    def ends(self) -> dict[str, tuple[str, ...]]:
        """The ends of the table at which each box has an area; a single area has no name."""
        areas = self.facts.areas
        return {box: tuple(areas.get(box, ("",))) for box in self.boxes}

    @cached_property
    def lamps(self) -> tuple[str, ...]:
        """The areas of the felt that a result can light, in the order of `boxes`."""
        boxes = (box.id for box in self.boxes.values() if box.throws == 1)
        return tuple(f"{box}@{end}" if end else box for box in boxes for end in self.ends[box])

    @cached_property
    def working_order(self) -> tuple[str, ...]:
        """The boxes in the order a dealer works the layout: by row, from the left; or as listed."""
        areas = sorted(self.felt.areas, key=lambda area: (area.y, area.x)) if self.felt else ()
        return tuple(dict.fromkeys([*(area.box for area in areas), *self.boxes]))

    def box(self, box_id: str) -> Box:
        """Return a box by its id."""
        if box_id not in self.boxes:
            reordered = _same_selection(box_id, self.boxes)
            raise UnknownName(f"box on {self.id}", box_id, self.boxes, reordered)
        return self.boxes[box_id]

    def roll(self, names: Iterable[str]) -> Roll:
        """Return the roll that shows three faces given by name."""
        return self.faces.roll(names)

    def winning(self, roll: Roll) -> tuple[str, ...]:
        """Return the boxes that win on a roll, in the order of `boxes`."""
        roll = as_roll(roll)
        return tuple(
            box.id for box in self.boxes.values() if box.throws == 1 and contains(box.wins, roll)
        )

    def cell(self, box_id: str, roll: Roll) -> Cell:
        """Return the result of a box on a roll, with its clauses."""
        box, roll = self.box(box_id), as_roll(roll)
        if box.throws > 1:
            raise InvalidInput(f"{box_id} is settled over {box.throws} throws, not by one roll")
        odds = box.odds_on(roll)
        net = int(odds.ratio * self.unit) if odds else -self.unit
        return Cell(box_id, net, odds, box.clauses_on(roll))

    def verdict(self, box_id: str, roll: Roll) -> str:
        """Describe in words whether a box won on a roll, and why."""
        box, odds = self.box(box_id), self.cell(box_id, roll).odds
        outcome = f"won, paid {odds}" if odds else "lost"
        return f"{box.name} wins when {box.meaning}; on {self.call(roll)} it {outcome}"

    def conclusive(self, known: Sequence[int]) -> ConclusiveBoxes:
        """Return the boxes that win, or lose, on every roll that is still possible.

        A bet over several throws can be lost by this throw, but is never listed as won: only the
        table knows whether this is its last throw.
        """
        possible, boxes = rolls_beginning_with(as_known_faces(known)), self.boxes.values()
        won = (box.id for box in boxes if box.throws == 1 and not possible & ~box.wins)
        lost = (box.id for box in boxes if not possible & box.wins)
        return ConclusiveBoxes(frozenset(won), frozenset(lost))

    def call(self, roll: Roll) -> str:
        """Return the dealer's call of a result: faces ascending, then the total."""
        call_format, roll = self.facts.call, as_roll(roll)
        templates = {1: "{face}", 2: call_format.double, 3: call_format.triple}
        parts = [
            templates[roll.count(face)].format(face=self.faces.name(face))
            for face in sorted(set(roll))
        ]
        if call_format.total:
            parts.append(call_format.total.format(total=sum(roll)))
        return ", ".join(parts)

    def _repr_html_(self) -> str:
        """Show the felt in a notebook; a game without one as the list of its boxes."""
        if self.felt:
            return felt_picture(self, self.felt, {})
        rows = [
            (box.id, " / ".join(str(line.odds) for line in box.lines))
            for box in self.boxes.values()
        ]
        return html_table(f"{self.title} ({self.id})", rows, ("box", "pays"))


def _same_selection(box_id: str, boxes: Iterable[str]) -> list[str]:
    """Return the boxes with the same parts in another order or letter case."""
    parts = sorted(re.split("[:-]", box_id.lower()))
    return [box for box in boxes if sorted(re.split("[:-]", box)) == parts]


_UNORDERED = {"applies_to", "by", "clause", "displayed", "kinds", "pays", "roles",
              "rule", "supervised_by"}  # fmt: skip
"""Fields whose lists mean the same in any order."""


def to_plain_data(value: Any, *, include_defaults: bool = True) -> Any:
    """Return facts as plain data without labels, with or without default values.

    The hash omits defaults, so that it does not change when a later version adds an optional key.
    """
    plain = partial(to_plain_data, include_defaults=include_defaults)
    if isinstance(value, RulebookStruct):
        defaults = {} if include_defaults else _defaults(type(value))
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        return {
            name: _sorted(name, plain(each))
            for name, each in fields.items()
            if name not in value.LABELS and defaults.get(name, _REQUIRED) != each
        }
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


_REQUIRED = object()


def _sorted(name: str, value: Any) -> Any:
    return sorted(value) if name in _UNORDERED and isinstance(value, list) else value


@cache
def _defaults(kind: type[RulebookStruct]) -> dict[str, Any]:
    """Return the default values of a struct's optional fields."""
    fields = (field for field in msgspec.structs.fields(kind) if not field.required)
    return {
        field.name: field.default
        if field.default_factory is msgspec.NODEFAULT
        else field.default_factory()
        for field in fields
    }


def from_canonical(canonical: bytes) -> Game:
    """Rebuild a Game from stored canonical bytes, which contain neither labels nor the felt.

    Its hash stays that of the bytes, also if they have keys that rulebooks no longer have.
    """
    try:
        stored = msgspec.json.decode(canonical, type=dict[str, Any])
        facts = msgspec.convert(_without_retired_keys(stored), GameFacts)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise InvalidInput(f"these are not the canonical bytes of a game: {error}") from None
    return Game(facts, build_boxes(facts, {}), stored=canonical)


RETIRED_KEYS = {
    ("limits",): ("reject_order",),
    ("limits", "minimum"): ("noticed", "unnoticed"),
    ("limits", "maximum"): ("noticed",),
    ("limits", "differential"): ("noticed",),
    ("limits", "pro_rata"): ("round_to",),
    ("procedure", "hands_off"): ("winning", "losing"),
    ("equipment", "*", "detail"): ("activated", "attached", "cover", "entry_keys"),
}
"""Keys of games in old logs that nothing ever acted on, by the path of their table."""


def _without_retired_keys(data: Any, path: tuple[str, ...] = ()) -> Any:
    """Return the facts of a stored game without the keys that rulebooks no longer have."""
    if not isinstance(data, dict):
        return data
    retired = (
        RETIRED_KEYS.get(path, RETIRED_KEYS.get((path[0], "*", *path[2:]), ())) if path else ()
    )
    return {
        key: _without_retired_keys(each, (*path, key))
        for key, each in data.items()
        if key not in retired
    }


def build_boxes(facts: GameFacts, names: Mapping[str, str]) -> dict[str, Box]:
    """Build the boxes of a Game from its facts; `names` are the display names of the families."""
    faces = FaceNames(tuple(facts.faces))
    return {box_id: _box(box_id, each, faces, names) for box_id, each in facts.boxes.items()}


def _box(box_id: str, facts: BoxFacts, faces: FaceNames, names: Mapping[str, str]) -> Box:
    lines = tuple(
        OddsLine(Odds.parse(each.odds), RollSet(int(each.rolls, 16))) for each in facts.lines
    )
    return Box(
        id=box_id,
        family=facts.family,
        name=names.get(facts.family, facts.family),
        meaning=_describe_conditions(facts, faces),
        ways=tuple(facts.ways),
        parts=tuple(facts.parts),
        selection=tuple(facts.selection),
        lines=lines,
        rule=tuple(facts.rule),
        pays=tuple(facts.pays),
        throws=facts.throws,
        wins=RollSet(sum(line.rolls for line in lines)),
        unit=lcm(*(line.odds.ratio.denominator for line in lines)),
        under={outcome: tuple(clauses) for outcome, clauses in facts.under.items()},
    )


def _describe_conditions(facts: BoxFacts, faces: FaceNames) -> str:
    """Describe in words when a box wins."""
    ways = []
    for way in facts.ways:
        totals = VOCABULARY[way.when].operand_kind == "totals"
        names = [str(each) if totals else faces.name(each) for each in way.of]
        ways.append(
            describe_condition(way.when, names) + (", but not on a triple" if way.unless else "")
        )
    throws = f", in each of {facts.throws} throws" if facts.throws > 1 else ""
    return "; or ".join(ways) + throws
