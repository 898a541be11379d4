"""Redact table events for the audience that sees them.

Staff see everything. Players see the layout and what is their own, but never another player's
stack, bets or winnings; of bets they see the totals per spot. Most events look the same to every
player they do not concern, so each broadcast is encoded once for staff, once for players in
common, and once for each player concerned. The redaction depends on the event alone, so that a
player who reconnects gets the same events as one who stayed connected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from threedice.account.events import PlayerAccountEvent
from threedice.house import events as house_events
from threedice.table import events as table_events

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

    from threedice.api.auth.authentication import Caller
    from threedice.house import CommandResult
    from threedice.house.events import AnyStreamEvent, TableStreamEvent

ONE_PLAYER_EVENTS: Final = (
    table_events.BoughtIn,
    table_events.CashedOut,
    table_events.ChipsChanged,
    table_events.DebtRepaid,
    table_events.ColourTaken,
    table_events.ColouredUp,
    table_events.BetPlaced,
    table_events.BetWithdrawn,
    table_events.BetRejected,
    table_events.ChipsMoved,
    table_events.ChipsPutBack,
    table_events.LineJudged,
    table_events.BetCorrected,
    table_events.RulingMade,
)
"""Events that only the player concerned and staff see."""

STAFF_EVENTS: Final = (
    table_events.FloatFilled,
    table_events.FloatCredited,
    table_events.IrregularityNoted,
    table_events.CheckPassed,
    house_events.WritingReleased,
)
"""Events that only staff see."""

SHARED_EVENTS: Final = (
    table_events.LosersCollected,
    table_events.BetsApportioned,
    table_events.WinnersPaid,
    table_events.RoundVoided,
    table_events.RoundsReversed,
    table_events.TableClosed,
    table_events.ShooterWon,
    table_events.ShooterLost,
    house_events.PlayersNotified,
)
"""Events that everybody sees, but each player only with their own part of the lists."""

REDACTED_FIELDS: Final[dict[type[Any], dict[str, Any]]] = {
    table_events.TableOpened: {"float_amount": 0},
    table_events.TableReleased: {"reason": ""},
}
"""Events that everybody sees, with fields that only staff see and their replacement values."""

PUBLIC_EVENTS: Final = (
    table_events.LimitsSet,
    table_events.TableLocked,
    table_events.RoundStarted,
    table_events.BettingOpened,
    table_events.BettingClosed,
    table_events.StepTaken,
    table_events.DiceOffered,
    table_events.DiceChosen,
    table_events.DiceTumbled,
    table_events.ResultCalled,
    table_events.KeyPressed,
    table_events.ResultEntered,
    table_events.ResultAmended,
    table_events.AreasLit,
    table_events.ShooterAdvanced,
    table_events.ThrowRepeated,
    table_events.RoundContinued,
    house_events.TableEstablished,
    house_events.SeedCommitted,
    house_events.SeedRevealed,
    house_events.SeedLost,
    house_events.TableInterrupted,
    house_events.InterruptionResolved,
)
"""Events that everybody sees unchanged."""


def public_event(event: TableStreamEvent) -> TableStreamEvent | None:
    """Return an event as seen by players it does not concern, or None if they do not see it."""
    kind = type(event)
    if kind in _PUBLIC_KINDS:
        return event
    if kind in _HIDDEN_KINDS:
        return None
    if kind in REDACTED_FIELDS:
        return _replace(event, **REDACTED_FIELDS[kind])
    return _redact(event, "", {})


def player_events(
    event: TableStreamEvent, players: Container[str] | None = None
) -> dict[str, TableStreamEvent]:
    """Return an event as seen by each player it concerns, optionally only for some players."""
    if isinstance(event, ONE_PLAYER_EVENTS):
        return {event.player: event} if players is None or event.player in players else {}
    if not isinstance(event, SHARED_EVENTS):
        return {}
    return {
        player: _redact(event, player, lists)
        for player, lists in _lists_by_player(event).items()
        if players is None or player in players
    }


def event_for_player(event: TableStreamEvent, player: str) -> TableStreamEvent | None:
    """Return an event as one player sees it, or None if they do not see it."""
    return player_events(event, (player,)).get(player) or public_event(event)


_PUBLIC_KINDS: Final = frozenset(PUBLIC_EVENTS)

_HIDDEN_KINDS: Final = frozenset(ONE_PLAYER_EVENTS) | frozenset(STAFF_EVENTS)

PlayerLists = dict[str, list[Any]]
"""List fields of an event that concern several players, cut down to one player's items."""


