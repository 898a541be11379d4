"""Match the entries that answers claim with the entries that are stored.

Which command caused which entries: every cause needs one answer that says so, and no other.

A record is a cause and, as answers say it, the consecutive entries of one stream that it left. What
is said and what is found is gathered by stream, in temporary files once there is much of it. As
commands are written one after another, both sides of a stream are nearly always the same bytes.

What answers say was written, as records that can be compared with the entries found.

Nearly every command leaves entries in one stream. What such an answer says is compared as it is
stored, without being read; a log where that leaves any doubt is heard again, answer by answer.

Rows as bytes one after another, so that what is read in pieces adds up to the same bytes.
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


PARTITIONS = 64


MAX_MEMORY_BYTES = 1 << 26
"""How many bytes of each side are held before they go to files."""


PACK_EVERY_RECORDS = 10_000
"""How many records of each side lie as they came before they are packed."""


CAUSE_BYTES = 32
"""How many bytes of a record are the cause."""


_HEADER = Struct(">IQQ")


class AnswerMismatch(NamedTuple):
    """A cause of which something is said that is not found, or found that is not said."""

    cause: bytes
    claimed: tuple[EntrySpan, ...]
    found: tuple[EntrySpan, ...]


def span_prefix(stream: str) -> bytes:
    """Return how whatever is said of a stream begins.

    >>> span_prefix("table/1")
    b'[["table/1",'
    """
    return encode_spans((EntrySpan(stream, 0, 0),)).removesuffix(b"0,0]]")


def encode_record(cause: bytes, span: EntrySpan) -> tuple[bytes, bytes]:
    """Return how a span begins, up to a comma, and its record."""
    spans = encode_spans((span,))
    return spans[: spans.index(b",") + 1], cause + spans


class AnswerMatcher:
    """Gathers what answers say was written and what is found, and compares the two."""

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
        """Take in what answers say was written, of spans that begin like this up to a comma."""
        self._claimed.add(prefix, records)

    def add_found(self, prefix: bytes, records: Sequence[bytes]) -> None:
        """Take in entries as they are found, of spans that begin like this."""
        self._found.add(prefix[: prefix.index(b",") + 1], records)

    def clear_claimed(self) -> None:
        """Start over with what answers say."""
        self._claimed.close()
        self._claimed = _PartitionedRecords()

    def is_consistent(self) -> bool:
        """Tell whether just that is said which is found."""
        return next(self._differences(), None) is None

    def mismatches(self) -> Iterator[AnswerMismatch]:
        """Yield every cause of which not just that is said which is found."""
        causes: dict[bytes, tuple[list[EntrySpan], list[EntrySpan]]] = {
            each[:CAUSE_BYTES]: ([], []) for each in self._differences()
        }
        for place, side in enumerate((self._claimed, self._found)):
            for each in side.records() if causes else ():
                if each[:CAUSE_BYTES] in causes:
                    causes[each[:CAUSE_BYTES]][place].extend(decode_spans(each[CAUSE_BYTES:]))
        for cause, (said, found) in causes.items():
            yield AnswerMismatch(
                cause, tuple(sorted(said, key=astuple)), tuple(sorted(found, key=astuple))
            )

    def _differences(self) -> Iterator[bytes]:
        """Yield the records that are only on one side, or more often on one than on the other."""
        for said, found in zip(self._claimed.partitions(), self._found.partitions(), strict=True):
            for begin in sorted(said.keys() | found.keys()):
                these, those = said.get(begin, _PackedRecords()), found.get(begin, _PackedRecords())
                if these != those:  # unless only in another order, as of two servers
                    counts, others = Counter(these.unpack()), Counter(those.unpack())
                    yield from (counts - others) + (others - counts)


@dataclass(slots=True)
class _PackedRecords:
    """Records one after another, and how many there are."""

    data: bytearray = field(default_factory=bytearray)
    count: int = 0

    def unpack(self) -> list[bytes]:
        return unpack_items(self.data, self.count)


class _PartitionedRecords:
    """Records by the stream they concern, in memory or in files."""

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
        for begin, records in self._unpacked.items():
            data = pack_items(records)
            kept = self._partitions[crc32(begin) % PARTITIONS].setdefault(begin, _PackedRecords())
            kept.data += data
            kept.count += len(records)
            self._size += len(data)
        self._unpacked.clear()
        self._unpacked_count = 0
        if self._size > MAX_MEMORY_BYTES:
            self._spill_to_files()

    def partitions(self) -> Iterator[dict[bytes, _PackedRecords]]:
        """Yield all records part by part, by how their spans begin."""
        self._pack()
        if not self._files:
            yield from self._partitions
            return
        self._spill_to_files()
        yield from map(_read_partition, self._files)

    def records(self) -> Iterator[bytes]:
        for part in self.partitions():
            for records in part.values():
                yield from records.unpack()

    def close(self) -> None:
        for file in self._files:
            file.close()

    def _spill_to_files(self) -> None:
        if not self._files:
            for _ in range(PARTITIONS):
                self._files.append(TemporaryFile())  # noqa: SIM115 -- closed with the others
        for file, held in zip(self._files, self._partitions, strict=True):
            for begin, records in held.items():
                file.write(_HEADER.pack(len(begin), len(records.data), records.count))
                file.write(begin)
                file.write(records.data)
            held.clear()
        self._size = 0


def _read_partition(file: IO[bytes]) -> dict[bytes, _PackedRecords]:
    """Return all records of a file."""
    whole = defaultdict[bytes, _PackedRecords](_PackedRecords)
    file.seek(0)
    while header := file.read(_HEADER.size):
        length, size, count = _HEADER.unpack(header)
        records = whole[file.read(length)]
        records.data += file.read(size)
        records.count += count
    return whole


MALFORMED_ANSWER_ERRORS: Final = (
    msgspec.DecodeError,
    struct.error,
    TypeError,
    ValueError,
    AttributeError,
)
"""What is raised over an answer that nobody can have given."""


_SPAN_SEPARATOR: Final = b"],["
"""What stands between two spans, and perhaps in the name of a stream."""


def encode_answer_records(answers: Sequence[StoredRow]) -> dict[bytes, list[bytes]]:
    """Return what some answers say as records, by how their spans begin.

    This computes what `entry.cause_of` defines, written out for speed. Spans that are not as they
    are written make a record that no entries make.
    """
    accounts, sizes, records = _AccountPrefixes(), _LengthPrefixes(), list[bytes]()
    for account, key, command_hash, spans in answers:
        which = key.encode()
        said = accounts[account] + sizes[len(which)] + which + command_hash
        records.append(sha256(said).digest() + spans)
    spans_of_all = [spans for _, _, _, spans in answers]
    if _SPAN_SEPARATOR in b"".join(spans_of_all):
        return _group_spans_by_stream(records)
    first, last = min(spans_of_all), max(spans_of_all)
    begin = first[: first.index(b",") + 1]  # and what is sorted between two begins as both do
    return {begin: records} if last.startswith(begin) else _group_by_stream(records)


def _group_by_stream(records: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    said: dict[bytes, list[bytes]] = defaultdict(list)
    for each in records:
        said[each[CAUSE_BYTES : each.index(b",", CAUSE_BYTES) + 1]].append(each)
    return said


def _group_spans_by_stream(records: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    """Return records by how their spans begin, where some command left entries in two streams."""
    said: dict[bytes, list[bytes]] = defaultdict(list)
    for each in records:
        if _SPAN_SEPARATOR in each:
            for span in decode_canonical_spans(each[CAUSE_BYTES:]):
                begin, one = encode_record(each[:CAUSE_BYTES], span)
                said[begin].append(one)
        else:
            said[each[CAUSE_BYTES : each.index(b",", CAUSE_BYTES) + 1]].append(each)
    return said


class _AccountPrefixes(dict[str, bytes]):
    """Accounts as a cause begins with them."""

    def __missing__(self, account: str) -> bytes:
        who = account.encode()
        self[account] = begin = b"%d:%b" % (len(who), who)
        return begin


class _LengthPrefixes(dict[int, bytes]):
    """Lengths of keys as they stand before them."""

    def __missing__(self, size: int) -> bytes:
        self[size] = text = b"%d:" % size
        return text


def decode_canonical_spans(spans: bytes) -> tuple[EntrySpan, ...]:
    """Return what an answer says was written, which must be said just as it always is."""
    decoded = decode_spans(spans)
    if not decoded or encode_spans(decoded) != spans:
        raise ValueError("its spans are not as they are written")
    return decoded


_encode: Final = msgspec.msgpack.Encoder().encode


_decode: Final = msgspec.msgpack.Decoder(list[bytes]).decode


_ARRAY32_PREFIX: Final = b"\xdd"
"""How MessagePack begins a list whose length takes four bytes."""


def pack_items(items: Sequence[Any]) -> memoryview:
    """Return items as MessagePack, each by itself: no two different sequences give the same bytes.

    >>> bytes(pack_items(["a"])) + bytes(pack_items([b"b", 3])) == bytes(pack_items(["a", b"b", 3]))
    True
    """
    count = len(items)
    header = 1 if count < 1 << 4 else 3 if count < 1 << 16 else 5
    return memoryview(_encode(items))[header:]


def unpack_items(data: bytes | bytearray, count: int) -> list[bytes]:
    """Return the pieces of bytes, so many, that were packed.

    >>> unpack_items(bytes(pack_items([b"a", b"bc"])), 2)
    [b'a', b'bc']
    """
    return _decode(_ARRAY32_PREFIX + count.to_bytes(4, "big") + data)
