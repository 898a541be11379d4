"""The writer process: receive batches from the house, write them, and reply with the outcomes.

Started by `threedice.log.writer_process`, with the socket as standard input.
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
    """Run the writer process of the house that started it."""
    with suppress(OSError), socket(fileno=os.dup(sys.stdin.fileno())) as channel:
        # OSError: the house has died; a batch that is committed stays committed.
        if handshake := _receive_message(channel):
            _serve(handshake, channel)


def _serve(handshake: bytes, channel: socket) -> None:
    """Report that the database is open, then write batch after batch until the socket closes."""
    try:
        store = _open_store(_decode_target(check_handshake(PROTOCOL_FINGERPRINT, handshake)))
    except Exception as error:
        channel.sendall(
            frame_message(encode_message(BatchFailure(type(error).__name__, str(error))))
        )
        return
    with closing(store):
        channel.sendall(frame_message(encode_message(BatchReply())))
        while batch := _receive_message(channel):
            channel.sendall(
                frame_message(encode_message(write_batch(store.write, _decode_batch(batch))))
            )


def _receive_message(channel: socket) -> bytes:
    """Return the next message, or nothing if the socket is closed."""
    received = b""
    while is_incomplete(received):
        chunk = channel.recv(RECEIVE_BYTES)
        if not chunk:
            return b""
        received += chunk
    return received[FRAME_LENGTH.size :]


def _open_store(target: WriterProcessTarget) -> SqliteStore | PostgresStore:
    if target.kind == "sqlite":
        if file_identity(Path(target.name)) != target.file:
            # Opening it would create a new file, whose entries the house would never read.
            raise StoreUnusable(
                f"{target.name} is no longer the file that the house has open; "
                "restore that file, then start again"
            )
        return SqliteStore(target.name)
    # Imported here so that SQLite starts faster.
    from threedice.log.stores.postgres import PostgresStore  # noqa: PLC0415

    return PostgresStore(target.name, deadline_seconds=target.seconds)


def write_batch(write: BatchWrite, proposals: list[Proposal]) -> BatchReply | BatchFailure:
    """Write a batch and build the reply."""
    try:
        outcomes = write(proposals)
    except Exception as error:
        return BatchFailure(type(error).__name__, str(error))
    conflicts = {
        index: (outcome.stream, outcome.head)
        for index, outcome in enumerate(outcomes)
        if isinstance(outcome, HeadConflict)
    }
    known = {
        index: outcome.answer
        for index, outcome in enumerate(outcomes)
        if isinstance(outcome, DuplicateKey)
    }
    return BatchReply(conflicts, known)


if __name__ == "__main__":
    main()
