"""Decide which proposals of a batch are accepted, and which rows they insert; for every store.

A store reads the heads and answers that a batch concerns, resolves the batch here, and writes the
accepted proposals. Later proposals of a batch see the effect of earlier ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from threedice.errors import InvalidInput, InvariantBroken
from threedice.log.entry import EMPTY_HEAD, Head
from threedice.log.records import (
    Acceptance,
    DuplicateKey,
    EntrySpan,
    HeadConflict,
    StoredAnswer,
    encode_spans,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.log.entry import Entry
    from threedice.log.records import (
        Append,
        ProjectionLine,
        Proposal,
        ProposalOutcome,
        StoredRow,
    )

MAX_NAME_CHARACTERS = 200
"""Longest name of a stream, account or key that both databases can index."""

ACCEPTED = Acceptance()


@dataclass(frozen=True, slots=True)
class ResolvedBatch:
    """The outcome of each proposal of a batch, and the rows that the accepted ones insert."""

    outcomes: list[ProposalOutcome] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    heads: dict[str, Head] = field(default_factory=dict)
    answers: list[StoredRow] = field(default_factory=list)
    games: dict[str, bytes] = field(default_factory=dict)


def resolve_batch(
    proposals: Sequence[Proposal],
    heads: dict[str, Head],
    answers: dict[tuple[str, str], StoredAnswer],
) -> ResolvedBatch:
    """Resolve a batch, given the stored heads and answers, which are updated to match."""
    batch = ResolvedBatch()
    for proposal in proposals:
        account_key = (proposal.account, proposal.key)
        if (answer := answers.get(account_key)) is not None:
            batch.outcomes.append(DuplicateKey(answer))
        elif (conflict := _find_conflict(proposal, heads)) is not None:
            batch.outcomes.append(conflict)
        else:
            batch.outcomes.append(ACCEPTED)
            answers[account_key] = answer = build_answer(proposal)
            batch.answers.append(
                (*account_key, answer.command_hash, encode_spans(answer.spans), answer.refusal)
            )
            for append in proposal.appends:
                if append.entries:
                    heads[append.stream] = batch.heads[append.stream] = head_after(append)
                    batch.entries.extend(append.entries)
            batch.heads.update(proposal.accepted)
            batch.games.update(proposal.games)
    return batch


def concerned_streams(proposals: Sequence[Proposal]) -> set[str]:
    """Return the streams whose heads must be the expected ones."""
    streams = {append.stream for proposal in proposals for append in proposal.appends}
    for proposal in proposals:
        if proposal.accepted:
            streams.update(proposal.accepted)
    return streams


def _find_conflict(proposal: Proposal, heads: dict[str, Head]) -> HeadConflict | None:
    for append in proposal.appends:
        head = heads.get(append.stream, EMPTY_HEAD)
        if head != append.expected:
            return HeadConflict(append.stream, head)
    for stream, expected in proposal.accepted.items():
        if (head := heads.get(stream, EMPTY_HEAD)) != expected:
            return HeadConflict(stream, head)
    return None


def head_after(append: Append) -> Head:
    """Return the head of a stream after an append."""
    if not append.entries:
        return append.expected
    last = append.entries[-1]
    return Head(last.version, last.hash)


def build_answer(proposal: Proposal) -> StoredAnswer:
    """Return the answer to store for an accepted proposal."""
    spans = [
        EntrySpan(append.stream, append.expected.version + 1, head_after(append).version)
        for append in proposal.appends
        if append.entries or proposal.refusal
    ]
    return StoredAnswer(
        proposal.account, proposal.key, proposal.command_hash, tuple(spans), proposal.refusal
    )


def check_proposals(proposals: Sequence[Proposal]) -> None:
    """Refuse a batch with a proposal that no store can hold."""
    for proposal in proposals:
        check_proposal(proposal)


def check_proposal(proposal: Proposal) -> None:
    """Refuse a proposal that no store can hold, whatever the log contains."""
    _check_name("account", proposal.account)
    _check_name("key", proposal.key)
    for append in proposal.appends:
        version, stream = append.expected.version, append.stream
        _check_name("stream", stream)
        if append.entries and proposal.refusal:
            raise InvariantBroken(f"{proposal.key}: a refused command appends nothing to {stream}")
        for entry in append.entries:
            version += 1
            if entry.version != version or entry.stream != stream:
                raise InvariantBroken(
                    f"{stream}: entry {entry.version} of {entry.stream} cannot follow "
                    f"version {version - 1}"
                )
    if len({append.stream for append in proposal.appends}) != len(proposal.appends):
        raise InvariantBroken(f"{proposal.key}: a proposal may append to a stream only once")


def _check_name(label: str, name: str) -> None:
    """Refuse a name that one of the databases cannot store or look up."""
    is_valid = len(name) <= MAX_NAME_CHARACTERS and "\0" not in name
    if not is_valid or not (name.isascii() or _is_encodable(name)):
        raise InvalidInput(
            f"{label} {name[:40]!r}: use at most {MAX_NAME_CHARACTERS} characters of valid Unicode,"
            " without NUL"
        )


def _is_encodable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_projection_lines(
    view: str, stream: str, after: int, last: int, lines: Sequence[ProjectionLine]
) -> None:
    """Refuse lines that do not come from the entries they are projected from."""
    places = {(line.version, line.place) for line in lines}
    within_span = all(
        line.view == view and line.stream == stream and after < line.version <= last
        for line in lines
    )
    if not within_span or len(places) != len(lines) or after > last:
        raise InvariantBroken(
            f"{view}: lines of {stream} must come from its entries {after + 1} to {last}, "
            "each with its own place"
        )
