"""From a rulebook to a Game: evaluate every wager of a layout's pay table over the 216 rolls.

Second stage of the flow. What cannot be settled one way only is refused here: odds that do not
parse, a box that never wins or could win twice, two boxes with one id.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from threedice.dice import RollSet, members
from threedice.errors import InvalidInput, RulebookError, did_you_mean, nearest
from threedice.money import Odds
from threedice.rulebook import felt
from threedice.rulebook.conditions import ANY_TRIPLE, VOCABULARY
from threedice.rulebook.conduct import Conduct, cited
from threedice.rulebook.faces import Faces
from threedice.rulebook.game import BoxFacts, Facts, Game, LineFacts, Way, boxes_of
from threedice.rulebook.schema import Condition
from threedice.rulebook.selection import complete_family, is_possible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from threedice.rulebook.conduct import Citation, Limits
    from threedice.rulebook.schema import Part, Row, Rulebook, Wager
    from threedice.rulebook.selection import Selection


def compile_game(book: Rulebook, layout_name: str, readings: Mapping[str, str], file: str) -> Game:
    """Return the Game of one layout of a rulebook, the readings being applied already."""
    layout = book.layouts[layout_name]
    place = _Place(file, f"layouts.{layout_name}.pay_table", cited(layout.clause))
    if layout.pay_table not in book.pay_tables:
        raise place.error(
            f"no pay table {layout.pay_table!r}",
            did_you_mean(nearest(layout.pay_table, book.pay_tables)),
        )
    faces = _faces(book, file)
    boxes = _boxes(book, layout.pay_table, faces, file)
    facts = _facts(book, layout_name, readings, faces, boxes)
    named = boxes_of(facts, {family: wager.name for family, wager in book.wagers.items()})
    drawn = felt.draw(layout_name, layout, named, faces, file)
    if book.limits.areas == "per-area" and drawn:
        facts = _with_areas(facts, drawn)
    return Game(
        facts,
        named,
        drawn,
        f"{book.title}, {layout.title}",
        {number: clause.summary for number, clause in book.clauses.items()},
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """A key of the file under compilation, for errors to name."""

    file: str
    key: str
    clauses: tuple[str, ...]

    def error(self, problem: str, remedy: str) -> RulebookError:
        return RulebookError(self.file, self.key, problem, remedy, ", ".join(self.clauses))


def _faces(book: Rulebook, file: str) -> Faces:
    names = tuple(str(face) for face in book.dice.faces)
    place = _Place(file, "dice.faces", cited(book.dice.clause))
    if len(set(names)) != 6:
        raise place.error("two faces have one name", "name six different faces")
    odd = [name for name in names if "-" in name or ":" in name or name != name.strip().lower()]
    if odd or (any(name.isdigit() for name in names) and names != tuple("123456")):
        raise place.error(
            f"{', '.join(odd or names)}: not names for faces",
            'use the numbers 1 to 6 in order, or six lower-case words without "-" or ":"',
        )
    if book.dice.words and len(book.dice.words) != 6:
        raise place.error("words are not six", "give one word for each face, or none")
    return Faces(names, tuple(book.dice.words))


# --- boxes --------------------------------------------------------------------------------------


def _boxes(book: Rulebook, table_name: str, faces: Faces, file: str) -> dict[str, BoxFacts]:
    boxes: dict[str, BoxFacts] = {}
    rows: dict[str, str] = {}
    for row_name, row, place in _rows(book, table_name, file, ()):
        for box_id, box in _row_boxes(book, row_name, row, faces, place):
            if box_id in boxes:
                twice = f"row {rows[box_id]!r} has the box {box_id!r} too, so it would win twice"
                raise place.error(twice, "offer it in one row only: two boxes cannot have one id")
            boxes[box_id], rows[box_id] = box, row_name
    return boxes


def _rows(
    book: Rulebook, table_name: str, file: str, included_by: tuple[str, ...]
) -> Iterator[tuple[str, Row, _Place]]:
    """Yield the rows of a pay table, those of the table it includes first."""
    table = book.pay_tables[table_name]
    if table.includes:
        place = _Place(file, f"pay_tables.{table_name}.includes", cited(table.clause))
        others = [name for name in book.pay_tables if name not in (*included_by, table_name)]
        if table.includes not in others:
            raise place.error(
                f"no pay table {table.includes!r} to include",
                did_you_mean(nearest(table.includes, others)),
            )
        yield from _rows(book, table.includes, file, (*included_by, table_name))
    for name, row in table.rows.items():
        clauses = cited(row.clause or table.clause)
        yield name, row, _Place(file, f"pay_tables.{table_name}.rows.{name}", clauses)


def _row_boxes(
    book: Rulebook, row_name: str, row: Row, faces: Faces, place: _Place
) -> Iterator[tuple[str, BoxFacts]]:
    family = row.wager or row_name
    if family not in book.wagers:
        raise place.error(f"no wager {family!r}", did_you_mean(nearest(family, book.wagers)))
    wager = book.wagers[family]
    if wager.throws < 1 or not _conditions(wager):
        raise place.error(f"wager {family!r} cannot be won", "give it wins, and throws above 0")
    odds = _odds(row, place)
    of_wager = _Place(place.file, f"wagers.{family}", cited(wager.clause))
    for selection in _selections(wager, row, faces, place):
        words = _selection_words(wager, selection, faces)
        box_id = _box_id(family, words)
        ways = [_way(each, selection, faces, of_wager) for each in _conditions(wager)]
        lines = _lines(ways, faces, box_id, of_wager)
        yield (
            box_id,
            BoxFacts(
                family=family,
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


def _box_id(family: str, words: list[str]) -> str:
    return f"{family}:{'-'.join(words)}" if words else family


def _odds(row: Row, place: _Place) -> list[str]:
    odds = [row.odds] if isinstance(row.odds, str) else row.odds
    for each in odds:
        try:
            Odds.parse(each)
        except InvalidInput as error:
            problem, _, remedy = str(error).partition("; ")
            raise _Place(place.file, f"{place.key}.odds", place.clauses).error(
                problem, remedy
            ) from None
    return odds


def _paired(lines: list[RollSet], odds: list[str], box_id: str, place: _Place) -> list[LineFacts]:
    """Give each way of winning its odds; one odds serves for all."""
    if len(odds) == 1:
        return [LineFacts(odds=odds[0], rolls=f"{sum(lines):x}")]
    if len(odds) != len(lines):
        raise place.error(
            f"{len(odds)} odds for {box_id!r}, which can win in {len(lines)} ways",
            "give one odds for all ways, or one for each",
        )
    return [
        LineFacts(odds=each, rolls=f"{rolls:x}") for each, rolls in zip(odds, lines, strict=True)
    ]


def _conditions(wager: Wager) -> list[Condition]:
    if isinstance(wager.wins, str):
        return [Condition(when=wager.wins)]
    return [wager.wins] if isinstance(wager.wins, Condition) else wager.wins


def _lines(ways: list[Way], faces: Faces, box_id: str, place: _Place) -> list[RollSet]:
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


def _way(condition: Condition, selection: Selection, faces: Faces, place: _Place) -> Way:
    """Spell out what a condition speaks of: nothing, what the file gives, or the selection."""
    word = VOCABULARY[condition.when]
    if condition.when.startswith("total") and not faces.are_numbers:
        raise place.error(
            f"{condition.when!r} adds up faces that are not numbers", "use a word about faces"
        )
    if word.speaks_of == "nothing":
        of: Selection = ()
    elif condition.of is None:
        of = selection
    else:
        of = tuple(_part(part, word.speaks_of == "totals", faces, place) for part in condition.of)
    if word.speaks_of != "nothing" and len(of) not in word.how_many:
        raise place.error(
            f"{condition.when!r} cannot speak of {len(of)} {word.speaks_of}",
            f"give {_how_many(word.how_many)} in of, or let the wager select them",
        )
    return Way(when=condition.when, of=list(of), unless=condition.unless or "")


def _how_many(counts: range) -> str:
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _part(part: Part, is_total: bool, faces: Faces, place: _Place) -> int:
    """Read a face or a total as the file writes it."""
    if is_total:
        if str(part).isdigit() and 3 <= int(part) <= 18:
            return int(part)
        raise place.error(f"{part!r} is no total of three dice", "give a number from 3 to 18")
    if str(part) not in faces.names:
        raise place.error(f"unknown face {part!r}", did_you_mean(nearest(str(part), faces.names)))
    return faces.number(str(part))


# --- selections ---------------------------------------------------------------------------------


def _selections(wager: Wager, row: Row, faces: Faces, place: _Place) -> list[Selection]:
    if row.boxes is None:
        return _family(wager, faces, place)
    chosen = [_selection(wager, part, faces, place) for part in row.boxes]
    for i, selection in enumerate(chosen):
        if selection in chosen[:i]:
            raise place.error(
                f"the box {row.boxes[i]!r} stands twice", "two boxes cannot have one id; drop one"
            )
    return chosen


def _family(wager: Wager, faces: Faces, place: _Place) -> list[Selection]:
    """Return every selection of a wager's family, from its kind or as the file lists them."""
    if isinstance(wager.selects, str):
        return complete_family(wager.selects)
    return [_faces_of(each, faces, place) for each in wager.selects]


