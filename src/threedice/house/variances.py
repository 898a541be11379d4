"""Variances of counts: what a count missed or found, and the people who know of it.

They are part of a table's state, so that the house can inform people without reading the log. A
person acknowledges a variance in the table's own stream.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec

from threedice.table.chip_counts.counts import differences, face_value
from threedice.table.events import CountKind, DropCounted, RackCounted

if TYPE_CHECKING:
    from collections.abc import Mapping

InformedRole = Literal["supervisor", "pit-manager", "shift-manager"]

MAX_VARIANCES: Final = 1_000
"""How many variances of a table are kept to inform people; the slips have all of them."""


class CountPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The house's policy on variances: the tolerance, and the roles to inform above it.

    `tolerance` is an amount in minor units for one count; a coloured chip too few or too many is
    always over it. `tell` are the roles that are informed.
    """

    tolerance: Annotated[int, msgspec.Meta(ge=0)] = 0
    tell: tuple[InformedRole, ...] = ("pit-manager", "shift-manager")

    def is_exceeded(self, chips: Mapping[str, int], value: int) -> bool:
        """Return whether a variance by chip, and its value, exceed the tolerance."""
        worth = {name: face_value({name: 1}) for name in chips}
        missing = sum(abs(count) * worth[name] for name, count in chips.items())
        return max(missing, abs(value)) > self.tolerance or not all(worth.values())


@dataclass(slots=True)
class Variance:
    """The variance of a count: by chip, and its value, negative if something is missing.

    A drop count has no chips, but the `closing` whose drop box was counted. `acknowledged_by` are
    the accounts of the people who have acknowledged it.
    """

    slip: int
    kind: CountKind | Literal["drop"]
    at: int
    chips: dict[str, int]
    value: int
    closing: int = 0
    acknowledged_by: list[str] = field(default_factory=list)


def add_variance(variances: dict[int, Variance], event: RackCounted | DropCounted, at: int) -> None:
    """Add the variance of a count to those of its table, if it has one."""
    if isinstance(event, RackCounted):
        chips = differences(event.counted, event.expected)
        value = face_value(event.counted) - face_value(event.expected)
        found = Variance(event.slip, event.kind, at, chips, value)
    else:
        value = face_value(event.notes) - event.expected
        found = Variance(event.slip, "drop", at, {}, value, event.closing)
    if found.chips or found.value:
        variances[found.slip] = found
        if len(variances) > MAX_VARIANCES:
            del variances[min(variances)]
