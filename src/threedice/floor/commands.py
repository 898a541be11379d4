"""What is asked of the floor: of a table, of a player's account, or of the house."""

from __future__ import annotations

import msgspec

from threedice.cage.commands import Deposit, OpenAccount, Withdraw
from threedice.floor.events import Timing
from threedice.table.commands import Actor, AnyCommand


class FloorCommand(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Something asked of the floor."""


class EstablishTable(FloorCommand, frozen=True, kw_only=True, tag="EstablishTable"):
    """Set a table up for a game, or for another one while it is closed."""

    by: Actor
    game: str
    readings: dict[str, str] = {}
    dealt_by_house: Timing | None = None


class ResolveInterruption(FloorCommand, frozen=True, kw_only=True, tag="ResolveInterruption"):
    """State which dice of an interrupted round are known; a supervisor confirms it."""

    by: Actor
    confirmed_by: Actor
    known: list[int] = []


class InterruptTable(FloorCommand, frozen=True, kw_only=True, tag="InterruptTable"):
    """Mark a table of people's as interrupted in the middle of a round; the house does it."""


class RecoverRound(FloorCommand, frozen=True, kw_only=True, tag="RecoverRound"):
    """Resolve a round that another server of the house was dealing; the house does it."""


AnyTableCommand = AnyCommand | EstablishTable | ResolveInterruption | InterruptTable | RecoverRound
AnyAccountCommand = OpenAccount | Deposit | Withdraw
AnyFloorCommand = AnyTableCommand | AnyAccountCommand
