"""Tai-Sai of New Zealand, item by item from 4.1 and 4.10."""

from tests.oracle.counting import LOSS, Roll, Row, boxes, four_boxes, how_many

# --- New Zealand: boxes (4.1) -----------------------------------------------------------------

NZ_LAYOUT_1 = [
    "small",  # (a)
    "big",  # (b)
    *boxes("triple", "1, 2, 3, 4, 5, 6"),  # (c)
    *boxes("double", "1, 2, 3, 4, 5, 6"),  # (d)
    "any-triple",  # (e)
    *boxes("total", "4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17"),  # (f)
    *boxes("domino", "1 2, 1 3, 1 4, 1 5, 1 6"),  # (g)
    *boxes("domino", "2 3, 2 4, 2 5, 2 6"),
    *boxes("domino", "3 4, 3 5, 3 6"),
    *boxes("domino", "4 5, 4 6"),
    *boxes("domino", "5 6"),
    *boxes("single", "1, 2, 3, 4, 5, 6"),  # (h)
]
NZ_LAYOUT_2 = [
    *NZ_LAYOUT_1,
    *boxes("pair", "1 1 2, 1 1 3, 1 1 4, 1 1 5, 1 1 6"),  # (i), a pair and another number
    *boxes("pair", "2 2 1, 2 2 3, 2 2 4, 2 2 5, 2 2 6"),
    *boxes("pair", "3 3 1, 3 3 2, 3 3 4, 3 3 5, 3 3 6"),
    *boxes("pair", "4 4 1, 4 4 2, 4 4 3, 4 4 5, 4 4 6"),
    *boxes("pair", "5 5 1, 5 5 2, 5 5 3, 5 5 4, 5 5 6"),
    *boxes("pair", "6 6 1, 6 6 2, 6 6 3, 6 6 4, 6 6 5"),
    *boxes("trio", "1 2 3, 1 2 4, 1 2 5, 1 2 6"),  # (i), three different numbers
    *boxes("trio", "1 3 4, 1 3 5, 1 3 6"),
    *boxes("trio", "1 4 5, 1 4 6"),
    *boxes("trio", "1 5 6"),
    *boxes("trio", "2 3 4, 2 3 5, 2 3 6"),
    *boxes("trio", "2 4 5, 2 4 6"),
    *boxes("trio", "2 5 6"),
    *boxes("trio", "3 4 5, 3 4 6"),
    *boxes("trio", "3 5 6"),
    *boxes("trio", "4 5 6"),
    *four_boxes("6 5 4 3, 6 5 3 2, 5 4 3 2, 4 3 2 1"),  # (j)
    "odd",  # (k)
    "even",  # (l)
]

# --- New Zealand: wins from 4.1, odds from 4.10 ------------------------------------------------


def nz_small(_numbers: list[int], roll: Roll) -> int:
    """4.1(a), 1 to 1."""
    if roll in ((2, 2, 2), (3, 3, 3)):
        return LOSS
    if sum(roll) in (4, 5, 6, 7, 8, 9, 10):
        return 1
    return LOSS


def nz_big(_numbers: list[int], roll: Roll) -> int:
    """4.1(b), 1 to 1."""
    if roll in ((4, 4, 4), (5, 5, 5)):
        return LOSS
    if sum(roll) in (11, 12, 13, 14, 15, 16, 17):
        return 1
    return LOSS


def nz_triple(numbers: list[int], roll: Roll) -> int:
    """4.1(c), 180 to 1."""
    if how_many(numbers[0], roll) == 3:
        return 180
    return LOSS


def nz_double(numbers: list[int], roll: Roll) -> int:
    """4.1(d), 11 to 1, on a triple of the number too but once only."""
    dice = how_many(numbers[0], roll)
    if dice == 2:
        return 11
    if dice == 3:
        return 11
    return LOSS


def nz_any_triple(_numbers: list[int], roll: Roll) -> int:
    """4.1(e), 31 to 1."""
    for face in (1, 2, 3, 4, 5, 6):
        if how_many(face, roll) == 3:
            return 31
    return LOSS


def nz_total_odds(number: int) -> int:
    """4.10, the rows of the totals."""
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


def nz_total(numbers: list[int], roll: Roll) -> int:
    """4.1(f), any combination that makes the total."""
    if sum(roll) == numbers[0]:
        return nz_total_odds(numbers[0])
    return LOSS


def nz_domino(numbers: list[int], roll: Roll) -> int:
    """4.1(g), 6 to 1."""
    if how_many(numbers[0], roll) >= 1 and how_many(numbers[1], roll) >= 1:
        return 6
    return LOSS


def nz_single(numbers: list[int], roll: Roll) -> int:
    """4.1(h), 1, 2 or 12 to 1 on one, two or three dice."""
    dice = how_many(numbers[0], roll)
    if dice == 1:
        return 1
    if dice == 2:
        return 2
    if dice == 3:
        return 12
    return LOSS


def nz_pair(numbers: list[int], roll: Roll) -> int:
    """4.1(i), a pair and another number, 60 to 1."""
    if how_many(numbers[0], roll) == 2 and how_many(numbers[2], roll) == 1:
        return 60
    return LOSS


def nz_trio(numbers: list[int], roll: Roll) -> int:
    """4.1(i), three different numbers, 30 to 1."""
    for number in numbers:
        if how_many(number, roll) != 1:
            return LOSS
    return 30


def nz_four(numbers: list[int], roll: Roll) -> int:
    """4.1(j), three of the four numbers, 7 to 1."""
    seen = 0
    for number in numbers:
        if how_many(number, roll) == 1:
            seen += 1
    if seen == 3:
        return 7
    return LOSS


def nz_odd(_numbers: list[int], roll: Roll) -> int:
    """4.1(k), 1 to 1."""
    if roll in ((3, 3, 3), (5, 5, 5)):
        return LOSS
    if sum(roll) in (5, 7, 9, 11, 13, 15, 17):
        return 1
    return LOSS


def nz_even(_numbers: list[int], roll: Roll) -> int:
    """4.1(l), 1 to 1."""
    if roll in ((2, 2, 2), (4, 4, 4)):
        return LOSS
    if sum(roll) in (4, 6, 8, 10, 12, 14, 16):
        return 1
    return LOSS


NEW_ZEALAND: dict[str, Row] = {
    "small": nz_small,
    "big": nz_big,
    "triple": nz_triple,
    "double": nz_double,
    "any-triple": nz_any_triple,
    "total": nz_total,
    "domino": nz_domino,
    "single": nz_single,
    "pair": nz_pair,
    "trio": nz_trio,
    "four": nz_four,
    "odd": nz_odd,
    "even": nz_even,
}
