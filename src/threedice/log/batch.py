"""The rows that a batch of proposals leaves in a database, and how many are inserted at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import msgspec

from threedice.log.judging import ACCEPTED
from threedice.log.store import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from threedice.log.entry import Entry, Head
    from threedice.log.store import Answer, Outcome, Proposal

Row = tuple[Any, ...]

ENTRY: Final = "stream, version, at, kind, schema, data, cause, hash"
ANSWER: Final = "account, key, command_hash, spans"

SIZES: Final = (256, 64, 16, 4, 1)
"""How many rows an INSERT has: few sizes, so that each is prepared once."""

encode_spans = msgspec.json.Encoder().encode
decode_spans = msgspec.json.Decoder(tuple[Span, ...]).decode


@dataclass(frozen=True, slots=True)
class Batch:
    """What was accepted, table by table."""

    entries: list[Entry] = field(default_factory=list)
    heads: dict[str, Head] = field(default_factory=dict)
    answers: list[Row] = field(default_factory=list)
    games: dict[str, bytes] = field(default_factory=dict)


def accepted(
    proposals: Sequence[Proposal],
    outcomes: Sequence[Outcome],
    heads: Mapping[str, Head],
    answers: Mapping[tuple[str, str], Answer],
) -> Batch:
    """Return all that the accepted proposals leave, from heads and answers as they were judged."""
    batch = Batch()
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


def insert(
    table: str, columns: str, rows: Sequence[Row], last: str = ""
) -> Iterator[tuple[str, Row]]:
    """Yield statements that insert many rows, as few as there can be, each with its parameters."""
    # Each call of a driver lets other threads run and then waits for its turn: many rows at once
    # are faster by far than one by one when another thread is busy.
    at = 0
    for size in SIZES:
        while len(rows) - at >= size:
            params = tuple(chain.from_iterable(rows[at : at + size]))
            yield f"{_insertion(table, columns, size)} {last}", params
            at += size


@cache
def _insertion(table: str, columns: str, size: int) -> str:
    one = f"({', '.join('?' * (columns.count(',') + 1))})"
    return f"INSERT INTO {table} ({columns}) VALUES {', '.join([one] * size)}"
