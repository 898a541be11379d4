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

from threedice.errors import StoreUnusable
from threedice.log.store import DuplicateKey, HeadConflict, Proposal
from threedice.log.stores.sqlite import SqliteStore
from threedice.log.writer_process import (
    FRAME_LENGTH,
    PROTOCOL_FINGERPRINT,
    RECEIVE_BYTES,
    BatchFailure,
    BatchReply,
    WriterProcessTarget,
    check_handshake,
    encode_message,
    file_identity,
    frame_message,
    is_incomplete,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from threedice.log.store import ProposalOutcome
    from threedice.log.stores.postgres import PostgresStore

    BatchWrite: TypeAlias = Callable[[Sequence[Proposal]], list[ProposalOutcome]]

_decode_target = msgspec.msgpack.Decoder(WriterProcessTarget).decode
_decode_batch = msgspec.msgpack.Decoder(list[Proposal]).decode


def main() -> None:
    """Be the scribe of whoever started this process."""
    with suppress(OSError), socket(fileno=os.dup(sys.stdin.fileno())) as line:
        # a broken line: whoever asked has died, and what is written is written
        if said := _receive_message(line):
            _serve(said, line)


def _serve(handshake: bytes, line: socket) -> None:
    """Say when the database is open, then answer batch after batch, until none comes any more."""
    try:
        store = _open_store(_decode_target(check_handshake(PROTOCOL_FINGERPRINT, handshake)))
    except Exception as error:
        line.sendall(frame_message(encode_message(BatchFailure(type(error).__name__, str(error)))))
        return
    with closing(store):
        line.sendall(frame_message(encode_message(BatchReply())))
        while batch := _receive_message(line):
            line.sendall(
                frame_message(encode_message(write_batch(store.write, _decode_batch(batch))))
            )


def _receive_message(line: socket) -> bytes:
    """Return the next message, or nothing when there will be none."""
    said = b""
    while is_incomplete(said):
        more = line.recv(RECEIVE_BYTES)
        if not more:
            return b""
        said += more
    return said[FRAME_LENGTH.size :]


def _open_store(target: WriterProcessTarget) -> SqliteStore | PostgresStore:
    if target.kind == "sqlite":
        if file_identity(Path(target.name)) != target.file:
            # opening it would make a new one, and what is written there the house would never read
            raise StoreUnusable(
                f"{target.name} is not the file any more that the house has open; "
                "bring that one back, then start again"
            )
        return SqliteStore(target.name)
    from threedice.log.stores.postgres import PostgresStore  # noqa: PLC0415 -- others start faster without

    return PostgresStore(target.name, deadline_seconds=target.seconds)


def write_batch(write: BatchWrite, proposals: list[Proposal]) -> BatchReply | BatchFailure:
    """Write a batch and return what became of it."""
    try:
        outcomes = write(proposals)
    except Exception as error:
        return BatchFailure(type(error).__name__, str(error))
    conflicts = {
        at: (outcome.stream, outcome.head)
        for at, outcome in enumerate(outcomes)
        if isinstance(outcome, HeadConflict)
    }
    known = {
        at: outcome.answer
        for at, outcome in enumerate(outcomes)
        if isinstance(outcome, DuplicateKey)
    }
    return BatchReply(conflicts, known)


if __name__ == "__main__":
    main()
