"""Commands that the house handles: for a table, for a player's account, or for the house."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from threedice.account.commands import Deposit, OpenAccount, Withdraw
from threedice.facts import HOUSE_ONLY, STAFF, SUPERVISORS, CommandFacts
from threedice.house.events import Timing
from threedice.table.commands import Actor, AnyCommand, OptionalActor


class HouseCommand(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base class of the house's own commands."""

    facts: ClassVar[CommandFacts]


class EstablishTable(HouseCommand, frozen=True, kw_only=True, tag="EstablishTable"):
    """Set up a table for a game; a closed table can be set up for another, by two people."""

    facts = CommandFacts(SUPERVISORS, "manage", second_person="approved_by", alone="approved-terms")
    by: Actor
    game: str
    readings: dict[str, str] = {}
    dealt_by_house: Timing | None = None
    approved_by: OptionalActor = msgspec.UNSET


class ResolveInterruption(HouseCommand, frozen=True, kw_only=True, tag="ResolveInterruption"):
    """State which dice of an interrupted round are known; a supervisor confirms the statement."""

    facts = CommandFacts(STAFF, "nobody", second_person="confirmed_by", concerns_round=True)
    by: Actor
    confirmed_by: Actor
    known: list[int] = []


class AcknowledgeVariance(HouseCommand, frozen=True, kw_only=True, tag="AcknowledgeVariance"):
    """Record that a person knows of the variance of a count, by the number of its slip."""

    facts = CommandFacts(SUPERVISORS, "nobody", while_closed=True)
    by: Actor
    slip: int


class InterruptTable(HouseCommand, frozen=True, kw_only=True, tag="InterruptTable"):
    """Mark a staffed table as interrupted in mid-round; only the house sends this."""

    facts = HOUSE_ONLY


class RecoverRound(HouseCommand, frozen=True, kw_only=True, tag="RecoverRound"):
    """Resolve a round that another server was dealing; only the house sends this."""

    facts = HOUSE_ONLY


AnyTableCommand = (
    AnyCommand | EstablishTable | ResolveInterruption | AcknowledgeVariance | InterruptTable
    | RecoverRound
)  # fmt: skip


AnyAccountCommand = OpenAccount | Deposit | Withdraw


AnyStreamCommand = AnyTableCommand | AnyAccountCommand
