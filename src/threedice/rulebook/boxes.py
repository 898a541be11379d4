"""The boxes of a pay table: every wager it offers, evaluated over the 216 rolls.

What cannot be settled one way only is refused here: odds that do not parse, a box that never wins
or could win twice, two boxes with one id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.dice import RollSet, members
from threedice.errors import InvalidInput, did_you_mean, nearest
from threedice.money import Odds
from threedice.rulebook.conditions import ANY_TRIPLE, VOCABULARY
from threedice.rulebook.conduct import cited
from threedice.rulebook.game import BoxFacts, LineFacts, Way
from threedice.rulebook.place import Place
from threedice.rulebook.schema import Condition
from threedice.rulebook.selection import (
    Selection,
    family,
    read_face,
    read_selection,
    read_total,
    selection_words,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.rulebook.conduct import Citation
    from threedice.rulebook.faces import Faces
    from threedice.rulebook.game import Game
    from threedice.rulebook.schema import Row, Rulebook, Wager

MOST_THROWS = 12
"""More throws in a row than any game has; figures are exact in 216 to that power."""


def boxes_of_table(book: Rulebook, table_name: str, faces: Faces, file: str) -> dict[str, BoxFacts]:
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
        raise Place(file, ("pay_tables", table_name)).error("offers no box", "give it rows")
    return boxes


def _rows(
    book: Rulebook, table_name: str, file: str, included_by: tuple[str, ...]
) -> Iterator[tuple[str, Row, Place]]:
    """Yield the rows of a pay table, those of the table it includes first."""
    table = book.pay_tables[table_name]
    place = Place(file, ("pay_tables", table_name), cited(table.clause))
    if table.includes:
        others = [name for name in book.pay_tables if name not in (*included_by, table_name)]
        if table.includes not in others:
            raise place.at("includes").error(
                f"no pay table {table.includes!r} to include from here",
                did_you_mean(nearest(table.includes, others)),
            )
        yield from _rows(book, table.includes, file, (*included_by, table_name))
    for name, row in table.rows.items():
        yield name, row, Place(file, (*place.path, "rows", name), cited(row.clause or table.clause))


def _row_boxes(
    book: Rulebook, row_name: str, row: Row, faces: Faces, place: Place
) -> Iterator[tuple[str, BoxFacts]]:
    name = row.wager or row_name
    if name not in book.wagers:
        raise place.error(f"no wager {name!r}", did_you_mean(nearest(name, book.wagers)))
    wager = book.wagers[name]
    of_wager = Place(place.file, ("wagers", name), cited(wager.clause))
    odds = _odds(row, place)
    if wager.throws > 1 and len(odds) > 1:
        raise place.error(
            "a bet over several throws has several odds", "give one odds for the whole of it"
        )
    for selection in _selections(wager, row, faces, place, of_wager):
        words = selection_words(wager, selection, faces)
        box_id = _box_id(name, words)
        ways = ways_of(wager, selection, faces, of_wager)
        lines = _lines(ways, faces, box_id, of_wager)
        yield (
            box_id,
            BoxFacts(
                family=name,
                ways=ways,
                parts=list(selection),
                selection=words,
                lines=_paired(lines, odds, box_id, place),
                rule=list(cited(wager.clause)),
                pays=list(place.clauses),
                throws=wager.throws,
                under={each: list(cited(clause)) for each, clause in _under(wager)},
            ),
        )


def _under(wager: Wager) -> Iterator[tuple[str, Citation]]:
    """Yield the outcomes for which a wager names a closer clause, and that clause."""
    for outcome in wager.under.__struct_fields__:
        if clause := getattr(wager.under, outcome):
            yield outcome, clause


def _box_id(name: str, words: list[str]) -> str:
    return f"{name}:{'-'.join(words)}" if words else name


def _selections(
    wager: Wager, row: Row, faces: Faces, place: Place, of_wager: Place
) -> list[Selection]:
    if row.boxes is None:
        return family(wager, faces, of_wager)
    if not row.boxes:
        raise place.error("the row offers no box", "list some, or leave boxes out for all")
    chosen = [read_selection(wager, part, faces, place) for part in row.boxes]
    for i, selection in enumerate(chosen):
        if selection in chosen[:i]:
            raise place.error(
                f"the box {row.boxes[i]!r} stands twice", "two boxes cannot have one id; drop one"
            )
    return chosen


# --- ways to win --------------------------------------------------------------------------------


def ways_of(wager: Wager, selection: Selection, faces: Faces, place: Place) -> list[Way]:
    """Spell out the conditions under which a selection of a wager wins."""
    conditions = _conditions(wager)
    if not conditions or not 1 <= wager.throws <= MOST_THROWS:
        raise place.error(
            "the wager cannot be won", f"give it wins, and throws from 1 to {MOST_THROWS}"
        )
    totals = wager.selects == "total"
    return [_way(each, selection, totals, faces, place) for each in conditions]


def _conditions(wager: Wager) -> list[Condition]:
    if isinstance(wager.wins, str):
        return [Condition(when=wager.wins)]
    return [wager.wins] if isinstance(wager.wins, Condition) else wager.wins


def _way(
    condition: Condition, selection: Selection, totals: bool, faces: Faces, place: Place
) -> Way:
    """Spell out what a condition speaks of: nothing, what the file gives, or the selection."""
    when, word = condition.when, VOCABULARY[condition.when]
    if when.startswith("total") and not faces.are_numbers:
        raise place.error(f"{when!r} adds up faces that are not numbers", "use a word about faces")
    of: Selection
    if condition.of is not None:
        if word.speaks_of == "nothing":
            raise place.error(f"{when!r} speaks of nothing in particular", "leave of out")
        of = tuple(
            read_total(part, place) if word.speaks_of == "totals" else read_face(part, faces, place)
            for part in condition.of
        )
    elif word.speaks_of == "nothing":
        of = ()
    else:
        of = selection
        if selection and totals != (word.speaks_of == "totals"):
            raise place.error(
                f"{when!r} speaks of {word.speaks_of}, and the wager does not select them",
                "choose a word that fits selects, or give of",
            )
    if len(of) not in word.how_many:
        raise place.error(
            f"{when!r} cannot speak of {len(of)} {word.speaks_of}",
            f"give {_how_many(word.how_many)} in of, or let the wager select them",
        )
    return Way(when=when, of=sorted(of), unless=condition.unless or "")


def _how_many(counts: range) -> str:
    least, most = counts[0], counts[-1]
    return str(least) if least == most else f"{least} to {most}"


def _lines(ways: list[Way], faces: Faces, box_id: str, place: Place) -> list[RollSet]:
    """Return the sets of rolls a box wins on, one for each way that can have odds of its own."""
    lines = [
        RollSet(rolls & ~(ANY_TRIPLE if way.unless else 0))
        for way in ways
        for rolls in VOCABULARY[way.when].lines(tuple(way.of))
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


def _odds(row: Row, place: Place) -> list[str]:
    odds = [row.odds] if isinstance(row.odds, str) else row.odds
    for each in odds:
        try:
            Odds.parse(each)
        except InvalidInput as error:
            problem, _, remedy = str(error).rpartition("; ")
            raise place.at("odds").error(problem, remedy) from None
    return odds


def _paired(lines: list[RollSet], odds: list[str], box_id: str, place: Place) -> list[LineFacts]:
    """Give each way of winning its odds; one odds serves for all."""
    if len(odds) == 1:
        (each,) = odds
        return [LineFacts(odds=each, rolls=f"{sum(lines):x}")]
    if len(odds) != len(lines):
        raise place.error(
            f"{len(odds)} odds for {box_id!r}, which can win in {len(lines)} ways",
            "give one odds for all ways, or one for each",
        )
    paired = []
    for each, rolls in zip(odds, lines, strict=True):
        if not rolls:
            raise place.error(f"{box_id!r} never wins {each}", "mend its conditions")
        paired.append(LineFacts(odds=each, rolls=f"{rolls:x}"))
    return paired


# --- families -----------------------------------------------------------------------------------


def missing_from_families(game: Game, book: Rulebook) -> dict[str, list[str]]:
    """Return, for each family that a game offers in part, the boxes it leaves out."""
    missing: dict[str, list[str]] = {}
    for name in dict.fromkeys(box.family for box in game.boxes.values()):
        wager = book.wagers[name]
        for selection in family(wager, game.faces, Place(book.id, ("wagers", name))):
            box_id = _box_id(name, selection_words(wager, selection, game.faces))
            if box_id not in game.boxes:
                missing.setdefault(name, []).append(box_id)
    return missing
