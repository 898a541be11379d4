"""Compile a pay table to boxes: their selections, conditions, rolls and odds.

Ambiguous settlement is refused: malformed odds, a box that never wins or could win twice, two
boxes with the same id. A selection is written as in a box's id: ascending and joined by "-"
("1-4"), with the pair first in "1-1-3".
"""

from __future__ import annotations

from itertools import combinations, pairwise, permutations
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from threedice.dice import FACES, RollSet, members
from threedice.errors import InvalidInput, did_you_mean, nearest_names
from threedice.money import Odds
from threedice.rulebook.conditions import ANY_TRIPLE, VOCABULARY, roll_sets
from threedice.rulebook.conduct import clause_numbers
from threedice.rulebook.game import BoxFacts, OddsLineFacts, ResolvedCondition
from threedice.rulebook.schema import Condition
from threedice.rulebook.validation import SourceLocation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.dice import FaceNames
    from threedice.rulebook.game import Game
    from threedice.rulebook.schema import PayTableRow, Rulebook, SelectionKind, SelectionPart, Wager


MAX_THROWS = 12
"""The maximum number of throws of one bet, more than any game has.

Odds are exact counts out of 216 to this power.
"""

Selection = tuple[int, ...]
"""Face numbers in the order in which they are written, or one total; empty for a single box."""


def compile_boxes(
    book: Rulebook, table_name: str, faces: FaceNames, file: str
) -> dict[str, BoxFacts]:
    """Compile the boxes that a pay table offers, in the order of its rows."""
    boxes: dict[str, BoxFacts] = {}
    rows: dict[str, str] = {}
    for row_name, row, location in _rows(book, table_name, file, ()):
        for box_id, box in _row_boxes(book, row_name, row, faces, location):
            if box_id in boxes:
                raise location.error(
                    f"row {rows[box_id]!r} has the box {box_id!r} too, so it would win twice",
                    "offer it in one row only: two boxes cannot have one id",
                )
            boxes[box_id], rows[box_id] = box, row_name
    if not boxes:
        raise SourceLocation(file, ("pay_tables", table_name)).error(
            "offers no box", "give it rows"
        )
    return boxes


def _rows(
    book: Rulebook, table_name: str, file: str, included_by: tuple[str, ...]
) -> Iterator[tuple[str, PayTableRow, SourceLocation]]:
    """Yield the rows of a pay table, after those of the table it includes."""
    table = book.pay_tables[table_name]
    location = SourceLocation(file, ("pay_tables", table_name), table.clause)
    if table.includes:
        others = [name for name in book.pay_tables if name not in (*included_by, table_name)]
        if table.includes not in others:
            raise location.child("includes").unknown(
                f"no pay table {table.includes!r} to include from here", table.includes, others
            )
        yield from _rows(book, table.includes, file, (*included_by, table_name))
    for name, row in table.rows.items():
        path = (*location.path, "rows", name)
        yield name, row, SourceLocation(file, path, row.clause or table.clause)


def _row_boxes(
    book: Rulebook, row_name: str, row: PayTableRow, faces: FaceNames, location: SourceLocation
) -> Iterator[tuple[str, BoxFacts]]:
    name = row.wager or row_name
    if name not in book.wagers:
        raise location.unknown(f"no wager {name!r}", name, book.wagers)
    wager = book.wagers[name]
    wager_location = SourceLocation(location.file, ("wagers", name), wager.clause)
    odds = _odds(row, location)
    if wager.throws > 1 and len(odds) > 1:
        raise location.error(
            "a bet over several throws has several odds", "give one odds for the whole of it"
        )
    for selection in _row_selections(wager, row, faces, location, wager_location):
        parts = selection_parts(wager, selection, faces)
        box_id = _box_id(name, parts)
        ways = resolve_conditions(wager, selection, faces, wager_location)
        lines = _lines(ways, faces, box_id, wager_location)
        yield (
            box_id,
            BoxFacts(
                family=name,
                ways=ways,
                parts=list(selection),
                selection=parts,
                lines=_pair_odds(lines, odds, box_id, location),
                rule=list(clause_numbers(wager.clause)),
                pays=list(clause_numbers(location.clause)),
                throws=wager.throws,
                under={
                    outcome: list(clause_numbers(clause))
                    for outcome, clause in asdict(wager.under).items()
                    if clause
                },
            ),
        )


def _box_id(name: str, parts: list[str]) -> str:
    return f"{name}:{'-'.join(parts)}" if parts else name


