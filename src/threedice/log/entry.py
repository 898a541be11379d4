"""Entries of the log and the hash chain of a stream.

The log stores bytes and does not interpret an entry's `data`. The hash of an entry covers all its
columns and the previous hash, so no past entry of a stream can change without changing its head.
"""

from __future__ import annotations

from hashlib import sha256
from struct import Struct
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An entry as stored; `at` counts microseconds of UTC since 1970."""

    stream: str
    version: int
    at: int
    kind: str
    schema: int
    data: bytes
    cause: bytes
    hash: bytes


class NewEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An entry to append: its kind, the version of its encoding, and its bytes."""

    kind: str
    schema: int
    data: bytes


class Head(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The end of a stream: its last version and the hash of that entry."""

    version: int
    hash: bytes


EMPTY_HEAD = Head(0, bytes(32))
"""The head of a stream without entries."""

HASHED_COLUMNS = Struct(">32sHQqHHI32s")
"""The hashed columns: previous hash, lengths and numbers, cause; the variable parts follow."""


def hash_entry(
    previous_hash: bytes,
    stream: str,
    version: int,
    at: int,
    kind: str,
    schema: int,
    data: bytes,
    cause: bytes,
) -> bytes:
    """Return the hash of an entry, unambiguous over all its columns and the previous hash."""
    stream_bytes, kind_bytes = stream.encode(), kind.encode()
    columns = HASHED_COLUMNS.pack(
        previous_hash, len(stream_bytes), version, at, len(kind_bytes), schema, len(data), cause
    )
    return sha256(b"".join((columns, stream_bytes, kind_bytes, data))).digest()


def extend_stream(
    head: Head, stream: str, at: int, cause: bytes, new_entries: Iterable[NewEntry]
) -> tuple[tuple[Entry, ...], Head]:
    """Chain new entries to a stream; return them with the stream's new head."""
    entries, version, previous = [], head.version, head.hash
    for new_entry in new_entries:
        version += 1
        kind, schema, data = new_entry.kind, new_entry.schema, new_entry.data
        previous = hash_entry(previous, stream, version, at, kind, schema, data, cause)
        entries.append(Entry(stream, version, at, kind, schema, data, cause, previous))
    return tuple(entries), Head(version, previous)


def hash_cause(account: str, key: str, command_hash: bytes) -> bytes:
    """Return the hash that ties entries to a command: its account, key and content."""
    account_bytes, key_bytes = account.encode(), key.encode()
    return sha256(
        b"%d:%b%d:%b%b"
        % (len(account_bytes), account_bytes, len(key_bytes), key_bytes, command_hash)
    ).digest()
