"""Which command caused which entries: every cause needs one answer that says so, and no other.

There are as many causes as there were ever commands, so what is said and what is found is sorted
into parts, which lie in temporary files once they are large, and each part is compared by itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from struct import Struct
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

PARTS = 64
IN_MEMORY = 1 << 20
"""How many bytes of a part are held before they go to a file."""

_SPAN = Struct(">32sIQQ")
_WHOLE = Struct(f"{_SPAN.size}s")


class Written(NamedTuple):
    """Consecutive entries of a stream with one cause."""

    stream: str
    first: int
    last: int


class Mismatch(NamedTuple):
    """A cause of which something is said that is not found, or found that is not said."""

    cause: bytes
    said: tuple[Written, ...]
    found: tuple[Written, ...]


class Matching:
    """Gathers what answers say was written and what is found, and compares the two."""

    def __init__(self) -> None:
        self._said, self._found = _Gathered(), _Gathered()
        self._numbers: dict[str, int] = {}

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

    def said(self, cause: bytes, stream: str, first: int, last: int) -> None:
        """Take in what an answer says was written."""
        self._add(self._said, cause, stream, first, last)

    def found(self, cause: bytes, stream: str, first: int, last: int) -> None:
        """Take in entries as they are found."""
        self._add(self._found, cause, stream, first, last)

    def _add(self, side: _Gathered, cause: bytes, stream: str, first: int, last: int) -> None:
        number = self._numbers.setdefault(stream, len(self._numbers))
        part = side.parts[cause[0] % PARTS]
        part += _SPAN.pack(cause, number, first, last)
        if len(part) > IN_MEMORY:
            side.put_away(cause[0] % PARTS)

    def mismatches(self) -> Iterator[Mismatch]:
        """Yield every cause of which not just that is said which is found."""
        names = list(self._numbers)
        for number in sorted(self._said.parts.keys() | self._found.parts.keys()):
            said, found = self._said.sorted(number), self._found.sorted(number)
            if said != found:
                yield from _mismatches(said, found, names)


class _Gathered:
    """Spans in parts, in memory or in files."""

    def __init__(self) -> None:
        self.parts: dict[int, bytearray] = defaultdict(bytearray)
        self._files: dict[int, IO[bytes]] = {}

    def sorted(self, number: int) -> list[bytes]:
        data: bytes | bytearray = self.parts[number]
        if number in self._files:
            self.put_away(number)
            self._files[number].seek(0)
            data = self._files[number].read()
        return sorted(span for (span,) in _WHOLE.iter_unpack(data))

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def put_away(self, number: int) -> None:
        if number not in self._files:
            self._files[number] = TemporaryFile()  # noqa: SIM115 -- closed with all the others
        self._files[number].write(self.parts[number])
        self.parts[number].clear()


def _mismatches(said: list[bytes], found: list[bytes], names: list[str]) -> Iterator[Mismatch]:
    # counted: a span that is said twice is not what is found once
    differing = (Counter(said) - Counter(found)) + (Counter(found) - Counter(said))
    causes: dict[bytes, tuple[list[Written], list[Written]]] = {
        span[:32]: ([], []) for span in differing
    }
    for place, side in enumerate((said, found)):
        for span in side:
            if span[:32] in causes:
                causes[span[:32]][place].append(_written(span, names))
    for cause, (of_answers, of_entries) in causes.items():
        yield Mismatch(cause, tuple(of_answers), tuple(of_entries))


def _written(span: bytes, names: list[str]) -> Written:
    _, number, first, last = _SPAN.unpack(span)
    return Written(names[number], first, last)