def _selection(wager: Wager, written: Part, faces: Faces, place: _Place) -> Selection:
    """Read one entry of `boxes`, insisting on the one way to write it."""
    if wager.selects == "total":
        return (_part(written, True, faces, place),)
    selection = _faces_of(str(written), faces, place)
    if isinstance(wager.selects, list):
        possible = str(written) in wager.selects
    else:
        possible = is_possible(wager.selects, selection)
    if not possible:
        family = _family(wager, faces, place)
        choices = ["-".join(_selection_words(wager, each, faces)) for each in family]
        raise place.error(
            f"{written!r} is not a selection of this wager",
            did_you_mean(nearest(str(written), choices)),
        )
    return selection


def _faces_of(written: str, faces: Faces, place: _Place) -> Selection:
    return tuple(_part(part, False, faces, place) for part in written.split("-"))


def _selection_words(wager: Wager, selection: Selection, faces: Faces) -> list[str]:
    if wager.selects == "total":
        return [str(total) for total in selection]
    return [faces.name(face) for face in selection]


def missing_from_families(game: Game, book: Rulebook) -> dict[str, list[str]]:
    """Return, for each family that a game offers in part, the boxes it leaves out."""
    missing: dict[str, list[str]] = {}
    for family in dict.fromkeys(box.family for box in game.boxes.values()):
        wager = book.wagers[family]
        place = _Place(book.id, f"wagers.{family}", cited(wager.clause))
        for selection in _family(wager, game.faces, place):
            box_id = _box_id(family, _selection_words(wager, selection, game.faces))
            if box_id not in game.boxes:
                missing.setdefault(family, []).append(box_id)
    return missing


# --- facts --------------------------------------------------------------------------------------


def _facts(
    book: Rulebook,
    layout_name: str,
    readings: Mapping[str, str],
    faces: Faces,
    boxes: dict[str, BoxFacts],
) -> Facts:
    conduct = {name: getattr(book, name) for name in Conduct.__struct_fields__}
    conduct["limits"] = _limits_on(book.limits, boxes)
    return Facts(
        id=f"{book.id}/{layout_name}",
        version=book.version,
        effective=book.effective,
        faces=list(faces.names),
        readings=dict(readings),
        boxes=boxes,
        **conduct,
    )


def _limits_on(limits: Limits, boxes: Mapping[str, BoxFacts]) -> Limits:
    """Return the limit policy with those pairs of the differential that a layout offers."""
    if limits.differential is None:
        return limits
    pairs = [pair for pair in limits.differential.pairs if boxes.keys() >= set(pair)]
    return replace(limits, differential=replace(limits.differential, pairs=pairs))


def _with_areas(facts: Facts, drawn: felt.Felt) -> Facts:
    """Add how many areas each box has, which matters where each area has a limit of its own."""
    return replace(facts, areas=dict(Counter(area.box for area in drawn.areas)))
