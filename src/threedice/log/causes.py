"""What answers say was written, as records that can be compared with the entries found.

Nearly every command leaves entries in one stream. What such an answer says is compared as it is
stored, without being read; a log where that leaves any doubt is heard again, answer by answer.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from hashlib import sha256
from typing import TYPE_CHECKING, Final

import msgspec

from threedice.log.batch import decode_spans, encode_spans
from threedice.log.matching import CAUSE, record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from threedice.log.rows import Row
    from threedice.log.store import Span

UNREADABLE: Final = (
    msgspec.DecodeError,
    struct.error,
    TypeError,
    ValueError,
    AttributeError,
)
"""What is raised over an answer that nobody can have given."""

_BETWEEN: Final = b"],["
"""What stands between two spans, and perhaps in the name of a stream."""


def said_by_all(answers: Sequence[Row]) -> dict[bytes, list[bytes]]:
    """Return what some answers say as records, by how their spans begin.

    This computes what `entry.cause_of` defines, written out for speed. Spans that are not as they
    are written make a record that no entries make.
    """
    accounts, sizes, records = _Accounts(), _Sizes(), list[bytes]()
    for account, key, command_hash, spans in answers:
        which = key.encode()
        said = accounts[account] + sizes[len(which)] + which + command_hash
        records.append(sha256(said).digest() + spans)
    spans_of_all = [spans for _, _, _, spans in answers]
    if _BETWEEN in b"".join(spans_of_all):
        return _by_stream_of_several(records)
    first, last = min(spans_of_all), max(spans_of_all)
    begin = first[: first.index(b",") + 1]  # and what is sorted between two begins as both do
    return {begin: records} if last.startswith(begin) else _by_stream(records)


def _by_stream(records: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    said: dict[bytes, list[bytes]] = defaultdict(list)
    for each in records:
        said[each[CAUSE : each.index(b",", CAUSE) + 1]].append(each)
    return said


def _by_stream_of_several(records: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    """Return records by how their spans begin, where some command left entries in two streams."""
    said: dict[bytes, list[bytes]] = defaultdict(list)
    for each in records:
        if _BETWEEN in each:
            for span in said_by(each[CAUSE:]):
                begin, one = record(each[:CAUSE], span)
                said[begin].append(one)
        else:
            said[each[CAUSE : each.index(b",", CAUSE) + 1]].append(each)
    return said


class _Accounts(dict[str, bytes]):
    """Accounts as a cause begins with them."""

    def __missing__(self, account: str) -> bytes:
        who = account.encode()
        self[account] = begin = b"%d:%b" % (len(who), who)
        return begin


class _Sizes(dict[int, bytes]):
    """Lengths of keys as they stand before them."""

    def __missing__(self, size: int) -> bytes:
        self[size] = text = b"%d:" % size
        return text


def said_by(spans: bytes) -> tuple[Span, ...]:
    """Return what an answer says was written, which must be said just as it always is."""
    decoded = decode_spans(spans)
    if not decoded or encode_spans(decoded) != spans:
        raise ValueError("its spans are not as they are written")
    return decoded
