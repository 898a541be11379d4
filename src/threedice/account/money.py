"""Map the events of a player's account to postings, and its state to a balance."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from threedice.account import events
from threedice.money import Posting, player_account, transfer_account

if TYPE_CHECKING:
    from threedice.account.decider import PlayerAccount
    from threedice.account.events import AnyPlayerAccountEvent


def account_postings(event: AnyPlayerAccountEvent) -> list[Posting]:
    """Return the postings of an event of a player's account."""
    player = event.player
    account = player_account(player)
    match event:
        case events.AccountOpened():
            return []
        case events.Deposited():
            return [Posting("outside", account, event.amount, player)]
        case events.Withdrawn():
            return [Posting(account, "outside", event.amount, player)]
        case events.SentToTable():
            return [Posting(account, transfer_account(player), event.amount, player)]
        case events.ReceivedFromTable():
            return [Posting(transfer_account(player), account, event.amount, player)]
        case _:
            assert_never(event)


def account_balance(account: PlayerAccount, name: str) -> int | None:
    """Return the balance by a player's account; None for other accounts than the player's."""
    return account.balance if name == player_account(account.player) else None
