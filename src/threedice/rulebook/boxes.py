"""Compile a pay table to boxes: their selections, conditions, rolls and odds.

The boxes of a pay table: every wager it offers, evaluated over the 216 rolls.

What cannot be settled one way only is refused here: odds that do not parse, a box that never wins
or could win twice, two boxes with one id.

What a box is a bet on: the complete family of selections of a wager, and how each is written.

A selection is written as in a box's id, ascending and joined by "-" ("1-4"; the pair first in
"1-1-3"). `boxes` asks here which boxes a row of a pay table means.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from threedice.dice import FACES, RollSet, members
from threedice.errors import InvalidInput, did_you_mean, nearest_names
from threedice.money import Odds
from threedice.rulebook.conditions import ANY_TRIPLE, VOCABULARY
from threedice.rulebook.conduct import clause_numbers
from threedice.rulebook.game import BoxFacts, OddsLineFacts, ResolvedCondition
from threedice.rulebook.schema import Condition
from threedice.rulebook.validation import SourceLocation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.dice import FaceNames
    from threedice.rulebook.conduct import Citation
    from threedice.rulebook.game import Game
    from threedice.rulebook.schema import PayTableRow, Rulebook, SelectionKind, SelectionPart, Wager


MAX_THROWS = 12
"""More throws in a row than any game has; figures are exact in 216 to that power."""


def compile_boxes(
    book: Rulebook, table_name: str, faces: FaceNames, file: str
) -> dict[str, BoxFacts]:
    """Return the boxes that a pay table offers, in the order of its rows."""
    boxes: dict[str, BoxFacts] = {}
    rows: dict[str, str] = {}
    for row_name, row, place in _rows(book, table_name, file, ()):
        for box_id, box in _row_boxes(book, row_name, row, faces, place):
            if box_id in boxes:
                twice = f"row {rows[box_id]!r} has the box {box_id!r} too, so it would win twice"
                raise place.error(twice, "offer it in one row only: two boxes cannot have one id")
            boxes[box_id], rows[box_id] = box, row_name
    if not boxes:
        raise SourceLocation(file, ("pay_tables", table_name)).error(
            "offers no box", "give it rows"
        )
    return boxes


def _rows(
    book: Rulebook, table_name: str, file: str, included_by: tuple[str, ...]
) -> Iterator[tuple[str, PayTableRow, SourceLocation]]:
    """Yield the rows of a pay table, those of the table it includes first."""
    table = book.pay_tables[table_name]
    place = SourceLocation(file, ("pay_tables", table_name), clause_numbers(table.clause))
    if table.includes:
        others = [name for name in book.pay_tables if name not in (*included_by, table_name)]
        if table.includes not in others:
            raise place.child("includes").error(
                f"no pay table {table.includes!r} to include from here",
                did_you_mean(nearest_names(table.includes, others)),
            )
        yield from _rows(book, table.includes, file, (*included_by, table_name))
    for name, row in table.rows.items():
        yield (
            name,
            row,
            SourceLocation(
                file, (*place.path, "rows", name), clause_numbers(row.clause or table.clause)
            ),
        )


def _row_boxes(
    book: Rulebook, row_name: str, row: PayTableRow, faces: FaceNames, place: SourceLocation
) -> Iterator[tuple[str, BoxFacts]]:
    name = row.wager or row_name
    if name not in book.wagers:
        raise place.error(f"no wager {name!r}", did_you_mean(nearest_names(name, book.wagers)))
    wager = book.wagers[name]
    of_wager = SourceLocation(place.file, ("wagers", name), clause_numbers(wager.clause))
    odds = _odds(row, place)
    if wager.throws > 1 and len(odds) > 1:
        raise place.error(
            "a bet over several throws has several odds", "give one odds for the whole of it"
        )
    for selection in _selections(wager, row, faces, place, of_wager):
        words = selection_parts(wager, selection, faces)
        box_id = _box_id(name, words)
        ways = resolve_conditions(wager, selection, faces, of_wager)
        lines = _lines(ways, faces, box_id, of_wager)
        yield (
            box_id,
            BoxFacts(
                family=name,
                ways=ways,
                parts=list(selection),
                selection=words,
                lines=_pair_odds(lines, odds, box_id, place),
                rule=list(clause_numbers(wager.clause)),
                pays=list(place.clauses),
                throws=wager.throws,
                under={
                    each: list(clause_numbers(clause)) for each, clause in _outcome_clauses(wager)
                },
            ),
        )


def _outcome_clauses(wager: Wager) -> Iterator[tuple[str, Citation]]:
    """Yield the outcomes for which a wager names a closer clause, and that clause."""
    for outcome in wager.under.__struct_fields__:
        if clause := getattr(wager.under, outcome):
            yield outcome, clause


def _box_id(name: str, words: list[str]) -> str:
    return f"{name}:{'-'.join(words)}" if words else name


def _selections(
    wager: Wager,
    row: PayTableRow,
    faces: FaceNames,
    place: SourceLocation,
    of_wager: SourceLocation,
) -> list[Selection]:
    if row.boxes is None:
        return wager_selections(wager, faces, of_wager)
    if not row.boxes:
        raise place.error("the row offers no box", "list some, or leave boxes out for all")
    chosen = [parse_selection(wager, part, faces, place) for part in row.boxes]
    for i, selection in enumerate(chosen):
        if selection in chosen[:i]:
            raise place.error(
                f"the box {row.boxes[i]!r} stands twice", "two boxes cannot have one id; drop one"
            )
    return chosen


# --- ways to win --------------------------------------------------------------------------------


def resolve_conditions(
    wager: Wager, selection: Selection, faces: FaceNames, place: SourceLocation
) -> list[ResolvedCondition]:
    """Spell out the conditions under which a selection of a wager wins."""
    conditions = _conditions(wager)
    if not conditions or not 1 <= wager.throws <= MAX_THROWS:
        raise place.error(
            "the wager cannot be won", f"give it wins, and throws from 1 to {MAX_THROWS}"
        )
    totals = wager.selects == "total"
    return [_resolve_condition(each, selection, totals, faces, place) for each in conditions]


def _conditions(wager: Wager) -> list[Condition]:
    if isinstance(wager.wins, str):
        return [Condition(when=wager.wins)]
    return [wager.wins] if isinstance(wager.wins, Condition) else wager.wins


def _resolve_condition(
    condition: Condition,
    selection: Selection,
    totals: bool,
    faces: FaceNames,
    place: SourceLocation,
) -> ResolvedCondition:
    """Spell out what a condition speaks of: nothing, what the file gives, or the selection."""
    when, word = condition.when, VOCABULARY[condition.when]
    if when.startswith("total") and not faces.are_numbers:
        raise place.error(f"{when!r} adds up faces that are not numbers", "use a word about faces")
    of: Selection
    if condition.of is not None:
        if word.operand_kind == "nothing":
            raise place.error(f"{when!r} speaks of nothing in particular", "leave of out")
        of = tuple(
            parse_total(part, place)
            if word.operand_kind == "totals"
            else parse_face(part, faces, place)
            for part in condition.of
        )
    elif word.operand_kind == "nothing":
        of = ()
    else:
        of = selection
        if selection and totals != (word.operand_kind == "totals"):
            raise place.error(
                f"{when!r} speaks of {word.operand_kind}, and the wager does not select them",
                "choose a word that fits selects, or give of",
            )
    if len(of) not in word.operand_counts:
        raise place.error(
            f"{when!r} cannot speak of {len(of)} {word.operand_kind}",
            f"give {_count_text(word.operand_counts)} in of, or let the wager select them",
        )
    return ResolvedCondition(when=when, of=sorted(of), unless=condition.unless or "")


def _count_text(counts: range) -> str:
    least, most = counts[0], counts[-1]
    return str(least) if least == most else f"{least} to {most}"


def _lines(
    ways: list[ResolvedCondition], faces: FaceNames, box_id: str, place: SourceLocation
) -> list[RollSet]:
    """Return the sets of rolls a box wins on, one for each way that can have odds of its own."""
    lines = [
        RollSet(rolls & ~(ANY_TRIPLE if way.unless else 0))
        for way in ways
        for rolls in VOCABULARY[way.when].roll_sets(tuple(way.of))
    ]
    for i, rolls in enumerate(lines):
        for other in lines[:i]:
            if rolls & other:
                roll = next(members(RollSet(rolls & other)))
                shown = ",".join(faces.name(face) for face in roll)
                raise place.error(
                    f"{box_id!r} can win twice, on {shown} for one",
                    "make its ways exclude each other",
                )
    if not any(lines):
        raise place.error(f"{box_id!r} can never win", "mend the condition, or leave the box out")
    return lines


# --- odds ---------------------------------------------------------------------------------------


def _odds(row: PayTableRow, place: SourceLocation) -> list[str]:
    odds = [row.odds] if isinstance(row.odds, str) else row.odds
    for each in odds:
        try:
            Odds.parse(each)
        except InvalidInput as error:
            problem, _, remedy = str(error).rpartition("; ")
            raise place.child("odds").error(problem, remedy) from None
    return odds


def _pair_odds(
    lines: list[RollSet], odds: list[str], box_id: str, place: SourceLocation
) -> list[OddsLineFacts]:
    """Give each way of winning its odds; one odds serves for all."""
    if len(odds) == 1:
        (each,) = odds
        return [OddsLineFacts(odds=each, rolls=f"{sum(lines):x}")]
    if len(odds) != len(lines):
        raise place.error(
            f"{len(odds)} odds for {box_id!r}, which can win in {len(lines)} ways",
            "give one odds for all ways, or one for each",
        )
    paired = []
    for each, rolls in zip(odds, lines, strict=True):
        if not rolls:
            raise place.error(f"{box_id!r} never wins {each}", "mend its conditions")
        paired.append(OddsLineFacts(odds=each, rolls=f"{rolls:x}"))
    return paired


# --- families -----------------------------------------------------------------------------------


def missing_from_families(game: Game, book: Rulebook) -> dict[str, list[str]]:
    """Return, for each family that a game offers in part, the boxes it leaves out."""
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


Selection = tuple[int, ...]
"""Face numbers in the order they are written, or one total; empty for a wager of one box."""


def all_selections(selects: SelectionKind) -> list[Selection]:
    """Return every selection a wager of this kind could offer.

    Totals 3 and 18 are left out: they are only ever triples, and no book offers them as totals.

    >>> len(all_selections("pair-and-single")), len(all_selections("four-faces"))
    (30, 15)
    """
    match selects:
        case "nothing":
            return [()]
        case "face":
            return [(face,) for face in FACES]
        case "total":
            return [(total,) for total in range(4, 18)]
        case "two-faces":
            return list(combinations(FACES, 2))
        case "three-faces":
            return list(combinations(FACES, 3))
        case "four-faces":
            return list(combinations(FACES, 4))
        case _:
            return [(pair, pair, single) for pair in FACES for single in FACES if single != pair]


def wager_selections(wager: Wager, faces: FaceNames, place: SourceLocation) -> list[Selection]:
    """Return every selection of a wager, by its kind or as the file lists them."""
    if isinstance(wager.selects, str):
        return all_selections(wager.selects)
    place = place.child("selects")
    if not wager.selects:
        raise place.error("the family has no box", "list a selection, or leave selects out")
    listed = [_parse_faces(each, faces, place) for each in wager.selects]
    for written, selection in zip(wager.selects, listed, strict=True):
        if any(a >= b for a, b in pairwise(selection)):
            right = "-".join(faces.name(face) for face in sorted(set(selection)))
            raise place.error(f"{written!r} does not ascend", f"write it as {right}")
    if len(set(listed)) != len(listed):
        raise place.error("a selection is listed twice", "two boxes cannot have one id; drop one")
    return listed


def parse_selection(
    wager: Wager, written: SelectionPart, faces: FaceNames, place: SourceLocation
) -> Selection:
    """Read one entry of `boxes`, insisting on the one way to write it."""
    if wager.selects == "total":
        return (parse_total(written, place),)
    choices = wager_selections(wager, faces, place)
    selection = _parse_faces(str(written), faces, place)
    if selection not in choices:
        spelt = ["-".join(selection_parts(wager, each, faces)) for each in choices]
        alike = [
            words
            for words, each in zip(spelt, choices, strict=True)
            if sorted(each) == sorted(selection)
        ]
        raise place.error(
            f"{written!r} is not a selection of this wager",
            did_you_mean(alike or nearest_names(str(written), spelt)),
        )
    return selection


def selection_parts(wager: Wager, selection: Selection, faces: FaceNames) -> list[str]:
    """Return the parts of a selection as they stand in a box's id."""
    if wager.selects == "total":
        return [str(total) for total in selection]
    return [faces.name(face) for face in selection]


def parse_total(written: SelectionPart, place: SourceLocation) -> int:
    """Read a total of three dice."""
    text = str(written)
    if text.isascii() and text.isdecimal() and len(text) <= 2 and 3 <= int(text) <= 18:
        return int(text)
    raise place.error(f"{text[:20]!r} is no total of three dice", "give a number from 3 to 18")


def parse_face(written: SelectionPart, faces: FaceNames, place: SourceLocation) -> int:
    """Read a face by its name."""
    if str(written) not in faces.names:
        known = did_you_mean(nearest_names(str(written), faces.names))
        raise place.error(f"unknown face {written!r}", known)
    return faces.number(str(written))


def _parse_faces(written: str, faces: FaceNames, place: SourceLocation) -> Selection:
    return tuple(parse_face(part, faces, place) for part in written.split("-"))
