"""Which command caused which entries: every cause needs one answer that says so, and no other.

A record is a cause and, as answers say it, the consecutive entries of one stream that it left. What
is said and what is found is gathered by stream, in temporary files once there is much of it. As
commands are written one after another, both sides of a stream are nearly always the same bytes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from struct import Struct
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, NamedTuple
from zlib import crc32

from msgspec.structs import astuple

from threedice.log.batch import decode_spans, encode_spans
from threedice.log.packing import packed, unpacked
from threedice.log.store import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

PARTS = 64
IN_MEMORY = 1 << 26
"""How many bytes of each side are held before they go to files."""

FRESH = 10_000
"""How many records of each side lie as they came before they are packed."""

CAUSE = 32
"""How many bytes of a record are the cause."""

_HEADER = Struct(">IQQ")


class Mismatch(NamedTuple):
    """A cause of which something is said that is not found, or found that is not said."""

    cause: bytes
    said: tuple[Span, ...]
    found: tuple[Span, ...]


def spans_of(stream: str) -> bytes:
    """Return how whatever is said of a stream begins.

    >>> spans_of("table/1")
    b'[["table/1",'
    """
    return encode_spans((Span(stream, 0, 0),)).removesuffix(b"0,0]]")


def record(cause: bytes, span: Span) -> tuple[bytes, bytes]:
    """Return how a span begins, up to a comma, and its record."""
    spans = encode_spans((span,))
    return spans[: spans.index(b",") + 1], cause + spans


class Matching:
    """Gathers what answers say was written and what is found, and compares the two."""

    def __init__(self) -> None:
        self._said, self._found = _Gathered(), _Gathered()

    def __enter__(self) -> Matching:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._said.close()
        self._found.close()

    def said(self, begin: bytes, records: Sequence[bytes]) -> None:
        """Take in what answers say was written, of spans that begin like this up to a comma."""
        self._said.add(begin, records)

    def found(self, begin: bytes, records: Sequence[bytes]) -> None:
        """Take in entries as they are found, of spans that begin like this."""
        self._found.add(begin[: begin.index(b",") + 1], records)

    def forget_said(self) -> None:
        """Start over with what answers say."""
        self._said.close()
        self._said = _Gathered()

    def agree(self) -> bool:
        """Tell whether just that is said which is found."""
        return next(self._differing(), None) is None

    def mismatches(self) -> Iterator[Mismatch]:
        """Yield every cause of which not just that is said which is found."""
        causes: dict[bytes, tuple[list[Span], list[Span]]] = {
            each[:CAUSE]: ([], []) for each in self._differing()
        }
        for place, side in enumerate((self._said, self._found)):
            for each in side.records() if causes else ():
                if each[:CAUSE] in causes:
                    causes[each[:CAUSE]][place].extend(decode_spans(each[CAUSE:]))
        for cause, (said, found) in causes.items():
            yield Mismatch(
                cause, tuple(sorted(said, key=astuple)), tuple(sorted(found, key=astuple))
            )

    def _differing(self) -> Iterator[bytes]:
        """Yield the records that are only on one side, or more often on one than on the other."""
        for said, found in zip(self._said.parts(), self._found.parts(), strict=True):
            for begin in sorted(said.keys() | found.keys()):
                these, those = said.get(begin, _Records()), found.get(begin, _Records())
                if these != those:  # unless only in another order, as of two servers
                    counts, others = Counter(these.all()), Counter(those.all())
                    yield from (counts - others) + (others - counts)


@dataclass(slots=True)
class _Records:
    """Records one after another, and how many there are."""

    data: bytearray = field(default_factory=bytearray)
    count: int = 0

    def all(self) -> list[bytes]:
        return unpacked(self.data, self.count)


class _Gathered:
    """Records by the stream they concern, in memory or in files."""

    def __init__(self) -> None:
        self._fresh, self._fresh_count = defaultdict[bytes, list[bytes]](list), 0
        self._held: list[dict[bytes, _Records]] = [{} for _ in range(PARTS)]
        self._files: list[IO[bytes]] = []
        self._size = 0

    def add(self, begin: bytes, records: Sequence[bytes]) -> None:
        self._fresh[begin] += records
        self._fresh_count += len(records)
        if self._fresh_count >= FRESH:
            self._pack()

    def _pack(self) -> None:
        for begin, records in self._fresh.items():
            data = packed(records)
            kept = self._held[crc32(begin) % PARTS].setdefault(begin, _Records())
            kept.data += data
            kept.count += len(records)
            self._size += len(data)
        self._fresh.clear()
        self._fresh_count = 0
        if self._size > IN_MEMORY:
            self._put_away()

    def parts(self) -> Iterator[dict[bytes, _Records]]:
        """Yield all records part by part, by how their spans begin."""
        self._pack()
        if not self._files:
            yield from self._held
            return
        self._put_away()
        yield from map(_read, self._files)

    def records(self) -> Iterator[bytes]:
        for part in self.parts():
            for records in part.values():
                yield from records.all()

    def close(self) -> None:
        for file in self._files:
            file.close()

    def _put_away(self) -> None:
        if not self._files:
            for _ in range(PARTS):
                self._files.append(TemporaryFile())  # noqa: SIM115 -- closed with the others
        for file, held in zip(self._files, self._held, strict=True):
            for begin, records in held.items():
                file.write(_HEADER.pack(len(begin), len(records.data), records.count))
                file.write(begin)
                file.write(records.data)
            held.clear()
        self._size = 0


def _read(file: IO[bytes]) -> dict[bytes, _Records]:
    """Return all records of a file."""
    whole = defaultdict[bytes, _Records](_Records)
    file.seek(0)
    while header := file.read(_HEADER.size):
        length, size, count = _HEADER.unpack(header)
        records = whole[file.read(length)]
        records.data += file.read(size)
        records.count += count
    return whole
