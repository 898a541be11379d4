"""What is asked of a player's account; `by` is who does it, for the record."""

from __future__ import annotations

import msgspec


class CageCommand(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True, kw_only=True):
    """Something asked of a player's account."""

    by: str
    player: str


class OpenAccount(CageCommand, frozen=True, kw_only=True):
    """Open an account in a currency."""

    currency: str


class Deposit(CageCommand, frozen=True, kw_only=True):
    """Pay cash in."""

    amount: int


class Withdraw(CageCommand, frozen=True, kw_only=True):
    """Take cash out."""

    amount: int


class SendToTable(CageCommand, frozen=True, kw_only=True):
    """Send money to a table, where it buys chips."""

    table: str
    currency: str
    amount: int


class ReceiveFromTable(CageCommand, frozen=True, kw_only=True):
    """Receive money for chips from a table."""

    table: str
    currency: str
    amount: int


AnyCageCommand = OpenAccount | Deposit | Withdraw | SendToTable | ReceiveFromTable
