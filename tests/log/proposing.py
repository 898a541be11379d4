"""Proposals for the tests of who writes and who follows."""

from __future__ import annotations

from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING

from threedice.log.conflicts import head_after
from threedice.log.entry import EMPTY_HEAD, NewEntry, extend_stream, hash_cause
from threedice.log.records import Append, Proposal

if TYPE_CHECKING:
    from threedice.log.entry import Head

PATIENCE = 60
"""Seconds after which something waited for is held never to come."""

_numbers = count(1)


def propose(stream: str, head: Head = EMPTY_HEAD, entries: int = 1, key: str = "") -> Proposal:
    """Return what a command of one's own would append to a stream with that head."""
    number = next(_numbers)
    key = key or f"follow-{number}"
    command = sha256(key.encode()).digest()
    records = [NewEntry("BetPlaced", 1, b"%d of %d" % (place, number)) for place in range(entries)]
    added, _ = extend_stream(head, stream, number, hash_cause("ann", key, command), records)
    return Proposal("ann", key, command, (Append(stream, head, added),))


def propose_row(stream: str, length: int, head: Head = EMPTY_HEAD) -> list[Proposal]:
    """Return proposals of an entry each, every one upon the one before it."""
    row: list[Proposal] = []
    for _ in range(length):
        row.append(propose(stream, head))
        head = head_after(row[-1].appends[0])
    return row
