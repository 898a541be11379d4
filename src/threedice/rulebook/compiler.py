"""From a rulebook to a Game: one layout, its pay table's boxes, and how the game is run.

Second stage of the flow; the readings have been applied to the rulebook already.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from threedice.dice import FaceNames
from threedice.errors import did_you_mean, nearest_names
from threedice.rulebook import felt
from threedice.rulebook.boxes import compile_boxes
from threedice.rulebook.conduct import Conduct, clause_numbers
from threedice.rulebook.game import BoxFacts, Game, GameFacts, build_boxes
from threedice.rulebook.validation import SourceLocation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.rulebook.conduct import LimitPolicy
    from threedice.rulebook.schema import Rulebook

_WORD = re.compile(r"[a-z][a-z0-9]*")


def compile_game(book: Rulebook, layout_name: str, readings: Mapping[str, str], file: str) -> Game:
    """Return the Game of one layout of a rulebook, the readings being applied already."""
    layout = book.layouts[layout_name]
    place = SourceLocation(file, ("layouts", layout_name), clause_numbers(layout.clause))
    if layout.pay_table not in book.pay_tables:
        raise place.child("pay_table").error(
            f"no pay table {layout.pay_table!r}",
            did_you_mean(nearest_names(layout.pay_table, book.pay_tables)),
        )
    faces = parse_face_names(book, file)
    boxes = compile_boxes(book, layout.pay_table, faces, file)
    facts = _facts(book, layout_name, readings, faces, boxes)
    named = build_boxes(facts, {family: wager.name for family, wager in book.wagers.items()})
    drawn = felt.build_felt(layout, named, faces, place)
    if drawn:
        facts = replace(facts, areas=_ends(drawn))
    return Game(
        facts,
        named,
        drawn,
        f"{book.title}, {layout.title}",
        {number: clause.summary for number, clause in book.clauses.items()},
    )


def parse_face_names(book: Rulebook, file: str) -> FaceNames:
    """Return the names of a rulebook's faces, refusing names that could not be told apart."""
    names = tuple(str(face) for face in book.dice.faces)
    place = SourceLocation(file, ("dice", "faces"), clause_numbers(book.dice.clause))
    if len(set(names)) != 6:
        raise place.error("two faces have one name", "name six different faces")
    if names != tuple("123456") and not all(_WORD.fullmatch(name) for name in names):
        raise place.error(
            f"{', '.join(map(repr, names))}: not names for faces",
            "use the numbers 1 to 6 in order, or six lower-case words",
        )
    if book.dice.words and len(book.dice.words) != 6:
        raise SourceLocation(file, ("dice", "words"), place.clauses).error(
            "words are not six", "give one word for each face, or none"
        )
    return FaceNames(names, tuple(book.dice.words))


def _facts(
    book: Rulebook,
    layout_name: str,
    readings: Mapping[str, str],
    faces: FaceNames,
    boxes: dict[str, BoxFacts],
) -> GameFacts:
    conduct = {name: getattr(book, name) for name in Conduct.__struct_fields__}
    conduct["limits"] = _limits_on(book.limits, boxes)
    return GameFacts(
        id=f"{book.id}/{layout_name}",
        version=book.version,
        effective=book.effective,
        faces=list(faces.names),
        readings=dict(readings),
        boxes=boxes,
        **conduct,
    )


def _limits_on(limits: LimitPolicy, boxes: Mapping[str, BoxFacts]) -> LimitPolicy:
    """Return the limit policy with those pairs of the differential that a layout offers."""
    if limits.differential is None:
        return limits
    pairs = [pair for pair in limits.differential.pairs if boxes.keys() >= set(pair)]
    return replace(limits, differential=replace(limits.differential, pairs=pairs))


def _ends(drawn: felt.Felt) -> dict[str, list[str]]:
    """Return the ends of the table at which boxes lie that have more than one area."""
    ends: dict[str, list[str]] = {}
    for area in drawn.areas:
        ends.setdefault(area.box, []).append(area.id.partition("@")[2])
    return {box: each for box, each in ends.items() if each != [""]}
