"""The 216 rolls of three dice, sets of rolls as integer bit masks, and the names of the faces.

`rulebook` evaluates each winning condition to a `RollSet` once; everything above counts bits. All
code uses face numbers 1 to 6; `FaceNames` translates them from and to a rulebook's own names.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final, NewType

from threedice.errors import InvalidInput, UnknownName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


Roll = tuple[int, int, int]

RollSet = NewType("RollSet", int)
"""A set of rolls: bit i stands for ROLLS[i], so set operations are integer operations."""

FACES: Final = range(1, 7)
ROLLS: Final[tuple[Roll, ...]] = tuple((a, b, c) for a, b, c in product(FACES, repeat=3))


def index(roll: Roll) -> int:
    """Return the index of a roll in ROLLS: lexicographic order, the last die varies fastest.

    >>> index((1, 1, 1)), index((1, 1, 2)), index((6, 6, 6))
    (0, 1, 215)
    """
    a, b, c = roll
    return (a - 1) * 36 + (b - 1) * 6 + (c - 1)


def as_roll(faces: Sequence[int]) -> Roll:
    """Return three faces as a roll; raise InvalidInput if three dice cannot show them."""
    known = as_known_faces(faces)
    if len(known) != 3:
        raise InvalidInput(f"{len(known)} dice given; a roll has three")
    return known[0], known[1], known[2]


def as_known_faces(faces: Sequence[int]) -> tuple[int, ...]:
    """Return the known faces of a roll: up to three, numbered 1 to 6, or raise InvalidInput."""
    if len(faces) > 3 or any(type(face) is not int or face not in FACES for face in faces):
        raise InvalidInput(f"{faces!r}: give up to three faces numbered 1 to 6")
    return tuple(faces)


def rolls_where(predicate: Callable[[Roll], bool]) -> RollSet:
    """Return the set of rolls that satisfy a predicate.

    >>> count(rolls_where(lambda roll: sum(roll) == 4))
    3
    """
    return RollSet(sum(1 << i for i, roll in enumerate(ROLLS) if predicate(roll)))


def count(rolls: RollSet) -> int:
    """Return the number of rolls in the set."""
    return rolls.bit_count()


def contains(rolls: RollSet, roll: Roll) -> bool:
    """Return whether a roll is in the set."""
    return bool(rolls >> index(roll) & 1)


def members(rolls: RollSet) -> Iterator[Roll]:
    """Yield the rolls of a set in the order of ROLLS."""
    return (roll for i, roll in enumerate(ROLLS) if rolls >> i & 1)


def rolls_beginning_with(known: tuple[int, ...]) -> RollSet:
    """Return the rolls that are possible when the first dice are known.

    No wager distinguishes the dice, so it does not matter which of the three are known.

    >>> count(rolls_beginning_with((6,))), count(rolls_beginning_with((6, 6, 1)))
    (36, 1)
    """
    return rolls_where(lambda roll: roll[: len(known)] == known)


@dataclass(frozen=True, slots=True)
class FaceNames:
    """Names of the six faces, and the words that the felt prints for them, also in Chinese.

    The names are the numbers 1 to 6 or six symbols, in the rulebook's order. Symbols have `points`
    if they count 1 to 6 in that order.

    >>> symbols = FaceNames(("crown", "anchor", "spade", "heart", "diamond", "club"))
    >>> symbols.number("heart"), symbols.roll(["crown", "club", "4"])
    (4, (1, 6, 4))
    """

    names: tuple[str, ...]
    words: tuple[str, ...] = ()
    zh: tuple[str, ...] = ()
    points: bool = False

    @property
    def have_totals(self) -> bool:
        """True if the faces are numbers, or symbols with points, so that a roll has a total."""
        return self.points or self.names == ("1", "2", "3", "4", "5", "6")

    def name(self, number: int) -> str:
        """Return the name of the face with this number."""
        return self.names[number - 1]

    def word(self, number: int) -> str:
        """Return the word that the felt prints for the face with this number."""
        return self.words[number - 1] if self.words else self.name(number).upper()

    def number(self, name: str) -> int:
        """Return the number of the face with this name; symbols may also be given by number."""
        if name in self.names:
            return self.names.index(name) + 1
        if name in ("1", "2", "3", "4", "5", "6"):
            return int(name)
        raise UnknownName("face", name, self.names)

    def roll(self, names: Iterable[str]) -> Roll:
        """Return the roll that shows three faces given by name."""
        faces = tuple(self.number(name.strip().lower()) for name in names)
        if len(faces) != 3:
            raise InvalidInput(f"{len(faces)} dice given; give three faces, such as {self.example}")
        return (faces[0], faces[1], faces[2])

    @property
    def example(self) -> str:
        """Three faces as a user types them, for error messages."""
        return ",".join((self.names[0], self.names[2], self.names[5]))
