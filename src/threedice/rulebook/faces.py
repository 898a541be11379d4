"""The six faces of a rulebook's dice by name: numbers, or symbols in the rulebook's order.

Everything inside counts faces 1 to 6; names come in and go out through here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from threedice.errors import InvalidInput, UnknownName

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.dice import Roll


@dataclass(frozen=True, slots=True)
class Faces:
    """Names of the faces, and their words as a felt spells them.

    >>> symbols = Faces(("crown", "anchor", "spade", "heart", "diamond", "club"))
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
