"""Compile one layout of a rulebook to a Game.

The readings have already been applied to the rulebook.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from threedice.dice import FaceNames
from threedice.rulebook.boxes import compile_boxes
from threedice.rulebook.conduct import Conduct
from threedice.rulebook.felt import build_felt
from threedice.rulebook.game import BoxFacts, Game, GameFacts, build_boxes
from threedice.rulebook.validation import SourceLocation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.rulebook.conduct import LimitPolicy
    from threedice.rulebook.felt import Felt
    from threedice.rulebook.schema import Rulebook

_SYMBOL_NAME = re.compile(r"[a-z][a-z0-9]*")


def compile_game(book: Rulebook, layout_name: str, readings: Mapping[str, str], file: str) -> Game:
    """Compile one layout of a rulebook to which `readings` have been applied."""
    layout = book.layouts[layout_name]
    location = SourceLocation(file, ("layouts", layout_name), layout.clause)
    if layout.pay_table not in book.pay_tables:
        raise location.child("pay_table").unknown(
            f"no pay table {layout.pay_table!r}", layout.pay_table, book.pay_tables
        )
    faces = parse_face_names(book, file)
    boxes = compile_boxes(book, layout.pay_table, faces, file)
    facts = _facts(book, layout_name, readings, faces, boxes)
    built = build_boxes(facts, {family: wager.name for family, wager in book.wagers.items()})
    felt = build_felt(layout, built, faces, location)
    if felt:
        facts = replace(facts, areas=_ends(felt))
    return Game(
        facts,
        built,
        felt,
        f"{book.title}, {layout.title}",
        {number: clause.summary for number, clause in book.clauses.items()},
        book.consolidated,
    )


def parse_face_names(book: Rulebook, file: str) -> FaceNames:
    """Return the names of a rulebook's faces, refusing invalid or duplicate names."""
    names = tuple(str(face) for face in book.dice.faces)
    location = SourceLocation(file, ("dice", "faces"), book.dice.clause)
    if len(set(names)) != 6:
        raise location.error("two faces have one name", "name six different faces")
    if names != tuple("123456") and not all(_SYMBOL_NAME.fullmatch(name) for name in names):
        raise location.error(
            f"{', '.join(map(repr, names))}: not names for faces",
            "use the numbers 1 to 6 in order, or six lower-case words",
        )
    words = {"words": book.dice.words, "zh": book.dice.zh}
    for key, listed in words.items():
        if len(listed) not in (0, 6):
            raise SourceLocation(file, ("dice", key), book.dice.clause).error(
                "there are not six words", "give one word for each face, or none"
            )
    return FaceNames(names, tuple(book.dice.words), tuple(book.dice.zh), book.dice.points)


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
    """Return the limit policy without differential pairs whose boxes the layout lacks."""
    if limits.differential is None:
        return limits
    pairs = [pair for pair in limits.differential.pairs if boxes.keys() >= set(pair)]
    return replace(limits, differential=replace(limits.differential, pairs=pairs))


def _ends(felt: Felt) -> dict[str, list[str]]:
    """Return the ends of the table by box, for boxes that have an area at a named end."""
    ends: dict[str, list[str]] = {}
    for area in felt.areas:
        ends.setdefault(area.box, []).append(area.id.partition("@")[2])
    return {box: each for box, each in ends.items() if each != [""]}
