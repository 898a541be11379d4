"""Amounts that one person may move alone, and what has been moved alone in the last 24 hours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from threedice.account.events import Deposited, Withdrawn
from threedice.names import RESERVED_NAMES
from threedice.table.events import (
    BoughtIn,
    CashedOut,
    DebtRepaid,
    FloatCredited,
    FloatFilled,
    RulingMade,
)

if TYPE_CHECKING:
    from threedice.house.events import AnyStreamEvent

DAY: Final = 24 * 3600 * 1_000_000
"""The microseconds over which amounts are added up."""

MovedAlone = dict[str, tuple[int, int]]
"""Sums that were moved without a second person, by amount and player: start time and sum."""


class HouseAmounts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Amounts that one person may move alone in 24 hours, and ceilings for all, in minor units.

    The defaults are the highest values: a house can only lower them. Cash counts per player, the
    rest per table.
    """

    ruling_alone: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 10_000
    ruling_ceiling: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 1_000_000
    correction_ceiling: Annotated[int, msgspec.Meta(ge=0, le=100_000_000)] = 100_000_000
    cash_alone: Annotated[int, msgspec.Meta(ge=0, le=500_000)] = 500_000
    cash_out_alone: Annotated[int, msgspec.Meta(ge=0, le=500_000)] = 500_000
    float_alone: Annotated[int, msgspec.Meta(ge=0, le=10_000_000)] = 10_000_000


PER_PLAYER: Final = frozenset({"cash_alone", "cash_out_alone"})
"""Amounts that count per player; the others count per table."""

_COUNTED_EVENTS: Final[dict[type, tuple[str, str, str]]] = {
    RulingMade: ("ruling_alone", "", ""),
    BoughtIn: ("cash_alone", "source", "cash"),
    DebtRepaid: ("cash_alone", "source", "cash"),
    CashedOut: ("cash_out_alone", "to", "outside"),
    FloatFilled: ("float_alone", "", ""),
    FloatCredited: ("float_alone", "", ""),
    Deposited: ("cash_alone", "", ""),
    Withdrawn: ("cash_out_alone", "", ""),
}
"""The amount that an event counts towards, and the field and value that it must have to count.

Players move their own money between account and table; only staff handle cash and chips.
"""


def count_event(moved: MovedAlone, event: AnyStreamEvent, at: int) -> None:
    """Add what an event moved, unless a second person approved it.

    The play money that the program itself pays into the accounts of a demo does not count.
    """
    counted = _COUNTED_EVENTS.get(type(event))
    if counted is None or event.approved_by:  # type: ignore[union-attr]
        return
    if isinstance(event, Deposited) and event.by in RESERVED_NAMES:
        return
    name, field, value = counted
    if field and getattr(event, field) != value:
        return
    key = _key(name, getattr(event, "player", ""))
    total = amount_moved(moved, name, getattr(event, "player", ""), at)
    if not total:
        for expired in [each for each, (since, _) in moved.items() if at - since >= DAY]:
            del moved[expired]
    since = moved[key][0] if total else at
    moved[key] = since, total + abs(event.amount)  # type: ignore[union-attr]


def amount_moved(moved: MovedAlone, name: str, player: str, now: int) -> int:
    """Return how much counts towards an amount now."""
    since, total = moved.get(_key(name, player), (now, 0))
    return total if now - since < DAY else 0


def _key(name: str, player: str) -> str:
    return f"{name}/{player}" if name in PER_PLAYER else name
