"""Keep the stored statement rows up to date with the log.

Rows are added up to the last entry at which no part of the current round was settled. The next
update then needs to know only which round that is, and notices and buy-ins in mid-round appear at
once, not at the end of the round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from threedice.errors import TamperedData
from threedice.house.codec import decode, tag_of
from threedice.house.events import TableEstablished
from threedice.house.recovery import isolate_failures
from threedice.house.reports.projection import (
    FORMER_VIEWS,
    VIEW,
    StatementProjector,
)
from threedice.house.stream_state import GameRegistry, HouseTable, fold_of
from threedice.house.streams import LiveStream, load_stream
from threedice.log.entry import EMPTY_HEAD
from threedice.log.store import ProjectionLine
from threedice.table import events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from threedice.log.entry import Entry
    from threedice.log.store import Store
    from threedice.rulebook import Game


MAX_ROWS_PER_UPDATE = 2_000
"""How many rows one store call adds; the rows of one round are never split."""


LOOKBACK_ENTRIES = 100
"""How many entries one read covers when searching backwards for the current round."""


_KINDS_BETWEEN_ROUNDS: Final = frozenset(
    tag_of(kind)
    for kind in (
        TableEstablished,
        events.TableOpened,
        events.WinnersPaid,
        events.RoundVoided,
        events.TableClosed,
    )
)
"""Kinds of entries after which no round is in progress."""


def update_statements(store: Store, stream: str, game_of: Callable[[str], Game]) -> int:
    """Add the missing statement rows of a stream; return the version they now reach."""
    projector, stored = StatementProjector(stream, game_of), store.projected_version(VIEW, stream)
    if started := _find_round_at(store, stream, stored):
        projector.resume_round(started)
    resumable, lines = stored, list[ProjectionLine]()
    for entry in store.scan(stream, stored):
        lines += projector.project(entry, decode(entry))
        if projector.is_between_rounds or (lines and projector.is_resumable):
            resumable = entry.version
            if len(lines) >= MAX_ROWS_PER_UPDATE:
                if not store.project(VIEW, stream, stored, resumable, lines):
                    return stored  # another server was faster
                stored, lines = resumable, []
    ready = [line for line in lines if line.version <= resumable]
    if resumable > stored and store.project(VIEW, stream, stored, resumable, ready):
        stored = resumable
    return stored


def _find_round_at(store: Store, stream: str, version: int) -> events.RoundStarted | None:
    """Return the start of the round in progress at a version; None between rounds."""
    while version > 0 and fold_of(stream).state_type is HouseTable:
        after = max(version - LOOKBACK_ENTRIES, 0)
        for entry in reversed(store.read(stream, after, version - after)):
            if entry.kind == tag_of(events.RoundStarted):
                return cast("events.RoundStarted", decode(entry))
            if entry.kind in _KINDS_BETWEEN_ROUNDS:
                return None
        version = after
    return None


def delete_former_views(store: Store) -> None:
    """Delete the rows of earlier forms of the view."""
    for view in FORMER_VIEWS:
        store.delete_view(view)


def rebuild(
    store: Store, progress: Callable[[int, int], None] | None = None
) -> tuple[int, dict[str, str]]:
    """Rebuild statements and snapshots from the log.

    Returns the number of streams rebuilt, and the problem of each damaged stream. Before anything
    is deleted, each stream is projected in a dry run; a damaged stream keeps its existing data.
    """
    games, streams = GameRegistry(store), store.streams()
    damaged: dict[str, str] = {}
    for stream in streams:
        with isolate_failures(stream, damaged):
            _dry_run(store, stream, games.load_pinned)
    sound = [stream for stream in streams if stream not in damaged]
    if not damaged:
        store.delete_derived_data()  # also data of streams that no longer exist
    for done, stream in enumerate(sound, 1):
        store.delete_derived_data(stream)
        update_statements(store, stream, games.load_pinned)
        store.save_snapshot(load_stream(store, stream).take_snapshot())
        if progress:
            progress(done, len(sound))
    return len(sound), damaged


def _dry_run(store: Store, stream: str, game_of: Callable[[str], Game]) -> None:
    """Fold and project all entries of a stream without storing anything; raise if it is damaged."""
    fold, head, projector = fold_of(stream), store.head(stream), StatementProjector(stream, game_of)
    live_stream = LiveStream(stream, fold, fold.state_type(), EMPTY_HEAD, 0, 0)

    def projected_entries() -> Iterator[Entry]:
        for entry in store.scan(stream):
            list(projector.project(entry, decode(entry)))
            yield entry

    live_stream.catch_up(projected_entries())
    live_stream.take_snapshot()
    last_version = live_stream.durable_head.version
    if last_version < head.version:
        raise TamperedData(
            f"head of {stream}", f"is version {head.version}, its entries end at {last_version}"
        )
