"""Commands to a player's account; `by` names the person who acts, for the record."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from threedice.facts import HOUSE_ONLY, SUPERVISORS, CommandFacts
from threedice.money import Currency, RequestedAmount
from threedice.names import ValidPlayerId

Identifier = Annotated[str, msgspec.Meta(max_length=100)]
OptionalIdentifier = Identifier | msgspec.UnsetType
"""The person who approved, if there is one; unset, the field is not encoded."""


class PlayerAccountCommand(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of all commands to a player's account."""

    facts: ClassVar[CommandFacts]
    by: Identifier
    player: ValidPlayerId


class OpenAccount(PlayerAccountCommand, frozen=True, kw_only=True, tag="OpenAccount"):
    """Open an account in a currency."""

    facts = CommandFacts(SUPERVISORS, "manage", seats_player=True)
    currency: Currency


class Deposit(PlayerAccountCommand, frozen=True, kw_only=True, tag="Deposit"):
    """Pay cash in."""

    facts = CommandFacts(
        SUPERVISORS,
        "manage",
        second_person="approved_by",
        alone="up-to-amount",
        alone_up_to="cash_alone",
        seats_player=True,
    )
    amount: RequestedAmount
    approved_by: OptionalIdentifier = msgspec.UNSET


class Withdraw(PlayerAccountCommand, frozen=True, kw_only=True, tag="Withdraw"):
    """Take cash out."""

    facts = CommandFacts(
        SUPERVISORS,
        "manage",
        second_person="approved_by",
        alone="up-to-amount",
        alone_up_to="cash_out_alone",
    )
    amount: RequestedAmount
    approved_by: OptionalIdentifier = msgspec.UNSET


class SendToTable(PlayerAccountCommand, frozen=True, kw_only=True, tag="SendToTable"):
    """Send money to a table, to buy chips."""

    facts = HOUSE_ONLY
    table: Identifier
    currency: Currency
    amount: RequestedAmount


class ReceiveFromTable(PlayerAccountCommand, frozen=True, kw_only=True, tag="ReceiveFromTable"):
    """Receive the money for chips from a table."""

    facts = HOUSE_ONLY
    table: Identifier
    currency: Currency
    amount: RequestedAmount


AnyPlayerAccountCommand = OpenAccount | Deposit | Withdraw | SendToTable | ReceiveFromTable
