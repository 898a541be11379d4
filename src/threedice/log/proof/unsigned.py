"""Report the entries that no checkpoint signs yet, and judge whether the house has written them.

An unsigned tail is normal: the next checkpoint signs it. Nothing but the MAC of its head tells
whether the house has written it, and only the holder of `keys/log.key` can judge that.
"""

from __future__ import annotations

import struct
from itertools import chain
from typing import TYPE_CHECKING, Final

import msgspec

from threedice.log.entry import Head
from threedice.log.proof import IntegrityFinding, describe_versions
from threedice.log.proof.chains import is_valid_name
from threedice.log.proof.head_macs import ADOPTED_KEY
from threedice.log.proof.keys import PUBLIC_KEYS_ROW
from threedice.log.stores import schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from threedice.log.proof.head_macs import HeadMacs
    from threedice.log.records import StoredRow
    from threedice.log.stores.rows import LogRows

META_NAMES: Final = frozenset({"program", "schema", "suspended", ADOPTED_KEY, PUBLIC_KEYS_ROW})
LEASE_PREFIXES: Final = ("dealer/", "playing/")


class UnsignedTail(msgspec.Struct, frozen=True, gc=False):
    """The entries of a stream after the last checkpoint: versions, and times of first and last."""

    stream: str
    first: int
    last: int
    first_at: int
    last_at: int

    @property
    def entries(self) -> int:
        """The number of entries."""
        return self.last - self.first + 1


def find_unsigned_tails(
    rows: LogRows, names: Sequence[str] | None, signed: Mapping[str, int]
) -> Iterator[UnsignedTail]:
    """Yield the entries after the last signed version of each stream."""
    for stream, version, *_ in chain.from_iterable(rows.chunks(schema.streams, names)):
        first = signed.get(stream, 0) + 1
        if isinstance(version, int) and version >= first and is_valid_name(stream):
            times = [at for at in rows.entry_times(stream, first, version) if isinstance(at, int)]
            if times:
                yield UnsignedTail(stream, first, version, times[0], times[-1])


def find_foreign_heads(
    rows: LogRows, names: Sequence[str] | None, signed: Mapping[str, int], macs: HeadMacs
) -> Iterator[IntegrityFinding]:
    """Yield the streams whose head has no valid MAC."""
    meta = chain.from_iterable(rows.chunks(schema.meta))
    adopted = next((value for name, value in meta if name == ADOPTED_KEY), None)
    genuine, foreign = 0, []
    for row in chain.from_iterable(rows.chunks(schema.streams, names)):
        if _has_valid_mac(row, macs):
            genuine += 1
        elif row[1] != 0:
            foreign.append(row)
    if adopted != macs.key_id and (genuine or foreign):
        what = f"its {ADOPTED_KEY} is {adopted!r}, but the key at hand is {macs.key_id}"
        yield IntegrityFinding("meta", what)
        if not genuine:  # the key is that of another house
            return
    for stream, version, *_ in foreign:
        first = signed.get(stream, 0) + 1
        is_tail = isinstance(version, int) and version >= first
        yield IntegrityFinding(
            describe_versions(stream, first, version) if is_tail else f"head of {stream}",
            "not written by this house: the MAC of the head is not valid",
        )


def _has_valid_mac(row: StoredRow, macs: HeadMacs) -> bool:
    """Return whether the MAC of a head is valid; malformed columns are reported elsewhere."""
    stream, version, digest, mac = row
    try:
        return macs.is_valid(stream, Head(version, digest), mac)
    except (struct.error, TypeError, ValueError, AttributeError):
        return False


def find_unknown_rows(rows: LogRows) -> Iterator[IntegrityFinding]:
    """Yield the rows of `meta` and `leases` that this program does not write."""
    what = "has a row {!r}, which this program does not write"
    for name, _ in chain.from_iterable(rows.chunks(schema.meta)):
        if name not in META_NAMES:
            yield IntegrityFinding("meta", what.format(name))
    for name, *_ in chain.from_iterable(rows.chunks(schema.leases)):
        if not str(name).startswith(LEASE_PREFIXES):
            yield IntegrityFinding("leases", what.format(name))
