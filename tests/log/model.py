"""A model of a store: what it holds after some batches, in plain dictionaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.log.entry import EMPTY_HEAD, Head
from threedice.log.records import (
    Acceptance,
    DuplicateKey,
    EntrySpan,
    HeadConflict,
    ProposalOutcome,
    StoredAnswer,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.log.entry import Entry
    from threedice.log.records import Proposal


class StoreModel:
    """Streams, answers and games, kept by rules written a second time."""

    def __init__(self) -> None:
        self.entries: dict[str, list[Entry]] = {}
        self.answers: dict[tuple[str, str], StoredAnswer] = {}
        self.games: dict[str, bytes] = {}

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        return [self._write_one(proposal) for proposal in proposals]

    def head(self, stream: str) -> Head:
        entries = self.entries.get(stream)
        return Head(entries[-1].version, entries[-1].hash) if entries else EMPTY_HEAD

    def _write_one(self, proposal: Proposal) -> ProposalOutcome:
        account_key = (proposal.account, proposal.key)
        if account_key in self.answers:
            return DuplicateKey(self.answers[account_key])
        for append in proposal.appends:
            if self.head(append.stream) != append.expected:
                return HeadConflict(append.stream, self.head(append.stream))
        spans = []
        for append in proposal.appends:
            if append.entries:
                self.entries.setdefault(append.stream, []).extend(append.entries)
                versions = [entry.version for entry in append.entries]
                spans.append(EntrySpan(append.stream, versions[0], versions[-1]))
        self.answers[account_key] = StoredAnswer(*account_key, proposal.command_hash, tuple(spans))
        self.games = {**proposal.games, **self.games}
        return Acceptance()
