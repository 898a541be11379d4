"""Find the entries of a round in a table's stream without reading the whole stream again."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from threedice.house.codec import decode, tag_of
from threedice.house.events import TableEstablished
from threedice.house.stream_state import table_stream
from threedice.table.events import RoundStarted
from threedice.table.explanation import POST_SETTLEMENT_EVENTS

if TYPE_CHECKING:
    from threedice.log.store import Store

_ROUND_STARTED: Final = tag_of(RoundStarted)
_TABLE_ESTABLISHED: Final = tag_of(TableEstablished)
_LATER_KINDS: Final = frozenset(tag_of(event_type) for event_type in POST_SETTLEMENT_EVENTS)


class RoundSpan(NamedTuple):
    """The versions of a round's entries: from its start up to `end`, the last before the next.

    `changed` is the version of the last entry that can have changed the outcome of the round,
    `established` that of the entry that set up the table as it was at the start of the round.
    """

    start: int
    end: int
    changed: int
    established: int


class RoundIndex:
    """The versions at which the rounds of a table start; it reads each entry of the log once."""

    def __init__(self, table: str) -> None:
        self._stream, self._lock = table_stream(table), Lock()
        self._numbers, self._starts = array("Q"), array("Q")
        self._established = array("Q")
        self._version = self._amended = 0

    def find(self, store: Store, number: int) -> RoundSpan | None:
        """Return the span of a round up to the head of the stream, or None if there is none."""
        with self._lock:
            self._read_new_entries(store)
            place = bisect_left(self._numbers, number)
            if place == len(self._numbers) or self._numbers[place] != number:
                return None
            start = self._starts[place]
            set_up = bisect_left(self._established, start)
            established = self._established[set_up - 1] if set_up else 0
            if place + 1 == len(self._numbers):
                return RoundSpan(start, self._version, self._version, established)
            return RoundSpan(start, self._starts[place + 1] - 1, self._amended, established)

    def _read_new_entries(self, store: Store) -> None:
        for entry in store.scan(self._stream, self._version):
            if entry.kind == _ROUND_STARTED:
                self._numbers.append(cast("RoundStarted", decode(entry)).round)
                self._starts.append(entry.version)
            elif entry.kind == _TABLE_ESTABLISHED:
                self._established.append(entry.version)
            elif entry.kind in _LATER_KINDS:
                self._amended = entry.version
            self._version = entry.version
