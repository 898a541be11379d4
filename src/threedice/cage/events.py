"""What has happened to a player's account, never changed afterwards."""

from __future__ import annotations

import msgspec


class CageEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, gc=False):
    """Something that has happened to an account."""


class AccountOpened(CageEvent, frozen=True, kw_only=True, tag="AccountOpened"):
    """A player has an account."""

    player: str
    currency: str
    by: str


class Deposited(CageEvent, frozen=True, kw_only=True, tag="Deposited"):
    """Cash was paid in."""

    player: str
    amount: int
    by: str


class Withdrawn(CageEvent, frozen=True, kw_only=True, tag="Withdrawn"):
    """Cash was taken out."""

    player: str
    amount: int
    by: str


class SentToTable(CageEvent, frozen=True, kw_only=True, tag="SentToTable"):
    """Money went to a table; the table's event in the same append posts it."""

    player: str
    table: str
    amount: int


class ReceivedFromTable(CageEvent, frozen=True, kw_only=True, tag="ReceivedFromTable"):
    """Money came from a table; the table's event in the same append posts it."""

    player: str
    table: str
    amount: int


AnyCageEvent = AccountOpened | Deposited | Withdrawn | SentToTable | ReceivedFromTable
