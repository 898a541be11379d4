"""Tai Sai of Singapore, row by row from its pay tables."""

from tests.oracle.counting import (
    LOSS,
    Roll,
    Row,
    all_different,
    boxes,
    four_boxes,
    how_many,
    is_triple,
)

# --- Singapore: boxes of pay tables 1, 2 and 3 (4.1.1, 4.1.2, 4.1.3) ----------------------------

SG_SMALL_BIG = ["small", "big"]
SG_ODD_EVEN = ["odd", "even"]
SG_SINGLES = boxes("single", "1, 2, 3, 4, 5, 6")
SG_TOTALS = boxes("total", "4, 17, 5, 16, 6, 15, 7, 14, 8, 13, 9, 12, 10, 11")
SG_DOMINOES = boxes(
    "domino",
    "1 4, 1 2, 2 4, 1 3, 2 3, 3 4, 2 5, 2 6, 3 5, 4 5, 3 6, 1 5, 1 6, 4 6, 5 6",
)
SG_DOUBLES = boxes("double", "1, 2, 3, 4, 5, 6")
SG_ANY_TRIPLE = ["any-triple"]
SG_TRIPLES = boxes("triple", "1, 2, 3, 4, 5, 6")
SG_FOURS_TABLE_2 = four_boxes("6 5 4 3, 6 5 3 2, 5 4 3 2, 4 3 2 1")
SG_FOURS_TABLE_3 = four_boxes(
    "6 5 4 3, 6 5 4 2, 6 5 3 2, 6 4 3 2, 5 4 3 2, "
    "6 5 4 1, 6 5 3 1, 6 4 3 1, 5 4 3 1, 6 5 2 1, "
    "6 4 2 1, 5 4 2 1, 6 3 2 1, 5 3 2 1, 4 3 2 1"
)
SG_TRIOS = boxes(
    "trio",
    "1 2 6, 1 3 5, 2 3 4, 2 5 6, 3 4 6, "
    "1 2 3, 1 3 6, 1 4 5, 2 3 5, 3 5 6, "
    "1 2 4, 1 4 6, 2 3 6, 2 4 5, 4 5 6, "
    "1 2 5, 1 3 4, 1 5 6, 2 4 6, 3 4 5",
)
SG_PAIRS = boxes(
    "pair",
    "1 1 3, 1 1 4, 1 1 5, 1 1 6, "
    "2 2 1, 2 2 3, 2 2 4, 2 2 5, 2 2 6, "
    "3 3 1, 3 3 2, 3 3 4, 3 3 5, 3 3 6, "
    "4 4 1, 4 4 2, 4 4 3, 4 4 5, 4 4 6, "
    "5 5 1, 5 5 2, 5 5 3, 5 5 4, 5 5 6, "
    "6 6 1, 6 6 2, 6 6 3, 6 6 4",
)

SG_TABLE_1 = [
    *SG_SMALL_BIG,
    *SG_SINGLES,
    *SG_TOTALS,
    *SG_DOMINOES,
    *SG_DOUBLES,
    *SG_ANY_TRIPLE,
    *SG_TRIPLES,
]
SG_TABLE_2 = [
    *SG_SMALL_BIG,
    *SG_ODD_EVEN,
    *SG_SINGLES,
    *SG_TOTALS,
    *SG_DOMINOES,
    *SG_DOUBLES,
    *SG_ANY_TRIPLE,
    *SG_TRIPLES,
    *SG_FOURS_TABLE_2,
    *SG_TRIOS,
    *SG_PAIRS,
]
SG_TABLE_3 = [
    *SG_SMALL_BIG,
    *SG_SINGLES,
    *SG_TOTALS,
    *SG_DOMINOES,
    *SG_ANY_TRIPLE,
    *SG_TRIPLES,
    *SG_FOURS_TABLE_3,
    *SG_TRIOS,
    *SG_PAIRS,
]

# --- Singapore: rows (the three tables pay alike what they have in common) ---------------------


def sg_small(_numbers: list[int], roll: Roll) -> int:
    """Small: 4 to 10 without a triple, 1 to 1."""
    if 4 <= sum(roll) <= 10 and not is_triple(roll):
        return 1
    return LOSS


def sg_big(_numbers: list[int], roll: Roll) -> int:
    """Big: 11 to 17 without a triple, 1 to 1."""
    if 11 <= sum(roll) <= 17 and not is_triple(roll):
        return 1
    return LOSS


def sg_odd(_numbers: list[int], roll: Roll) -> int:
    """Odd: odd total without a triple, 1 to 1."""
    if sum(roll) % 2 == 1 and not is_triple(roll):
        return 1
    return LOSS


def sg_even(_numbers: list[int], roll: Roll) -> int:
    """Even: even total without a triple, 1 to 1."""
    if sum(roll) % 2 == 0 and not is_triple(roll):
        return 1
    return LOSS


def sg_single(numbers: list[int], roll: Roll) -> int:
    """Single: 1, 2 or 12 to 1 by the number of dice that show it."""
    dice = how_many(numbers[0], roll)
    if dice == 1:
        return 1
    if dice == 2:
        return 2
    if dice == 3:
        return 12
    return LOSS


def sg_total_odds(number: int) -> int:
    """Total: the odds of each pair of totals."""
    for first, second, pays in (
        (4, 17, 62),
        (5, 16, 31),
        (6, 15, 18),
        (7, 14, 12),
        (8, 13, 8),
        (9, 12, 7),
        (10, 11, 6),
    ):
        if number in (first, second):
            return pays
    raise ValueError(number)


def sg_total(numbers: list[int], roll: Roll) -> int:
    """Total: exactly this sum, triples included (3.10.5)."""
    if sum(roll) == numbers[0]:
        return sg_total_odds(numbers[0])
    return LOSS


def sg_domino(numbers: list[int], roll: Roll) -> int:
    """Domino: both numbers are there, 6 to 1 once."""
    if numbers[0] in roll and numbers[1] in roll:
        return 6
    return LOSS


def sg_double(numbers: list[int], roll: Roll) -> int:
    """Double: two dice of the number, or three (3.10.3), 11 to 1 once."""
    if how_many(numbers[0], roll) >= 2:
        return 11
    return LOSS


def sg_any_triple(_numbers: list[int], roll: Roll) -> int:
    """Any triple: 31 to 1."""
    if is_triple(roll):
        return 31
    return LOSS


def sg_triple(numbers: list[int], roll: Roll) -> int:
    """Specific triple: 180 to 1."""
    if how_many(numbers[0], roll) == 3:
        return 180
    return LOSS


def sg_four(numbers: list[int], roll: Roll) -> int:
    """Four numbers: the dice show three different ones of the four, 7 to 1."""
    if all_different(roll) and roll[0] in numbers and roll[1] in numbers and roll[2] in numbers:
        return 7
    return LOSS


def sg_trio(numbers: list[int], roll: Roll) -> int:
    """Three different numbers: exactly these, 30 to 1."""
    if sorted(roll) == sorted(numbers):
        return 30
    return LOSS


def sg_pair(numbers: list[int], roll: Roll) -> int:
    """Pair and single: exactly these three dice, 50 to 1."""
    if sorted(roll) == sorted(numbers):
        return 50
    return LOSS


SINGAPORE: dict[str, Row] = {
    "small": sg_small,
    "big": sg_big,
    "odd": sg_odd,
    "even": sg_even,
    "single": sg_single,
    "total": sg_total,
    "domino": sg_domino,
    "double": sg_double,
    "any-triple": sg_any_triple,
    "triple": sg_triple,
    "four": sg_four,
    "trio": sg_trio,
    "pair": sg_pair,
}
