"""What is said over a live socket, both ways, as one tagged union of JSON messages.

`hello` comes first, then `events` without gap or repetition: each has the next version. Where
`hello` or `resync` brings a view, the client draws that, and the events after its version follow.
"""

from __future__ import annotations

from typing import Final

import msgspec

from threedice.floor.events import TableStreamEvent
from threedice.web.views import Audience, TableView

PROTOCOL: Final = 1
"""The version of what is said here; a client that does not know it should not go on."""


class Hello(msgspec.Struct, frozen=True, tag="hello", kw_only=True):
    """The first word: the house's clock in microseconds of UTC, and from where events follow.

    A client that comes back with a version gets no view: it has one, and events follow from there.
    """

    protocol: int
    server_time: int
    table: str
    audience: Audience
    player: str
    version: int
    suspended: bool
    view: TableView | None


class Happened(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the table: when it was written, what of it this audience sees, if anything.

    `totals` tells by how much everybody's chips on spots have changed.
    """

    version: int
    at: int
    event: TableStreamEvent | None
    totals: dict[str, int]


class Events(msgspec.Struct, frozen=True, tag="events", kw_only=True):
    """What has happened, in order."""

    events: list[Happened]


class Resync(msgspec.Struct, frozen=True, tag="resync", kw_only=True):
    """The client was too slow: this is how the table stands now; what came before is skipped."""

    server_time: int
    version: int
    view: TableView


class Standing(msgspec.Struct, frozen=True, tag="standing", kw_only=True):
    """Whether the house takes commands at all, said when that changes."""

    suspended: bool


class Pong(msgspec.Struct, frozen=True, tag="pong", kw_only=True):
    """The answer to a ping, with the house's clock and whatever the ping said."""

    server_time: int
    echo: str


class Refused(msgspec.Struct, frozen=True, tag="refused", kw_only=True):
    """Something that cannot be said here; commands go over HTTP."""

    code: str
    text: str


AnyMessage = Hello | Events | Resync | Standing | Pong | Refused
MESSAGES: Final = AnyMessage
"""Everything a server says."""


class Ping(msgspec.Struct, frozen=True, tag="ping", forbid_unknown_fields=True):
    """All that a client may say."""

    echo: str = ""


CLIENT_MESSAGES: Final = Ping
EVENTS_BEGIN: Final = '{"type":"events","events":['
EVENTS_END: Final = "]}"

_ENCODER: Final = msgspec.json.Encoder()


def encode(message: AnyMessage) -> str:
    """Return a message as the text of a frame."""
    return _ENCODER.encode(message).decode()


def encode_happened(happened: Happened) -> str:
    """Return one item of `events` as text."""
    return _ENCODER.encode(happened).decode()


def encode_events(items: list[str]) -> str:
    """Return `events` of items that are text already.

    >>> encode_events(["{}", "{}"])
    '{"type":"events","events":[{},{}]}'
    """
    return f"{EVENTS_BEGIN}{','.join(items)}{EVENTS_END}"
