"""Map every event to postings (source, destination, amount), so that each event sums to zero.

Accounts: `cash` (the drop box), `float` (the table's chips), `stack/<player>` (a player's chips at
the table), `layout` (chips at risk), `cage/<player>` (a player's account with the house), `vault`,
`outside` (the source of cash and the destination of chips carried away), `owing/<player>` (a
player's debt after a reversal, as a negative balance).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from threedice.account.events import Deposited, Withdrawn
from threedice.table import events

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from threedice.account.events import AnyPlayerAccountEvent
    from threedice.table.events import AnyEvent


class Posting(NamedTuple):
    """A non-negative amount that moves from one account to another."""

    source: str
    destination: str
    amount: int


def table_postings(event: AnyEvent) -> list[Posting]:
    """Return the postings of a table's event, without those of amount zero."""
    return [posting for posting in _table_postings(event) if posting.amount]


def account_postings(event: AnyPlayerAccountEvent) -> list[Posting]:
    """Return the postings of an event of a player's account.

    Transfers to and from a table have none here: the table's event in the same append posts them.
    """
    match event:
        case Deposited():
            return [Posting("outside", player_account(event.player), event.amount)]
        case Withdrawn():
            return [Posting(player_account(event.player), "outside", event.amount)]
        case _:
            return []


def _table_postings(event: AnyEvent) -> Iterator[Posting]:
    match event:
        case events.BetPlaced():  # most events are bets
            yield Posting(stack_account(event.player), "layout", event.amount)
        case events.TableOpened():
            yield Posting("vault", "float", event.float_amount)
        case events.FloatFilled():
            yield Posting("vault", "float", event.amount)
        case events.FloatCredited():
            yield Posting("float", "vault", event.amount)
        case events.TableClosed():
            for player, amount in event.carried_away:
                yield Posting(stack_account(player), "outside", amount)
            yield Posting("float", "vault", event.float_amount)
            yield Posting("cash", "vault", event.drop)
        case events.BoughtIn():
            if event.source == "cash":
                yield Posting("outside", "cash", event.amount)
            else:
                yield Posting(player_account(event.player), "vault", event.amount)
            yield Posting("float", stack_account(event.player), event.amount)
        case events.CashedOut(to="outside"):
            yield Posting(stack_account(event.player), "outside", event.amount)
        case events.CashedOut():
            yield Posting(stack_account(event.player), "float", event.amount)
            yield Posting("vault", player_account(event.player), event.amount)
        case events.DebtRepaid():
            chips, cash = (stack_account(event.player), "float"), ("outside", "cash")
            yield Posting(*(chips if event.source == "stack" else cash), event.amount)
            yield Posting("vault", owing_account(event.player), event.amount)
        case events.BetWithdrawn() | events.BetRejected():
            yield Posting("layout", stack_account(event.player), event.amount)
        case events.LineJudged(accepted=False):
            yield Posting("layout", stack_account(event.player), event.amount)
        case events.BetsApportioned():
            for _, player, stake, plays in event.bets:
                yield Posting("layout", stack_account(player), stake - plays)
        case events.LosersCollected():
            for _, _, amount in event.bets:
                yield Posting("layout", "float", amount)
        case events.WinnersPaid():
            for _, player, stake, winnings in event.bets:
                yield Posting("layout", stack_account(player), stake)
                yield Posting("float", stack_account(player), winnings)
        case events.ShooterWon():
            yield Posting("layout", stack_account(event.player), event.stake)
            yield Posting("float", stack_account(event.player), event.winnings)
        case events.ShooterLost():
            yield Posting("layout", "float", event.stake)
        case events.RoundVoided():
            for _, player, amount in event.returned:
                yield Posting("layout", stack_account(player), amount)
        case events.RoundsReversed():
            owed = dict(event.owing)
            for player, amount in event.transfers:
                yield from _transfer_postings(player, amount, owed.get(player, 0))
        case events.BetCorrected() | events.RulingMade():
            yield from _transfer_postings(event.player, event.amount, event.owing)
        case _:
            return


def _transfer_postings(player: str, amount: int, owed: int) -> Iterable[Posting]:
    """Return the postings of an amount to a player, or from them if it is negative.

    `owed` is the change of the player's debt. An amount taken beyond the stack is added to the debt
    (`owed` > 0); an amount given pays the debt off first (`owed` < 0).
    """
    if amount > 0:
        return [
            Posting("float", stack_account(player), amount + owed),
            Posting("vault", owing_account(player), -owed),
        ]
    return [
        Posting(stack_account(player), "float", -amount - owed),
        Posting(owing_account(player), "vault", owed),
    ]


def stack_account(player: str) -> str:
    """Return the name of the account of a player's chips at the table."""
    return f"stack/{player}"


def player_account(player: str) -> str:
    """Return the name of a player's account with the house."""
    return f"cage/{player}"


def owing_account(player: str) -> str:
    """Return the name of the account of a player's debt, whose balance is negative."""
    return f"owing/{player}"
