"""Which proposals of a batch may be written: one judgement, which every store asks.

A store reads the heads and answers that a batch concerns, has them judged here, and writes what
was accepted. Later proposals of a batch are judged by what earlier ones have left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.errors import InvalidInput, InvariantBroken
from threedice.log.entry import EMPTY, Head
from threedice.log.store import Accepted, Answer, Conflict, Known, Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.log.store import Append, Line, Outcome, Proposal

LONGEST_NAME = 200
"""Characters in the name of a stream, an account, a key: what an index of either database holds."""

ACCEPTED = Accepted()


def judge(
    proposals: Sequence[Proposal],
    heads: dict[str, Head],
    answers: dict[tuple[str, str], Answer],
) -> list[Outcome]:
    """Return what becomes of each proposal; heads and answers are brought to what is then true."""
    outcomes: list[Outcome] = []
    for proposal in proposals:
        used = (proposal.account, proposal.key)
        if (known := answers.get(used)) is not None:
            outcomes.append(Known(known))
        elif (lost := _lost(proposal, heads)) is not None:
            outcomes.append(lost)
        else:
            for append in proposal.appends:
                heads[append.stream] = after(append)
            answers[used] = answer_to(proposal)
            outcomes.append(ACCEPTED)
    return outcomes


def after(append: Append) -> Head:
    """Return the head of a stream when something has been appended."""
    if not append.entries:
        return append.expected
    last = append.entries[-1]
    return Head(last.version, last.hash)


def answer_to(proposal: Proposal) -> Answer:
    """Return what is kept of a proposal once it is accepted."""
    spans = [
        Span(append.stream, append.expected.version + 1, append.entries[-1].version)
        for append in proposal.appends
        if append.entries
    ]
    return Answer(proposal.account, proposal.key, proposal.command_hash, tuple(spans))


def check_proposal(proposal: Proposal) -> None:
    """Refuse a proposal that no store could keep, whatever has been written before it."""
    appends = proposal.appends
    names = f"{proposal.account}{proposal.key}{appends[0].stream if appends else ''}"
    if len(names) > LONGEST_NAME or not names.isascii() or "\0" in names or len(appends) > 1:
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


def check_name(what: str, name: str) -> None:
    """Refuse a name that one of the databases could not hold or find again."""
    if len(name) > LONGEST_NAME or not (name.isascii() or _encodes(name)) or "\0" in name:
        raise InvalidInput(
            f"{what} {name[:40]!r}: use at most {LONGEST_NAME} characters of Unicode, without NUL"
        )


def check_lines(view: str, stream: str, after: int, upto: int, lines: Sequence[Line]) -> None:
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


def _lost(proposal: Proposal, heads: dict[str, Head]) -> Conflict | None:
    for append in proposal.appends:
        head = heads.get(append.stream, EMPTY)
        if head != append.expected:
            return Conflict(append.stream, head)
    return None


def _encodes(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
