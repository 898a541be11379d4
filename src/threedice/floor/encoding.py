"""Events as the bytes of the log, and back.

An entry's `schema` says how its bytes are to be read. Bytes are never written anew: when an event
changes its shape, the number goes up and a function here lifts the older form into the newer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from threedice.errors import Tampered
from threedice.floor.commands import AnyFloorCommand
from threedice.floor.events import AnyStreamEvent
from threedice.log.entry import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from threedice.log.entry import Entry

SCHEMA: Final = 1
"""The version in which events are written now."""

_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(AnyStreamEvent)
_COMMANDS = msgspec.json.Decoder(AnyFloorCommand)

READERS: Final[dict[int, Callable[[bytes], AnyStreamEvent]]] = {1: _DECODER.decode}
"""How the bytes of each version are read."""


def encode(event: AnyStreamEvent) -> Record:
    """Return an event as it is appended."""
    return Record(type(event).__name__, SCHEMA, _ENCODER.encode(event))


def decode(entry: Entry) -> AnyStreamEvent:
    """Return the event that an entry holds."""
    reader = READERS.get(entry.schema)
    if reader is None:
        raise Tampered(_place(entry), f"schema {entry.schema} is unknown to this version")
    try:
        event = reader(entry.data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Tampered(_place(entry), f"no event: {error}") from None
    if type(event).__name__ != entry.kind:
        raise Tampered(_place(entry), f"a {type(event).__name__} is stored as {entry.kind}")
    return event


def _place(entry: Entry) -> str:
    return f"{entry.stream} version {entry.version}"


def encode_command(table: str, command: AnyFloorCommand) -> bytes:
    """Return a command with its table as bytes, which its idempotency key stands for."""
    return b"%b\0%b" % (table.encode(), _ENCODER.encode(command))


def decode_command(data: bytes) -> AnyFloorCommand:
    """Return the command that bytes of JSON hold."""
    command: AnyFloorCommand = _COMMANDS.decode(data)
    return command
