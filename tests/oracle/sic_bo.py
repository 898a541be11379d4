"""Sic Bo of Macau and Atlantic City, and Crown and Anchor."""

from tests.oracle.counting import LOSS, Roll, Row, boxes, how_many, is_triple

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