def _lists_by_player(event: TableStreamEvent) -> dict[str, PlayerLists]:
    """Group the list fields of an event by player."""
    match event:
        case (
            table_events.LosersCollected()
            | table_events.BetsApportioned()
            | table_events.WinnersPaid()
        ):
            return _group_by_player({"bets": event.bets}, lambda bet: bet[1])
        case table_events.RoundVoided():
            return _group_by_player({"returned": event.returned}, lambda stake: stake[1])
        case table_events.RoundsReversed():
            lists = {"transfers": event.transfers, "owing": event.owing}
            return _group_by_player(lists, lambda item: item[0])
        case table_events.TableClosed():
            return _group_by_player({"carried_away": event.carried_away}, lambda item: item[0])
        case house_events.PlayersNotified():
            return _group_by_player({"players": event.players}, lambda player: player)
        case table_events.ShooterWon() | table_events.ShooterLost():
            return {event.player: {}}
        case _:
            return {}


def _group_by_player(
    lists: Mapping[str, Iterable[Any]], player_of: Callable[[Any], str]
) -> dict[str, PlayerLists]:
    lists_by_player: dict[str, PlayerLists] = {}
    for field, items in lists.items():
        for item in items:
            lists_by_player.setdefault(player_of(item), {}).setdefault(field, []).append(item)
    return lists_by_player


def _redact(event: TableStreamEvent, player: str, lists: PlayerLists) -> TableStreamEvent:
    """Return a shared event with only one player's part of it; with no part, for player ""."""
    match event:
        case table_events.ShooterWon() if event.player != player:
            return _replace(event, stake=0, winnings=0)
        case table_events.ShooterLost() if event.player != player:
            return _replace(event, stake=0)
        case table_events.TableClosed():
            return _replace(
                event, carried_away=lists.get("carried_away", []), float_amount=0, drop=0
            )
        case _:
            fields = _LIST_FIELDS.get(type(event), ())
            return _replace(event, **{field: lists.get(field, []) for field in fields})


_LIST_FIELDS: Final[dict[type[Any], tuple[str, ...]]] = {
    table_events.LosersCollected: ("bets",),
    table_events.BetsApportioned: ("bets",),
    table_events.WinnersPaid: ("bets",),
    table_events.RoundVoided: ("returned",),
    table_events.RoundsReversed: ("transfers", "owing"),
    house_events.PlayersNotified: ("players",),
}


def _replace(event: TableStreamEvent, **changes: Any) -> TableStreamEvent:
    return msgspec.structs.replace(event, **changes)


def spot_total_changes(event: TableStreamEvent) -> dict[str, int]:
    """Return by how much an event changes the totals of spots.

    A round starts without totals, or with those of a voided round whose bets stand.
    """
    match event:
        case table_events.BetPlaced():
            return {} if event.manner == "shooter" else {event.spot: event.amount}
        case table_events.BetWithdrawn() | table_events.BetRejected():
            return {event.spot: -event.amount}
        case table_events.LineJudged():
            return {} if event.accepted else {event.spot: -event.amount}
        case table_events.ChipsMoved() | table_events.ChipsPutBack():
            if event.spot == event.to_spot:  # between two areas of the same spot
                return {}
            return {event.spot: -event.amount, event.to_spot: event.amount}
        case table_events.BetsApportioned():
            changes: dict[str, int] = {}
            for spot, _, stake, plays in event.bets:
                changes[spot] = changes.get(spot, 0) + plays - stake
            return changes
        case _:
            return {}


def encode_command_result(result: CommandResult, caller: Caller) -> bytes:
    """Encode a command result as JSON, with the stored events, redacted if a player sent it."""
    entries = result.entries
    encoded = [entry.data for entry in entries]
    if "player" in caller.account.roles:
        player = caller.account.id
        visible = [_visible_event(event, player) for event in result.events]
        encoded = [
            entry.data if redacted is event else msgspec.json.encode(redacted)
            for entry, event, redacted in zip(entries, result.events, visible, strict=True)
            if redacted is not None
        ]
    version = result.version(entries[0].stream)
    return b'{"version":%d,"events":[%b]}' % (version, b",".join(encoded))


def _visible_event(event: AnyStreamEvent, player: str) -> AnyStreamEvent | None:
    """Return an event as a player sees it; players only get account events of their own."""
    if isinstance(event, PlayerAccountEvent):
        return event
    redacted: AnyStreamEvent | None = event_for_player(event, player)
    return redacted
