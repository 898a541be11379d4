"""Who may see what of a table: staff everything, a player the felt and what is his own.

A player never learns another's stack, bets or winnings; of bets he sees what they come to in each
box. Most events look the same to everybody they do not concern, so that what is broadcast is
encoded once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from threedice.floor import events as floor
from threedice.table import events as table

if TYPE_CHECKING:
    from threedice.floor.events import TableStreamEvent

OF_ONE_PLAYER: Final = (
    table.BoughtIn, table.CashedOut, table.ChipsChanged, table.DebtRepaid, table.ColourTaken,
    table.ColouredUp, table.BetPlaced, table.BetWithdrawn, table.BetRejected, table.ChipsMoved,
    table.ChipsPutBack, table.LineJudged, table.BetCorrected, table.RulingMade,
)  # fmt: skip
"""Events that are one player's business."""

FOR_STAFF: Final = (
    table.FloatFilled, table.FloatCredited, table.IrregularityNoted, table.CheckPassed,
)  # fmt: skip
"""Events that are the house's business."""


def concerned(event: TableStreamEvent) -> frozenset[str]:
    """Return the players who see more of an event than others do."""
    if isinstance(event, OF_ONE_PLAYER):
        return frozenset((event.player,))
    match event:
        case table.LosersCollected() | table.BetsApportioned() | table.WinnersPaid():
            return frozenset(bet[1] for bet in event.bets)
        case table.RoundVoided():
            return frozenset(stake[1] for stake in event.returned)
        case table.RoundsReversed() | table.TableClosed():
            moved = (
                event.transfers if isinstance(event, table.RoundsReversed) else event.carried_away
            )
            return frozenset(player for player, _ in moved)
        case table.ShooterWon() | table.ShooterLost():
            return frozenset((event.player,))
        case floor.PlayersNotified():
            return frozenset(event.players)
        case _:
            return frozenset()


def seen_by(event: TableStreamEvent, player: str) -> TableStreamEvent | None:
    """Return an event as a player sees it, or nothing; the empty name stands for all others."""
    if isinstance(event, OF_ONE_PLAYER):
        return event if event.player == player else None
    if isinstance(event, FOR_STAFF):
        return None
    changes = _only(event, player)
    return msgspec.structs.replace(event, **changes) if changes else event


def _only(event: TableStreamEvent, player: str) -> dict[str, Any]:
    """Return what has to be left out of an event that lists several players."""
    match event:
        case table.LosersCollected() | table.BetsApportioned() | table.WinnersPaid():
            return {"bets": [bet for bet in event.bets if bet[1] == player]}
        case table.RoundVoided():
            return {"returned": [stake for stake in event.returned if stake[1] == player]}
        case table.RoundsReversed():
            return {
                "transfers": [each for each in event.transfers if each[0] == player],
                "owing": [each for each in event.owing if each[0] == player],
            }
        case table.TableClosed():
            own = [each for each in event.carried_away if each[0] == player]
            return {"carried_away": own, "float_amount": 0, "drop": 0}
        case table.TableOpened():
            return {"float_amount": 0}
        case table.ShooterWon() if event.player != player:
            return {"stake": 0, "winnings": 0}
        case table.ShooterLost() if event.player != player:
            return {"stake": 0}
        case floor.PlayersNotified():
            return {"players": [each for each in event.players if each == player]}
        case _:
            return {}


def changed_spots(event: TableStreamEvent) -> tuple[str, ...]:
    """Return the spots whose totals an event changes."""
    match event:
        case table.BetPlaced() | table.BetWithdrawn() | table.BetRejected() | table.LineJudged():
            return (event.spot,)
        case table.ChipsMoved() | table.ChipsPutBack():
            return (event.spot, event.to_spot)
        case table.BetsApportioned():
            return tuple(dict.fromkeys(bet[0] for bet in event.bets))
        case _:
            return ()
