"""What a box is a bet on: the complete family of selections of a wager, and how each is written.

A selection is written as in a box's id, ascending and joined by "-" ("1-4"; the pair first in
"1-1-3"). `boxes` asks here which boxes a row of a pay table means.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from threedice.dice import FACES
from threedice.errors import did_you_mean, nearest

if TYPE_CHECKING:
    from threedice.rulebook.faces import Faces
    from threedice.rulebook.place import Place
    from threedice.rulebook.schema import Part, Selects, Wager

Selection = tuple[int, ...]
"""Face numbers in the order they are written, or one total; empty for a wager of one box."""


def complete_family(selects: Selects) -> list[Selection]:
    """Return every selection a wager of this kind could offer.

    Totals 3 and 18 are left out: they are only ever triples, and no book offers them as totals.

    >>> len(complete_family("pair-and-single")), len(complete_family("four-faces"))
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


def family(wager: Wager, faces: Faces, place: Place) -> list[Selection]:
    """Return every selection of a wager, by its kind or as the file lists them."""
    if isinstance(wager.selects, str):
        return complete_family(wager.selects)
    place = place.at("selects")
    if not wager.selects:
        raise place.error("the family has no box", "list a selection, or leave selects out")
    listed = [_read_faces(each, faces, place) for each in wager.selects]
    for written, selection in zip(wager.selects, listed, strict=True):
        if any(a >= b for a, b in pairwise(selection)):
            right = "-".join(faces.name(face) for face in sorted(set(selection)))
            raise place.error(f"{written!r} does not ascend", f"write it as {right}")
    if len(set(listed)) != len(listed):
        raise place.error("a selection is listed twice", "two boxes cannot have one id; drop one")
    return listed


def read_selection(wager: Wager, written: Part, faces: Faces, place: Place) -> Selection:
    """Read one entry of `boxes`, insisting on the one way to write it."""
    if wager.selects == "total":
        return (read_total(written, place),)
    choices = family(wager, faces, place)
    selection = _read_faces(str(written), faces, place)
    if selection not in choices:
        spelt = ["-".join(selection_words(wager, each, faces)) for each in choices]
        alike = [
            words
            for words, each in zip(spelt, choices, strict=True)
            if sorted(each) == sorted(selection)
        ]
        raise place.error(
            f"{written!r} is not a selection of this wager",
            did_you_mean(alike or nearest(str(written), spelt)),
        )
    return selection


def selection_words(wager: Wager, selection: Selection, faces: Faces) -> list[str]:
    """Return the parts of a selection as they stand in a box's id."""
    if wager.selects == "total":
        return [str(total) for total in selection]
    return [faces.name(face) for face in selection]


def read_total(written: Part, place: Place) -> int:
    """Read a total of three dice."""
    text = str(written)
    if text.isascii() and text.isdecimal() and len(text) <= 2 and 3 <= int(text) <= 18:
        return int(text)
    raise place.error(f"{text[:20]!r} is no total of three dice", "give a number from 3 to 18")


def read_face(written: Part, faces: Faces, place: Place) -> int:
    """Read a face by its name."""
    if str(written) not in faces.names:
        known = did_you_mean(nearest(str(written), faces.names))
        raise place.error(f"unknown face {written!r}", known)
    return faces.number(str(written))


def _read_faces(written: str, faces: Faces, place: Place) -> Selection:
    return tuple(read_face(part, faces, place) for part in written.split("-"))
