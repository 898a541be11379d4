"""Triple Dice, row by row from its odds."""

from collections.abc import Mapping

from tests.oracle.counting import (
    ANCHOR,
    CLUB,
    CROWN,
    DIAMOND,
    HEART,
    LOSS,
    SPADE,
    Roll,
    Row,
    boxes,
    how_many,
    is_triple,
)

# --- Triple Dice ------------------------------------------------------------------------------

TRIPLE_DICE_MAT = [
    *boxes("single", "crown, anchor, spade, heart, diamond, club"),
    "red",
    "black",
    "double:crown-heart-club",
    "double:anchor-spade-diamond",
    "any-triple",
    *boxes("triple", "crown, anchor, spade, heart, diamond, club"),
]


def td_outside_flat(numbers: list[int], roll: Roll) -> int:
    """Outside bet, reading "flat": 1 to 1 once."""
    if how_many(numbers[0], roll) >= 1:
        return 1
    return LOSS


def td_outside_per_die(numbers: list[int], roll: Roll) -> int:
    """Outside bet, reading "per-die": 1 to 1 for each die that shows the symbol."""
    dice = how_many(numbers[0], roll)
    if dice >= 1:
        return dice
    return LOSS


def td_red(_numbers: list[int], roll: Roll) -> int:
    """Red: all three dice are heart, diamond or crown, 4 to 1."""
    for die in roll:
        if die not in (HEART, DIAMOND, CROWN):
            return LOSS
    return 4


def td_black(_numbers: list[int], roll: Roll) -> int:
    """Black: all three dice are spade, club or anchor, 4 to 1."""
    for die in roll:
        if die not in (SPADE, CLUB, ANCHOR):
            return LOSS
    return 4


def td_double_at_least(numbers: list[int], roll: Roll) -> int:
    """Double combination, reading "at-least": two or three dice of one symbol, 2 to 1."""
    for symbol in numbers:
        if how_many(symbol, roll) >= 2:
            return 2
    return LOSS


def td_double_exact_pair(numbers: list[int], roll: Roll) -> int:
    """Double combination, reading "exact-pair": a triple does not win, 2 to 1."""
    for symbol in numbers:
        if how_many(symbol, roll) == 2:
            return 2
    return LOSS


def td_any_triple(_numbers: list[int], roll: Roll) -> int:
    """Any triple: 35 to 1."""
    if is_triple(roll):
        return 35
    return LOSS


def td_triple(numbers: list[int], roll: Roll) -> int:
    """Specific triple: 120 to 1."""
    if how_many(numbers[0], roll) == 3:
        return 120
    return LOSS


TD_OUTSIDE: dict[str, Row] = {"flat": td_outside_flat, "per-die": td_outside_per_die}
TD_DOUBLE: dict[str, Row] = {"at-least": td_double_at_least, "exact-pair": td_double_exact_pair}


def triple_dice(readings: Mapping[str, str]) -> dict[str, Row]:
    """Rows of Triple Dice under the readings given (the defaults where none is)."""
    return {
        "single": TD_OUTSIDE[readings.get("outside", "flat")],
        "red": td_red,
        "black": td_black,
        "double": TD_DOUBLE[readings.get("double", "at-least")],
        "any-triple": td_any_triple,
        "triple": td_triple,
    }
