"""The closed vocabulary of winning conditions, each evaluated to sets of rolls at compile time.

A condition gives one set of rolls; `count` gives one for each number of dice, so that each can
have its own odds. `boxes` refuses a box with two sets that share a roll.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, permutations
from typing import TYPE_CHECKING, Final, Literal

from threedice.dice import FACES, NO_ROLL, RollSet, index, rolls_where

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from threedice.rulebook.schema import ConditionName

Operands = tuple[int, ...]
"""The operands of a condition, ascending: face numbers 1 to 6, or totals 3 to 18."""


@dataclass(frozen=True, slots=True)
class ConditionDefinition:
    """A winning condition: its text, the operands it takes, and the rolls it wins on."""

    template: str
    operand_kind: Literal["nothing", "faces", "totals"]
    operand_counts: range
    roll_sets: Callable[[Operands], tuple[RollSet, ...]]


def _dice_showing(face: int) -> tuple[RollSet, RollSet, RollSet]:
    """Return the rolls in which exactly one, two and three dice show a face."""
    return (
        rolls_where(lambda roll: roll.count(face) == 1),
        rolls_where(lambda roll: roll.count(face) == 2),
        rolls_where(lambda roll: roll.count(face) == 3),
    )


def _in_any_order(faces: tuple[int, ...]) -> RollSet:
    return RollSet(sum({1 << index((a, b, c)) for a, b, c in permutations(faces)}))


_SHOWING: Final = {face: _dice_showing(face) for face in FACES}
_PERMUTATIONS: Final[dict[Operands, RollSet]] = {
    faces: _in_any_order(faces) for faces in combinations_with_replacement(FACES, 3)
}
ANY_TRIPLE: Final = rolls_where(lambda roll: len(set(roll)) == 1)


def _union(sets: Iterable[RollSet]) -> RollSet:
    union = NO_ROLL
    for rolls in sets:
        union = RollSet(union | rolls)
    return union


def _total_is(totals: Operands) -> tuple[RollSet, ...]:
    return (rolls_where(lambda roll: sum(roll) in totals),)


def _total_odd(_: Operands) -> tuple[RollSet, ...]:
    return (rolls_where(lambda roll: sum(roll) % 2 == 1),)


def _total_even(_: Operands) -> tuple[RollSet, ...]:
    return (rolls_where(lambda roll: sum(roll) % 2 == 0),)


def _shows_all(of: Operands) -> tuple[RollSet, ...]:
    return (rolls_where(lambda roll: set(of) <= set(roll)),)


def _count(of: Operands) -> tuple[RollSet, ...]:
    (face,) = of
    return _SHOWING[face]


def _triple(of: Operands) -> tuple[RollSet, ...]:
    return (_PERMUTATIONS[of * 3],)


def _exactly(of: Operands) -> tuple[RollSet, ...]:
    return (_PERMUTATIONS[of],)


def _three_different_within(of: Operands) -> tuple[RollSet, ...]:
    return (_union(_PERMUTATIONS[three] for three in combinations(dict.fromkeys(of), 3)),)


def _all_within(of: Operands) -> tuple[RollSet, ...]:
    return (rolls_where(lambda roll: set(roll) <= set(of)),)


def _pair_within(of: Operands) -> tuple[RollSet, ...]:
    return (_union(rolls for face in of for rolls in _SHOWING[face][1:]),)


def _exact_pair_within(of: Operands) -> tuple[RollSet, ...]:
    return (_union(_SHOWING[face][1] for face in of),)


_NONE, _ONE, _TWO, _SEVERAL = range(1), range(1, 2), range(2, 3), range(1, 7)

VOCABULARY: Final[dict[ConditionName, ConditionDefinition]] = {
    "total-is": ConditionDefinition("the dice total {or}", "totals", range(1, 17), _total_is),
    "total-odd": ConditionDefinition("the total is odd", "nothing", _NONE, _total_odd),
    "total-even": ConditionDefinition("the total is even", "nothing", _NONE, _total_even),
    "shows": ConditionDefinition("at least one die shows {or}", "faces", _ONE, _shows_all),
    "count": ConditionDefinition("one, two or three dice show {or}", "faces", _ONE, _count),
    "shows-both": ConditionDefinition("{and} both appear", "faces", _TWO, _shows_all),
    "shows-pair": ConditionDefinition("two or three dice show {or}", "faces", _ONE, _pair_within),
    "any-triple": ConditionDefinition(
        "all dice show the same face", "nothing", _NONE, lambda _: (ANY_TRIPLE,)
    ),
    "triple": ConditionDefinition("all three dice show {or}", "faces", _ONE, _triple),
    "exactly": ConditionDefinition("the dice show {and}", "faces", range(3, 4), _exactly),
    "three-different-within": ConditionDefinition(
        "the dice show three different ones of {and}",
        "faces",
        range(3, 7),
        _three_different_within,
    ),
    "all-within": ConditionDefinition("every die shows {or}", "faces", _SEVERAL, _all_within),
    "pair-within": ConditionDefinition(
        "two or three dice show the same one of {and}", "faces", _SEVERAL, _pair_within
    ),
    "exact-pair-within": ConditionDefinition(
        "exactly two dice show the same one of {and}", "faces", _SEVERAL, _exact_pair_within
    ),
}


def describe_condition(when: ConditionName, of: list[str]) -> str:
    """Describe a winning condition in words.

    >>> describe_condition("shows-both", ["1", "4"])
    '1 and 4 both appear'
    >>> describe_condition("total-is", ["4", "5", "6"])
    'the dice total 4, 5 or 6'
    """
    return VOCABULARY[when].template.format_map({"or": _join(of, "or"), "and": _join(of, "and")})


def _join(names: list[str], conjunction: str) -> str:
    *others, last = names or [""]
    return f"{', '.join(others)} {conjunction} {last}" if others else last
