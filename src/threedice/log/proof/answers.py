"""Match the entries that answers claim with the entries that are stored.

Every cause in the entries needs exactly one answer that claims those entries. A record is a cause
followed by the encoded span of consecutive entries in one stream. The records claimed by answers
and those found in the entries are collected by stream, in temporary files once they are large.
Since commands are written one after another, the two sides of a stream are nearly always the same
bytes.

Nearly every command appends to one stream only. Its answer is compared as stored, without decoding;
if that leaves any doubt, the answers of the log are decoded one by one.
"""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from hashlib import sha256
from struct import Struct
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple
from zlib import crc32

import msgspec
from msgspec.structs import astuple

from threedice.log.store import EntrySpan, decode_spans, encode_spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import TracebackType

    from threedice.log.store import StoredRow


# --- matching -----------------------------------------------------------------------------------


PARTITIONS = 64

MAX_MEMORY_BYTES = 1 << 26
"""Bytes of each side held in memory before they go to files."""

PACK_EVERY_RECORDS = 10_000
"""Records of each side collected before they are packed."""

CAUSE_BYTES = 32
"""Length of the cause at the start of a record."""

_HEADER = Struct(">IQQ")


class AnswerMismatch(NamedTuple):
    """A cause whose claimed entries differ from those found."""

    cause: bytes
    claimed: tuple[EntrySpan, ...]
    found: tuple[EntrySpan, ...]


class AnswerMatcher:
    """Collect the entries that answers claim and those found, and compare them."""

    def __init__(self) -> None:
        self._claimed, self._found = _PartitionedRecords(), _PartitionedRecords()

    def __enter__(self) -> AnswerMatcher:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._claimed.close()
        self._found.close()

    def add_claimed(self, prefix: bytes, records: Sequence[bytes]) -> None:
        """Add records claimed by answers; `prefix` is their spans' start up to a comma."""
        self._claimed.add(prefix, records)

    def add_found(self, prefix: bytes, records: Sequence[bytes]) -> None:
        """Add records of stored entries; `prefix` is the start of their spans."""
        self._found.add(prefix[: prefix.index(b",") + 1], records)

    def clear_claimed(self) -> None:
        """Discard the records claimed by answers."""
        self._claimed.close()
        self._claimed = _PartitionedRecords()

    def is_consistent(self) -> bool:
        """Return whether the claimed records are exactly those found."""
        return next(self._differences(), None) is None

    def mismatches(self) -> Iterator[AnswerMismatch]:
        """Yield every cause whose claimed records differ from those found."""
        causes: dict[bytes, tuple[list[EntrySpan], list[EntrySpan]]] = {
            record[:CAUSE_BYTES]: ([], []) for record in self._differences()
        }
        for index, side in enumerate((self._claimed, self._found)):
            for record in side.records() if causes else ():
                if record[:CAUSE_BYTES] in causes:
                    causes[record[:CAUSE_BYTES]][index].extend(decode_spans(record[CAUSE_BYTES:]))
        for cause, (claimed, found) in causes.items():
            yield AnswerMismatch(
                cause, tuple(sorted(claimed, key=astuple)), tuple(sorted(found, key=astuple))
            )

    def _differences(self) -> Iterator[bytes]:
        """Yield the records that one side has more often than the other."""
        for claimed, found in zip(
            self._claimed.partitions(), self._found.partitions(), strict=True
        ):
            for prefix in sorted(claimed.keys() | found.keys()):
                left = claimed.get(prefix, _PackedRecords())
                right = found.get(prefix, _PackedRecords())
                if left != right:  # perhaps only in order, as when two servers wrote them
                    left_counts, right_counts = Counter(left.unpack()), Counter(right.unpack())
                    yield from (left_counts - right_counts) + (right_counts - left_counts)


@dataclass(slots=True)
class _PackedRecords:
    """Concatenated records and their count."""

    data: bytearray = field(default_factory=bytearray)
    count: int = 0

    def unpack(self) -> list[bytes]:
        return unpack_items(self.data, self.count)


class _PartitionedRecords:
    """Records by stream, in memory or in files."""

    def __init__(self) -> None:
        self._unpacked, self._unpacked_count = defaultdict[bytes, list[bytes]](list), 0
        self._partitions: list[dict[bytes, _PackedRecords]] = [{} for _ in range(PARTITIONS)]
        self._files: list[IO[bytes]] = []
        self._size = 0

    def add(self, prefix: bytes, records: Sequence[bytes]) -> None:
        self._unpacked[prefix] += records
        self._unpacked_count += len(records)
        if self._unpacked_count >= PACK_EVERY_RECORDS:
            self._pack()

    def _pack(self) -> None:
        for prefix, records in self._unpacked.items():
            data = pack_items(records)
            partition = self._partitions[crc32(prefix) % PARTITIONS]
            packed = partition.setdefault(prefix, _PackedRecords())
            packed.data += data
            packed.count += len(records)
            self._size += len(data)
        self._unpacked.clear()
        self._unpacked_count = 0
        if self._size > MAX_MEMORY_BYTES:
            self._spill_to_files()

    def partitions(self) -> Iterator[dict[bytes, _PackedRecords]]:
        """Yield all records, one partition at a time, by the prefix of their spans."""
        self._pack()
        if not self._files:
            yield from self._partitions
            return
        self._spill_to_files()
        yield from map(_read_partition, self._files)

    def records(self) -> Iterator[bytes]:
        for partition in self.partitions():
            for records in partition.values():
                yield from records.unpack()

    def close(self) -> None:
        for file in self._files:
            file.close()

    def _spill_to_files(self) -> None:
        if not self._files:
            for _ in range(PARTITIONS):
                self._files.append(TemporaryFile())  # noqa: SIM115 -- closed with the others
        for file, partition in zip(self._files, self._partitions, strict=True):
            for prefix, records in partition.items():
                file.write(_HEADER.pack(len(prefix), len(records.data), records.count))
                file.write(prefix)
                file.write(records.data)
            partition.clear()
        self._size = 0


