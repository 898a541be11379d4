"""What is found in a store after a fault, held against what was acknowledged before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import astuple

from tests.log.inspection import all_answers, all_games
from threedice.log.entry import EMPTY_HEAD, Head, hash_entry
from threedice.log.records import EntrySpan, StoredAnswer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from threedice.log.entry import Entry
    from threedice.log.records import Checkpoint, Proposal
    from threedice.log.store import Store


class Written(NamedTuple):
    """What was acknowledged before a fault, and what was being written at it."""

    acknowledged: Sequence[Proposal]
    checkpoints: Sequence[Checkpoint]
    in_flight: Sequence[Proposal] = ()


class Found(NamedTuple):
    """What the comparison found; what is not right stands in `problems`, in words."""

    present: int = 0
    absent: int = 0
    lost: int = 0
    damaged: bool = False
    unfit: bool = False
    problems: Sequence[str] = ()


def compare(store: Store, written: Written) -> Found:
    """Hold a store against what was acknowledged, and what was being written at the fault."""
    acknowledged, in_flight = written.acknowledged, written.in_flight
    streams = {stream: list(store.scan(stream)) for stream in store.streams()}
    answers = {(each.account, each.key): each for each in all_answers(store)}
    games = all_games(store)
    problems = [*_broken_chains(streams, store.heads())]
    lost = [each for each in acknowledged if not _is_there(each, streams, answers, games)]
    problems += [f"acknowledged, but not there as a whole: {each.key}" for each in lost]
    present = [each for each in in_flight if _is_there(each, streams, answers, games)]
    absent = [each for each in in_flight if _is_absent(each, streams, answers)]
    if len(present) + len(absent) != len(in_flight):
        problems.append("a proposal in flight is there in part")
    if present and absent:
        problems.append("a batch in flight is there in part")
    if not set(written.checkpoints) <= set(store.checkpoints()):
        problems.append("an acknowledged checkpoint is not there")
    if not lost:
        problems += _beyond([*acknowledged, *present], streams, answers)
    return Found(len(present), len(absent), len(lost), problems=problems)


def _is_there(
    proposal: Proposal,
    streams: dict[str, list[Entry]],
    answers: dict[tuple[str, str], StoredAnswer],
    games: dict[str, bytes],
) -> bool:
    """Return whether a proposal is there entry for entry, with its answer and its games."""
    spans = tuple(
        EntrySpan(each.stream, each.entries[0].version, each.entries[-1].version)
        for each in proposal.appends
    )
    answer = StoredAnswer(proposal.account, proposal.key, proposal.command_hash, spans)
    return (
        answers.get((proposal.account, proposal.key)) == answer
        and all(
            streams.get(span.stream, [])[span.first - 1 : span.last] == list(append.entries)
            for span, append in zip(spans, proposal.appends, strict=True)
        )
        and all(games.get(name) == game for name, game in proposal.games.items())
    )


def _is_absent(
    proposal: Proposal,
    streams: dict[str, list[Entry]],
    answers: dict[tuple[str, str], StoredAnswer],
) -> bool:
    return (proposal.account, proposal.key) not in answers and all(
        len(streams.get(append.stream, [])) <= append.expected.version
        for append in proposal.appends
    )


def _broken_chains(streams: dict[str, list[Entry]], heads: dict[str, Head]) -> Iterable[str]:
    for stream, entries in streams.items():
        head = EMPTY_HEAD
        for entry in entries:
            _, version, at, kind, schema, data, cause, hashed = astuple(entry)
            if version != head.version + 1:
                yield f"{stream}: version {version} follows {head.version}"
            if hashed != hash_entry(head.hash, stream, version, at, kind, schema, data, cause):
                yield f"{stream}: the hash of version {version} is not that of its columns"
            head = Head(version, hashed)
        if heads.get(stream, EMPTY_HEAD) != head:
            yield f"{stream}: its head is not its last entry"


def _beyond(
    proposals: Sequence[Proposal],
    streams: dict[str, list[Entry]],
    answers: dict[tuple[str, str], StoredAnswer],
) -> Iterable[str]:
    """Yield what is there beside the proposals that should be."""
    entries = sum(len(append.entries) for each in proposals for append in each.appends)
    if entries != sum(map(len, streams.values())):
        yield "there are entries that no proposal accounts for"
    if len(answers) != len(proposals):
        yield "there are answers to no proposal"
