"""Forecast the settlement of the current round, on a copy of the table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec

from threedice.money import MAX_AMOUNT
from threedice.table import commands
from threedice.table.commands import Actor
from threedice.table.decide import decide_amounts
from threedice.table.evolve import evolve
from threedice.table.rules import steps_before
from threedice.table.state import TableState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from threedice.rulebook import Game
    from threedice.rulebook.conduct import StepName
    from threedice.table.events import AnyEvent

_STATE_ENCODER: Final = msgspec.msgpack.Encoder()
_STATE_DECODER: Final = msgspec.msgpack.Decoder(TableState)


def forecast_settlement(game: Game, state: TableState) -> Iterator[AnyEvent]:
    """Yield the events of collecting and paying; the round must have a called result.

    Earlier steps are taken as done and the float as sufficient: payouts are owed even if it is not,
    and whatever chips the rack has.
    """
    copy = _copy(replace(state, float_amount=MAX_AMOUNT, settled={}, reversed=set()))
    if "collect-losers" not in copy.current.done:
        for event in _decide_step(game, copy, "collect-losers"):
            yield event
            evolve(copy, event)
    yield from _decide_step(game, copy, "pay-winners")


def state_after(state: TableState, events: Iterable[AnyEvent]) -> TableState:
    """Return the state after events, and leave the given one unchanged."""
    copy = _copy(state)
    for event in events:
        evolve(copy, event)
    return copy


def _copy(state: TableState) -> TableState:
    return _STATE_DECODER.decode(_STATE_ENCODER.encode(state))


def _decide_step(game: Game, state: TableState, step: StepName) -> list[AnyEvent]:
    state.current.done.update(steps_before(game, state, step))
    by = Actor(id="", role=game.facts.procedure.steps[step].by[0])
    return decide_amounts(game, state, commands.PLAIN_STEP_COMMANDS[step](by=by))
