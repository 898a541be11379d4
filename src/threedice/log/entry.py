"""Entries of the log, and the chain that ties each to all before it in its stream.

The log knows bytes, not dice: what an entry's `data` means is for whoever wrote it. The hash of an
entry covers every one of its columns and the hash before it, so that nothing in the past of a
stream can be changed without changing its head.
"""

from __future__ import annotations

from hashlib import sha256
from struct import Struct
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One entry as it is stored; `at` counts microseconds of UTC since 1970."""

    stream: str
    version: int
    at: int
    kind: str
    schema: int
    data: bytes
    cause: bytes
    hash: bytes


class NewEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What somebody wants to append: the kind of thing, the version of its encoding, its bytes."""

    kind: str
    schema: int
    data: bytes


class Head(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How far a stream has come: its last version and the hash of all of it."""

    version: int
    hash: bytes


EMPTY_HEAD = Head(0, bytes(32))
"""The head of a stream without entries."""

_HASHED_COLUMNS = Struct(">32sHQqHHI32s")


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
    """Return the hash of an entry: over all its columns, unambiguously, and the hash before it."""
    name, tag = stream.encode(), kind.encode()
    columns = _HASHED_COLUMNS.pack(
        previous_hash, len(name), version, at, len(tag), schema, len(data), cause
    )
    return sha256(b"".join((columns, name, tag, data))).digest()


def extend_stream(
    head: Head, stream: str, at: int, cause: bytes, new_entries: Iterable[NewEntry]
) -> tuple[tuple[Entry, ...], Head]:
    """Return records as the next entries of a stream, and its head after them."""
    entries, version, previous = [], head.version, head.hash
    for record in new_entries:
        version += 1
        kind, schema, data = record.kind, record.schema, record.data
        previous = hash_entry(previous, stream, version, at, kind, schema, data, cause)
        entries.append(Entry(stream, version, at, kind, schema, data, cause, previous))
    return tuple(entries), Head(version, previous)


def hash_cause(account: str, key: str, command_hash: bytes) -> bytes:
    """Return what ties entries to the command that caused them: whose, which key, what it said."""
    who, which = account.encode(), key.encode()
    return sha256(b"%d:%b%d:%b%b" % (len(who), who, len(which), which, command_hash)).digest()
