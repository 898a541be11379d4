"""A player's bets of a round, explained from the log alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from threedice.floor.encoding import decode
from threedice.floor.events import FloorEvent
from threedice.floor.folds import table_stream
from threedice.table.events import RoundStarted
from threedice.table.explain import LATER, explain_all
from threedice.tags import tag_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from threedice.log.store import Store
    from threedice.money import Say
    from threedice.rulebook import Game
    from threedice.table.events import AnyEvent, Spot

_STARTED: Final = tag_of(RoundStarted)
_LATER: Final = frozenset(tag_of(each) for each in LATER)


def bets_explained(
    store: Store,
    game_of: Callable[[str], Game],
    table: str,
    number: int,
    player: str,
    say: Say = str,
) -> dict[Spot, list[str]] | None:
    """Return what became of each bet of a player in a round; nothing where there was no round."""
    for entry in store.scan(table_stream(table)):
        if entry.kind == _STARTED:
            event = decode(entry)
            if isinstance(event, RoundStarted) and event.round == number:
                history = _history(store, table, number)
                return explain_all(game_of(event.game_hash), history, number, player, say)
    return None


def _history(store: Store, table: str, number: int) -> Iterator[AnyEvent]:
    """Yield all that happened until a round was over, and what was done about it later."""
    over = False
    for entry in store.scan(table_stream(table)):
        if over and entry.kind not in _LATER:
            continue
        event = decode(entry)
        if isinstance(event, RoundStarted) and event.round > number:
            over = True
        elif not isinstance(event, FloorEvent):
            yield cast("AnyEvent", event)
