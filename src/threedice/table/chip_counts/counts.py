"""Counts of chips by denomination or colour, and exact change from a limited supply.

A chip is named by its value in minor units ("25") or, if it has none printed on it, by its colour
("red"). The value of a coloured chip is the one that its player declared.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from threedice.names import skeleton

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ChipName = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]

MAX_CHIPS = 10**9
"""The largest count of one kind of chip in a command."""

ChipCounts = dict[str, int]
"""How many chips there are of each kind, by name."""

RequestedCounts = Annotated[
    dict[ChipName, Annotated[int, msgspec.Meta(ge=0, le=MAX_CHIPS)]], msgspec.Meta(max_length=100)
]
"""Counts in a command, bounded in size only; the command's handler checks the names."""

ChipMove = tuple[str, str, str, ChipCounts]
"""Chips that go from one holder to another: (source, destination, player concerned, counts)."""


def is_value_chip(name: str) -> bool:
    """Return whether a chip has its value printed on it, and is not a coloured one."""
    return name.isascii() and name.isdigit()


def is_colour(name: str) -> bool:
    """Return whether a coloured chip may get a name: letters a to z, with hyphens between them.

    Other programs read such a name as a text: `5e2` would be a number to a spreadsheet. Chips that
    older logs name otherwise keep their names.

    >>> is_colour("light-blue"), is_colour("5e2"), is_colour("__proto__")
    (True, False, False)
    """
    return _COLOUR.fullmatch(name) is not None


_COLOUR: Final = re.compile(r"[A-Za-z]+(-[A-Za-z]+)*")


def find_unclear_colour(names: Iterable[str], known: Iterable[str]) -> str | None:
    """Return the first name of a colour that looks like another one or like a known chip.

    >>> find_unclear_colour(["red", "5", "Green", "green"], ["5", "red"])
    'green'
    """
    seen = {_appearance(name): name for name in known}
    return next(
        (
            name
            for name in names
            if not is_value_chip(name) and seen.setdefault(_appearance(name), name) != name
        ),
        None,
    )


def _appearance(name: str) -> str:
    """Return a form that is equal for names that look alike; spaces are hard to see."""
    return skeleton(" ".join(name.split()))


class ChipValues(dict[str, int]):
    """The values of chips by name, the largest first; of equal ones the coloured chip is first.

    `divides` is whether each value divides the one before it.
    """

    __slots__ = ("divides",)

    def __init__(self, values: Mapping[str, int]) -> None:
        order = sorted(values, key=lambda name: (-values[name], is_value_chip(name)))
        super().__init__((name, values[name]) for name in order)
        self.divides = not any(larger % smaller for larger, smaller in pairwise(self.values()))


@lru_cache(maxsize=1024)
def values_of_chips(denominations: tuple[int, ...], colour: str = "", value: int = 0) -> ChipValues:
    """Return the values of value chips, and of one colour."""
    values = {str(each): each for each in denominations}
    return ChipValues({**values, colour: value} if colour else values)


def value_of(counts: Mapping[str, int], values: Mapping[str, int]) -> int:
    """Return what chips are worth by these values; chips without one count nothing.

    >>> value_of({"5": 3, "25": 2, "red": 7}, {"5": 5, "25": 25})
    65
    """
    return sum(count * values.get(name, 0) for name, count in counts.items())


def face_value(counts: Mapping[str, int]) -> int:
    """Return the sum of the values printed on chips or notes; a coloured chip has none."""
    return sum(count * int(name) for name, count in counts.items() if is_value_chip(name))


def without_zeros(counts: Mapping[str, int]) -> ChipCounts:
    """Return counts in order of value, without the chips of which there are none."""
    names = sorted(counts, key=lambda name: (not is_value_chip(name), len(name), name))
    return {name: counts[name] for name in names if counts[name]}


def differences(counted: Mapping[str, int], expected: Mapping[str, int]) -> ChipCounts:
    """Return by how much each count differs from the expected one, if it does.

    >>> differences({"5": 10, "25": 3}, {"5": 10, "25": 4, "100": 1})
    {'25': -1, '100': -1}
    """
    names = {**counted, **expected}
    return without_zeros({name: counted.get(name, 0) - expected.get(name, 0) for name in names})


