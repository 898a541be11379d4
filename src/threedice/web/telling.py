"""Entries of a table's stream as what is told to each audience; each thing is encoded once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from threedice.floor.encoding import decode
from threedice.web.audience import common, own, totals_changed
from threedice.web.frames import Message
from threedice.web.live_messages import Happened, encode_events, encode_happened

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from threedice.floor.events import TableStreamEvent
    from threedice.log.entry import Entry
    from threedice.web.views import Audience


NOTHING: Final = Message("")


@dataclass(slots=True)
class Told:
    """What staff, players in common, and players concerned are told of some entries."""

    version: int
    staff: Message = NOTHING
    players: Message = NOTHING
    concerned: dict[str, Message] = field(default_factory=dict)

    def to(self, audience: Audience, player: str) -> Message:
        """Return what somebody is told."""
        if audience == "staff":
            return self.staff
        return self.concerned.get(player) or self.players


def tell(entries: Sequence[Entry], *, staff: bool, players: Collection[str]) -> Told:
    """Return what is told of entries, to staff if there are any and to these players."""
    for_staff: list[str] = []
    for_players: list[str] = []
    others: dict[str, dict[int, str]] = {}
    for place, entry in enumerate(entries):
        event = cast("TableStreamEvent", decode(entry))
        totals = totals_changed(event)
        if staff:
            for_staff.append(_item(entry, event, totals))
        if players:
            for_players.append(_item(entry, common(event), totals))
            for player, seen in own(event, players).items():
                others.setdefault(player, {})[place] = _item(entry, seen, totals)
    told = Told(entries[-1].version)
    if staff:
        told.staff = Message(encode_events(for_staff))
    if players:
        told.players = Message(encode_events(for_players))
    for player, items in others.items():
        his = [items.get(place, item) for place, item in enumerate(for_players)]
        told.concerned[player] = Message(encode_events(his))
    return told


def _item(entry: Entry, event: TableStreamEvent | None, totals: dict[str, int]) -> str:
    return encode_happened(Happened(version=entry.version, at=entry.at, event=event, totals=totals))
