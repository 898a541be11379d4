"""Live socket messages, and table events encoded once per audience.

What is said over a live socket, both ways, as one tagged union of JSON messages.

`hello` comes first, then `events` without gap or repetition: each has the next version. Where
`hello` or `resync` brings a view, the client draws that, and the events after its version follow.

Entries of a table's stream as what is told to each audience; each thing is encoded once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

import msgspec

from threedice.api.auth.audiences import player_events, public_event, spot_total_changes
from threedice.api.live.frames import EncodedMessage
from threedice.api.views import AudienceKind, TableView
from threedice.house.codec import decode
from threedice.house.events import TableStreamEvent

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from threedice.log.entry import Entry


PROTOCOL_VERSION: Final = 1
"""The version of what is said here; a client that does not know it should not go on."""


class HelloMessage(msgspec.Struct, frozen=True, tag="hello", kw_only=True):
    """The first word: the house's clock in microseconds of UTC, and from where events follow.

    A client that comes back with a version gets no view: it has one, and events follow from there.
    """

    protocol: int
    server_time: int
    table: str
    audience: AudienceKind
    player: str
    version: int
    suspended: bool
    view: TableView | None


class LiveEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the table: when it was written, what of it this audience sees, if anything.

    `totals` tells by how much everybody's chips on spots have changed.
    """

    version: int
    at: int
    event: TableStreamEvent | None
    totals: dict[str, int]


class EventsMessage(msgspec.Struct, frozen=True, tag="events", kw_only=True):
    """What has happened, in order."""

    events: list[LiveEvent]


class ResyncMessage(msgspec.Struct, frozen=True, tag="resync", kw_only=True):
    """The client was too slow: this is how the table stands now; what came before is skipped."""

    server_time: int
    version: int
    view: TableView


class StandingMessage(msgspec.Struct, frozen=True, tag="standing", kw_only=True):
    """Whether the house takes commands at all, said when that changes."""

    suspended: bool


class PongMessage(msgspec.Struct, frozen=True, tag="pong", kw_only=True):
    """The answer to a ping, with the house's clock and whatever the ping said."""

    server_time: int
    echo: str


class RefusedMessage(msgspec.Struct, frozen=True, tag="refused", kw_only=True):
    """Something that cannot be said here; commands go over HTTP."""

    code: str
    text: str


ServerMessage = (
    HelloMessage | EventsMessage | ResyncMessage | StandingMessage | PongMessage | RefusedMessage
)


SERVER_MESSAGES: Final = ServerMessage
"""Everything a server says."""


class PingMessage(msgspec.Struct, frozen=True, tag="ping", forbid_unknown_fields=True):
    """All that a client may say."""

    echo: str = ""


CLIENT_MESSAGES: Final = PingMessage


EVENTS_BEGIN: Final = '{"type":"events","events":['


EVENTS_END: Final = "]}"


_ENCODER: Final = msgspec.json.Encoder()


def encode_message(message: ServerMessage) -> str:
    """Return a message as the text of a frame."""
    return _ENCODER.encode(message).decode()


def encode_event(event: LiveEvent) -> str:
    """Return one item of `events` as text."""
    return _ENCODER.encode(event).decode()


def encode_events(items: list[str]) -> str:
    """Return `events` of items that are text already.

    >>> encode_events(["{}", "{}"])
    '{"type":"events","events":[{},{}]}'
    """
    return f"{EVENTS_BEGIN}{','.join(items)}{EVENTS_END}"


EMPTY_MESSAGE: Final = EncodedMessage("")


@dataclass(slots=True)
class EncodedEvents:
    """What staff, players in common, and players concerned are told of some entries."""

    version: int
    staff: EncodedMessage = EMPTY_MESSAGE
    players: EncodedMessage = EMPTY_MESSAGE
    concerned: dict[str, EncodedMessage] = field(default_factory=dict)

    def message_for(self, audience: AudienceKind, player: str) -> EncodedMessage:
        """Return what somebody is told."""
        if audience == "staff":
            return self.staff
        return self.concerned.get(player) or self.players


def encode_for_audiences(
    entries: Sequence[Entry], *, staff: bool, players: Collection[str]
) -> EncodedEvents:
    """Return what is told of entries, to staff if there are any and to these players."""
    for_staff: list[str] = []
    for_players: list[str] = []
    others: dict[str, dict[int, str]] = {}
    for place, entry in enumerate(entries):
        event = cast("TableStreamEvent", decode(entry))
        totals = spot_total_changes(event)
        if staff:
            for_staff.append(_encode_item(entry, event, totals))
        if players:
            for_players.append(_encode_item(entry, public_event(event), totals))
            for player, seen in player_events(event, players).items():
                others.setdefault(player, {})[place] = _encode_item(entry, seen, totals)
    encoded = EncodedEvents(entries[-1].version)
    if staff:
        encoded.staff = EncodedMessage(encode_events(for_staff))
    if players:
        encoded.players = EncodedMessage(encode_events(for_players))
    for player, items in others.items():
        his = [items.get(place, item) for place, item in enumerate(for_players)]
        encoded.concerned[player] = EncodedMessage(encode_events(his))
    return encoded


def _encode_item(entry: Entry, event: TableStreamEvent | None, totals: dict[str, int]) -> str:
    return encode_event(LiveEvent(version=entry.version, at=entry.at, event=event, totals=totals))
