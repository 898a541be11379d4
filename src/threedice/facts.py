"""Facts that every command and every event declares: who may send it, who may see it.

A command class sets `facts`, an event class sets `audience`. Authorisation, redaction, the OpenAPI
document and the API reference are derived from them; nothing else lists commands or events by role.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from threedice.rulebook.conduct import IrregularityName, TableRole

CommandScope = Literal["play", "deal", "manage", "nobody"]
"""Scope that an API token needs for a command; `nobody`: only people in a session may send it."""

FieldValues = Mapping[str, tuple[str, ...]]
"""Values that a sender may give to the fields of a command; other fields are free."""

DEALERS: Final[tuple[TableRole, ...]] = ("dealer", "supervisor", "pit-manager")
STAFF: Final[tuple[TableRole, ...]] = (*DEALERS, "shift-manager")
ROUND_STAFF: Final[tuple[TableRole, ...]] = (*STAFF, "game-supervisor")
"""Staff who take part in a round, if the rulebook has a game supervisor besides the supervisor."""
SUPERVISORS: Final[tuple[TableRole, ...]] = ("supervisor", "pit-manager", "shift-manager")
APPROVERS: Final[tuple[TableRole, ...]] = ("game-supervisor", *SUPERVISORS)
MANAGERS: Final[tuple[TableRole, ...]] = ("pit-manager", "shift-manager")

AloneRule = Literal["never", "always", "up-to-amount", "approved-terms", "by-rulebook"]
"""When one person suffices for a command that has a field for a second person.

`up-to-amount`: up to an amount of the house; `approved-terms`: if it changes no terms that two
people approved; `by-rulebook`: the rulebook says whether a second person is needed.
"""

AutomaticRule = Literal["as-elsewhere", "house", "player", "second-person", "alone-if-empty"]
"""The roles that may send a command at a table dealt by the house, besides the player.

`house`: only the house, because it handles dice or chips; `player`: only the player, because it
uses their money; `second-person`: staff with a second person; `alone-if-empty`: staff, but with a
second person while players have chips there.
"""


class CommandFacts(NamedTuple):
    """The people who may send a command, and the conditions.

    The rulebook can restrict the roles further. `own_player` limits players to commands for
    themselves. `player_values` and `staff_values` limit fields, because cash changes hands only
    through staff, and only players move the money of their accounts. `second_person` names the
    field for the person who approves, in one of the roles `approvers`; `alone` says when one member
    of the staff suffices. `alone_up_to` and `ceiling` name amounts that the house sets: above the
    first a second person is needed, above the second the command is refused.
    `threedice.house.authority` derives one table from these facts.
    """

    roles: tuple[TableRole, ...]
    scope: CommandScope
    own_player: bool = False
    player_values: FieldValues = {}
    staff_values: FieldValues = {}
    second_person: str = ""
    approvers: tuple[TableRole, ...] = SUPERVISORS
    approval_rule: IrregularityName | Literal[""] = ""
    """The irregularity whose rule in the rulebook names the approvers instead, if it has one."""
    alone: AloneRule = "never"
    alone_up_to: str = ""
    ceiling: str = ""
    as_shooter: bool = False
    """True if a player who sends it acts as the shooter."""
    automatic: AutomaticRule = "as-elsewhere"
    concerns_round: bool = False
    """True if it acts on the round in play; a request for it is void in a later round."""
    seats_player: bool = False
    """True if it gives its player chips, a bet, dice or money: staff do not play."""
    while_closed: bool = False
    """True if it may also be sent while the table is closed."""
    between_rounds: bool = False
    """True if it may not be sent while a round is being played."""
    counts_rack: bool = False
    """True if it counts the rack; a request for it is void once chips of the rack have moved."""
    house_fields: tuple[str, ...] = ()
    """Fields that the house fills in; the sender leaves them out."""


HOUSE_ONLY: Final = CommandFacts((), "nobody")
"""Facts of commands that the house itself sends."""


class Audience(NamedTuple):
    """The audience of an event besides staff, who see all of it.

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