def _row_selections(
    wager: Wager,
    row: PayTableRow,
    faces: FaceNames,
    location: SourceLocation,
    wager_location: SourceLocation,
) -> list[Selection]:
    if row.boxes is None:
        return wager_selections(wager, faces, wager_location)
    if not row.boxes:
        raise location.error("the row offers no box", "list some, or leave boxes out for all")
    chosen = [parse_selection(wager, part, faces, location) for part in row.boxes]
    for i, selection in enumerate(chosen):
        if selection in chosen[:i]:
            raise location.error(
                f"the box {row.boxes[i]!r} is listed twice",
                "two boxes cannot have one id; drop one",
            )
    return chosen


# --- ways to win --------------------------------------------------------------------------------


def resolve_conditions(
    wager: Wager, selection: Selection, faces: FaceNames, location: SourceLocation
) -> list[ResolvedCondition]:
    """Return the conditions under which a selection of a wager wins, with their operands."""
    conditions = _conditions(wager)
    if not conditions or not 1 <= wager.throws <= MAX_THROWS:
        raise location.error(
            "the wager cannot be won", f"give it wins, and throws from 1 to {MAX_THROWS}"
        )
    totals = wager.selects == "total"
    return [_resolve_condition(each, selection, totals, faces, location) for each in conditions]


def _conditions(wager: Wager) -> list[Condition]:
    if isinstance(wager.wins, str):
        return [Condition(when=wager.wins)]
    return [wager.wins] if isinstance(wager.wins, Condition) else wager.wins


def _resolve_condition(
    condition: Condition,
    selection: Selection,
    totals: bool,
    faces: FaceNames,
    location: SourceLocation,
) -> ResolvedCondition:
    """Resolve the operands of a condition: none, those in the file, or the selection."""
    when, definition = condition.when, VOCABULARY[condition.when]
    if when.startswith("total") and not faces.have_totals:
        raise location.error(
            f"{when!r} adds up faces that are not numbers",
            "use a condition on faces, or say that they have points",
        )
    of: Selection
    if condition.of is not None:
        if definition.operand_kind == "nothing":
            raise location.error(f"{when!r} takes no faces or totals", "leave of out")
        of = tuple(
            parse_total(part, location)
            if definition.operand_kind == "totals"
            else parse_face(part, faces, location)
            for part in condition.of
        )
    elif definition.operand_kind == "nothing":
        of = ()
    else:
        of = selection
        if selection and totals != (definition.operand_kind == "totals"):
            raise location.error(
                f"{when!r} is about {definition.operand_kind}, and the wager does not select them",
                "choose a condition that fits selects, or give of",
            )
    if len(of) not in definition.operand_counts:
        raise location.error(
            f"{when!r} cannot take {len(of)} {definition.operand_kind}",
            f"give {_count_text(definition.operand_counts)} in of, or let the wager select them",
        )
    return ResolvedCondition(when=when, of=sorted(of), unless=condition.unless or "")


def _count_text(counts: range) -> str:
    lowest, highest = counts[0], counts[-1]
    return str(lowest) if lowest == highest else f"{lowest} to {highest}"


def _lines(
    ways: list[ResolvedCondition], faces: FaceNames, box_id: str, location: SourceLocation
) -> list[RollSet]:
    """Return the disjoint sets of rolls on which a box wins, one for each way to win."""
    lines = [
        RollSet(rolls & ~(ANY_TRIPLE if way.unless else 0))
        for way in ways
        for rolls in roll_sets(way.when, tuple(way.of))
    ]
    for i, rolls in enumerate(lines):
        for other in lines[:i]:
            if rolls & other:
                roll = next(members(RollSet(rolls & other)))
                shown = ",".join(faces.name(face) for face in roll)
                raise location.error(
                    f"{box_id!r} can win twice, on {shown} for one",
                    "make its ways to win exclude each other",
                )
    if not any(lines):
        raise location.error(f"{box_id!r} can never win", "fix the condition, or leave the box out")
    return lines


# --- odds ---------------------------------------------------------------------------------------


def _odds(row: PayTableRow, location: SourceLocation) -> list[str]:
    odds = [row.odds] if isinstance(row.odds, str) else row.odds
    for each in odds:
        try:
            Odds.parse(each)
        except InvalidInput as error:
            problem, _, remedy = str(error).rpartition("; ")
            raise location.child("odds").error(problem, remedy) from None
    return odds


