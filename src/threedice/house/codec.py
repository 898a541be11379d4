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

from threedice.errors import InvalidInput, TamperedData
from threedice.house.commands import AnyStreamCommand
from threedice.house.events import AnyStreamEvent
from threedice.log.entry import NewEntry
from threedice.tags import tag_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from threedice.log.entry import Entry

CURRENT_SCHEMA: Final = 1
"""The version in which events are written now."""

_EVENT_ENCODER = msgspec.json.Encoder()
_CANONICAL_ENCODER = msgspec.json.Encoder(order="deterministic")
_EVENT_DECODER = msgspec.json.Decoder(AnyStreamEvent)
_COMMAND_DECODER = msgspec.json.Decoder(AnyStreamCommand)

EVENT_DECODERS: Final[dict[int, Callable[[bytes], AnyStreamEvent]]] = {1: _EVENT_DECODER.decode}
"""How the bytes of each version are read."""


def encode(event: AnyStreamEvent) -> NewEntry:
    """Return an event as it is appended."""
    return NewEntry(tag_of(event), CURRENT_SCHEMA, _EVENT_ENCODER.encode(event))


def decode(entry: Entry) -> AnyStreamEvent:
    """Return the event that an entry holds."""
    reader = EVENT_DECODERS.get(entry.schema)
    if reader is None:
        raise TamperedData(_location(entry), f"schema {entry.schema} is unknown to this version")
    try:
        event = reader(entry.data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TamperedData(_location(entry), f"no event: {error}") from None
    if tag_of(event) != entry.kind:
        raise TamperedData(_location(entry), f"a {tag_of(event)} is stored as {entry.kind}")
    return event


def _location(entry: Entry) -> str:
    return f"{entry.stream} version {entry.version}"


def normalise_command(table: str, command: AnyStreamCommand) -> tuple[AnyStreamCommand, bytes]:
    """Return a command as it would have come over a wire, and the hash that its key stands for.

    A program may hand in what no wire could carry, such as an amount that is no whole number; what
    is decided is only ever what can be read again.
    """
    where = _hash_prefix(table)
    try:
        said = _CANONICAL_ENCODER.encode(command)
        read: AnyStreamCommand = _COMMAND_DECODER.decode(said)
    except (msgspec.ValidationError, UnicodeEncodeError, OverflowError, TypeError) as error:
        raise InvalidInput(f"this is no command: {error}") from None
    return read, sha256(where + said).digest()


@lru_cache(maxsize=1000)
def _hash_prefix(table: str) -> bytes:
    """Return what the hash of a command at a table begins with."""
    if table and not _TABLE_ID.fullmatch(table):
        raise InvalidInput(f"{table[:40]!r} is no id of a table: {_TABLE_ID_HINT}")
    return table.encode() + b"\0"


_TABLE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_TABLE_ID_HINT = "use up to 100 letters of a to z, digits, dots, hyphens and underscores"


def decode_command(data: bytes) -> AnyStreamCommand:
    """Return the command that bytes of JSON hold."""
    try:
        command: AnyStreamCommand = _COMMAND_DECODER.decode(data)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"this is no command: {error}") from None
    return command
