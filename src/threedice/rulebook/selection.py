"""What a box is a bet on: the complete family of selections of a wager, and how each is written.

A selection is written as in a box's id, ascending and joined by "-" ("1-4"; the pair first in
"1-1-3"). `compile` asks here which boxes a row of a pay table means.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from threedice.dice import FACES

if TYPE_CHECKING:
    from threedice.rulebook.schema import Selects

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
        case "pair-and-single":
            return [(pair, pair, single) for pair in FACES for single in FACES if single != pair]


def is_possible(selects: Selects, selection: Selection) -> bool:
    """Tell whether a box could be this selection, the totals 3 and 18 included."""
    if selects == "total":
        return len(selection) == 1 and 3 <= selection[0] <= 18
    return selection in complete_family(selects)
