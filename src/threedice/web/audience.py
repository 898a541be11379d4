"""Who may see what of a table: staff everything, a player the felt and what is his own.

A player never learns another's stack, bets or winnings; of bets he sees what they come to in each
spot. Most events look the same to everybody whom they do not concern, so that what is broadcast is
made once: for staff, for players in common, and for each player concerned. All of it follows from
the event alone, so that whoever comes back later is told the same as whoever stayed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from threedice.floor import events as floor
from threedice.table import events as table

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

    from threedice.floor.events import TableStreamEvent

OF_ONE_PLAYER: Final = (
    table.BoughtIn, table.CashedOut, table.ChipsChanged, table.DebtRepaid, table.ColourTaken,
    table.ColouredUp, table.BetPlaced, table.BetWithdrawn, table.BetRejected, table.ChipsMoved,
    table.ChipsPutBack, table.LineJudged, table.BetCorrected, table.RulingMade,
)  # fmt: skip
"""Events that are one player's business, and nobody else's but the staff's."""

FOR_STAFF: Final = (
    table.FloatFilled, table.FloatCredited, table.IrregularityNoted, table.CheckPassed,
    floor.WritingReleased,
)  # fmt: skip
"""Events that are the house's business."""

OF_SEVERAL_PLAYERS: Final = (
    table.LosersCollected, table.BetsApportioned, table.WinnersPaid, table.RoundVoided,
    table.RoundsReversed, table.TableClosed, table.ShooterWon, table.ShooterLost,
    floor.PlayersNotified,
)  # fmt: skip
"""Events that everybody sees, and each player his own part of."""

FOR_ALL_BUT: Final[dict[type[Any], dict[str, Any]]] = {
    table.TableOpened: {"float_amount": 0},
    table.TableReleased: {"reason": ""},
}
"""Events that everybody sees except for what is the house's business in them."""

FOR_ALL: Final = (
    table.LimitsSet, table.TableLocked, table.RoundStarted, table.BettingOpened,
    table.BettingClosed, table.StepTaken, table.DiceOffered, table.DiceChosen, table.DiceTumbled,
    table.ResultCalled, table.KeyPressed, table.ResultEntered, table.ResultAmended,
    table.AreasLit, table.ShooterAdvanced, table.ThrowRepeated, table.RoundContinued,
    floor.TableEstablished, floor.SeedCommitted, floor.SeedRevealed, floor.SeedLost,
    floor.TableInterrupted, floor.InterruptionResolved,
)  # fmt: skip
"""Events that everybody sees as they are."""


def common(event: TableStreamEvent) -> TableStreamEvent | None:
    """Return an event as players see it whom it does not concern, or nothing."""
    kind = type(event)
    if kind in _SHOWN:
        return event
    if kind in _NOT_SHOWN:
        return None
    if kind in FOR_ALL_BUT:
        return _with(event, **FOR_ALL_BUT[kind])
    return _part(event, "", {})


def own(
    event: TableStreamEvent, among: Container[str] | None = None
) -> dict[str, TableStreamEvent]:
    """Return an event as each player sees it whom it concerns, of all or of those asked about."""
    if isinstance(event, OF_ONE_PLAYER):
        return {event.player: event} if among is None or event.player in among else {}
    if not isinstance(event, OF_SEVERAL_PLAYERS):
        return {}
    return {
        player: _part(event, player, lists)
        for player, lists in _shares(event).items()
        if among is None or player in among
    }


def seen_by(event: TableStreamEvent, player: str) -> TableStreamEvent | None:
    """Return an event as one player sees it, or nothing."""
    return own(event, (player,)).get(player) or common(event)


_SHOWN: Final = frozenset(FOR_ALL)
_NOT_SHOWN: Final = frozenset(OF_ONE_PLAYER) | frozenset(FOR_STAFF)

Lists = dict[str, list[Any]]
"""Fields of an event that hold something of several players, with what one of them sees."""


def _shares(event: TableStreamEvent) -> dict[str, Lists]:
    """Return what of an event's lists belongs to whom, in one walk over each."""
    match event:
        case table.LosersCollected() | table.BetsApportioned() | table.WinnersPaid():
            return _grouped({"bets": event.bets}, lambda bet: bet[1])
        case table.RoundVoided():
            return _grouped({"returned": event.returned}, lambda stake: stake[1])
        case table.RoundsReversed():
            lists = {"transfers": event.transfers, "owing": event.owing}
            return _grouped(lists, lambda moved: moved[0])
        case table.TableClosed():
            return _grouped({"carried_away": event.carried_away}, lambda moved: moved[0])
        case floor.PlayersNotified():
            return _grouped({"players": event.players}, lambda player: player)
        case table.ShooterWon() | table.ShooterLost():
            return {event.player: {}}
        case _:
            return {}


def _grouped(lists: Mapping[str, Iterable[Any]], whose: Callable[[Any], str]) -> dict[str, Lists]:
    shares: dict[str, Lists] = {}
    for field, items in lists.items():
        for item in items:
            shares.setdefault(whose(item), {}).setdefault(field, []).append(item)
    return shares


def _part(event: TableStreamEvent, player: str, lists: Lists) -> TableStreamEvent:
    """Return an event of several players with one player's part of it; without, nobody's."""
    match event:
        case table.ShooterWon() if event.player != player:
            return _with(event, stake=0, winnings=0)
        case table.ShooterLost() if event.player != player:
            return _with(event, stake=0)
        case table.TableClosed():
            return _with(event, carried_away=lists.get("carried_away", []), float_amount=0, drop=0)
        case _:
            fields = _LISTS.get(type(event), ())
            return _with(event, **{field: lists.get(field, []) for field in fields})


_LISTS: Final[dict[type[Any], tuple[str, ...]]] = {
    table.LosersCollected: ("bets",),
    table.BetsApportioned: ("bets",),
    table.WinnersPaid: ("bets",),
    table.RoundVoided: ("returned",),
    table.RoundsReversed: ("transfers", "owing"),
    floor.PlayersNotified: ("players",),
}


def _with(event: TableStreamEvent, **changes: Any) -> TableStreamEvent:
    return msgspec.structs.replace(event, **changes)


def totals_changed(event: TableStreamEvent) -> dict[str, int]:
    """Return by how much an event changes the totals on spots.

    A round begins with none, or with those of a void one whose bets stand.
    """
    match event:
        case table.BetPlaced():
            return {} if event.manner == "shooter" else {event.spot: event.amount}
        case table.BetWithdrawn() | table.BetRejected():
            return {event.spot: -event.amount}
        case table.LineJudged():
            return {} if event.accepted else {event.spot: -event.amount}
        case table.ChipsMoved() | table.ChipsPutBack():
            if event.spot == event.to_spot:  # from one end of it to the other
                return {}
            return {event.spot: -event.amount, event.to_spot: event.amount}
        case table.BetsApportioned():
            changes: dict[str, int] = {}
            for spot, _, stake, plays in event.bets:
                changes[spot] = changes.get(spot, 0) + plays - stake
            return changes
        case _:
            return {}