def _read_partition(file: IO[bytes]) -> dict[bytes, _PackedRecords]:
    """Return all records of a file."""
    partition = defaultdict[bytes, _PackedRecords](_PackedRecords)
    file.seek(0)
    while header := file.read(_HEADER.size):
        length, size, count = _HEADER.unpack(header)
        records = partition[file.read(length)]
        records.data += file.read(size)
        records.count += count
    return partition


# --- records ------------------------------------------------------------------------------------


MALFORMED_ANSWER_ERRORS: Final = (
    msgspec.DecodeError,
    struct.error,
    TypeError,
    ValueError,
    AttributeError,
)
"""Errors raised while decoding a malformed answer."""

_SPAN_SEPARATOR: Final = b"],["
"""Bytes between two spans; a stream's name may contain them too."""


def span_prefix(stream: str) -> bytes:
    """Return the bytes with which every encoded span of a stream starts.

    >>> span_prefix("table/1")
    b'[["table/1",'
    """
    return encode_spans((EntrySpan(stream, 0, 0),)).removesuffix(b"0,0]]")


def encode_record(cause: bytes, span: EntrySpan) -> tuple[bytes, bytes]:
    """Return the prefix of a span, up to a comma, and its record."""
    spans = encode_spans((span,))
    return spans[: spans.index(b",") + 1], cause + spans


def encode_answer_records(answers: Sequence[StoredRow]) -> dict[bytes, list[bytes]]:
    """Return the records that answers claim, by the prefix of their spans.

    This computes the same as `entry.hash_cause`, inlined for speed. Spans that are not in canonical
    form become a record that matches no entries.
    """
    accounts, sizes, records = _AccountPrefixes(), _LengthPrefixes(), list[bytes]()
    for account, key, command_hash, spans in answers:
        key_bytes = key.encode()
        hashed = accounts[account] + sizes[len(key_bytes)] + key_bytes + command_hash
        records.append(sha256(hashed).digest() + spans)
    all_spans = [spans for _, _, _, spans in answers]
    if _SPAN_SEPARATOR in b"".join(all_spans):
        return _group_spans_by_stream(records)
    first, last = min(all_spans), max(all_spans)
    # If the first and the last in order share a prefix, so do all between them.
    prefix = first[: first.index(b",") + 1]
    return {prefix: records} if last.startswith(prefix) else _group_by_stream(records)


def _group_by_stream(records: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    grouped: dict[bytes, list[bytes]] = defaultdict(list)
    for record in records:
        grouped[record[CAUSE_BYTES : record.index(b",", CAUSE_BYTES) + 1]].append(record)
    return grouped


def _group_spans_by_stream(records: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    """Group records by prefix, splitting those of commands with several streams."""
    grouped: dict[bytes, list[bytes]] = defaultdict(list)
    for record in records:
        if _SPAN_SEPARATOR in record:
            for span in decode_canonical_spans(record[CAUSE_BYTES:]):
                prefix, single = encode_record(record[:CAUSE_BYTES], span)
                grouped[prefix].append(single)
        else:
            grouped[record[CAUSE_BYTES : record.index(b",", CAUSE_BYTES) + 1]].append(record)
    return grouped


class _AccountPrefixes(dict[str, bytes]):
    """The hashed bytes for an account: its length and name."""

    def __missing__(self, account: str) -> bytes:
        name = account.encode()
        self[account] = prefix = b"%d:%b" % (len(name), name)
        return prefix


class _LengthPrefixes(dict[int, bytes]):
    """The hashed bytes for the length of a key."""

    def __missing__(self, size: int) -> bytes:
        self[size] = text = b"%d:" % size
        return text


def decode_canonical_spans(spans: bytes) -> tuple[EntrySpan, ...]:
    """Decode the spans of an answer, which must be in canonical form."""
    decoded = decode_spans(spans)
    if not decoded or encode_spans(decoded) != spans:
        raise ValueError("its spans are not in canonical form")
    return decoded


# --- packing ------------------------------------------------------------------------------------


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(list[bytes]).decode

_ARRAY32_PREFIX: Final = b"\xdd"
"""First byte of a MessagePack array with a length of four bytes."""


def pack_items(items: Sequence[Any]) -> memoryview:
    """Encode items as concatenated MessagePack; different sequences give different bytes.

    >>> bytes(pack_items(["a"])) + bytes(pack_items([b"b", 3])) == bytes(pack_items(["a", b"b", 3]))
    True
    """
    count = len(items)
    header = 1 if count < 1 << 4 else 3 if count < 1 << 16 else 5
    return memoryview(_encode(items))[header:]


def unpack_items(data: bytes | bytearray, count: int) -> list[bytes]:
    """Return the given number of byte strings from packed data.

    >>> unpack_items(bytes(pack_items([b"a", b"bc"])), 2)
    [b'a', b'bc']
    """
    return _decode(_ARRAY32_PREFIX + count.to_bytes(4, "big") + data)
