"""Batches of proposals: the bounded queue in front of the writer and the rows that a batch inserts.

The rows that a batch of proposals leaves in a database, and how many are inserted at once.

Proposals that wait for the writer: in order, each with whom to tell.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from threedice.log.conflicts import ACCEPTED
from threedice.log.store import ProposalOutcome, StoredRow, encode_spans

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from threedice.log.entry import Entry, Head
    from threedice.log.store import Proposal, StoredAnswer


@dataclass(frozen=True, slots=True)
class AcceptedRows:
    """What was accepted, table by table."""

    entries: list[Entry] = field(default_factory=list)
    heads: dict[str, Head] = field(default_factory=dict)
    answers: list[StoredRow] = field(default_factory=list)
    games: dict[str, bytes] = field(default_factory=dict)


def collect_accepted_rows(
    proposals: Sequence[Proposal],
    outcomes: Sequence[ProposalOutcome],
    heads: Mapping[str, Head],
    answers: Mapping[tuple[str, str], StoredAnswer],
) -> AcceptedRows:
    """Return all that the accepted proposals leave, from heads and answers as they were judged."""
    batch = AcceptedRows()
    for proposal, outcome in zip(proposals, outcomes, strict=True):
        if outcome is not ACCEPTED:
            continue
        for append in proposal.appends:
            if append.entries:
                batch.entries.extend(append.entries)
                batch.heads[append.stream] = heads[append.stream]
        account, key = used = proposal.account, proposal.key
        spans = encode_spans(answers[used].spans)
        batch.answers.append((account, key, proposal.command_hash, spans))
        if proposal.games:
            batch.games.update(proposal.games)
    return batch


Token = TypeVar("Token")
"""What a caller knows its proposal by, such as the future that it awaits."""


class WriteFuture(Future[ProposalOutcome]):
    """The token of somebody who waits in `write_now`."""


@dataclass(frozen=True, slots=True)
class PendingBatch(Generic[Token]):
    """Proposals that wait or are being written, as they are handed on, and their tokens."""

    proposals: list[Proposal]
    payloads: list[Any]
    tokens: list[Token | WriteFuture]

    def take(self, limit: int) -> PendingBatch[Token]:
        """Return the first of them, which wait no more."""
        first: PendingBatch[Token] = PendingBatch(
            self.proposals[:limit], self.payloads[:limit], self.tokens[:limit]
        )
        del self.proposals[:limit], self.payloads[:limit], self.tokens[:limit]
        return first

    def prepend(self, batch: PendingBatch[Token]) -> None:
        """Have others wait before them."""
        self.proposals[:0] = batch.proposals
        self.payloads[:0] = batch.payloads
        self.tokens[:0] = batch.tokens
