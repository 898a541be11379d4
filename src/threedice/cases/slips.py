"""Find slips in the names on a line that the table must refuse.

The table would refuse such a line, but not for the reason that the case is about. A name that
another rulebook has is no slip: the case may be about the difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from threedice.errors import UnknownName
from threedice.rulebook import load, shipped_games

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from threedice.cases.language import Fields
    from threedice.rulebook import Game


def check_names(fields: Fields, reasons: list[str], game: Game) -> None:
    """Raise UnknownName for a name that no rulebook has, unless its refusal is expected."""
    for field, (kind, code, names_of) in _NAMED.items():
        name = fields.get(field)
        if not name or code in reasons or name in names_of(game):
            continue
        known = {each for other in shipped_games() for each in names_of(load(other))}
        if name not in known:
            raise UnknownName(kind, name, names_of(game) or sorted(known))


def _ends(game: Game) -> Collection[str]:
    return sorted({end for ends in game.ends.values() for end in ends if end})


_BOX: Final = ("box in any rulebook", "bet/unknown-box", lambda game: game.boxes)
_END: Final = ("end of a table", "bet/unknown-area", _ends)

_NAMED: Final[dict[str, tuple[str, str, Callable[[Game], Collection[str]]]]] = {
    "box": _BOX,
    "to_box": _BOX,
    "area": _END,
    "to_area": _END,
    "check": ("opening check", "table/unknown-check", lambda game: game.facts.opening),
    "kind": ("equipment", "equipment/unknown-kind", lambda game: game.facts.equipment),
}
"""The fields with names from a rulebook: what they name, and the refusal of an unknown name."""
