"""Apply a table's limits to the totals on the boxes of a layout.

The amounts are set by the table; the rulebook decides whether a maximum counts the chips of one
player or of all, and which boxes a differential connects. `table.limits` does the same for real
bets, chip by chip.
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
    """Minimum and maximum of every box, and the differential of every pair of opposite boxes."""

    minimum: int = 1
    maximum: int | None = None
    differential: int | None = None

    def __post_init__(self) -> None:
        if self.minimum < 1:
            raise InvalidInput(f"a minimum of {self.minimum}; give a whole number above zero")
        if self.maximum is not None and self.maximum < self.minimum:
            raise InvalidInput(
                f"the maximum {self.maximum} is under the minimum {self.minimum}; "
                "raise the maximum or lower the minimum"
            )
        if self.differential is not None and self.differential < 0:
            raise InvalidInput(f"a differential of {self.differential}; give 0 or more")

    def clamp(self, stake: int) -> int:
        """Return a bet's stake raised to the minimum or cut to the maximum."""
        raised = max(stake, self.minimum)
        return raised if self.maximum is None else min(raised, self.maximum)


def differential_pairs(game: Game) -> list[tuple[str, str]]:
    """Return the pairs of boxes whose totals may differ by no more than the differential."""
    policy = game.facts.limits.differential
    return list(policy.pairs) if policy else []


def is_maximum_shared(game: Game) -> bool:
    """Return whether the maximum of a box counts the chips of all players together."""
    return game.facts.limits.maximum.scope == "box"


def check_differential(game: Game, limits: LayoutLimits) -> None:
    """Raise `InvalidInput` for a differential on a layout without pairs of opposite boxes."""
    if limits.differential is not None and not differential_pairs(game):
        raise InvalidInput(f"{game.id} has no boxes under a differential; leave it out")


def connected_boxes(
    game: Game, limits: LayoutLimits, boxes: Sequence[str], max_total: int
) -> list[tuple[str, ...]]:
    """Return the boxes whose totals a limit affects, grouped so that a pair stays together.

    No box holds more than `max_total`, so a maximum of that or more affects none.
    """
    groups: list[tuple[str, ...]] = []
    if limits.differential is not None:
        groups = [tuple(box for box in pair if box in boxes) for pair in differential_pairs(game)]
    if is_maximum_shared(game) and limits.maximum is not None and max_total > limits.maximum:
        grouped = {box for group in groups for box in group}
        groups += [(box,) for box in boxes if box not in grouped]
    return [group for group in groups if group]


def apply_limits(game: Game, limits: LayoutLimits, totals: Mapping[str, int]) -> dict[str, int]:
    """Return the totals on boxes, cut to the limits.

    First the maximum is applied, if all players share it; then each box of a pair is cut to the
    total of the other plus the differential.

    >>> from threedice.rulebook import load
    >>> game, limits = load("sg-rws-tai-sai-v6/a"), LayoutLimits(1, 900, 300)
    >>> apply_limits(game, limits, {"big": 1000, "small": 200})
    {'big': 500, 'small': 200}
    """
    capped = dict(totals)
    if limits.maximum is not None and is_maximum_shared(game):
        capped = {box: min(total, limits.maximum) for box, total in capped.items()}
    if limits.differential is None:
        return capped
    limited = dict(capped)
    for pair in differential_pairs(game):
        for box, opposite in (pair, pair[::-1]):
            if box in capped:
                limited[box] = min(capped[box], capped.get(opposite, 0) + limits.differential)
    return limited
