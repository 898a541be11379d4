"""Live socket messages, and table events encoded once per audience.

Both directions use tagged JSON messages. `hello` comes first, then `events` without gap or
repetition: each event has the next version. When `hello` or `resync` carries a view, the client
draws that view, and the events after its version follow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, cast

import msgspec
from websockets.frames import Frame, Opcode

from threedice.api.auth.audiences import player_events, public_event, spot_total_changes
from threedice.api.views import AudienceKind, TableView
from threedice.house.codec import decode
from threedice.house.events import TableStreamEvent

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from threedice.log.entry import Entry

PROTOCOL_VERSION: Final = 1
"""Version of this protocol; a client that does not know it should disconnect."""


class HelloMessage(msgspec.Struct, frozen=True, tag="hello", kw_only=True):
    """The first message: the server's clock in UTC microseconds, and the version before the events.

    A client that reconnects with a version gets no view: it has one, and events follow from there.
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
    """An entry of the table's stream: when it was written, and the event if this audience sees it.

    `totals` holds the changes of the chip totals of all players, by spot.
    """

    version: int
    at: int
    event: TableStreamEvent | None
    totals: dict[str, int]


class EventsMessage(msgspec.Struct, frozen=True, tag="events", kw_only=True):
    """Events in version order."""

    events: list[LiveEvent]


class ResyncMessage(msgspec.Struct, frozen=True, tag="resync", kw_only=True):
    """A new view of the table for a client that was too slow; the events before it are skipped."""

    server_time: int
    version: int
    view: TableView


class StandingMessage(msgspec.Struct, frozen=True, tag="standing", kw_only=True):
    """Says if the house is suspended; sent when that changes."""

    suspended: bool


class PongMessage(msgspec.Struct, frozen=True, tag="pong", kw_only=True):
    """The response to a ping, with the server's clock and the text of the ping."""

    server_time: int
    echo: str


class RefusedMessage(msgspec.Struct, frozen=True, tag="refused", kw_only=True):
    """The response to any other message; commands go over HTTP."""

    code: str
    text: str


ServerMessage = (
    HelloMessage | EventsMessage | ResyncMessage | StandingMessage | PongMessage | RefusedMessage
)


class PingMessage(msgspec.Struct, frozen=True, tag="ping", forbid_unknown_fields=True):
    """A client's request for a pong, the only message that it may send."""

    echo: str = ""


_ENCODER: Final = msgspec.json.Encoder()


def encode_message(message: ServerMessage | LiveEvent) -> str:
    """Encode a message, or one item of `events`, as text."""
    return _ENCODER.encode(message).decode()


def encode_events(items: list[str]) -> str:
    """Join encoded items to an `events` message.

    >>> encode_events(["{}", "{}"])
    '{"type":"events","events":[{},{}]}'
    """
    return f'{{"type":"events","events":[{",".join(items)}]}}'


@dataclass(frozen=True)
class EncodedMessage:
    """A text message and its frame, which is encoded when first needed."""

    text: str

    @cached_property
    def frame(self) -> bytes:
        """The text as one unmasked WebSocket frame."""
        return Frame(Opcode.TEXT, self.text.encode()).serialize(mask=False)


EMPTY_MESSAGE: Final = EncodedMessage("")


@dataclass(slots=True)
class EncodedEvents:
    """Messages for some entries: for staff, for players in general, and for concerned players."""

    version: int
    staff: EncodedMessage = EMPTY_MESSAGE
    players: EncodedMessage = EMPTY_MESSAGE
    concerned: dict[str, EncodedMessage] = field(default_factory=dict)

    def message_for(self, audience: AudienceKind, player: str) -> EncodedMessage:
        """Return the message for an audience and player."""
        if audience == "staff":
            return self.staff
        return self.concerned.get(player) or self.players


def encode_for_audiences(
    entries: Sequence[Entry], *, staff: bool, players: Collection[str]
) -> EncodedEvents:
    """Encode entries for these players, and for staff if there are any."""
    for_staff: list[str] = []
    for_players: list[str] = []
    concerned: dict[str, dict[int, str]] = {}
    for index, entry in enumerate(entries):
        event = cast("TableStreamEvent", decode(entry))
        totals = spot_total_changes(event)
        if staff:
            for_staff.append(_encode_item(entry, event, totals))
        if players:
            for_players.append(_encode_item(entry, public_event(event), totals))
            for player, own_event in player_events(event, players).items():
                concerned.setdefault(player, {})[index] = _encode_item(entry, own_event, totals)
    encoded = EncodedEvents(entries[-1].version)
    if staff:
        encoded.staff = EncodedMessage(encode_events(for_staff))
    if players:
        encoded.players = EncodedMessage(encode_events(for_players))
    for player, own_items in concerned.items():
        items = [own_items.get(index, item) for index, item in enumerate(for_players)]
        encoded.concerned[player] = EncodedMessage(encode_events(items))
    return encoded


def _encode_item(entry: Entry, event: TableStreamEvent | None, totals: dict[str, int]) -> str:
    item = LiveEvent(version=entry.version, at=entry.at, event=event, totals=totals)
    return encode_message(item)
