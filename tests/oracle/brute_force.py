"""Settle every box on every roll straight from the pay tables, without the engine.

Each rulebook is a set of small functions, one for each row of its pay table, in the order of the
document. A function answers with the odds to 1 when the row wins and with LOSS when it does not.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType

Roll = tuple[int, int, int]
Row = Callable[[list[int], Roll], int]

LOSS = -1
NO_READINGS: Mapping[str, str] = MappingProxyType({})

# --- Counting on the dice ---------------------------------------------------------------------


def rolls() -> list[Roll]:
    """List the 216 rolls, the last die changing fastest."""
    found: list[Roll] = []
    for first in range(1, 7):
        for second in range(1, 7):
            for third in range(1, 7):
                found.append((first, second, third))
    return found


def how_many(face: int, roll: Roll) -> int:
    """Count the dice that show this face."""
    count = 0
    for die in roll:
        if die == face:
            count += 1
    return count


def is_triple(roll: Roll) -> bool:
    """Tell whether the three dice are alike."""
    return roll[0] == roll[1] and roll[1] == roll[2]


def all_different(roll: Roll) -> bool:
    """Tell whether no two dice are alike."""
    return roll[0] != roll[1] and roll[1] != roll[2] and roll[0] != roll[2]


# --- Names of boxes ---------------------------------------------------------------------------

CROWN, ANCHOR, SPADE, HEART, DIAMOND, CLUB = 1, 2, 3, 4, 5, 6

SYMBOLS = {
    "crown": CROWN,
    "anchor": ANCHOR,
    "spade": SPADE,
    "heart": HEART,
    "diamond": DIAMOND,
    "club": CLUB,
}


def split_box(box: str) -> tuple[str, list[int]]:
    """Split a box id into its family and the numbers of its selection."""
    family, _, selection = box.partition(":")
    numbers: list[int] = []
    if selection == "":
        return family, numbers
    for part in selection.split("-"):
        if part in SYMBOLS:
            numbers.append(SYMBOLS[part])
        else:
            numbers.append(int(part))
    return family, numbers


def boxes(family: str, listed: str) -> list[str]:
    """Name the boxes of a family from selections such as "1 4, 1 2" (order kept as written)."""
    found: list[str] = []
    for selection in listed.split(", "):
        found.append(family + ":" + "-".join(selection.split(" ")))
    return found


def four_boxes(listed: str) -> list[str]:
    """Name four-number boxes, which the documents write downwards and the ids upwards."""
    found: list[str] = []
    for selection in listed.split(", "):
        upwards = sorted(selection.split(" "))
        found.append("four:" + "-".join(upwards))
    return found


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


# --- Macau and Atlantic City ------------------------------------------------------------------

SIC_BO_BOXES = [
    "small",
    "big",
    *boxes("total", "4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17"),
    *boxes("single", "1, 2, 3, 4, 5, 6"),
    *boxes("domino", "1 2, 1 3, 1 4, 1 5, 1 6, 2 3, 2 4, 2 5, 2 6, 3 4, 3 5, 3 6, 4 5, 4 6, 5 6"),
    *boxes("double", "1, 2, 3, 4, 5, 6"),
    "any-triple",
    *boxes("triple", "1, 2, 3, 4, 5, 6"),
]

MACAU_TOTALS = {
    4: 50, 5: 18, 6: 14, 7: 12, 8: 8, 9: 6, 10: 6,
    17: 50, 16: 18, 15: 14, 14: 12, 13: 8, 12: 6, 11: 6,
}  # fmt: skip
ATLANTIC_CITY_TOTALS = {
    4: 60, 5: 30, 6: 17, 7: 12, 8: 8, 9: 6, 10: 6,
    17: 60, 16: 30, 15: 17, 14: 12, 13: 8, 12: 6, 11: 6,
}  # fmt: skip


def sb_small(_numbers: list[int], roll: Roll) -> int:
    """Small: 4 to 10, loses to a triple, 1 to 1."""
    if is_triple(roll) or sum(roll) > 10:
        return LOSS
    return 1


def sb_big(_numbers: list[int], roll: Roll) -> int:
    """Big: 11 to 17, loses to a triple, 1 to 1."""
    if is_triple(roll) or sum(roll) < 11:
        return LOSS
    return 1


def sb_single(numbers: list[int], roll: Roll) -> int:
    """Single: 1, 2 or 3 to 1."""
    dice = how_many(numbers[0], roll)
    if dice == 0:
        return LOSS
    return dice


def sb_domino(numbers: list[int], roll: Roll) -> int:
    """Domino: 5 to 1."""
    if numbers[0] in roll and numbers[1] in roll:
        return 5
    return LOSS


def macau_total(numbers: list[int], roll: Roll) -> int:
    """Total in Macau."""
    if sum(roll) == numbers[0]:
        return MACAU_TOTALS[numbers[0]]
    return LOSS


def macau_double(numbers: list[int], roll: Roll) -> int:
    """Double in Macau: 8 to 1."""
    if how_many(numbers[0], roll) >= 2:
        return 8
    return LOSS


def macau_any_triple(_numbers: list[int], roll: Roll) -> int:
    """Any triple in Macau: 24 to 1."""
    if is_triple(roll):
        return 24
    return LOSS


def macau_triple(numbers: list[int], roll: Roll) -> int:
    """Specific triple in Macau: 150 to 1."""
    if how_many(numbers[0], roll) == 3:
        return 150
    return LOSS


def atlantic_city_total(numbers: list[int], roll: Roll) -> int:
    """Total in Atlantic City."""
    if sum(roll) == numbers[0]:
        return ATLANTIC_CITY_TOTALS[numbers[0]]
    return LOSS


def atlantic_city_double(numbers: list[int], roll: Roll) -> int:
    """Double in Atlantic City: 10 to 1."""
    if how_many(numbers[0], roll) >= 2:
        return 10
    return LOSS


def atlantic_city_any_triple(_numbers: list[int], roll: Roll) -> int:
    """Any triple in Atlantic City: 30 to 1."""
    if is_triple(roll):
        return 30
    return LOSS


def atlantic_city_triple(numbers: list[int], roll: Roll) -> int:
    """Specific triple in Atlantic City: 180 to 1."""
    if how_many(numbers[0], roll) == 3:
        return 180
    return LOSS


MACAU: dict[str, Row] = {
    "small": sb_small,
    "big": sb_big,
    "total": macau_total,
    "single": sb_single,
    "domino": sb_domino,
    "double": macau_double,
    "any-triple": macau_any_triple,
    "triple": macau_triple,
}
ATLANTIC_CITY: dict[str, Row] = {
    "small": sb_small,
    "big": sb_big,
    "total": atlantic_city_total,
    "single": sb_single,
    "domino": sb_domino,
    "double": atlantic_city_double,
    "any-triple": atlantic_city_any_triple,
    "triple": atlantic_city_triple,
}

# --- Crown and Anchor -------------------------------------------------------------------------

CROWN_AND_ANCHOR_BOXES = boxes("single", "crown, anchor, spade, heart, diamond, club")


def ca_single(numbers: list[int], roll: Roll) -> int:
    """Symbol: 1, 2 or 3 to 1 by the number of dice that show it."""
    dice = how_many(numbers[0], roll)
    if dice == 1:
        return 1
    if dice == 2:
        return 2
    if dice == 3:
        return 3
    return LOSS


CROWN_AND_ANCHOR: dict[str, Row] = {"single": ca_single}

# --- The games --------------------------------------------------------------------------------

GAMES: dict[str, list[str]] = {
    "sg-rws-tai-sai-v6/a": SG_TABLE_1,
    "sg-rws-tai-sai-v6/c": SG_TABLE_2,
    "sg-rws-tai-sai-v6/e": SG_TABLE_3,
    "sg-rws-tai-sai-open-cover-v5/a": SG_TABLE_1,
    "sg-rws-tai-sai-open-cover-v5/c": SG_TABLE_2,
    "sg-rws-tai-sai-open-cover-v5/e": SG_TABLE_3,
    "nz-tai-sai-2008/1": NZ_LAYOUT_1,
    "nz-tai-sai-2008/2": NZ_LAYOUT_2,
    "triple-dice/mat": TRIPLE_DICE_MAT,
    "macau-sic-bo/main": SIC_BO_BOXES,
    "atlantic-city-sic-bo/main": SIC_BO_BOXES,
    "crown-and-anchor/main": CROWN_AND_ANCHOR_BOXES,
}


def rows_of(game: str, readings: Mapping[str, str]) -> dict[str, Row]:
    """Choose the rows that settle a game."""
    book = game.partition("/")[0]
    if book == "triple-dice":
        return triple_dice(readings)
    return {
        "sg-rws-tai-sai-v6": SINGAPORE,
        "sg-rws-tai-sai-open-cover-v5": SINGAPORE,
        "nz-tai-sai-2008": NEW_ZEALAND,
        "macau-sic-bo": MACAU,
        "atlantic-city-sic-bo": ATLANTIC_CITY,
        "crown-and-anchor": CROWN_AND_ANCHOR,
    }[book]


def net(game: str, box: str, roll: Roll, readings: Mapping[str, str] = NO_READINGS) -> int:
    """Net result of one unit on a box: the odds to 1 when it wins, -1 when it loses."""
    if box not in GAMES[game]:
        raise ValueError(f"{game} has no box {box}")
    family, numbers = split_box(box)
    row = rows_of(game, readings)[family]
    return row(numbers, roll)


# --- The dealer's call ------------------------------------------------------------------------

SYMBOL_GAMES = ("triple-dice/mat", "crown-and-anchor/main")


def face_name(game: str, face: int) -> str:
    """Say one face: its number, or its symbol in the games with symbols."""
    if game in SYMBOL_GAMES:
        for name, number in SYMBOLS.items():
            if number == face:
                return name
    return str(face)


def call(game: str, roll: Roll) -> str:
    """Call a roll from the lowest face to the highest, then the total where there is one."""
    spoken: list[str] = []
    for face in (1, 2, 3, 4, 5, 6):
        dice = how_many(face, roll)
        if dice == 1:
            spoken.append(face_name(game, face))
        if dice == 2:
            spoken.append("double " + face_name(game, face))
        if dice == 3:
            spoken.append("triple " + face_name(game, face))
    if game not in SYMBOL_GAMES:
        spoken.append("total " + str(sum(roll)))
    return ", ".join(spoken)


# --- House edges ------------------------------------------------------------------------------


def edge(game: str, box: str, readings: Mapping[str, str] = NO_READINGS) -> Fraction:
    """House edge of a box, counted over the 216 rolls."""
    won = 0
    for roll in rolls():
        won += net(game, box, roll, readings)
    return Fraction(-won, 216)


def layout_edge(game: str, readings: Mapping[str, str] = NO_READINGS) -> Fraction:
    """House edge of one unit on every box of a layout."""
    lost = Fraction(0)
    staked = 0
    for box in GAMES[game]:
        lost += edge(game, box, readings)
        staked += 1
    return lost / staked


def shooter_edge() -> Fraction:
    """House edge of the shooter's bet: a Crown in each of four throws, 9 to 1."""
    with_crown = 0
    without_crown = 0
    for roll in rolls():
        if CROWN in roll:
            with_crown += 1
        else:
            without_crown += 1
    throws = ((True, with_crown), (False, without_crown))
    won = 0
    outcomes = 0
    for crown_1, ways_1 in throws:
        for crown_2, ways_2 in throws:
            for crown_3, ways_3 in throws:
                for crown_4, ways_4 in throws:
                    ways = ways_1 * ways_2 * ways_3 * ways_4
                    outcomes += ways
                    if crown_1 and crown_2 and crown_3 and crown_4:
                        won += 9 * ways
                    else:
                        won += LOSS * ways
    return Fraction(-won, outcomes)


# --- What is decided when some of the dice are known --------------------------------------------


def still_possible(known: tuple[int, ...]) -> list[Roll]:
    """List the rolls that agree with the known dice (no box asks which die shows what)."""
    found: list[Roll] = []
    for roll in rolls():
        if roll[: len(known)] == known:
            found.append(roll)
    return found


def conclusive(
    game: str, known: tuple[int, ...], readings: Mapping[str, str] = NO_READINGS
) -> tuple[set[str], set[str]]:
    """Boxes that win, and boxes that lose, in every roll still possible."""
    possible = still_possible(known)
    winning: set[str] = set()
    losing: set[str] = set()
    for box in GAMES[game]:
        wins = 0
        for roll in possible:
            if net(game, box, roll, readings) > 0:
                wins += 1
        if wins == len(possible):
            winning.add(box)
        if wins == 0:
            losing.add(box)
    return winning, losing
