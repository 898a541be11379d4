"""Facts that every command and every event declares: who may send it, who may see it.

A command class sets `facts`, an event class sets `audience`. Authorisation, redaction, the OpenAPI
document and the API reference are derived from them; nothing else lists commands or events by role.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from threedice.rulebook.conduct import TableRole

CommandScope = Literal["play", "deal", "manage", "nobody"]
"""Scope that an API token needs for a command; `nobody`: only people in a session may send it."""

FieldValues = Mapping[str, tuple[str, ...]]
"""Values that a sender may give to the fields of a command; other fields are free."""

DEALERS: Final[tuple[TableRole, ...]] = ("dealer", "supervisor", "pit-manager")
STAFF: Final[tuple[TableRole, ...]] = (*DEALERS, "shift-manager")
SUPERVISORS: Final[tuple[TableRole, ...]] = ("supervisor", "pit-manager", "shift-manager")


class CommandFacts(NamedTuple):
    """Who may send a command, and under which conditions.

    The rulebook can restrict the roles further. `own_player` limits players to commands for
    themselves. `player_values` and `staff_values` limit fields, because cash changes hands only
    through staff, and only players move the money of their accounts. `second_person` names the
    field for the person who approves; with `may_go_alone` the rules decide whether one is needed.
    """

    roles: tuple[TableRole, ...]
    scope: CommandScope
    own_player: bool = False
    player_values: FieldValues = {}
    staff_values: FieldValues = {}
    second_person: str = ""
    may_go_alone: bool = False
    as_shooter: bool = False
    """True if a player who sends it acts as the shooter."""
    house_deals: bool = False
    """True if only the house may send it at an automatic table: it handles dice or chips."""


HOUSE_ONLY: Final = CommandFacts((), "nobody")
"""Facts of commands that the house itself sends."""


class Audience(NamedTuple):
    """Who sees an event besides staff, who see all of it.

    `hidden` fields are replaced by these values for players. `lists` are cut down to the items of
    the player who sees them; the number is the position of the player in an item, None if the item
    is the player. `others` are replaced for everybody but the event's `player`.
    """

    seen_by: Literal["everybody", "its player", "staff"] = "everybody"
    hidden: Mapping[str, Any] = {}
    lists: Mapping[str, int | None] = {}
    others: Mapping[str, Any] = {}


PUBLIC: Final = Audience()
ITS_PLAYER: Final = Audience("its player")
STAFF_ONLY: Final = Audience("staff")