def _pair_odds(
    lines: list[RollSet], odds: list[str], box_id: str, location: SourceLocation
) -> list[OddsLineFacts]:
    """Give each way to win its odds; a single odds applies to all."""
    if len(odds) == 1:
        (each,) = odds
        return [OddsLineFacts(odds=each, rolls=f"{sum(lines):x}")]
    if len(odds) != len(lines):
        raise location.error(
            f"{len(odds)} odds for {box_id!r}, which can win in {len(lines)} ways",
            "give one odds for all ways, or one for each",
        )
    paired = []
    for each, rolls in zip(odds, lines, strict=True):
        if not rolls:
            raise location.error(f"{box_id!r} never wins {each}", "fix its conditions")
        paired.append(OddsLineFacts(odds=each, rolls=f"{rolls:x}"))
    return paired


# --- families -----------------------------------------------------------------------------------


def missing_from_families(game: Game, book: Rulebook) -> dict[str, list[str]]:
    """Return, for each family that a game offers in part, the boxes it omits."""
    missing: dict[str, list[str]] = {}
    for name in dict.fromkeys(box.family for box in game.boxes.values()):
        wager = book.wagers[name]
        for selection in wager_selections(
            wager, game.faces, SourceLocation(book.id, ("wagers", name))
        ):
            box_id = _box_id(name, selection_parts(wager, selection, game.faces))
            if box_id not in game.boxes:
                missing.setdefault(name, []).append(box_id)
    return missing


def all_selections(selects: SelectionKind) -> list[Selection]:
    """Return every selection that a wager of this kind can offer.

    Totals 3 and 18 are not included: only triples make them, and no book offers them as totals.

    >>> len(all_selections("pair-and-single")), len(all_selections("four-faces"))
    (30, 15)
    """
    if selects == "total":
        return [(total,) for total in range(4, 18)]
    if selects == "pair-and-single":
        return [(pair, pair, single) for pair, single in permutations(FACES, 2)]
    sizes = {"nothing": 0, "face": 1, "two-faces": 2, "three-faces": 3, "four-faces": 4}
    return list(combinations(FACES, sizes[selects]))


def wager_selections(wager: Wager, faces: FaceNames, location: SourceLocation) -> list[Selection]:
    """Return every selection of a wager: all of its kind, or those the file lists."""
    if isinstance(wager.selects, str):
        return all_selections(wager.selects)
    location = location.child("selects")
    if not wager.selects:
        raise location.error("the family has no box", "list a selection, or leave selects out")
    listed = [_parse_faces(each, faces, location) for each in wager.selects]
    for text, selection in zip(wager.selects, listed, strict=True):
        if any(a >= b for a, b in pairwise(selection)):
            ascending = "-".join(faces.name(face) for face in sorted(set(selection)))
            raise location.error(f"{text!r} does not ascend", f"write it as {ascending}")
    if len(set(listed)) != len(listed):
        raise location.error(
            "a selection is listed twice", "two boxes cannot have one id; drop one"
        )
    return listed


def parse_selection(
    wager: Wager, entry: SelectionPart, faces: FaceNames, location: SourceLocation
) -> Selection:
    """Parse one entry of `boxes`, refusing any but the canonical spelling."""
    if wager.selects == "total":
        return (parse_total(entry, location),)
    choices = wager_selections(wager, faces, location)
    selection = _parse_faces(str(entry), faces, location)
    if selection not in choices:
        texts = ["-".join(selection_parts(wager, each, faces)) for each in choices]
        same_faces = [
            text
            for text, each in zip(texts, choices, strict=True)
            if sorted(each) == sorted(selection)
        ]
        raise location.error(
            f"{entry!r} is not a selection of this wager",
            did_you_mean(same_faces or nearest_names(str(entry), texts)),
        )
    return selection


def selection_parts(wager: Wager, selection: Selection, faces: FaceNames) -> list[str]:
    """Return the parts of a selection as written in a box's id."""
    if wager.selects == "total":
        return [str(total) for total in selection]
    return [faces.name(face) for face in selection]


def parse_total(entry: SelectionPart, location: SourceLocation) -> int:
    """Parse a total of three dice."""
    text = str(entry)
    if text.isascii() and text.isdecimal() and len(text) <= 2 and 3 <= int(text) <= 18:
        return int(text)
    raise location.error(f"{text[:20]!r} is not a total of three dice", "give 3 to 18")


def parse_face(entry: SelectionPart, faces: FaceNames, location: SourceLocation) -> int:
    """Parse a face given by name."""
    if str(entry) not in faces.names:
        raise location.unknown(f"unknown face {entry!r}", str(entry), faces.names)
    return faces.number(str(entry))


def _parse_faces(text: str, faces: FaceNames, location: SourceLocation) -> Selection:
    return tuple(parse_face(part, faces, location) for part in text.split("-"))
