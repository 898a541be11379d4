"""Proposals made in the way `floor` makes them, for the tests of stores."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from threedice.log.entry import EMPTY_HEAD, Head, NewEntry, extend_stream, hash_cause
from threedice.log.records import Acceptance, Append, Proposal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ACCEPTED = Acceptance()

_keys = count(1)


def propose(
    appends: Mapping[str, tuple[Head, Iterable[bytes]]],
    *,
    account: str = "ann",
    key: str = "",
    command_hash: bytes = b"c" * 32,
    games: Mapping[str, bytes] | None = None,
    at: int = 1_700_000_000_000_000,
) -> Proposal:
    """Propose to append the given data to streams that are taken to have the given heads."""
    key = key or f"key-{next(_keys)}"
    cause = hash_cause(account, key, command_hash)
    made = []
    for stream, (head, data) in appends.items():
        records = [NewEntry("Noted", 1, each) for each in data]
        made.append(Append(stream, head, extend_stream(head, stream, at, cause, records)[0]))
    return Proposal(account, key, command_hash, tuple(made), games or {})


def one(stream: str, head: Head = EMPTY_HEAD, *data: bytes, key: str = "") -> Proposal:
    """Propose to append to one stream, a single entry unless told otherwise."""
    return propose({stream: (head, data or (b"data",))}, key=key)


def left(proposal: Proposal, stream: str = "") -> Head:
    """Return the head that a proposal leaves its stream with, or one of its streams."""
    entries = next(a.entries for a in proposal.appends if stream in ("", a.stream))
    return Head(entries[-1].version, entries[-1].hash)
