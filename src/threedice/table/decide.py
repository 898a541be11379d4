"""Decide a command: the state of a table and a command give events, or a refusal.

Pure: no clock, no I/O, no randomness.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.errors import InvariantBroken
from threedice.table import betting, chips, irregularities, procedure, settlement  # noqa: F401
from threedice.table.commands import OpenTable
from threedice.table.rules import HANDLERS, refuse

if TYPE_CHECKING:
    from threedice.rulebook import Game
    from threedice.table.commands import AnyCommand
    from threedice.table.events import AnyEvent
    from threedice.table.state import TableState


def decide(game: Game, state: TableState, command: AnyCommand) -> tuple[AnyEvent, ...]:
    """Return the events that a command causes, or raise its refusal; the state is only read."""
    if state.open and game.hash != state.game_hash:
        raise InvariantBroken(f"the table was opened on another game or version than {game.id}")
    if not state.open and not isinstance(command, OpenTable):
        raise refuse("table/not-open")
    return tuple(HANDLERS[type(command)](game, state, command))
