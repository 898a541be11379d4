"""The books made again for the audit, and compared with those that are kept.

A digest of each stream's lines is compared first, so that nothing need be held; where two differ,
that stream's lines are made once more and compared one by one.
"""

from __future__ import annotations

from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec

from threedice.floor.encoding import decode
from threedice.floor.projections import VIEW, Projector
from threedice.log import schema
from threedice.log.entry import Entry
from threedice.log.findings import Finding
from threedice.log.store import Line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from threedice.floor.events import AnyStreamEvent
    from threedice.log.rows import Rows
    from threedice.rulebook import Game

_encode = msgspec.msgpack.Encoder().encode


class Books:
    """The books of a house as they are kept."""

    def __init__(self, rows: Rows, game_of: Callable[[str], Game]) -> None:
        self._rows, self._game_of = rows, game_of
        self._reached: dict[Any, Any] = {
            row[1]: row[2]
            for row in chain.from_iterable(rows.chunks(schema.views))
            if row[0] == VIEW
        }
        self._digests: dict[Any, Any] = {}
        for line in map(_line, chain.from_iterable(rows.chunks(schema.lines))):
            digest = self._digests.get(line.stream)
            if digest is None:
                digest = self._digests[line.stream] = sha256()
            digest.update(_encode(line))

    def of(self, stream: str) -> StreamBooks:
        """Return the books of a stream, to be compared."""
        kept = self._digests.pop(stream, sha256()).digest()
        return StreamBooks(stream, self._reached.pop(stream, 0), kept, self._rows, self._game_of)

    def finish(self, seen: Iterable[str]) -> list[Finding]:
        """Return what is kept of streams that have no entries."""
        left = (self._digests.keys() | self._reached.keys()) - set(seen)
        return [Finding(f"books of {each}", "there are no entries of it") for each in sorted(left)]


class StreamBooks:
    """The books of one stream, made again as its entries are shown."""

    def __init__(
        self,
        stream: str,
        reached: int,
        kept: bytes,
        rows: Rows,
        game_of: Callable[[str], Game],
    ) -> None:
        self._stream, self._reached, self._kept = stream, reached, kept
        self._rows, self._game_of = rows, game_of
        self._projector, self._made = Projector(stream, game_of), sha256()

    def take(self, entry: Entry, event: AnyStreamEvent) -> None:
        """Make the lines that follow from an entry, as far as the books go."""
        if entry.version <= self._reached:
            for line in self._projector.lines(entry, event):
                self._made.update(_encode(line))

    def finish(self, last: int) -> list[Finding]:
        """Return how the books differ from what the entries lead to."""
        where = f"books of {self._stream}"
        findings = []
        if self._reached > last:
            findings.append(Finding(where, "go further than the stream"))
        if self._made.digest() != self._kept:
            findings += self._differences(where)
        return findings

    def _differences(self, where: str) -> Iterator[Finding]:
        """Yield which lines differ, by a second look."""
        projector, made = Projector(self._stream, self._game_of), dict[tuple[int, int], Line]()
        for row in chain.from_iterable(self._rows.chunks(schema.entries, [self._stream])):
            entry = Entry(*row)
            if entry.version <= self._reached:
                lines = projector.lines(entry, decode(entry))
                made.update(((line.version, line.place), line) for line in lines)
        for line in map(
            _line, chain.from_iterable(self._rows.chunks(schema.lines, [self._stream]))
        ):
            if made.pop((line.version, line.place), None) != line:
                what = f"line {line.place} does not follow"
                yield Finding(f"{where} version {line.version}", what)
        for version, place in made:
            yield Finding(f"{where} version {version}", f"line {place} is missing")


def _line(row: Any) -> Line:
    return Line(*row)
