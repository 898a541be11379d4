"""The writer's queue of proposals, and the rows that a batch of them inserts."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from threedice.log.conflicts import ACCEPTED
from threedice.log.store import ProposalOutcome, StoredRow, encode_spans

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from threedice.log.entry import Entry, Head
    from threedice.log.store import Proposal, StoredAnswer


@dataclass(frozen=True, slots=True)
class AcceptedRows:
    """The rows that the accepted proposals of a batch insert, by table."""

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
    """Collect the rows that the accepted proposals insert.

    `heads` and `answers` are those that `resolve_proposals` has updated.
    """
    batch = AcceptedRows()
    for proposal, outcome in zip(proposals, outcomes, strict=True):
        if outcome is not ACCEPTED:
            continue
        for append in proposal.appends:
            if append.entries:
                batch.entries.extend(append.entries)
                batch.heads[append.stream] = heads[append.stream]
        account, key = proposal.account, proposal.key
        spans = encode_spans(answers[account, key].spans)
        batch.answers.append((account, key, proposal.command_hash, spans))
        if proposal.games:
            batch.games.update(proposal.games)
    return batch


Token = TypeVar("Token")
"""How a caller identifies its proposal, such as the future that it awaits."""


class WriteFuture(Future[ProposalOutcome]):
    """The token of a caller that waits in `Writer.write_and_wait`."""
