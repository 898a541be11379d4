"""What has happened to a player's account, never changed afterwards."""

from __future__ import annotations

import msgspec


class PlayerAccountEvent(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, gc=False
):
    """Something that has happened to an account."""


class AccountOpened(PlayerAccountEvent, frozen=True, kw_only=True, tag="AccountOpened"):
    """A player has an account."""

    player: str
    currency: str
    by: str


class Deposited(PlayerAccountEvent, frozen=True, kw_only=True, tag="Deposited"):
    """Cash was paid in."""

    player: str
    amount: int
    by: str


class Withdrawn(PlayerAccountEvent, frozen=True, kw_only=True, tag="Withdrawn"):
    """Cash was taken out."""

    player: str
    amount: int
    by: str


class SentToTable(PlayerAccountEvent, frozen=True, kw_only=True, tag="SentToTable"):
    """Money went to a table; the table's event in the same append posts it."""

    player: str
    table: str
    amount: int


class ReceivedFromTable(PlayerAccountEvent, frozen=True, kw_only=True, tag="ReceivedFromTable"):
    """Money came from a table; the table's event in the same append posts it."""

    player: str
    table: str
    amount: int


AnyPlayerAccountEvent = AccountOpened | Deposited | Withdrawn | SentToTable | ReceivedFromTable
