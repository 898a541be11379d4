"""The process of a scribe: takes batches from its store, writes them, and says what became of them.

See `scribe`, which starts it.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing, suppress
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from threedice.errors import StoreUnfit
from threedice.log.greeting import greeted
from threedice.log.scribe import (
    FORMS,
    LENGTH,
    ROOM,
    Failed,
    Place,
    Written,
    encode,
    framed,
    identity,
    missing,
)
from threedice.log.sqlite import SqliteStore
from threedice.log.store import Conflict, Known, Proposal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from threedice.log.postgres import PostgresStore
    from threedice.log.store import Outcome

    Write: TypeAlias = Callable[[Sequence[Proposal]], list[Outcome]]

_decode_place = msgspec.msgpack.Decoder(Place).decode
_decode_batch = msgspec.msgpack.Decoder(list[Proposal]).decode


def main() -> None:
    """Be the scribe of whoever started this process."""
    with suppress(OSError), socket(fileno=os.dup(sys.stdin.fileno())) as line:
        # a broken line: whoever asked has died, and what is written is written
        if said := _heard(line):
            _serve(said, line)


def _serve(said: bytes, line: socket) -> None:
    """Say when the database is open, then answer batch after batch, until none comes any more."""
    try:
        store = _opened(_decode_place(greeted(FORMS, said)))
    except Exception as error:
        line.sendall(framed(encode(Failed(type(error).__name__, str(error)))))
        return
    with closing(store):
        line.sendall(framed(encode(Written())))
        while batch := _heard(line):
            line.sendall(framed(encode(written(store.write, _decode_batch(batch)))))


def _heard(line: socket) -> bytes:
    """Return the next message, or nothing when there will be none."""
    said = b""
    while missing(said):
        more = line.recv(ROOM)
        if not more:
            return b""
        said += more
    return said[LENGTH.size :]


def _opened(place: Place) -> SqliteStore | PostgresStore:
    if place.kind == "sqlite":
        if identity(Path(place.name)) != place.file:
            # opening it would make a new one, and what is written there the house would never read
            raise StoreUnfit(
                f"{place.name} is not the file any more that the house has open; "
                "bring that one back, then start again"
            )
        return SqliteStore(place.name)
    from threedice.log.postgres import PostgresStore  # noqa: PLC0415 -- others start faster without

    return PostgresStore(place.name, deadline_seconds=place.seconds)


def written(write: Write, proposals: list[Proposal]) -> Written | Failed:
    """Write a batch and return what became of it."""
    try:
        outcomes = write(proposals)
    except Exception as error:
        return Failed(type(error).__name__, str(error))
    conflicts = {
        at: (outcome.stream, outcome.head)
        for at, outcome in enumerate(outcomes)
        if isinstance(outcome, Conflict)
    }
    known = {
        at: outcome.answer for at, outcome in enumerate(outcomes) if isinstance(outcome, Known)
    }
    return Written(conflicts, known)


if __name__ == "__main__":
    main()
