"""The 216 rolls of three dice, sets of rolls as integer bit masks, and the names of the faces.

The 216 rolls of three six-sided dice, and sets of them as bits of one integer.

The bottom of the flow: `rulebook` evaluates every winning condition to a `RollSet` once, and
everything above counts bits. Dice faces are numbered 1 to 6 here whatever is painted on them.

The six faces of a rulebook's dice by name: numbers, or symbols in the rulebook's order.

Everything inside counts faces 1 to 6; names come in and go out through here.
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
"""Bit i stands for ROLLS[i]; union, intersection and counting are integer operations."""


FACES: Final = range(1, 7)


ROLLS: Final[tuple[Roll, ...]] = tuple((a, b, c) for a, b, c in product(FACES, repeat=3))


NO_ROLL: Final = RollSet(0)


EVERY_ROLL: Final = RollSet((1 << len(ROLLS)) - 1)


def index(roll: Roll) -> int:
    """Return the place of a roll among the 216, in lexicographic order, last die fastest.

    >>> index((1, 1, 1)), index((1, 1, 2)), index((6, 6, 6))
    (0, 1, 215)
    """
    a, b, c = roll
    return (a - 1) * 36 + (b - 1) * 6 + (c - 1)


def as_roll(faces: Sequence[int]) -> Roll:
    """Return three faces as a roll, refusing what three dice cannot show."""
    known = as_known_faces(faces)
    if len(known) != 3:
        raise InvalidInput(f"{len(known)} dice; a roll has three")
    return known[0], known[1], known[2]


def as_known_faces(faces: Sequence[int]) -> tuple[int, ...]:
    """Return what is known of the dice: up to three faces, numbered 1 to 6."""
    if len(faces) > 3 or any(type(face) is not int or face not in FACES for face in faces):
        raise InvalidInput(f"{faces!r}: up to three dice show faces numbered 1 to 6")
    return tuple(faces)


def rolls_where(predicate: Callable[[Roll], bool]) -> RollSet:
    """Return the set of the rolls for which something holds.

    >>> count(rolls_where(lambda roll: sum(roll) == 4))
    3
    """
    return RollSet(sum(1 << i for i, roll in enumerate(ROLLS) if predicate(roll)))


def count(rolls: RollSet) -> int:
    """Return how many of the 216 rolls are in the set."""
    return rolls.bit_count()


def contains(rolls: RollSet, roll: Roll) -> bool:
    """Tell whether a roll is in the set."""
    return bool(rolls >> index(roll) & 1)


def members(rolls: RollSet) -> Iterator[Roll]:
    """Yield the rolls of a set in order."""
    return (roll for i, roll in enumerate(ROLLS) if rolls >> i & 1)


def rolls_beginning_with(known: tuple[int, ...]) -> RollSet:
    """Return the rolls still possible when the first dice are known.

    No wager tells the dice apart, so it does not matter which of the three are known.

    >>> count(rolls_beginning_with((6,))), count(rolls_beginning_with((6, 6, 1)))
    (36, 1)
    """
    return rolls_where(lambda roll: roll[: len(known)] == known)


@dataclass(frozen=True, slots=True)
class FaceNames:
    """Names of the faces, and their words as a felt spells them.

    >>> symbols = FaceNames(("crown", "anchor", "spade", "heart", "diamond", "club"))
    >>> symbols.number("heart"), symbols.roll(["crown", "club", "4"])
    (4, (1, 6, 4))
    """

    names: tuple[str, ...]
    words: tuple[str, ...] = ()

    @property
    def are_numbers(self) -> bool:
        """Whether the faces can be added up."""
        return self.names == ("1", "2", "3", "4", "5", "6")

    def name(self, number: int) -> str:
        """Return the name of the face with this number."""
        return self.names[number - 1]

    def word(self, number: int) -> str:
        """Return the face's name as the felt spells it out."""
        return self.words[number - 1] if self.words else self.name(number).upper()

    def number(self, name: str) -> int:
        """Return the number of the face of this name; symbols may be given by number too."""
        if name in self.names:
            return self.names.index(name) + 1
        if name in ("1", "2", "3", "4", "5", "6"):
            return int(name)
        raise UnknownName("face", name, self.names)

    def roll(self, names: Iterable[str]) -> Roll:
        """Return the roll that three names of faces show."""
        shown = tuple(self.number(name.strip().lower()) for name in names)
        if len(shown) != 3:
            raise InvalidInput(f"{len(shown)} dice given; give three faces, such as {self.example}")
        return (shown[0], shown[1], shown[2])

    @property
    def example(self) -> str:
        """Three faces as they are typed."""
        return ",".join((self.names[0], self.names[2], self.names[5]))
