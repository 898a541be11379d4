"""What a table's limits leave of the chips on a layout, box by box.

The amounts are the table's; the rulebook says whose chips a maximum counts and which boxes a
differential holds together. `table.limits` does the same for real bets, chip by chip.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from threedice.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from threedice.rulebook import Game


@dataclass(frozen=True, slots=True)
class LayoutLimits:
    """A minimum and a maximum for every box, and a differential for every pair of opposites."""

    minimum: int = 1
    maximum: int | None = None
    differential: int | None = None

    def __post_init__(self) -> None:
        if self.minimum < 1:
            raise InvalidInput(f"a minimum of {self.minimum}; give a whole number above zero")
        if self.maximum is not None and self.maximum < self.minimum:
            raise InvalidInput(
                f"the maximum {self.maximum} is under the minimum {self.minimum}; "
                "raise the one or lower the other"
            )
        if self.differential is not None and self.differential < 0:
            raise InvalidInput(f"a differential of {self.differential}; give nought or more")

    def clamp(self, stake: int) -> int:
        """Return what one bet comes to: raised to the minimum, cut to the maximum."""
        raised = max(stake, self.minimum)
        return raised if self.maximum is None else min(raised, self.maximum)


def differential_pairs(game: Game) -> list[tuple[str, str]]:
    """Return the pairs of boxes whose totals a differential holds together."""
    policy = game.facts.limits.differential
    return list(policy.pairs) if policy else []


def is_maximum_shared(game: Game) -> bool:
    """Tell whether the maximum of a box counts the chips of all players together."""
    return game.facts.limits.maximum.scope == "box"


def check_differential(game: Game, limits: LayoutLimits) -> None:
    """Refuse a differential on a layout that has no opposite boxes."""
    if limits.differential is not None and not differential_pairs(game):
        raise InvalidInput(f"{game.id} has no boxes under a differential; leave it out")


def connected_boxes(
    game: Game, limits: LayoutLimits, boxes: Sequence[str], max_total: int
) -> list[tuple[str, ...]]:
    """Return the boxes whose totals a limit concerns, those of a pair together.

    No box can hold more than `most`, so that a maximum from there on concerns none.
    """
    groups: list[tuple[str, ...]] = []
    if limits.differential is not None:
        groups = [
            tuple(each for each in pair if each in boxes) for pair in differential_pairs(game)
        ]
    if is_maximum_shared(game) and limits.maximum is not None and max_total > limits.maximum:
        taken = {box for group in groups for box in group}
        groups += [(box,) for box in boxes if box not in taken]
    return [group for group in groups if group]


def apply_limits(game: Game, limits: LayoutLimits, totals: Mapping[str, int]) -> dict[str, int]:
    """Return what the limits leave of the totals on boxes.

    First the maximum, where all players share it; then, of a pair, what the other side leaves
    room for.

    >>> from threedice.rulebook import load
    >>> apply_limits(load("sg-rws-tai-sai-v6/a"), LayoutLimits(1, 900, 300), {"big": 1000, "small": 200})
    {'big': 500, 'small': 200}
    """
    held = dict(totals)
    if limits.maximum is not None and is_maximum_shared(game):
        held = {box: min(total, limits.maximum) for box, total in held.items()}
    if limits.differential is None:
        return held
    left = dict(held)
    for pair in differential_pairs(game):
        for box, other in (pair, pair[::-1]):
            if box in held:
                left[box] = min(held[box], held.get(other, 0) + limits.differential)
    return left
