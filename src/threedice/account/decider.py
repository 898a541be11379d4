"""A player's account: `decide` turns commands into events, `evolve` applies them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, assert_never

from threedice.account import commands, events
from threedice.errors import Refusal

if TYPE_CHECKING:
    from threedice.account.commands import AnyPlayerAccountCommand
    from threedice.account.events import AnyPlayerAccountEvent

ACCOUNT_REFUSAL_TEXTS: Final[dict[str, str]] = {
    "cage/no-account": "{player} has no account with the house; open one first",
    "cage/account-open": "{player} has an account already",
    "cage/amount": "{amount} cannot be moved; give an amount above zero",
    "cage/balance": "{amount} is more than the {balance} in the account",
    "cage/currency": "the account is in {account}, not in {currency}",
}
"""The text of every refusal code; the facts of a refusal fill the placeholders."""


@dataclass(slots=True)
class PlayerAccount:
    """A player's balance with the house.

    `moved_alone` is what one person paid in or out without a second one, as the house counts it.
    """

    player: str = ""
    currency: str = ""
    balance: int = 0
    moved_alone: dict[str, tuple[int, int]] = field(default_factory=dict)


def decide(
    account: PlayerAccount, command: AnyPlayerAccountCommand
) -> tuple[AnyPlayerAccountEvent, ...]:
    """Return the events that a command causes, or raise its refusal."""
    if isinstance(command, commands.OpenAccount):
        if account.player:
            raise _refuse("cage/account-open", player=command.player)
        player, currency = command.player, command.currency
        return (events.AccountOpened(player=player, currency=currency, by=command.by),)
    if not account.player:
        raise _refuse("cage/no-account", player=command.player)
    if command.amount < 1:
        raise _refuse("cage/amount", amount=command.amount)
    return (_decide_transfer(account, command),)


def _decide_transfer(
    account: PlayerAccount,
    command: commands.Deposit
    | commands.Withdraw
    | commands.SendToTable
    | commands.ReceiveFromTable,
) -> AnyPlayerAccountEvent:
    player, amount = command.player, command.amount
    match command:
        case commands.Deposit():
            second = command.approved_by or ""
            return events.Deposited(player=player, amount=amount, by=command.by, approved_by=second)
        case commands.Withdraw():
            _require_balance(account, amount)
            second = command.approved_by or ""
            return events.Withdrawn(player=player, amount=amount, by=command.by, approved_by=second)
        case commands.SendToTable():
            _require_currency(account, command.currency)
            _require_balance(account, amount)
            return events.SentToTable(player=player, table=command.table, amount=amount)
        case commands.ReceiveFromTable():
            _require_currency(account, command.currency)
            return events.ReceivedFromTable(player=player, table=command.table, amount=amount)
        case _:
            assert_never(command)


def _require_balance(account: PlayerAccount, amount: int) -> None:
    if amount > account.balance:
        raise _refuse("cage/balance", amount=amount, balance=account.balance)


def _require_currency(account: PlayerAccount, currency: str) -> None:
    if currency != account.currency:
        raise _refuse("cage/currency", account=account.currency, currency=currency)


def _refuse(code: str, **facts: Any) -> Refusal:
    return Refusal(code, ACCOUNT_REFUSAL_TEXTS[code], (), facts)


def evolve(account: PlayerAccount, event: AnyPlayerAccountEvent) -> PlayerAccount:
    """Apply an event to an account, in place, and return it."""
    match event:
        case events.AccountOpened():
            account.player, account.currency = event.player, event.currency
        case events.Deposited() | events.ReceivedFromTable():
            account.balance += event.amount
        case events.Withdrawn() | events.SentToTable():
            account.balance -= event.amount
        case _:
            assert_never(event)
    return account
