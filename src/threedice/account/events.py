"""Events of a player's account: immutable records that are stored in the log."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from threedice.facts import ITS_PLAYER, Audience


class PlayerAccountEvent(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, gc=False
):
    """Base of all events of a player's account."""

    audience: ClassVar[Audience] = ITS_PLAYER
    player: str


class AccountOpened(PlayerAccountEvent, frozen=True, kw_only=True, tag="AccountOpened"):
    """A player's account was opened."""

    currency: str
    by: str


class Deposited(PlayerAccountEvent, frozen=True, kw_only=True, omit_defaults=True, tag="Deposited"):
    """Cash was paid in."""

    amount: int
    by: str
    approved_by: str = ""


class Withdrawn(PlayerAccountEvent, frozen=True, kw_only=True, omit_defaults=True, tag="Withdrawn"):
    """Cash was taken out."""

    amount: int
    by: str
    approved_by: str = ""


class SentToTable(PlayerAccountEvent, frozen=True, kw_only=True, tag="SentToTable"):
    """Money went to a table; the table's event of the same append posts it."""

    table: str
    amount: int


class ReceivedFromTable(PlayerAccountEvent, frozen=True, kw_only=True, tag="ReceivedFromTable"):
    """Money came from a table; the table's event of the same append posts it."""

    table: str
    amount: int


AnyPlayerAccountEvent = AccountOpened | Deposited | Withdrawn | SentToTable | ReceivedFromTable
