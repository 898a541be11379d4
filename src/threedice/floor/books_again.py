"""The books made again for the audit, and compared with those that are kept.

The lines of a stream are read as they are made again, so that nothing need be held; where any
differ, that stream's lines are made once more to say which.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from threedice.errors import Tampered
from threedice.floor.encoding import decode
from threedice.floor.projections import FORMER_VIEWS, VIEW, Projector, Said
from threedice.log import schema
from threedice.log.entry import Entry
from threedice.log.findings import Finding
from threedice.table import events as happened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from threedice.floor.events import AnyStreamEvent
    from threedice.log.rows import Row, Rows
    from threedice.rulebook import Game

_encode: Final = msgspec.json.Encoder().encode


class Books:
    """The books of a house as they are kept."""

    def __init__(self, rows: Rows, game_of: Callable[[str], Game], findings: list[Finding]) -> None:
        self._rows, self._game_of, self._findings = rows, game_of, findings
        self._reached: dict[Any, Any] = {}
        self._kept = defaultdict[Any, set[Any]](set)
        try:
            for view, stream, version in chain.from_iterable(rows.chunks(schema.views)):
                if view == VIEW:
                    self._reached[stream] = version
                elif view not in FORMER_VIEWS:
                    findings.append(Finding(f"books of {stream}", f"there is no view {view!r}"))
            for view, stream in rows.lines_kept():
                if view not in FORMER_VIEWS:  # another version's; not used, and made again
                    self._kept[stream].add(view)
        except Tampered as tampered:
            findings.append(Finding(tampered.where, tampered.problem))

    def of(self, stream: str) -> StreamBooks:
        """Return the books of a stream, to be compared."""
        reached, where = self._reached.pop(stream, 0), f"books of {stream}"
        if type(reached) is not int:
            self._findings.append(Finding(where, f"reach no version: {reached!r}"))
            reached = 0
        views = self._kept.pop(stream, set())
        for view in sorted(views - {VIEW}, key=repr):
            self._findings.append(Finding(where, f"there is no view {view!r}"))
        kept = self._rows.lines_of(VIEW, stream) if VIEW in views else ()
        return StreamBooks(stream, reached, kept, self._rows, self._game_of)

    def finish(self, seen: Iterable[str]) -> list[Finding]:
        """Return what is kept of streams that have no entries."""
        left = sorted((self._kept.keys() | self._reached.keys()) - set(seen), key=repr)
        return [Finding(f"books of {each}", "there are no entries of it") for each in left]


class StreamBooks:
    """The books of one stream, made again as its entries are shown."""

    def __init__(
        self,
        stream: str,
        reached: int,
        kept: Iterable[Sequence[Row]],
        rows: Rows,
        game_of: Callable[[str], Game],
    ) -> None:
        self._stream, self._reached = stream, reached
        self._rows, self._game_of = rows, game_of
        self._projector = SettlingProjector(stream, game_of)
        self._kept, self._agree = chain.from_iterable(kept), True
        self._unreadable: list[Finding] = []

    def take(self, entry: Entry, event: AnyStreamEvent) -> None:
        """Make the lines that follow from an entry, as far as the books go, and compare them."""
        if entry.version <= self._reached:
            made = self._projector.rows(entry, event)
            if made and self._agree:
                self._agree = self._next_kept(len(made)) == made

    def _next_kept(self, count: int) -> list[Row]:
        """Return the next lines that are kept; what cannot be read ends them, and is a finding."""
        try:
            return list(islice(self._kept, count))
        except Tampered as tampered:
            self._unreadable.append(Finding(tampered.where, tampered.problem))
            return []

    def finish(self, last: int) -> list[Finding]:
        """Return how the books differ from what the entries lead to."""
        where = f"books of {self._stream}"
        agree = self._agree and not self._next_kept(1)
        findings = [*self._unreadable]
        if self._reached > last:
            findings.append(Finding(where, "go further than the stream"))
        elif not self._projector.at_rest:  # from where they could not be gone on with
            what = f"end at version {self._reached}, in the middle of a settlement"
            findings.append(Finding(where, what))
        if not agree and not self._unreadable:
            differences = list(self._differences(where))
            findings += differences or [Finding(where, "are not what the entries lead to")]
        return findings

    def _differences(self, where: str) -> Iterator[Finding]:
        """Yield which lines differ, by a second look."""
        projector = SettlingProjector(self._stream, self._game_of)
        made: dict[tuple[int, int], Row] = {}
        for row in chain.from_iterable(self._rows.chunks(schema.entries, [self._stream])):
            entry = Entry(*row)
            if entry.version <= self._reached:
                lines = projector.rows(entry, decode(entry))
                made.update(((line[1], line[2]), line) for line in lines)
        for line in chain.from_iterable(self._rows.lines_of(VIEW, self._stream)):
            _, version, place, _, _ = line
            if made.pop((version, place), None) != line:
                yield Finding(f"{where} version {version}", f"line {place} does not follow")
        for version, place in made:
            yield Finding(f"{where} version {version}", f"line {place} is missing")


class SettlingProjector(Projector):
    """Makes the lines of a settlement in one go: there are as many of them as there were bets."""

    def rows(self, entry: Entry, event: AnyStreamEvent) -> Sequence[Row]:
        """Return the lines that follow from an entry, as `Rows.lines_of` has them."""
        match event:
            case happened.LosersCollected():
                return self._collected(entry.version, entry.at, event)
            case happened.WinnersPaid():
                return self._paid(entry.version, entry.at, event)
        return [
            (line.subject, line.version, line.place, line.at, line.data)
            for line in self.lines(entry, event)
        ]

    def _collected(self, version: int, at: int, event: happened.LosersCollected) -> list[Row]:
        data, staked = _Encoded("lost", self._round), self._staked
        rows: list[Row] = []
        for place, (spot, player, stake) in enumerate(event.bets):
            staked[spot] = staked.get(spot, 0) + stake
            rows.append((f"player/{player}", version, place, at, data[-stake, spot]))
        self._win += sum([stake for _, _, stake in event.bets])
        return rows

    def _paid(self, version: int, at: int, event: happened.WinnersPaid) -> list[Row]:
        data, staked = _Encoded("won", self._round), self._staked
        rows: list[Row] = []
        for place, (spot, player, stake, winnings) in enumerate(event.bets):
            staked[spot] = staked.get(spot, 0) + stake
            rows.append((f"player/{player}", version, place, at, data[winnings, spot]))
        self._win -= sum([winnings for _, _, _, winnings in event.bets])
        rows.append((self.stream, version, len(rows), at, _encode(self._result(event))))
        self._forget_round()
        return rows


class _Encoded(dict[tuple[int, str], bytes]):
    """What lines of a round say, by amount and spot: in most rounds, many bets say the same."""

    def __init__(self, what: str, number: int) -> None:
        super().__init__()
        self._what, self._number = what, number

    def __missing__(self, key: tuple[int, str]) -> bytes:
        amount, spot = key
        self[key] = data = _encode(Said(self._what, self._number, amount, note=spot))
        return data
