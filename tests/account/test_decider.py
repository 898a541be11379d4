"""A player's account: which commands it accepts, and what it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from threedice.account import PlayerAccount, commands, decide, events
from threedice.errors import Refusal

if TYPE_CHECKING:
    from threedice.account.commands import AnyPlayerAccountCommand
    from threedice.account.events import AnyPlayerAccountEvent

OPEN = commands.OpenAccount(by="cashier", player="ann", currency="SGD")


def deposit(amount: int) -> commands.Deposit:
    return commands.Deposit(by="cashier", player="ann", amount=amount)


def withdraw(amount: int) -> commands.Withdraw:
    return commands.Withdraw(by="cashier", player="ann", amount=amount)


def send(amount: int, currency: str = "SGD") -> commands.SendToTable:
    return commands.SendToTable(by="ann", player="ann", table="1", currency=currency, amount=amount)


def receive(amount: int, currency: str = "SGD") -> commands.ReceiveFromTable:
    return commands.ReceiveFromTable(
        by="ann", player="ann", table="1", currency=currency, amount=amount
    )


def test_opening_an_account_records_its_currency() -> None:
    opened = events.AccountOpened(player="ann", currency="SGD", by="cashier")
    assert decide(PlayerAccount(), OPEN) == (opened,)


@pytest.mark.parametrize(
    ("command", "event"),
    [
        (deposit(5), events.Deposited(player="ann", amount=5, by="cashier")),
        (withdraw(100), events.Withdrawn(player="ann", amount=100, by="cashier")),
        (send(100), events.SentToTable(player="ann", table="1", amount=100)),
        (receive(500), events.ReceivedFromTable(player="ann", table="1", amount=500)),
    ],
)
def test_money_moves_up_to_the_balance(
    command: AnyPlayerAccountCommand, event: AnyPlayerAccountEvent
) -> None:
    assert decide(PlayerAccount("ann", "SGD", 100), command) == (event,)


@pytest.mark.parametrize(
    ("account", "command", "code"),
    [
        (PlayerAccount(), deposit(5), "cage/no-account"),
        (PlayerAccount("ann", "SGD", 0), OPEN, "cage/account-open"),
        (PlayerAccount("ann", "SGD", 100), deposit(0), "cage/amount"),
        (PlayerAccount("ann", "SGD", 100), withdraw(-5), "cage/amount"),
        (PlayerAccount("ann", "SGD", 100), withdraw(101), "cage/balance"),
        (PlayerAccount("ann", "SGD", 100), send(101), "cage/balance"),
        (PlayerAccount("ann", "SGD", 100), send(5, "NZD"), "cage/currency"),
        (PlayerAccount("ann", "SGD", 100), receive(5, "NZD"), "cage/currency"),
    ],
)
def test_a_command_that_the_account_cannot_carry_out_is_refused(
    account: PlayerAccount, command: AnyPlayerAccountCommand, code: str
) -> None:
    with pytest.raises(Refusal) as refused:
        decide(account, command)
    assert refused.value.code == code
