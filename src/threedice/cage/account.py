"""A player's account: what may be asked of it, and what its events make of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, assert_never

from threedice.cage import commands as asked
from threedice.cage import events as happened
from threedice.errors import Refusal

if TYPE_CHECKING:
    from threedice.cage.commands import AnyCageCommand
    from threedice.cage.events import AnyCageEvent

TEXTS: Final[dict[str, str]] = {
    "cage/no-account": "{player} has no account with the house; open one first",
    "cage/account-open": "{player} has an account already",
    "cage/amount": "{amount} is no amount of money to move",
    "cage/balance": "{amount} is more than the {balance} in the account",
    "cage/currency": "the account is in {account}, not in {currency}",
}
"""Every code with the words for it; the facts of a refusal fill them."""


@dataclass(slots=True)
class Account:
    """What a player has with the house."""

    player: str = ""
    currency: str = ""
    balance: int = 0


def decide(account: Account, command: AnyCageCommand) -> tuple[AnyCageEvent, ...]:
    """Return what a command makes happen to an account, or raise its refusal."""
    if isinstance(command, asked.OpenAccount):
        if account.player:
            raise _refuse("cage/account-open", player=command.player)
        player, currency = command.player, command.currency
        return (happened.AccountOpened(player=player, currency=currency, by=command.by),)
    if not account.player:
        raise _refuse("cage/no-account", player=command.player)
    if command.amount < 1:
        raise _refuse("cage/amount", amount=command.amount)
    return (_moved(account, command),)


def _moved(
    account: Account,
    command: asked.Deposit | asked.Withdraw | asked.SendToTable | asked.ReceiveFromTable,
) -> AnyCageEvent:
    player, amount = command.player, command.amount
    match command:
        case asked.Deposit():
            return happened.Deposited(player=player, amount=amount, by=command.by)
        case asked.Withdraw():
            _need_balance(account, amount)
            return happened.Withdrawn(player=player, amount=amount, by=command.by)
        case asked.SendToTable():
            _need_currency(account, command.currency)
            _need_balance(account, amount)
            return happened.SentToTable(player=player, table=command.table, amount=amount)
        case asked.ReceiveFromTable():
            _need_currency(account, command.currency)
            return happened.ReceivedFromTable(player=player, table=command.table, amount=amount)
        case _:
            assert_never(command)


def _need_balance(account: Account, amount: int) -> None:
    if amount > account.balance:
        raise _refuse("cage/balance", amount=amount, balance=account.balance)


def _need_currency(account: Account, currency: str) -> None:
    if currency != account.currency:
        raise _refuse("cage/currency", account=account.currency, currency=currency)


def _refuse(code: str, **facts: Any) -> Refusal:
    return Refusal(code, TEXTS[code], (), facts)


def evolve(account: Account, event: AnyCageEvent) -> Account:
    """Apply an event to an account, in place, and return it."""
    match event:
        case happened.AccountOpened():
            account.player, account.currency = event.player, event.currency
        case happened.Deposited() | happened.ReceivedFromTable():
            account.balance += event.amount
        case happened.Withdrawn() | happened.SentToTable():
            account.balance -= event.amount
        case _:
            assert_never(event)
    return account
