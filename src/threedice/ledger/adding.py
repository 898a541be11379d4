"""What an event adds to balances: its postings, applied.

Bets and their settlement are nearly all that is ever posted. They are added here without making
their postings first; wherever anything would have to be refused, the postings are made after all,
and `Balances.post` says which. A test ties the two ways together, event by event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from threedice.ledger.postings import postings
from threedice.table import events as happened

if TYPE_CHECKING:
    from threedice.ledger.balances import Balances
    from threedice.table.events import AnyEvent

STILL: Final[frozenset[type[AnyEvent]]] = frozenset(
    {
        happened.RoundStarted,
        happened.BettingOpened,
        happened.BettingClosed,
        happened.StepTaken,
        happened.DiceTumbled,
        happened.ResultCalled,
        happened.KeyPressed,
        happened.ResultEntered,
        happened.AreasLit,
    }
)
"""What happens in every round and moves no money."""


def add(balances: Balances, event: AnyEvent) -> None:
    """Apply the postings of an event, refusing any that breaks what must always hold."""
    if type(event) in STILL:
        return
    match event:
        case happened.BetPlaced():
            added = _bet(balances, event)
        case happened.LosersCollected():
            added = _lost(balances, event)
        case happened.WinnersPaid():
            added = _won(balances, event)
        case _:
            added = False
    if not added:
        balances.post(postings(event))


def _bet(balances: Balances, event: happened.BetPlaced) -> bool:
    stack, amount = f"stack/{event.player}", event.amount
    left = balances.get(stack, 0) - amount
    if amount <= 0 or left < 0:
        return False
    balances[stack] = left
    balances["layout"] = balances.get("layout", 0) + amount
    return True


def _lost(balances: Balances, event: happened.LosersCollected) -> bool:
    amounts = [amount for _, _, amount in event.bets]
    lost, layout = sum(amounts), balances.get("layout", 0)
    if not 0 < lost <= layout or min(amounts) < 0:
        return False
    balances["layout"] = layout - lost
    balances["float"] = balances.get("float", 0) + lost
    return True


def _won(balances: Balances, event: happened.WinnersPaid) -> bool:
    if not event.bets:
        return True
    _, players, stakes, gains = zip(*event.bets, strict=True)
    staked, won, get = sum(stakes), sum(gains), balances.get
    layout, chips = get("layout", 0), get("float", 0)
    if staked > layout or won > chips or min(stakes) <= 0 or min(gains) <= 0:
        return False
    balances["layout"], balances["float"] = layout - staked, chips - won
    for player, stake, winnings in zip(players, stakes, gains, strict=True):
        stack = f"stack/{player}"
        balances[stack] = get(stack, 0) + stake + winnings
    return True
