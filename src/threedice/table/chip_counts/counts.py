"""Counts of chips by denomination or colour, and exact change from a limited supply.

A chip is named by its value in minor units ("25") or, if it has none printed on it, by its colour
("red"). The value of a coloured chip is the one that its player declared.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING, Annotated

import msgspec

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


def denomination_values(denominations: Iterable[int]) -> dict[str, int]:
    """Return the value of each value chip by its name."""
    return {str(each): each for each in denominations}


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
    available: Mapping[str, int], values: Mapping[str, int], amount: int
) -> ChipCounts | None:
    """Return the fewest of the available chips that make an amount, or None if none do.

    >>> fewest_chips({"25": 9, "40": 3}, {"25": 25, "40": 40}, 105)
    {'40': 2, '25': 1}
    >>> fewest_chips({"25": 9, "40": 1}, {"25": 25, "40": 40}, 80) is None
    True
    """
    usable = [(values[name], name, count) for name, count in available.items() if name in values]
    usable.sort(key=lambda each: (-each[0], is_value_chip(each[1])))
    return _Search(usable).run(amount)


@lru_cache(maxsize=256)
def largest_first(denominations: tuple[int, ...]) -> tuple[tuple[str, int], ...] | None:
    """Return denominations by name and value, the largest first, if each divides the next.

    Only then are the largest chips that fit also the fewest.
    """
    if any(larger % smaller for smaller, larger in pairwise(denominations)):
        return None
    return tuple((str(each), each) for each in reversed(denominations))


def take_largest_first(
    available: Mapping[str, int], denominations: Iterable[tuple[str, int]], amount: int
) -> ChipCounts | None:
    """Return the chips that make an amount, always the largest that fits, or None.

    It is the fast form of `fewest_chips` for `largest_first` denominations: a bet in chips costs
    1.8 times one in amounts with it, and 4.7 times without it (`benchmarks/table.py`).
    """
    counts: ChipCounts = {}
    for name, value in denominations:
        count = available.get(name, 0)
        if count and value <= amount:
            count = min(count, amount // value)
            counts[name] = count
            amount -= count * value
    return None if amount else counts


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
