"""The Store protocol, and the types that are written to and read from a store.

What a store of the log promises; `memory`, `sqlite` and `postgres` keep it.

A batch of proposals is written in one transaction, and each is accepted or not by itself. Whatever
`write` has returned as accepted is durable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from threedice.log.entry import Entry, Head

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from threedice.log.writer_process import WriterProcess


# --- what is proposed ---------------------------------------------------------------------------


class Append(msgspec.Struct, frozen=True, gc=False):
    """Entries that follow a stream's head, if that is still what it was taken to be."""

    stream: str
    expected: Head
    entries: tuple[Entry, ...]


class Proposal(msgspec.Struct, frozen=True, gc=False):
    """What one command appends, to all its streams or to none."""

    account: str
    key: str
    command_hash: bytes
    appends: tuple[Append, ...]
    games: Mapping[str, bytes] = {}


# --- and what becomes of it ---------------------------------------------------------------------


class EntrySpan(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The entries of a stream that a command caused, first and last."""

    stream: str
    first: int
    last: int


class StoredAnswer(msgspec.Struct, frozen=True, gc=False):
    """What is kept for ever of an accepted command: whose key, what it said, what it appended."""

    account: str
    key: str
    command_hash: bytes
    spans: tuple[EntrySpan, ...]


class Acceptance(msgspec.Struct, frozen=True, gc=False):
    """The proposal is written."""


class HeadConflict(msgspec.Struct, frozen=True, gc=False):
    """A stream's head was not what the proposal took it to be; nothing of it is written."""

    stream: str
    head: Head


class DuplicateKey(msgspec.Struct, frozen=True, gc=False):
    """The key has been used before, by the same command or, where the hashes differ, another."""

    answer: StoredAnswer


ProposalOutcome = Acceptance | HeadConflict | DuplicateKey


# --- what is kept beside the streams ------------------------------------------------------------


class Snapshot(msgspec.Struct, frozen=True, gc=False):
    """A fold over a stream up to a head, kept so that it need not be made from the beginning."""

    stream: str
    name: str
    form: str
    head: Head
    data: bytes


class Checkpoint(msgspec.Struct, frozen=True, gc=False):
    """The heads of all streams at a time, signed; `body` is exactly what was signed."""

    number: int
    body: bytes
    key_id: str
    signature: bytes


class ProjectionLine(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A line of a projection; `subject` is whom it concerns, `data` what it says.

    Lines are told apart by stream, version and place within the entry they follow from.
    """

    view: str
    subject: str
    stream: str
    version: int
    place: int
    at: int
    data: bytes


class Store(Protocol):
    """A place for the log. All methods may be called from any thread; `write` by one at a time."""

    @property
    def writer_process(self) -> WriterProcess | None:
        """The process that writes for a store in service, where it has one."""

    # the log itself
    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        """Write a batch in one durable transaction; each proposal as a whole or not at all."""

    def read(self, stream: str, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Return entries of a stream in order, from the version after the one given."""

    def scan(self, stream: str, after: int = 0) -> Iterator[Entry]:
        """Yield all entries of a stream in the order of their versions, without holding many."""

    def head(self, stream: str) -> Head:
        """Return the head of a stream, that of an empty one where there is none."""

    def heads(self) -> dict[str, Head]:
        """Return the heads of all streams, as one moment saw them."""

    def streams(self) -> list[str]:
        """Return the names of all streams for which there are entries or a head, sorted."""

    def answer(self, account: str, key: str) -> StoredAnswer | None:
        """Return what became of a command, or nothing where it was never accepted."""

    def answers(self) -> Iterator[StoredAnswer]:
        """Yield every answer."""

    def game(self, game_hash: str) -> bytes | None:
        """Return the canonical bytes of a game that some round pins."""

    def games(self) -> dict[str, bytes]:
        """Return the canonical bytes of all games, by their hash."""

    # folds over it, all of which can be made again
    def snapshot(self, stream: str, name: str) -> Snapshot | None:
        """Return the latest snapshot of a fold over a stream."""

    def snapshots(self) -> Iterator[Snapshot]:
        """Yield every snapshot."""

    def save_snapshot(self, snapshot: Snapshot) -> None:
        """Keep a snapshot instead of the one of that stream and name before it."""

    def project(
        self, view: str, stream: str, after: int, upto: int, lines: Sequence[ProjectionLine]
    ) -> bool:
        """Add the lines that follow from entries after one version up to another.

        Returns whether it did: not, where the view has come to another version than `after`.
        """

    def projected_version(self, view: str, stream: str) -> int:
        """Return up to which version of a stream a view has come."""

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
        """Return lines of a view in the order of time, stream, version and place.

        `since` and `until` bound `at` (the latter excluded); with `most`, the last that many.
        """

    def delete_view(self, view: str) -> None:
        """Delete the lines of a view, and how far it has come."""

    def delete_derived_data(self, stream: str | None = None) -> None:
        """Delete snapshots, lines and how far views have come, of all streams or of one."""

    # what proves it
    def add_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint for ever."""

    def checkpoints(self) -> list[Checkpoint]:
        """Return all checkpoints by number."""

    # who is at work
    def acquire_lease(self, name: str, holder: str, seconds: float) -> bool:
        """Take or renew a lease, unless another holds it still."""

    def release_lease(self, name: str, holder: str) -> None:
        """Give a lease up."""

    def recovery_lock(self) -> AbstractContextManager[bool]:
        """Come back while no other server does; from the end of it on, this one plays.

        Tells whether nobody plays: then rounds that were left unfinished were broken off. Whoever
        dies meanwhile does not play, and the next finds nobody again.
        """

    def is_sole_server(self) -> bool:
        """Tell whether no other server has this store open."""

    def suspension_reason(self) -> str:
        """Return why nothing may be written, or nothing."""

    def suspend(self, reason: str) -> None:
        """Note durably that nothing may be written until a person has looked, and why."""

    def release(self) -> None:
        """Let writing go on after a person has looked."""

    # personal data, outside the chain so that it can be erased
    def set_person(self, player: str, data: bytes) -> None:
        """Keep or replace what is known of a person."""

    def person(self, player: str) -> bytes | None:
        """Return what is known of a person."""

    def erase_person(self, player: str) -> bool:
        """Forget a person; tells whether there was anything to forget."""

    def close(self) -> None:
        """Let go of the database."""


StoredRow = tuple[Any, ...]


encode_spans = msgspec.json.Encoder().encode


decode_spans = msgspec.json.Decoder(tuple[EntrySpan, ...]).decode
