"""The Store protocol, and the records written to and read from a store.

Implemented by the modules of `threedice.log.stores`. A batch of proposals is written in one
transaction, and each proposal is accepted or rejected on its own. Proposals that `write` returns as
accepted are durable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from threedice.log.entry import Entry, Head

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

StoredRow = tuple[Any, ...]
"""A row of a table, in the order of its columns."""


# --- proposals ----------------------------------------------------------------------------------


class Append(msgspec.Struct, frozen=True, gc=False):
    """Entries to append to a stream, provided that its head is the expected one."""

    stream: str
    expected: Head
    entries: tuple[Entry, ...]


class Proposal(msgspec.Struct, frozen=True, gc=False):
    """The appends of one command, written to all its streams or to none."""

    account: str
    key: str
    command_hash: bytes
    appends: tuple[Append, ...]
    games: Mapping[str, bytes] = {}


# --- outcomes -----------------------------------------------------------------------------------


class EntrySpan(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The consecutive entries of a stream that a command caused: first and last version."""

    stream: str
    first: int
    last: int


encode_spans = msgspec.json.Encoder().encode
decode_spans = msgspec.json.Decoder(tuple[EntrySpan, ...]).decode


class StoredAnswer(msgspec.Struct, frozen=True, gc=False):
    """The permanent record of an accepted command: account, key, hash and entries."""

    account: str
    key: str
    command_hash: bytes
    spans: tuple[EntrySpan, ...]


class Acceptance(msgspec.Struct, frozen=True, gc=False):
    """The proposal is written."""


class HeadConflict(msgspec.Struct, frozen=True, gc=False):
    """A stream's head was not the expected one, so nothing of the proposal is written."""

    stream: str
    head: Head


class DuplicateKey(msgspec.Struct, frozen=True, gc=False):
    """The key is already used: by the same command, or by another if the hashes differ."""

    answer: StoredAnswer


ProposalOutcome = Acceptance | HeadConflict | DuplicateKey


# --- derived data and proof ---------------------------------------------------------------------


class Snapshot(msgspec.Struct, frozen=True, gc=False):
    """The state of a fold over a stream up to a head, so that replay can start there."""

    stream: str
    name: str
    form: str
    head: Head
    data: bytes


class Checkpoint(msgspec.Struct, frozen=True, gc=False):
    """The signed heads of all streams at a time; `body` holds the signed bytes."""

    number: int
    body: bytes
    key_id: str
    signature: bytes


class ProjectionLine(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A row of a projection about a `subject`, such as a player.

    Stream, version and place within the entry identify a line of a view.
    """

    view: str
    subject: str
    stream: str
    version: int
    place: int
    at: int
    data: bytes


# --- the protocol -------------------------------------------------------------------------------


class Store(Protocol):
    """A database that holds the log.

    All methods are thread-safe, except that only one thread at a time may call `write`.
    """

    # the log
    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        """Write a batch in one durable transaction; each proposal completely or not at all."""

    def read(self, stream: str, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Return entries of a stream in order, starting after the given version."""

    def scan(self, stream: str, after: int = 0) -> Iterator[Entry]:
        """Yield all entries of a stream in order of version, in bounded memory."""

    def head(self, stream: str) -> Head:
        """Return the head of a stream, or the empty head if it has no entries."""

    def heads(self) -> dict[str, Head]:
        """Return the heads of all streams at one moment."""

    def streams(self) -> list[str]:
        """Return the sorted names of all streams that have entries or a head."""

    def answer(self, account: str, key: str) -> StoredAnswer | None:
        """Return the answer to an accepted command, or None."""

    def answers(self) -> Iterator[StoredAnswer]:
        """Yield every answer."""

    def game(self, game_hash: str) -> bytes | None:
        """Return the canonical bytes of a game that some round pins."""

    def games(self) -> dict[str, bytes]:
        """Return the canonical bytes of all games by their hash."""

    # derived data, which can be rebuilt from the log
    def snapshot(self, stream: str, name: str) -> Snapshot | None:
        """Return the latest snapshot of a fold over a stream."""

    def snapshots(self) -> Iterator[Snapshot]:
        """Yield every snapshot."""

    def save_snapshot(self, snapshot: Snapshot) -> None:
        """Save a snapshot, replacing the previous one of that stream and name."""

    def project(
        self, view: str, stream: str, after: int, up_to: int, lines: Sequence[ProjectionLine]
    ) -> bool:
        """Add the lines projected from the entries after `after` up to `up_to`.

        Returns False and adds nothing if the view is not at version `after`.
        """

    def projected_version(self, view: str, stream: str) -> int:
        """Return the version of a stream up to which a view is projected."""

    def lines(
        self,
        view: str,
        *,
        subject: str | None = None,
        stream: str | None = None,
        since: int | None = None,
        until: int | None = None,
        limit: int | None = None,
    ) -> list[ProjectionLine]:
        """Return lines of a view in order of time, stream, version and place.

        `since` (inclusive) and `until` (exclusive) bound `at`; `limit` selects the last that many.
        """

    def delete_view(self, view: str) -> None:
        """Delete the lines of a view and its projected versions."""

    def delete_derived_data(self, stream: str | None = None) -> None:
        """Delete snapshots, lines and projected versions, of one stream or of all."""

    # proof
    def add_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Save a checkpoint permanently."""

    def checkpoints(self) -> list[Checkpoint]:
        """Return all checkpoints in order of number."""

    # servers and leases
    def acquire_lease(self, name: str, holder: str, seconds: float) -> bool:
        """Acquire or renew a lease, unless another holder still has it."""

    def release_lease(self, name: str, holder: str) -> None:
        """Release a lease."""

    def recovery_lock(self) -> AbstractContextManager[bool]:
        """Let one server at a time recover; on exit, this server counts as active.

        Yields whether no server is active, in which case unfinished rounds were interrupted. A
        server that dies while it recovers does not count as active, so the next one recovers
        again.
        """

    def is_sole_server(self) -> bool:
        """Return whether no other server has this store open."""

    def suspension_reason(self) -> str:
        """Return why writing is suspended, or an empty string."""

    def suspend(self, reason: str) -> None:
        """Record durably that writing is suspended until a person releases it, and why."""

    def release(self) -> None:
        """Allow writing again after a person has looked into the suspension."""

    # personal data, outside the chain so that it can be erased
    def set_person(self, player: str, data: bytes) -> None:
        """Save or replace the personal data of a player."""

    def person(self, player: str) -> bytes | None:
        """Return the personal data of a player."""

    def erase_person(self, player: str) -> bool:
        """Erase the personal data of a player; return whether there was any."""

    def close(self) -> None:
        """Close the database."""
