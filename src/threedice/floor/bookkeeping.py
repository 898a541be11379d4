"""Keeping the projections up with the log, and making them again.

Lines are added up to the last moment at which nothing of a round had been settled, so that whoever
goes on from there need know only which round it is: what happens beside the bets, such as a notice
or chips that are bought, is told at once, and not when the round ends.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, cast

from threedice.errors import OperatingFailure, Tampered
from threedice.floor.encoding import decode
from threedice.floor.events import TableEstablished
from threedice.floor.folds import Tended, fold_of
from threedice.floor.games import Games
from threedice.floor.projections import FORMER_VIEWS, VIEW, Projector
from threedice.floor.running import Running, load
from threedice.log.entry import EMPTY
from threedice.log.store import Line
from threedice.table import events as happened
from threedice.tags import tag_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from threedice.log.entry import Entry
    from threedice.log.store import Store
    from threedice.rulebook import Game

MOST = 2_000
"""How many lines are added at a time, at most but for one round's."""

LOOKED_BACK = 100
"""How many entries are read at a time to find the round being played."""

_NO_ROUND: Final = frozenset(
    tag_of(kind)
    for kind in (
        TableEstablished,
        happened.TableOpened,
        happened.WinnersPaid,
        happened.RoundVoided,
        happened.TableClosed,
    )
)
"""Kinds of entries after which no round is being played."""


def project(store: Store, stream: str, game_of: Callable[[str], Game]) -> int:
    """Add the lines of a stream that are missing; return up to which version they go."""
    projector, reached = Projector(stream, game_of), store.projected(VIEW, stream)
    if started := _round_at(store, stream, reached):
        projector.recall(started)
    after, waiting, lines = reached, reached, list[Line]()
    for entry in store.scan(stream, reached):
        lines += projector.lines(entry, decode(entry))
        if projector.between_rounds or (lines and projector.at_rest):
            waiting = entry.version
            if len(lines) >= MOST:
                if not store.project(VIEW, stream, after, waiting, lines):
                    return after  # another server was quicker
                after, lines = waiting, []
    ready = [line for line in lines if line.version <= waiting]
    if waiting > after and store.project(VIEW, stream, after, waiting, ready):
        after = waiting
    return after


def _round_at(store: Store, stream: str, version: int) -> happened.RoundStarted | None:
    """Return how the round began that was being played at a version, if one was."""
    while version > 0 and fold_of(stream).kind is Tended:
        before = max(version - LOOKED_BACK, 0)
        for entry in reversed(store.read(stream, before, version - before)):
            if entry.kind == tag_of(happened.RoundStarted):
                return cast("happened.RoundStarted", decode(entry))
            if entry.kind in _NO_ROUND:
                return None
        version = before
    return None


@contextmanager
def apart(stream: str, behind: dict[str, str]) -> Iterator[None]:
    """Note what is wrong with one stream by its name, so that others need not wait for it.

    What is wrong with the store, or with the machine, they meet as well: that is raised.
    """
    try:
        yield
    except (OperatingFailure, OSError):
        raise
    except Exception as damage:  # of whatever kind: what is stored may have been changed anyhow
        words = str(damage) or type(damage).__name__
        behind[stream] = words if words.startswith(stream) else f"{stream}: {words}"


def forget_former(store: Store) -> None:
    """Delete lines of forms before; those of this one are made from the log."""
    for view in FORMER_VIEWS:
        store.forget_view(view)


def rebuild(
    store: Store, progress: Callable[[int, int], None] | None = None
) -> tuple[int, dict[str, str]]:
    """Make all that follows from the log again; return of how many streams, and what stopped it.

    A stream that is damaged keeps what it has, and is named with the reason: what follows from a
    stream is deleted only once all of it could be made.
    """
    games, streams = Games(store), store.streams()
    damaged: dict[str, str] = {}
    for stream in streams:
        with apart(stream, damaged):
            _make(store, stream, games.pinned)
    sound = [stream for stream in streams if stream not in damaged]
    if not damaged:
        store.forget_folds()  # also what belongs to no stream
    for done, stream in enumerate(sound, 1):
        store.forget_folds(stream)
        project(store, stream, games.pinned)
        store.save_snapshot(load(store, stream).kept())
        if progress:
            progress(done, len(sound))
    return len(sound), damaged


def _make(store: Store, stream: str, game_of: Callable[[str], Game]) -> None:
    """Make everything of a stream from its first entry on, and keep none of it."""
    fold, head, projector = fold_of(stream), store.head(stream), Projector(stream, game_of)
    running = Running(stream, fold, fold.kind(), EMPTY, 0, 0)

    def projected() -> Iterator[Entry]:
        for entry in store.scan(stream):
            list(projector.lines(entry, decode(entry)))
            yield entry

    running.catch_up(projected())
    running.kept()
    if running.durable_head.version < head.version:
        here = running.durable_head.version
        raise Tampered(f"head of {stream}", f"is version {head.version}, its entries end at {here}")
