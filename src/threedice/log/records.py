"""The records written to and read from a store, and their rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from threedice.errors import TamperedData
from threedice.log.entry import Entry, Head

if TYPE_CHECKING:
    from collections.abc import Iterable

StoredRow = tuple[Any, ...]
"""A row of a table, in the order of its columns."""


# --- proposals ----------------------------------------------------------------------------------


class Append(msgspec.Struct, frozen=True, gc=False):
    """Entries to append to a stream, provided that its head is the expected one."""

    stream: str
    expected: Head
    entries: tuple[Entry, ...]


class Proposal(msgspec.Struct, frozen=True, gc=False):
    """The appends of one command, written to all its streams or to none.

    A `refusal` is written instead of entries, provided that the heads are those it was decided on.
    `accepted` are heads that the house did not write and a person accepts: they get a valid MAC.
    """

    account: str
    key: str
    command_hash: bytes
    appends: tuple[Append, ...]
    games: Mapping[str, bytes] = {}
    accepted: Mapping[str, Head] = {}
    refusal: bytes = b""


# --- outcomes -----------------------------------------------------------------------------------


class EntrySpan(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The consecutive entries of a stream that a command caused: first and last version.

    A refused command caused none: its first version is the one after the last, its stream's head.
    """

    stream: str
    first: int
    last: int


encode_spans = msgspec.json.Encoder().encode
decode_spans = msgspec.json.Decoder(tuple[EntrySpan, ...]).decode


class StoredAnswer(msgspec.Struct, frozen=True, gc=False):
    """The permanent record of a command by account and key: its entries, or its refusal."""

    account: str
    key: str
    command_hash: bytes
    spans: tuple[EntrySpan, ...]
    refusal: bytes = b""


class Acceptance(msgspec.Struct, frozen=True, gc=False):
    """The proposal is written."""


class HeadConflict(msgspec.Struct, frozen=True, gc=False):
    """A stream's head was not the expected one, so nothing of the proposal is written."""

    stream: str
    head: Head


class DuplicateKey(msgspec.Struct, frozen=True, gc=False):
    """The key is already used: by the same command, or by another if the hashes differ."""

    answer: StoredAnswer


ProposalOutcome = Acceptance | HeadConflict | DuplicateKey


# --- derived data and proof ---------------------------------------------------------------------


class Snapshot(msgspec.Struct, frozen=True, gc=False):
    """The state of a fold over a stream up to a head, so that replay can start there."""

    stream: str
    name: str
    form: str
    head: Head
    data: bytes


class Checkpoint(msgspec.Struct, frozen=True, gc=False):
    """The signed heads of all streams at a time; `body` holds the signed bytes."""

    number: int
    body: bytes
    key_id: str
    signature: bytes


class ProjectionLine(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A row of a projection about a `subject`, such as a player.

    Stream, version and place within the entry identify a line of a view.
    """

    view: str
    subject: str
    stream: str
    version: int
    place: int
    at: int
    data: bytes


# --- rows ---------------------------------------------------------------------------------------


def decode_heads(rows: Iterable[StoredRow]) -> dict[str, Head]:
    """Return the heads of streams from rows of stream, version and hash."""
    return {stream: Head(version, digest) for stream, version, digest in rows}


def decode_answers(rows: Iterable[StoredRow]) -> dict[tuple[str, str], StoredAnswer]:
    """Return answers by account and key."""
    return {(row[0], row[1]): decode_answer(row) for row in rows}


def decode_answer(row: StoredRow) -> StoredAnswer:
    """Return an answer from a row of the table."""
    account, key, command_hash, spans, refusal = row
    try:
        return StoredAnswer(account, key, command_hash, decode_spans(spans), refusal)
    except msgspec.DecodeError as error:
        raise TamperedData(
            f"answer to {key} of {account}", f"its entry spans are malformed: {error}"
        ) from error
