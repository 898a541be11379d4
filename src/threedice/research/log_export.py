"""Export a log as three Parquet tables: entries as stored, postings, and statement rows.

Postings and statement rows are computed by the functions that the house and its audit use, so the
sums of the files are those of the log. Needs the extras `research` and `house`.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa

from threedice.house.codec import decode
from threedice.house.reports.projection import StatementProjector, StatementRow
from threedice.house.stream_state import GameRegistry, postings_of
from threedice.log.record_chain import PEOPLE_STREAM
from threedice.research.parquet_files import RowWriter, describe_schema, new_path
from threedice.table.events import RoundStarted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from threedice.house.events import AnyStreamEvent
    from threedice.log.entry import Entry
    from threedice.log.store import Store

_KEYS: Final = (
    ("stream", pa.string(), "the stream: table/ID, cage/PLAYER, house or people"),
    ("version", pa.int64(), "the number of the entry in its stream"),
)
_AT: Final = ("at", pa.timestamp("us", "UTC"), "when the entry was written")
TABLES: Final[dict[str, tuple[tuple[str, Any, str], ...]]] = {
    "entries": (
        *_KEYS,
        _AT,
        ("kind", pa.string(), "the kind of the event"),
        ("schema", pa.int32(), "the version of the event's encoding"),
        ("data", pa.binary(), "the event exactly as stored, JSON; in the stream people, hashes"),
        ("cause", pa.binary(), "the hash of the command that caused the entry"),
        ("hash", pa.binary(), "the hash of the entry, which covers the one before"),
    ),
    "postings": (
        *_KEYS,
        ("place", pa.int32(), "the number of the posting in its entry, from 0"),
        _AT,
        ("kind", pa.string(), "the kind of the event"),
        ("round", pa.int64(), "the round that had last begun at the table, 0 before the first"),
        ("source", pa.string(), "the account that pays"),
        ("destination", pa.string(), "the account that receives"),
        ("amount", pa.int64(), "the amount in minor units"),
        ("player", pa.string(), "the player concerned, or nothing"),
        ("spot", pa.string(), "the spot of the bet, or nothing"),
    ),
    "statements": (
        *_KEYS,
        ("place", pa.int32(), "the number of the row in its entry, from 0"),
        _AT,
        ("subject", pa.string(), "whose row it is: player/PLAYER, or the stream of the table"),
        ("what", pa.string(), "result, won, lost, void, reversed, bought in, ..."),
        ("round", pa.int64(), "the round, or 0"),
        ("amount", pa.int64(), "the house's gain for a table, the player's for a player"),
        ("die1", pa.int8(), "a die of a result, else 0"),
        ("die2", pa.int8(), "a die of a result, else 0"),
        ("die3", pa.int8(), "a die of a result, else 0"),
        ("turnover", pa.int64(), "the stakes of a result"),
        ("theoretical_win", pa.float64(), "the house's expected win of a result"),
        ("variance", pa.float64(), "the variance of that win"),
        ("debt", pa.int64(), "the change of the player's debt"),
        ("note", pa.string(), "the box of a bet, the cause of a void, ..."),
    ),
}
"""The columns of each table of an exported log."""


def export_log(
    store: Store,
    folder: Path,
    streams: Sequence[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, int]:
    """Write streams of a log, by default all, to a new folder; return the rows of each table."""
    names = store.streams() if streams is None else list(streams)
    with new_path(folder) as target, ExitStack() as stack:
        target.mkdir()
        writers = {}
        for name, fields in TABLES.items():
            schema = describe_schema(fields, {"table": name})
            writers[name] = RowWriter(target / f"{name}.parquet", schema)
            stack.callback(writers[name].close)
        load_pinned = GameRegistry(store).load_pinned
        for done, name in enumerate(names):
            if progress:
                progress(done, len(names))
            projector, current_round = StatementProjector(name, load_pinned), 0
            for entry in store.scan(name):
                writers["entries"].add(
                    (entry.stream, entry.version, entry.at, entry.kind, entry.schema, entry.data,
                     entry.cause, entry.hash)
                )  # fmt: skip
                if name == PEOPLE_STREAM:  # hashes of rows, which are no events
                    continue
                event = decode(entry)
                if isinstance(event, RoundStarted):
                    current_round = event.round
                for row in _posting_rows(entry, event, current_round):
                    writers["postings"].add(row)
                for row in _statement_rows(entry, event, projector):
                    writers["statements"].add(row)
    return {name: writer.count for name, writer in writers.items()}


def _posting_rows(
    entry: Entry, event: AnyStreamEvent, current_round: int
) -> Iterator[tuple[Any, ...]]:
    for place, posting in enumerate(postings_of(event)):
        yield (entry.stream, entry.version, place, entry.at, entry.kind, current_round, *posting)


_decode_row: Final = msgspec.json.Decoder(StatementRow).decode


def _statement_rows(
    entry: Entry, event: AnyStreamEvent, projector: StatementProjector
) -> Iterator[tuple[Any, ...]]:
    for line in projector.project(entry, event):
        row = _decode_row(line.data)
        theory, variance = (each[0] / each[1] for each in (row.theory, row.variance))
        yield (
            entry.stream, entry.version, line.place, entry.at, line.subject, row.what, row.round,
            row.amount, *(row.dice or (0, 0, 0)), row.turnover, theory, variance, row.debt,
            row.note,
        )  # fmt: skip
