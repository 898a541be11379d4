"""Counting on the dice, and reading the ids of boxes."""

from collections.abc import Callable, Mapping
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
    """Return whether the three dice are alike."""
    return roll[0] == roll[1] and roll[1] == roll[2]


def all_different(roll: Roll) -> bool:
    """Return whether no two dice are alike."""
    return roll[0] != roll[1] and roll[1] != roll[2] and roll[0] != roll[2]


# --- Names of boxes ---------------------------------------------------------------------------

CROWN, ANCHOR, SPADE, HEART, DIAMOND, CLUB = 1, 2, 3, 4, 5, 6

SYMBOLS = ["crown", "anchor", "spade", "heart", "diamond", "club"]
NUMBERS = ["1", "2", "3", "4", "5", "6"]


def split_box(box: str, faces: list[str]) -> tuple[str, list[int]]:
    """Split a box id into its family and the numbers of its selection."""
    family, _, selection = box.partition(":")
    numbers: list[int] = []
    if selection == "":
        return family, numbers
    for part in selection.split("-"):
        if part in faces:
            numbers.append(faces.index(part) + 1)
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
