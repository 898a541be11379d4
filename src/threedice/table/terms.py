"""The terms on which a table is run: mode, chips and limits, set by people, checked here.

They arrive in commands and stay in events; `limits` and `betting` apply them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from threedice.errors import InvalidInput, UnknownName
from threedice.money import Asked

if TYPE_CHECKING:
    from threedice.rulebook import Box, Game

Mode = Literal["refuse", "record"]
"""An electronic table refuses what breaks a limit; chips on felt are recorded as they lie."""

PlayerId = str
BoxId = str


class Range(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The least and the most that may be staked."""

    minimum: Asked
    maximum: Asked


class TableLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits by family, with exceptions by box; the differential by the first box of its pair."""

    families: dict[str, Range]
    boxes: dict[BoxId, Range] = {}
    differential: dict[BoxId, Asked] = {}

    def of(self, box: BoxId) -> Range:
        """Return the limits of a box."""
        if box in self.boxes:
            return self.boxes[box]
        return self.families[box.partition(":")[0]]


def step_of(box: Box, chips: list[int]) -> int:
    """Return the step in which a box can be staked so that every win is paid exactly in chips.

    The smallest chip, but where odds such as 19 to 20 ask for more.
    """
    return chips[0] * box.unit


def check_chips(chips: list[int]) -> None:
    """Refuse denominations in which not every multiple of the smallest can be made."""
    if not chips or chips != sorted(set(chips)) or chips[0] < 1:
        raise InvalidInput("chips are denominations above zero in ascending order")
    for chip in chips[1:]:
        if chip % chips[0]:
            raise InvalidInput(f"a chip of {chip} is no multiple of the smallest, {chips[0]}")


def check_limits(limits: TableLimits, game: Game, chips: list[int]) -> None:
    """Refuse limits that leave a box out, name an unknown one, or cannot be met in chips."""
    families = {box.family for box in game.boxes.values()}
    for name in limits.families:
        if name not in families:
            raise UnknownName(f"family on {game.id}", name, sorted(families))
    for name in limits.boxes:
        game.box(name)
    for name in game.boxes:
        if name not in limits.boxes and name.partition(":")[0] not in limits.families:
            raise InvalidInput(f"no limits for {name}; give them by its family or for the box")
    for name, box in game.boxes.items():
        each, step = limits.of(name), step_of(box, chips)
        if not 0 < each.minimum <= each.maximum:
            raise InvalidInput(f"limits {each.minimum} to {each.maximum} on {name} leave no room")
        if each.minimum % step or each.maximum % step:
            raise InvalidInput(f"limits on {name} are no multiples of {step}, in which it is paid")
    _check_differential(limits, game, chips)


def _check_differential(limits: TableLimits, game: Game, chips: list[int]) -> None:
    policy = game.facts.limits.differential
    firsts = [pair[0] for pair in policy.pairs] if policy else []
    for box, amount in limits.differential.items():
        if box not in firsts:
            raise UnknownName(f"differential of {game.id}", box, firsts)
        if amount <= 0 or amount % chips[0]:
            raise InvalidInput(f"a differential of {amount} on {box} cannot be met in chips")
    for box in firsts:
        if box not in limits.differential:
            raise InvalidInput(f"no maximum differential for {box}; the rulebook asks for one")


def plain_limits(
    game: Game, minimum: int, maximum: int, differential: int | None = None
) -> TableLimits:
    """Return the same limits for every box, and one differential for every pair."""
    families = {box.family for box in game.boxes.values()}
    policy = game.facts.limits.differential
    most = maximum if differential is None else differential
    return TableLimits(
        families={family: Range(minimum, maximum) for family in sorted(families)},
        differential={pair[0]: most for pair in policy.pairs} if policy else {},
    )


def as_chips(amount: int, chips: list[int]) -> list[tuple[int, int]]:
    """Return a stack as (denomination, count), the largest at the bottom, that is first.

    >>> as_chips(385, [5, 25, 100])
    [(100, 3), (25, 3), (5, 2)]
    """
    stack = []
    for chip in reversed(chips):
        count, amount = divmod(amount, chip)
        if count:
            stack.append((chip, count))
    return stack
