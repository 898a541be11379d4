"""The odds sheet of the 107-box game as users of icepool and of dyce would best compute it.

The rules are written here once more, as one function per box on a sorted roll, so that nothing
but the document is shared with threedice. icepool has two versions, by its manual and the
quickest we found; dyce's own mean and variance are floats, so its version adds up the exact ones
from the histogram. The 56 sorted rolls are made once, on import, as our 216 are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import combinations, permutations
from math import ceil, sqrt
from typing import Any

import dyce  # type: ignore[import-not-found,unused-ignore]
import icepool  # type: ignore[import-not-found,import-untyped,unused-ignore]

Roll = tuple[int, int, int]
"""Three faces in ascending order."""
Net = Callable[[Roll], int]
"""What a unit on a box wins on a roll, or -1."""
Row = tuple[int, Fraction, Fraction, Fraction, Fraction, float, float, int | None]
"""Ways, hit, return, edge, variance, standard deviation, volatility, stakes to lead."""
Sheet = tuple[dict[str, Row], Fraction]
"""The rows by box, and the layout's edge."""

# --- the rules once more, a function per box --------------------------------------------------


def between(low: int, high: int) -> Net:
    """Small or Big: even money on a range of totals, lost on a triple."""
    return lambda roll: 1 if low <= sum(roll) <= high and roll[0] != roll[2] else -1


def single(face: int) -> Net:
    """One face, paid by how many dice show it."""
    return lambda roll: (-1, 1, 2, 12)[roll.count(face)]


def total(points: int, odds: int) -> Net:
    """The sum of the dice."""
    return lambda roll: odds if sum(roll) == points else -1


def domino(one: int, other: int) -> Net:
    """Two different faces, both of them shown."""
    return lambda roll: 6 if one in roll and other in roll else -1


def any_triple(roll: Roll) -> int:
    """Three of a kind, whichever."""
    return 31 if roll[0] == roll[2] else -1


def four(faces: tuple[int, ...]) -> Net:
    """Three different faces, all of them among four."""
    among = frozenset(faces).issuperset
    return lambda roll: 7 if roll[0] < roll[1] < roll[2] and among(roll) else -1


def exactly(faces: Iterable[int], odds: int) -> Net:
    """One roll in any order: a triple, a trio, or a pair with a single."""
    shown = tuple(sorted(faces))
    return lambda roll: odds if roll == shown else -1


def all_boxes() -> dict[str, Net]:
    """Return the boxes of Appendix E, pay table 4.1.3."""
    faces = range(1, 7)
    boxes = {"small": between(4, 10), "big": between(11, 17), "any-triple": any_triple}
    boxes |= {f"single:{face}": single(face) for face in faces}
    boxes |= {f"triple:{face}": exactly((face,) * 3, 180) for face in faces}
    for points, odds in zip(range(4, 11), (62, 31, 18, 12, 8, 7, 6), strict=True):
        boxes |= {f"total:{each}": total(each, odds) for each in (points, 21 - points)}
    boxes |= {f"domino:{a}-{b}": domino(a, b) for a, b in combinations(faces, 2)}
    boxes |= {f"four:{a}-{b}-{c}-{d}": four((a, b, c, d)) for a, b, c, d in combinations(faces, 4)}
    boxes |= {f"trio:{a}-{b}-{c}": exactly((a, b, c), 30) for a, b, c in combinations(faces, 3)}
    pairs = [pair for pair in permutations(faces, 2) if pair not in {(1, 2), (6, 5)}]
    boxes |= {f"pair:{a}-{a}-{b}": exactly((a, a, b), 50) for a, b in pairs}
    return boxes


# --- the sheet in each library ----------------------------------------------------------------

BOXES = all_boxes()
ICEPOOL_ROLLS: Any = icepool.d6.pool(3).expand()
DYCE_ROLLS: Any = dyce.H(dict((3 @ dyce.P(6)).rolls_with_counts()))
SQUARED_95 = Fraction(1645, 1000) ** 2


def row(ways: int, hit: Fraction, mean: Fraction, variance: Fraction) -> Row:
    """Return the figures of a box from the four that the others follow from."""
    edge, sd = -mean, sqrt(variance)
    stakes = ceil(SQUARED_95 * variance / edge**2) if edge > 0 else None
    return ways, hit, 1 + mean, edge, variance, sd, 1.645 * sd, stakes


def sheet(rows: dict[str, Row]) -> Sheet:
    """Add the layout's edge to the rows."""
    return rows, sum((each[3] for each in rows.values()), Fraction(0)) / len(rows)


def added_up(results: Any, of: int) -> Row:
    """Return a box's figures by summing whole numbers over a die's or histogram's outcomes."""
    ways = first = second = 0
    for net, times in results.items():
        ways += times if net > 0 else 0
        first += net * times
        second += net * net * times
    variance = Fraction(second * of - first * first, of * of)
    return row(ways, Fraction(ways, of), Fraction(first, of), variance)


def icepool_by_the_manual() -> Sheet:
    """Use what the documentation offers for each step; its moments are exact."""
    dice: dict[str, Any] = {box: ICEPOOL_ROLLS.map(net) for box, net in BOXES.items()}
    return sheet(
        {
            box: row(die.quantity(">", 0), die.probability(">", 0), die.mean(), die.variance())
            for box, die in dice.items()
        }
    )


def icepool_dice() -> dict[str, Any]:
    """Map without the options of `map`, which cost more than the mapping."""
    return {box: ICEPOOL_ROLLS.unary_operator(net) for box, net in BOXES.items()}


def icepool_figures(dice: dict[str, Any]) -> Sheet:
    """Return the sheet from each box's die."""
    return sheet({box: added_up(die, die.denominator()) for box, die in dice.items()})


def dyce_histograms() -> dict[str, Any]:
    """Return each box's results as a histogram."""
    return {box: DYCE_ROLLS.apply(net) for box, net in BOXES.items()}


def dyce_figures(histograms: dict[str, Any]) -> Sheet:
    """Return the sheet from each box's histogram."""
    return sheet({box: added_up(each, each.total) for box, each in histograms.items()})
