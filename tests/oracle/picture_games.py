"""Chuck-a-luck, Bau cua and Yee Hah Hi."""

from collections.abc import Mapping

from tests.oracle.counting import LOSS, Roll, Row, boxes, how_many, is_triple
from tests.oracle.sic_bo import MACAU, sb_big, sb_domino, sb_single, sb_small

# --- Chuck-a-luck -----------------------------------------------------------------------------

CHUCK_NUMBERS = [*boxes("single", "1, 2, 3, 4, 5, 6"), "field"]
CHUCK_CASINO = [*CHUCK_NUMBERS, "under-10", "over-11"]
CHUCK_WIDE = [*CHUCK_NUMBERS, "small", "big", "any-triple"]


def cl_single_ten(numbers: list[int], roll: Roll) -> int:
    """Number: 1, 2 or 10 to 1."""
    dice = how_many(numbers[0], roll)
    if dice == 3:
        return 10
    return sb_single(numbers, roll)


def cl_field(_numbers: list[int], roll: Roll) -> int:
    """Field: a total below 8 or above 12, 1 to 1."""
    if sum(roll) < 8 or sum(roll) > 12:
        return 1
    return LOSS


def cl_field_near_the_middle(_numbers: list[int], roll: Roll) -> int:
    """Field: a total from 5 to 8 or from 13 to 16, 1 to 1."""
    if sum(roll) in (5, 6, 7, 8, 13, 14, 15, 16):
        return 1
    return LOSS


def cl_under_10(_numbers: list[int], roll: Roll) -> int:
    """Under 10: triples win too, 1 to 1."""
    if sum(roll) < 10:
        return 1
    return LOSS


def cl_over_11(_numbers: list[int], roll: Roll) -> int:
    """Over 11: triples win too, 1 to 1."""
    if sum(roll) > 11:
        return 1
    return LOSS


def cl_any_triple(_numbers: list[int], roll: Roll) -> int:
    """Any triple: 30 to 1."""
    if is_triple(roll):
        return 30
    return LOSS


def chuck_a_luck(readings: Mapping[str, str]) -> dict[str, Row]:
    """Choose the rows of Chuck-a-luck under some readings."""
    rows: dict[str, Row] = {
        "single": sb_single,
        "field": cl_field,
        "under-10": cl_under_10,
        "over-11": cl_over_11,
        "small": sb_small,
        "big": sb_big,
        "any-triple": cl_any_triple,
    }
    if readings.get("three-alike") == "ten":
        rows["single"] = cl_single_ten
    if readings.get("field") == "near-the-middle":
        rows["field"] = cl_field_near_the_middle
    return rows


# --- Bau cua ----------------------------------------------------------------------------------

BAU_CUA_FACES = ["stag", "gourd", "rooster", "fish", "crab", "prawn"]
BAU_CUA_BOARD = boxes("single", "stag, gourd, rooster, fish, crab, prawn")
BAU_CUA_PAIRS = [
    *BAU_CUA_BOARD,
    *boxes("domino", "stag gourd, stag rooster, stag fish, stag crab, stag prawn"),
    *boxes("domino", "gourd rooster, gourd fish, gourd crab, gourd prawn"),
    *boxes("domino", "rooster fish, rooster crab, rooster prawn"),
    *boxes("domino", "fish crab, fish prawn, crab prawn"),
]
BAU_CUA: dict[str, Row] = {"single": sb_single, "domino": sb_domino}

# --- Yee Hah Hi -------------------------------------------------------------------------------

YEE_HAH_HI_FACES = ["fish", "prawn", "gourd", "coin", "crab", "rooster"]
COLOURS = {
    "fish": "red",
    "prawn": "green",
    "gourd": "blue",
    "coin": "blue",
    "crab": "green",
    "rooster": "red",
}
COLOUR_PAIRS = "fish rooster, prawn crab, gourd coin"
YEE_HAH_HI_BOXES = [
    "small",
    "big",
    *boxes("total", "4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17"),
    *boxes("single", "fish, prawn, gourd, coin, crab, rooster"),
    *boxes("domino", "fish prawn, fish gourd, fish coin, fish crab, fish rooster"),
    *boxes("domino", "prawn gourd, prawn coin, prawn crab, prawn rooster"),
    *boxes("domino", "gourd coin, gourd crab, gourd rooster"),
    *boxes("domino", "coin crab, coin rooster, crab rooster"),
    *boxes("double", "fish, prawn, gourd, coin, crab, rooster"),
    "any-triple",
    *boxes("triple", "fish, prawn, gourd, coin, crab, rooster"),
    *boxes("one-of-colour", COLOUR_PAIRS),
    *boxes("two-of-colour", COLOUR_PAIRS),
    "same-colour",
]


def colour_of(face: int) -> str:
    """Return the colour of a face."""
    return COLOURS[YEE_HAH_HI_FACES[face - 1]]


def how_many_of_colour(colour: str, roll: Roll) -> int:
    """Count the dice of a colour."""
    count = 0
    for die in roll:
        if colour_of(die) == colour:
            count += 1
    return count


def yhh_one_of_colour(numbers: list[int], roll: Roll) -> int:
    """One of a colour: exactly one die of it, 1 to 1."""
    if how_many_of_colour(colour_of(numbers[0]), roll) == 1:
        return 1
    return LOSS


def yhh_two_of_colour(numbers: list[int], roll: Roll) -> int:
    """Two of a colour: exactly two dice of it, 3 to 1."""
    if how_many_of_colour(colour_of(numbers[0]), roll) == 2:
        return 3
    return LOSS


def yhh_same_colour(_numbers: list[int], roll: Roll) -> int:
    """All one colour: 7 to 1."""
    for colour in ("red", "green", "blue"):
        if how_many_of_colour(colour, roll) == 3:
            return 7
    return LOSS


YEE_HAH_HI: dict[str, Row] = {
    **MACAU,
    "one-of-colour": yhh_one_of_colour,
    "two-of-colour": yhh_two_of_colour,
    "same-colour": yhh_same_colour,
}
