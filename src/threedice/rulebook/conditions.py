"""The closed vocabulary of winning conditions, each evaluated to sets of rolls at compile time.

A condition gives one set of rolls; `count` gives one for each number of dice, so that each can
have its own odds. `boxes` refuses a box with two sets that share a roll.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

from threedice.dice import ROLLS, Roll, RollSet, rolls_where

if TYPE_CHECKING:
    from collections.abc import Callable

    from threedice.rulebook.schema import ConditionName

Operands = tuple[int, ...]
"""The operands of a condition, ascending: face numbers 1 to 6, or totals 3 to 18."""

ANY_TRIPLE: Final = rolls_where(lambda roll: len(set(roll)) == 1)


@dataclass(frozen=True, slots=True)
class ConditionDefinition:
    """A winning condition: its text, the operands it takes, and the rolls it wins on.

    `way` is 0 for a roll that does not satisfy it, else the number of the way in which it does.
    """

    template: str
    operand_kind: Literal["nothing", "faces", "totals"]
    operand_counts: range
    way: Callable[[Roll, Operands], int]
    ways: int = 1


_NONE, _ONE, _TWO, _SEVERAL = range(1), range(1, 2), range(2, 3), range(1, 7)

VOCABULARY: Final[dict[ConditionName, ConditionDefinition]] = {
    "total-is": ConditionDefinition(
        "the dice total {or}", "totals", range(1, 17), lambda roll, of: sum(roll) in of
    ),
    "total-odd": ConditionDefinition(
        "the total is odd", "nothing", _NONE, lambda roll, _: sum(roll) % 2 == 1
    ),
    "total-even": ConditionDefinition(
        "the total is even", "nothing", _NONE, lambda roll, _: sum(roll) % 2 == 0
    ),
    "shows": ConditionDefinition(
        "at least one die shows {or}", "faces", _ONE, lambda roll, of: of[0] in roll
    ),
    "count": ConditionDefinition(
        "one, two or three dice show {or}",
        "faces",
        _ONE,
        lambda roll, of: roll.count(of[0]),
        ways=3,
    ),
    "shows-both": ConditionDefinition(
        "{and} both appear", "faces", _TWO, lambda roll, of: set(of) <= set(roll)
    ),
    "shows-pair": ConditionDefinition(
        "two or three dice show {or}", "faces", _ONE, lambda roll, of: roll.count(of[0]) >= 2
    ),
    "any-triple": ConditionDefinition(
        "all dice show the same face", "nothing", _NONE, lambda roll, _: len(set(roll)) == 1
    ),
    "triple": ConditionDefinition(
        "all three dice show {or}", "faces", _ONE, lambda roll, of: set(roll) == set(of)
    ),
    "exactly": ConditionDefinition(
        "the dice show {and}", "faces", range(3, 4), lambda roll, of: tuple(sorted(roll)) == of
    ),
    "three-different-within": ConditionDefinition(
        "the dice show three different ones of {and}",
        "faces",
        range(3, 7),
        lambda roll, of: len(set(roll) & set(of)) == 3,
    ),
    "all-within": ConditionDefinition(
        "every die shows {or}", "faces", _SEVERAL, lambda roll, of: set(roll) <= set(of)
    ),
    "one-within": ConditionDefinition(
        "exactly one die shows {or}",
        "faces",
        _SEVERAL,
        lambda roll, of: sum(die in of for die in roll) == 1,
    ),
    "two-within": ConditionDefinition(
        "exactly two dice show {or}",
        "faces",
        _SEVERAL,
        lambda roll, of: sum(die in of for die in roll) == 2,
    ),
    "pair-within": ConditionDefinition(
        "two or three dice show the same one of {and}",
        "faces",
        _SEVERAL,
        lambda roll, of: any(roll.count(face) >= 2 for face in of),
    ),
    "exact-pair-within": ConditionDefinition(
        "exactly two dice show the same one of {and}",
        "faces",
        _SEVERAL,
        lambda roll, of: any(roll.count(face) == 2 for face in of),
    ),
}


@cache
def roll_sets(when: ConditionName, of: Operands) -> tuple[RollSet, ...]:
    """Return the rolls that satisfy a condition, one set for each way; games share many of them."""
    definition = VOCABULARY[when]
    found = [definition.way(roll, of) for roll in ROLLS]
    return tuple(
        RollSet(sum(1 << i for i, each in enumerate(found) if each == way))
        for way in range(1, definition.ways + 1)
    )


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
