"""Keeping the projections up with the log, and making them again.

Lines are added up to the last moment at which a stream was between rounds, so that whoever goes on
from there need remember nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.floor.encoding import decode
from threedice.floor.games import Games
from threedice.floor.projections import FORMER_VIEWS, VIEW, Projector
from threedice.floor.running import load
from threedice.log.store import Line

if TYPE_CHECKING:
    from collections.abc import Callable

    from threedice.log.store import Store
    from threedice.rulebook import Game

MOST = 2_000
"""How many lines are added at a time, at most but for one round's."""


def project(store: Store, stream: str, game_of: Callable[[str], Game]) -> int:
    """Add the lines of a stream that are missing; return up to which version they go."""
    projector, reached = Projector(stream, game_of), store.projected(VIEW, stream)
    after, waiting, lines = reached, reached, list[Line]()
    for entry in store.scan(stream, reached):
        lines += projector.lines(entry, decode(entry))
        if projector.between_rounds:
            waiting = entry.version
            if len(lines) >= MOST:
                if not store.project(VIEW, stream, after, waiting, lines):
                    return after  # another server was quicker
                after, lines = waiting, []
    ready = [line for line in lines if line.version <= waiting]
    if waiting > after and store.project(VIEW, stream, after, waiting, ready):
        after = waiting
    return after


def forget_former(store: Store) -> None:
    """Delete lines of forms before; those of this one are made from the log."""
    for view in FORMER_VIEWS:
        store.forget_view(view)


def rebuild(store: Store, progress: Callable[[int, int], None] | None = None) -> int:
    """Forget all that follows from the log, and make it again; return of how many streams."""
    games, streams = Games(store), store.streams()
    store.forget_folds()
    for done, stream in enumerate(streams, 1):
        project(store, stream, games.pinned)
        store.save_snapshot(load(store, stream).kept())
        if progress:
            progress(done, len(streams))
    return len(streams)