def fewest_chips(
    available: Mapping[str, int], values: ChipValues, amount: int
) -> ChipCounts | None:
    """Return the fewest of the available chips that make an amount, or None if none do.

    >>> fewest_chips({"25": 9, "40": 3}, ChipValues({"25": 25, "40": 40}), 105)
    {'40': 2, '25': 1}
    >>> fewest_chips({"25": 9, "40": 1}, ChipValues({"25": 25, "40": 40}), 80) is None
    True
    """
    if values.divides:
        counts, rest = _take_largest_first(available, values, amount)
        return None if rest else counts
    usable = [(value, name, available[name]) for name, value in values.items() if name in available]
    return _Search(usable).run(amount)


def most_chips_within(
    available: Mapping[str, int], values: ChipValues, amount: int
) -> tuple[ChipCounts, int]:
    """Return the fewest chips that make as much of an amount as possible, and the rest of it.

    >>> most_chips_within({"5": 1, "25": 3}, ChipValues({"5": 5, "25": 25}), 70)
    ({'25': 2, '5': 1}, 15)
    """
    if values.divides:
        return _take_largest_first(available, values, amount)
    usable = [name for name, value in values.items() if value <= amount and available.get(name)]
    step = gcd(*(values[name] for name in usable))
    most = min(amount, sum(values[name] * available[name] for name in usable))
    for made in range(most // step * step, 0, -step) if usable else ():
        counts = fewest_chips(available, values, made)
        if counts is not None:
            return counts, amount - made
    return {}, amount


def _take_largest_first(
    available: Mapping[str, int], values: ChipValues, amount: int
) -> tuple[ChipCounts, int]:
    """Return chips for an amount, always the largest that fits, and the rest that they leave.

    Where each value divides the next, no other chips leave less, and no fewer leave as little. The
    search gives the same chips, but makes a bet in chips cost 3.0 times one in amounts instead of
    1.9, and one that needs change 6.8 times instead of 2.8 (`benchmarks/table.py`).
    """
    counts: ChipCounts = {}
    for name, value in values.items():
        if value <= amount and (count := available.get(name, 0)):
            counts[name] = count = min(count, amount // value)
            amount -= count * value
    return counts, amount


class _Search:
    """Depth-first search for the fewest chips, the largest first.

    Of the chips of value v, an optimal solution leaves out fewer than v / g that would fit, where g
    is the greatest common divisor of v and the smaller values: among v / g smaller chips some add
    up to a multiple of v, and fewer chips of v replace them. So the search has a bounded width.
    """

    def __init__(self, chips: list[tuple[int, str, int]]) -> None:
        self._chips = chips
        self._worth = [0] * (len(chips) + 1)
        self._divisor = [0] * (len(chips) + 1)
        for index in range(len(chips) - 1, -1, -1):
            value, _, count = chips[index]
            self._worth[index] = self._worth[index + 1] + value * count
            self._divisor[index] = gcd(self._divisor[index + 1], value)
        self._visited: dict[tuple[int, int], int] = {}
        self._taken: list[int] = []
        self._best: list[int] | None = None
        self._fewest = 0

    def run(self, amount: int) -> ChipCounts | None:
        self._visit(0, amount, 0)
        if self._best is None:
            return None
        chosen = zip(self._chips, self._best, strict=False)
        return {name: taken for (_, name, _), taken in chosen if taken}

    def _visit(self, index: int, rest: int, used: int) -> None:
        if not rest:  # with fewer chips than the best so far, or the search had not come here
            self._best, self._fewest = list(self._taken), used
            return
        if rest > self._worth[index] or rest % self._divisor[index]:
            return
        value, _, count = self._chips[index]
        if self._best is not None and used + -(-rest // value) >= self._fewest:
            return
        if self._visited.get((index, rest), used + 1) <= used:
            return
        self._visited[index, rest] = used
        most = min(count, rest // value)
        least = max(most - value // self._divisor[index], 0)
        for taken in range(most, least - 1, -1):
            self._taken.append(taken)
            self._visit(index + 1, rest - taken * value, used + taken)
            self._taken.pop()
