"""Every event as postings: (source, destination, amount), so that each event sums to zero.

Accounts: `cash` (the drop box), `float` (the table's chips), `stack/<player>`, `layout` (chips at
risk), `cage/<player>` (a player's account with the house), `vault`, `outside` (where cash comes
from and chips carried away go), `owing/<player>` (what a reversal leaves a player owing, below
zero).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from threedice.cage.events import Deposited, Withdrawn
from threedice.table import events as happened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from threedice.cage.events import AnyCageEvent
    from threedice.table.events import AnyEvent


class Posting(NamedTuple):
    """An amount, never below zero, from one account to another."""

    source: str
    destination: str
    amount: int


def postings(event: AnyEvent) -> list[Posting]:
    """Return what an event moves; nothing moves by nothing."""
    return [each for each in _postings(event) if each.amount]


def cage_postings(event: AnyCageEvent) -> list[Posting]:
    """Return what an event of a player's account moves.

    A transfer to or from a table is posted by the table's event in the same append.
    """
    match event:
        case Deposited():
            return [Posting("outside", cage(event.player), event.amount)]
        case Withdrawn():
            return [Posting(cage(event.player), "outside", event.amount)]
        case _:
            return []


def _postings(event: AnyEvent) -> Iterator[Posting]:
    match event:
        case happened.BetPlaced():  # by far the commonest, so it is looked for first
            yield Posting(stack(event.player), "layout", event.amount)
        case happened.TableOpened():
            yield Posting("vault", "float", event.float_amount)
        case happened.FloatFilled():
            yield Posting("vault", "float", event.amount)
        case happened.FloatCredited():
            yield Posting("float", "vault", event.amount)
        case happened.TableClosed():
            for player, amount in event.carried_away:
                yield Posting(stack(player), "outside", amount)
            yield Posting("float", "vault", event.float_amount)
            yield Posting("cash", "vault", event.drop)
        case happened.BoughtIn():
            if event.source == "cash":
                yield Posting("outside", "cash", event.amount)
            else:
                yield Posting(cage(event.player), "vault", event.amount)
            yield Posting("float", stack(event.player), event.amount)
        case happened.CashedOut(to="outside"):
            yield Posting(stack(event.player), "outside", event.amount)
        case happened.CashedOut():
            yield Posting(stack(event.player), "float", event.amount)
            yield Posting("vault", cage(event.player), event.amount)
        case happened.DebtRepaid():
            chips, cash = (stack(event.player), "float"), ("outside", "cash")
            yield Posting(*(chips if event.source == "stack" else cash), event.amount)
            yield Posting("vault", owing(event.player), event.amount)
        case happened.BetWithdrawn() | happened.BetRejected():
            yield Posting("layout", stack(event.player), event.amount)
        case happened.LineJudged(accepted=False):
            yield Posting("layout", stack(event.player), event.amount)
        case happened.BetsApportioned():
            for _, player, stake, plays in event.bets:
                yield Posting("layout", stack(player), stake - plays)
        case happened.LosersCollected():
            for _, _, amount in event.bets:
                yield Posting("layout", "float", amount)
        case happened.WinnersPaid():
            for _, player, stake, winnings in event.bets:
                yield Posting("layout", stack(player), stake)
                yield Posting("float", stack(player), winnings)
        case happened.ShooterWon():
            yield Posting("layout", stack(event.player), event.stake)
            yield Posting("float", stack(event.player), event.winnings)
        case happened.ShooterLost():
            yield Posting("layout", "float", event.stake)
        case happened.RoundVoided():
            for _, player, amount in event.returned:
                yield Posting("layout", stack(player), amount)
        case happened.RoundsReversed():
            owed = dict(event.owing)
            for player, amount in event.transfers:
                yield from _transfer(player, amount, owed.get(player, 0))
        case happened.BetCorrected() | happened.RulingMade():
            yield from _transfer(event.player, event.amount, event.owing)
        case _:
            return


def _transfer(player: str, amount: int, owed: int) -> Iterable[Posting]:
    """Move money to a player, or from him as far as his stack reaches; the rest he owes.

    What comes to a player pays off his debt first: `owed` is then below zero.
    """
    if amount > 0:
        return [
            Posting("float", stack(player), amount + owed),
            Posting("vault", owing(player), -owed),
        ]
    return [
        Posting(stack(player), "float", -amount - owed),
        Posting(owing(player), "vault", owed),
    ]


def stack(player: str) -> str:
    """Return the account of a player's chips at the table."""
    return f"stack/{player}"


def cage(player: str) -> str:
    """Return a player's account with the house."""
    return f"cage/{player}"


def owing(player: str) -> str:
    """Return the account of what a player owes, below zero."""
    return f"owing/{player}"
