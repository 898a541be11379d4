"""Rebuild statement rows and snapshots from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.house.codec import decode
from threedice.house.live_stream import load_stream
from threedice.house.recovery import isolate_failures
from threedice.house.reports.projection import StatementProjector
from threedice.house.reports.statements import update_statements
from threedice.house.stream_state import GameRegistry
from threedice.log.record_chain import PEOPLE_STREAM

if TYPE_CHECKING:
    from collections.abc import Callable

    from threedice.log.store import Store
    from threedice.rulebook import Game


def rebuild(
    store: Store, progress: Callable[[int, int], None] | None = None
) -> tuple[int, dict[str, str]]:
    """Rebuild statements and snapshots from the log.

    Returns the number of streams rebuilt, and the problem of each damaged stream. Before anything
    is deleted, each stream is projected in a dry run; a damaged stream keeps its existing data.
    """
    games = GameRegistry(store)
    streams = [stream for stream in store.streams() if stream != PEOPLE_STREAM]
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
    load_stream(store, stream, from_snapshot=False).take_snapshot()
    projector = StatementProjector(stream, game_of)
    for entry in store.scan(stream):
        list(projector.project(entry, decode(entry)))
