"""Every store returns the same outcomes as a model in plain dictionaries."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.log.inspection import all_answers, all_games
from tests.log.proposals import propose_appends
from threedice.log.conflicts import head_after
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
    from threedice.log.store import Store

FORGED = Head(1, b"f" * 32)
_rounds = count(1)


class StoreModel:
    """A second implementation of a store: streams, answers and games in dictionaries."""

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


@dataclass(frozen=True)
class ProposalDraft:
    """A proposal before its heads are known."""

    streams: list[str]
    on: str
    entries: int
    account: str
    key: int
    body: bytes
    game: str


DRAFTS = st.builds(
    ProposalDraft,
    streams=st.lists(st.sampled_from("abc"), max_size=3, unique=True),
    on=st.sampled_from(["the head", "the head", "the head", "nothing", "a forgery"]),
    entries=st.integers(0, 3),
    account=st.sampled_from(["ann", "bob"]),
    key=st.integers(1, 12),
    body=st.sampled_from([b"1" * 32, b"2" * 32]),
    game=st.sampled_from(["", "g1", "g2"]),
)
BATCHES = st.lists(st.lists(DRAFTS, max_size=8), min_size=1, max_size=4)


@given(batches=BATCHES)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_store_outcomes_match_the_model(store: Store, batches: list[list[ProposalDraft]]) -> None:
    model, here = StoreModel(), f"round {next(_rounds)} "
    for drafts in batches:
        batch = proposals(model, here, drafts)
        assert store.write(batch) == model.write(batch)
    for stream in (here + name for name in "abc"):
        assert store.read(stream) == model.entries.get(stream, [])
        assert store.head(stream) == model.head(stream)
    assert [stream for stream in store.streams() if stream.startswith(here)] == sorted(
        model.entries
    )
    assert [answer for answer in all_answers(store) if answer.account.startswith(here)] == [
        answer for _, answer in sorted(model.answers.items())
    ]
    assert model.games.items() <= all_games(store).items()


def proposals(model: StoreModel, here: str, drafts: list[ProposalDraft]) -> list[Proposal]:
    """Build a batch of proposals, each on the heads that its predecessors would leave."""
    batch: list[Proposal] = []
    heads = {here + name: model.head(here + name) for name in "abc"}
    for draft in drafts:
        data = [b"%d" % number for number in range(draft.entries)]
        on = {"nothing": EMPTY_HEAD, "a forgery": FORGED}
        appends = {
            here + name: (on.get(draft.on, heads[here + name]), data) for name in draft.streams
        }
        batch.append(
            propose_appends(
                appends,
                account=here + draft.account,
                key=f"{draft.key}",
                command_hash=draft.body,
                games={draft.game: draft.game.encode()} if draft.game else {},
            )
        )
        heads |= {append.stream: head_after(append) for append in batch[-1].appends}
    return batch
