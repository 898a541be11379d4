"""Which proposals of a batch may be written: one judgement, which every store asks.

A store reads the heads and answers that a batch concerns, has them judged here, and writes what
was accepted. Later proposals of a batch are judged by what earlier ones have left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.errors import InvalidInput, InvariantBroken
from threedice.log.entry import EMPTY_HEAD, Head
from threedice.log.store import Acceptance, DuplicateKey, EntrySpan, HeadConflict, StoredAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.log.store import Append, ProjectionLine, Proposal, ProposalOutcome

MAX_NAME_CHARACTERS = 200
"""Characters in the name of a stream, an account, a key: what an index of either database holds."""

ACCEPTED = Acceptance()


def resolve_proposals(
    proposals: Sequence[Proposal],
    heads: dict[str, Head],
    answers: dict[tuple[str, str], StoredAnswer],
) -> list[ProposalOutcome]:
    """Return what becomes of each proposal; heads and answers are brought to what is then true."""
    outcomes: list[ProposalOutcome] = []
    for proposal in proposals:
        used = (proposal.account, proposal.key)
        if (known := answers.get(used)) is not None:
            outcomes.append(DuplicateKey(known))
        elif (lost := _find_conflict(proposal, heads)) is not None:
            outcomes.append(lost)
        else:
            for append in proposal.appends:
                heads[append.stream] = head_after(append)
            answers[used] = build_answer(proposal)
            outcomes.append(ACCEPTED)
    return outcomes


def head_after(append: Append) -> Head:
    """Return the head of a stream when something has been appended."""
    if not append.entries:
        return append.expected
    last = append.entries[-1]
    return Head(last.version, last.hash)


def build_answer(proposal: Proposal) -> StoredAnswer:
    """Return what is kept of a proposal once it is accepted."""
    spans = [
        EntrySpan(append.stream, append.expected.version + 1, append.entries[-1].version)
        for append in proposal.appends
        if append.entries
    ]
    return StoredAnswer(proposal.account, proposal.key, proposal.command_hash, tuple(spans))


def check_proposal(proposal: Proposal) -> None:
    """Refuse a proposal that no store could keep, whatever has been written before it."""
    appends = proposal.appends
    names = f"{proposal.account}{proposal.key}{appends[0].stream if appends else ''}"
    if len(names) > MAX_NAME_CHARACTERS or not names.isascii() or "\0" in names or len(appends) > 1:
        _check_names(proposal)
    for append in appends:
        version, stream = append.expected.version, append.stream
        for entry in append.entries:
            version += 1
            if entry.version != version or entry.stream != stream:
                raise InvariantBroken(
                    f"{stream}: entry {entry.version} of {entry.stream} cannot follow "
                    f"version {version - 1}"
                )
    if len(appends) > 1 and len({append.stream for append in appends}) != len(appends):
        raise InvariantBroken(f"{proposal.key}: a proposal appends to a stream once")


def _check_names(proposal: Proposal) -> None:
    check_name("account", proposal.account)
    check_name("key", proposal.key)
    for append in proposal.appends:
        check_name("stream", append.stream)


def check_name(label: str, name: str) -> None:
    """Refuse a name that one of the databases could not hold or find again."""
    if (
        len(name) > MAX_NAME_CHARACTERS
        or not (name.isascii() or _is_encodable(name))
        or "\0" in name
    ):
        raise InvalidInput(
            f"{label} {name[:40]!r}: use at most {MAX_NAME_CHARACTERS} characters of Unicode, without NUL"
        )


def check_projection_lines(
    view: str, stream: str, after: int, upto: int, lines: Sequence[ProjectionLine]
) -> None:
    """Refuse lines that do not follow from the entries they are said to follow from."""
    places = {(line.version, line.place) for line in lines}
    own = all(
        line.view == view and line.stream == stream and after < line.version <= upto
        for line in lines
    )
    if not own or len(places) != len(lines) or after > upto:
        raise InvariantBroken(
            f"{view}: lines of {stream} must follow from its entries {after + 1} to {upto}, "
            "each with a place of its own"
        )


def _find_conflict(proposal: Proposal, heads: dict[str, Head]) -> HeadConflict | None:
    for append in proposal.appends:
        head = heads.get(append.stream, EMPTY_HEAD)
        if head != append.expected:
            return HeadConflict(append.stream, head)
    return None


def _is_encodable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
