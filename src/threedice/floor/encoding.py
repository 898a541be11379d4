"""Events as the bytes of the log, and back.

An entry's `schema` says how its bytes are to be read. Bytes are never written anew: when an event
changes its shape, the number goes up and a function here lifts the older form into the newer.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Final

import msgspec

from threedice.errors import InvalidInput, Tampered
from threedice.floor.commands import AnyFloorCommand
from threedice.floor.events import AnyStreamEvent
from threedice.log.entry import Record
from threedice.tags import tag_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from threedice.log.entry import Entry

SCHEMA: Final = 1
"""The version in which events are written now."""

_ENCODER = msgspec.json.Encoder()
_ORDERED = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder(AnyStreamEvent)
_COMMANDS = msgspec.json.Decoder(AnyFloorCommand)

READERS: Final[dict[int, Callable[[bytes], AnyStreamEvent]]] = {1: _DECODER.decode}
"""How the bytes of each version are read."""


def encode(event: AnyStreamEvent) -> Record:
    """Return an event as it is appended."""
    return Record(tag_of(event), SCHEMA, _ENCODER.encode(event))


def decode(entry: Entry) -> AnyStreamEvent:
    """Return the event that an entry holds."""
    reader = READERS.get(entry.schema)
    if reader is None:
        raise Tampered(_place(entry), f"schema {entry.schema} is unknown to this version")
    try:
        event = reader(entry.data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Tampered(_place(entry), f"no event: {error}") from None
    if tag_of(event) != entry.kind:
        raise Tampered(_place(entry), f"a {tag_of(event)} is stored as {entry.kind}")
    return event


def _place(entry: Entry) -> str:
    return f"{entry.stream} version {entry.version}"


def read_command(table: str, command: AnyFloorCommand) -> tuple[AnyFloorCommand, bytes]:
    """Return a command as it would have come over a wire, and the hash that its key stands for.

    A program may hand in what no wire could carry, such as an amount that is no whole number; what
    is decided is only ever what can be read again.
    """
    where = _place_of(table)
    try:
        said = _ORDERED.encode(command)
        read: AnyFloorCommand = _COMMANDS.decode(said)
    except (msgspec.ValidationError, UnicodeEncodeError, OverflowError, TypeError) as error:
        raise InvalidInput(f"this is no command: {error}") from None
    return read, sha256(where + said).digest()


@lru_cache(maxsize=1000)
def _place_of(table: str) -> bytes:
    """Return what the hash of a command at a table begins with."""
    if table and not _TABLE.fullmatch(table):
        raise InvalidInput(f"{table[:40]!r} is no id of a table: {_ID_TEXT}")
    return table.encode() + b"\0"


_TABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_ID_TEXT = "use up to 100 letters of a to z, digits, dots, hyphens and underscores"


def decode_command(data: bytes) -> AnyFloorCommand:
    """Return the command that bytes of JSON hold."""
    try:
        command: AnyFloorCommand = _COMMANDS.decode(data)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"this is no command: {error}") from None
    return command
