"""Encode events to the bytes of the log, and decode them.

An entry's `schema` number selects its decoder. Stored bytes are never rewritten: when an event
changes its shape, the number goes up and a function here upcasts the older form.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final
from unicodedata import normalize

import msgspec

from threedice.errors import InvalidInput, Refusal, TamperedData
from threedice.house.commands import AnyStreamCommand, EstablishTable
from threedice.house.events import AnyStreamEvent
from threedice.log.entry import NewEntry
from threedice.names import TABLE_ID, check_new_id, check_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from threedice.log.entry import Entry

CURRENT_SCHEMA: Final = 1
"""The schema number of newly written events."""

_EVENT_ENCODER = msgspec.json.Encoder()
_CANONICAL_ENCODER = msgspec.json.Encoder(order="deterministic")
_EVENT_DECODER = msgspec.json.Decoder(AnyStreamEvent)
_COMMAND_DECODER = msgspec.json.Decoder(AnyStreamCommand)

EVENT_DECODERS: Final[dict[int, Callable[[bytes], AnyStreamEvent]]] = {1: _EVENT_DECODER.decode}
"""The decoder of each schema number."""


def tag_of(message: msgspec.Struct | type[msgspec.Struct]) -> str:
    """Return the tag of a command or an event; unlike the class name, it never changes."""
    tag: str = message.__struct_config__.tag  # type: ignore[assignment]
    return tag


def encode(event: AnyStreamEvent) -> NewEntry:
    """Encode an event for appending to the log."""
    return NewEntry(tag_of(event), CURRENT_SCHEMA, _EVENT_ENCODER.encode(event))


def decode(entry: Entry) -> AnyStreamEvent:
    """Decode the event of an entry; raises `TamperedData` if the bytes hold none."""
    decoder = EVENT_DECODERS.get(entry.schema)
    if decoder is None:
        raise TamperedData(_location(entry), f"schema {entry.schema} is unknown to this version")
    try:
        event = decoder(entry.data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TamperedData(_location(entry), f"not an event: {error}") from None
    if tag_of(event) != entry.kind:
        raise TamperedData(_location(entry), f"a {tag_of(event)} is stored as {entry.kind}")
    return event


def _location(entry: Entry) -> str:
    return f"{entry.stream} version {entry.version}"


class StoredRefusal(msgspec.Struct, frozen=True):
    """A refusal as stored; its facts are those that a response shows."""

    code: str
    text: str
    clause: tuple[str, ...]
    facts: dict[str, str | int | bool | None]


_REFUSAL_DECODER = msgspec.json.Decoder(StoredRefusal)


def encode_refusal(refusal: Refusal) -> bytes:
    """Encode a refusal for storing it under the key of its command."""
    facts = {name: plain_fact(fact) for name, fact in refusal.facts.items()}
    stored = StoredRefusal(refusal.code, refusal.text, refusal.clause, facts)
    return _EVENT_ENCODER.encode(stored)


def decode_refusal(account: str, key: str, data: bytes) -> Refusal:
    """Decode a stored refusal; raises `TamperedData` if the bytes hold none."""
    try:
        stored = _REFUSAL_DECODER.decode(data)
        return Refusal(stored.code, stored.text, stored.clause, dict(stored.facts))
    except (msgspec.DecodeError, UnicodeDecodeError, LookupError, ValueError) as error:
        raise TamperedData(f"answer to {key} of {account}", f"not a refusal: {error}") from None


def plain_fact(fact: Any) -> str | int | bool | None:
    """Return a fact of a refusal as JSON can hold it."""
    return fact if isinstance(fact, str | int | bool | None) else str(fact)


def normalise_command(table: str, command: AnyStreamCommand) -> tuple[AnyStreamCommand, bytes]:
    """Validate a command by an encoding round trip; return it with the hash bound to its key.

    A program can pass values that JSON input cannot contain, such as a fractional amount; the round
    trip ensures that only commands that can be decoded again are decided.
    """
    prefix = _hash_prefix(table)
    try:
        data = _CANONICAL_ENCODER.encode(command)
        normalised: AnyStreamCommand = _COMMAND_DECODER.decode(data)
    except (msgspec.ValidationError, UnicodeEncodeError, OverflowError, TypeError) as error:
        raise InvalidInput(f"not a valid command: {error}") from None
    if new_id := table if isinstance(normalised, EstablishTable) else _player_of(normalised):
        check_new_id(new_id)
    if not data.isascii() or b"\\" in data or b"\x7f" in data:  # JSON escapes the other controls
        check_texts(msgspec.to_builtins(normalised))
        data = normalize("NFC", data.decode()).encode()
        normalised = _COMMAND_DECODER.decode(data)
    return normalised, sha256(prefix + data).digest()


def _player_of(command: AnyStreamCommand) -> str:
    player: str = getattr(command, "player", "")
    return player


@lru_cache(maxsize=1000)
def _hash_prefix(table: str) -> bytes:
    """Return the bytes that a command is prefixed with for its hash: the table's id and a NUL."""
    if table and not _TABLE_ID.fullmatch(table):
        raise InvalidInput(f"{table[:40]!r} is not a valid table id: {_TABLE_ID_HINT}")
    return table.encode() + b"\0"


_TABLE_ID = re.compile(TABLE_ID)
_TABLE_ID_HINT = "use up to 100 letters a to z, digits, dots, hyphens and underscores"
