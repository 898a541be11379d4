"""Decide a command: the state of a table and a command give events, or a refusal.

Pure: no clock, no I/O, no randomness.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from threedice.errors import InvariantBroken
from threedice.table import betting, chips, irregularities, procedure, settlement  # noqa: F401
from threedice.table.chip_counts import racks  # noqa: F401
from threedice.table.chip_counts.moves import plan_chips
from threedice.table.commands import BetCommand, ReleaseTable, RoundCommand
from threedice.table.equipment import checks, dice_sets, register, trials  # noqa: F401
from threedice.table.rules import HANDLERS, refuse, require_ages, require_round_goes_on

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.rulebook import Game
    from threedice.table.commands import AnyCommand
    from threedice.table.events import AnyEvent
    from threedice.table.state import TableState


def decide(
    game: Game,
    state: TableState,
    command: AnyCommand,
    ages: Mapping[str, int | None] | None = None,
) -> tuple[AnyEvent, ...]:
    """Return the events that a command causes, or raise its refusal; the state is only read.

    `ages` are the ages in years of the people who act, by id; None if they are checked elsewhere.
    """
    decided = decide_amounts(game, state, command, ages)
    return tuple(decided if state.holders is None else plan_chips(game, state, command, decided))


def decide_amounts(
    game: Game,
    state: TableState,
    command: AnyCommand,
    ages: Mapping[str, int | None] | None = None,
) -> list[AnyEvent]:
    """Return the events of a command without the chips that they move, whatever the rack has."""
    if state.open and game.hash != state.game_hash:
        raise InvariantBroken(f"the table was opened on another game or version than {game.id}")
    releases = isinstance(command, ReleaseTable) and state.locked
    if not state.open and not command.facts.while_closed and not releases:
        raise refuse("table/not-open")
    if command.facts.between_rounds and state.round:
        procedure = game.facts.procedure
        raise refuse("table/round-open", procedure, unit=procedure.unit)
    if isinstance(command, BetCommand):
        _require_named_round(game, state, command)
    if isinstance(command, RoundCommand):
        require_round_goes_on(game, state)
    if ages is not None:
        require_ages(game, command, ages)
    return HANDLERS[type(command)](game, state, command)


def _require_named_round(game: Game, state: TableState, command: BetCommand) -> None:
    """Refuse a command that names another round than the one being played."""
    current = state.round.number if state.round else 0
    if command.round is not UNSET and command.round != current:
        unit = game.facts.procedure.unit
        raise refuse("bet/other-round", unit=unit, round=command.round)
