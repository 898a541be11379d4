"""Rows as bytes one after another, so that what is read in pieces adds up to the same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(list[bytes]).decode
_LONG: Final = b"\xdd"
"""How MessagePack begins a list whose length takes four bytes."""


def packed(items: Sequence[Any]) -> memoryview:
    """Return items as MessagePack, each by itself: no two different sequences give the same bytes.

    >>> bytes(packed(["a"])) + bytes(packed([b"b", 3])) == bytes(packed(["a", b"b", 3]))
    True
    """
    count = len(items)
    header = 1 if count < 1 << 4 else 3 if count < 1 << 16 else 5
    return memoryview(_encode(items))[header:]


def unpacked(data: bytes | bytearray, count: int) -> list[bytes]:
    """Return the pieces of bytes, so many, that were packed.

    >>> unpacked(bytes(packed([b"a", b"bc"])), 2)
    [b'a', b'bc']
    """
    return _decode(_LONG + count.to_bytes(4, "big") + data)
