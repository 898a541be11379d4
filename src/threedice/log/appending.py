"""A batch of proposals in one transaction of PostgreSQL: two exchanges with the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from threedice.log.batch import ANSWER, ENTRY, Batch, accepted, decode_spans
from threedice.log.entry import Head
from threedice.log.judging import ACCEPTED, answer_to, judge
from threedice.log.store import Answer, Known

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from threedice.log.deadline import Connection, Row
    from threedice.log.store import Outcome, Proposal

CHANNEL: Final = "threedice_streams"
"""Where those who listen hear `<stream> <version>` of every stream that has grown."""


def append_batch(
    connection: Connection, proposals: Sequence[Proposal], sent: set[int]
) -> list[Outcome]:
    """Write a batch; what was sent before on a connection then lost, and is stored, is accepted.

    `sent` holds the places of such proposals in the batch, and is told those that are sent now.
    """
    heads, answers = _look_up(connection, proposals)
    outcomes = judge(proposals, heads, answers)
    batch = accepted(proposals, outcomes, heads, answers)
    now = {at for at, outcome in enumerate(outcomes) if outcome is ACCEPTED}
    if sent:
        outcomes = _recognise(connection, proposals, outcomes, sent)
    if now:
        sent |= now
        _append(connection, batch)
    else:
        connection.execute("ROLLBACK")
    return outcomes


# Every array is one parameter, whatever the batch; `%b` sends it as it is, without quoting.
_ADD_STREAMS: Final = (
    "INSERT INTO streams (stream, version, hash)"
    " SELECT stream, 0, decode(repeat('00', 32), 'hex') FROM unnest(%b::text[]) AS new(stream)"
    " ON CONFLICT DO NOTHING"
)
_LOCK_STREAMS: Final = (
    "SELECT stream, version, hash FROM streams WHERE stream = ANY(%b::text[])"
    " ORDER BY stream FOR UPDATE"
)
_FIND_ANSWERS: Final = (
    f"SELECT {ANSWER} FROM unnest(%b::text[], %b::text[]) AS used(account, key)"
    " JOIN answers USING (account, key)"
)


def _look_up(
    connection: Connection, proposals: Sequence[Proposal]
) -> tuple[dict[str, Head], dict[tuple[str, str], Answer]]:
    """Lock the streams of a batch, and return their heads and the answers to its keys."""
    # sorted: whoever locks several streams locks them in the same order, so that nobody waits
    # for somebody who waits for him
    streams = sorted({append.stream for proposal in proposals for append in proposal.appends})
    accounts = [proposal.account for proposal in proposals]
    keys = [proposal.key for proposal in proposals]
    with connection.pipeline():
        connection.execute("BEGIN")
        locked = connection.execute(_LOCK_STREAMS, (streams,), binary=True)
        # a statement of its own: it sees what was committed while we waited for the locks
        answers = connection.execute(_FIND_ANSWERS, (accounts, keys), binary=True)
    heads = {stream: Head(version, digest) for stream, version, digest in locked}
    if missing := [stream for stream in streams if stream not in heads]:
        with connection.pipeline():
            connection.execute(_ADD_STREAMS, (missing,))
            locked = connection.execute(_LOCK_STREAMS, (missing,), binary=True)
            answers = connection.execute(_FIND_ANSWERS, (accounts, keys), binary=True)
        heads |= {stream: Head(version, digest) for stream, version, digest in locked}
    return heads, {
        (account, key): Answer(account, key, said, decode_spans(spans))
        for account, key, said, spans in answers
    }


# One statement for all tables: each call of the driver is a turn of the threads.
_APPEND: Final = f"""
WITH
new_entries AS (
    INSERT INTO entries ({ENTRY}) SELECT * FROM unnest(%b::text[], %b::bigint[], %b::bigint[],
        %b::text[], %b::integer[], %b::bytea[], %b::bytea[], %b::bytea[])),
new_answers AS (
    INSERT INTO answers ({ANSWER})
    SELECT * FROM unnest(%b::text[], %b::text[], %b::bytea[], %b::bytea[])),
new_games AS (
    INSERT INTO games (hash, canonical) SELECT * FROM unnest(%b::text[], %b::bytea[])
    ON CONFLICT DO NOTHING),
new_heads AS (
    UPDATE streams SET version = head.version, hash = head.hash
    FROM unnest(%b::text[], %b::bigint[], %b::bytea[]) AS head(stream, version, hash)
    WHERE streams.stream = head.stream RETURNING head.stream, head.version)
SELECT count(pg_notify('{CHANNEL}', stream || ' ' || version)) FROM new_heads
"""


def _append(connection: Connection, batch: Batch) -> None:
    heads = [(stream, head.version, head.hash) for stream, head in batch.heads.items()]
    columns = (
        *_columns(8, map(msgspec.structs.astuple, batch.entries)),
        *_columns(4, batch.answers),
        *_columns(2, sorted(batch.games.items())),
        *_columns(3, heads),
    )
    with connection.pipeline():
        connection.execute(_APPEND, columns)
        connection.execute("COMMIT")


def _columns(width: int, rows: Iterable[Row]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(width)]


_FIND_HASHES: Final = (
    "SELECT stream, version, hash FROM unnest(%b::text[], %b::bigint[]) AS last(stream, version)"
    " JOIN entries USING (stream, version)"
)


def _recognise(
    connection: Connection,
    proposals: Sequence[Proposal],
    outcomes: Sequence[Outcome],
    sent: set[int],
) -> list[Outcome]:
    """Tell apart what we wrote before the connection was lost from what others wrote."""
    lasts = {}
    for at in sent:
        outcome, proposal = outcomes[at], proposals[at]
        if isinstance(outcome, Known) and outcome.answer == answer_to(proposal):
            # the last hash of each stream stands for all entries before it
            ends = [append.entries[-1] for append in proposal.appends if append.entries]
            lasts[at] = {(entry.stream, entry.version): entry.hash for entry in ends}
    places = [place for last in lasts.values() for place in last]
    found = connection.execute(_FIND_HASHES, _columns(2, places), binary=True)
    stored = {(stream, version): digest for stream, version, digest in found}
    recognised = list(outcomes)
    for at, last in lasts.items():
        if last.items() <= stored.items():
            recognised[at] = ACCEPTED
    return recognised
