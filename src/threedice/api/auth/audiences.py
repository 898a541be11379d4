"""Redact table events for the audience that sees them.

Staff see everything. Players see the layout and what is their own, but never another player's
stack, bets or winnings; of bets they see the totals per spot. Most events look the same to every
player they do not concern, so each broadcast is encoded once for staff, once for players in
common, and once for each player concerned. The redaction depends on the event alone, so that a
player who reconnects gets the same events as one who stayed connected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from threedice.table import events as table_events

if TYPE_CHECKING:
    from collections.abc import Container

    from threedice.api.auth.authentication import Caller
    from threedice.house import CommandResult
    from threedice.house.events import AnyStreamEvent, TableStreamEvent

_Event = TypeVar("_Event", bound="AnyStreamEvent")

PlayerLists = dict[str, list[Any]]
"""List fields of an event that concern several players, cut down to one player's items."""


def public_event(event: _Event) -> _Event | None:
    """Return an event as seen by players it does not concern, or None if they do not see it."""
    return _redact(event, "", {}) if event.audience.seen_by == "everybody" else None


def player_events(event: _Event, players: Container[str] | None = None) -> dict[str, _Event]:
    """Return an event as seen by each player it concerns, optionally only for some players."""
    return {
        player: _redact(event, player, lists)
        for player, lists in _lists_by_player(event).items()
        if players is None or player in players
    }


def event_for_player(event: _Event, player: str) -> _Event | None:
    """Return an event as one player sees it, or None if they do not see it."""
    lists = _lists_by_player(event).get(player)
    return public_event(event) if lists is None else _redact(event, player, lists)


def _lists_by_player(event: Any) -> dict[str, PlayerLists]:
    """Return the players whom an event concerns, each with their items of its lists."""
    audience = event.audience
    if audience.seen_by == "its player" or audience.others:
        return {event.player: {}}
    by_player: dict[str, PlayerLists] = {}
    for field, position in audience.lists.items():
        for item in getattr(event, field) or ():  # the field may be unset
            player = item if position is None else item[position]
            if player:  # chips between the float and the vault are nobody's
                by_player.setdefault(player, {}).setdefault(field, []).append(item)
    return by_player


def _redact(event: _Event, player: str, lists: PlayerLists) -> _Event:
    """Return an event with only one player's part of it; with no part, for player ""."""
    audience = event.audience
    cut = {field: lists.get(field, []) for field in audience.lists if getattr(event, field)}
    changes = {**audience.hidden, **cut}
    if isinstance(event, table_events.ChipEvent) and event.colours_owed:
        changes["colours_owed"] = msgspec.UNSET
    if audience.others and player not in _lists_by_player(event):
        changes |= audience.others
    return msgspec.structs.replace(event, **changes) if changes else event


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
        case table_events.AreaPaid():
            return {event.spot: -sum(stake for _, _, stake, _ in event.bets)}
        case _:
            return {}


def encode_command_result(result: CommandResult, caller: Caller) -> bytes:
    """Encode a command result as JSON, with the stored events, redacted if a player sent it."""
    is_player, encoded = "player" in caller.account.roles, []
    for entry, event in zip(result.entries, result.events, strict=True):
        seen = event_for_player(event, caller.account.id) if is_player else event
        if seen is not None:
            encoded.append(entry.data if seen is event else msgspec.json.encode(seen))
    version = result.version(result.entries[0].stream)
    return b'{"version":%d,"events":[%b]}' % (version, b",".join(encoded))
