"""The usual commands of a round without incidents, step by step as the rulebook orders them.

Cases and tables in memory play with them. The steps in which a player takes part (the choice of
dice by the shooter, for instance) have no usual command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from threedice.table import commands
from threedice.table.commands import Actor
from threedice.table.rules import remaining_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.dice import Roll
    from threedice.rulebook import Game
    from threedice.rulebook.conduct import StepName
    from threedice.table.commands import AnyCommand
    from threedice.table.state import TableState

DEALER: Final = Actor(id="dealer", role="dealer")
SUPERVISOR: Final = Actor(id="supervisor", role="supervisor")
ADULT_YEARS: Final = 30
"""The age of people whose age is not stated."""


def commands_before(
    game: Game, state: TableState, step: StepName, by: Actor = DEALER
) -> Iterator[AnyCommand]:
    """Yield the usual commands for the pending steps of the round before a step."""
    procedure = game.facts.procedure
    for each in procedure.order[: procedure.order.index(step)]:
        done = state.round is not None and each in state.round.done
        if not done and procedure.steps[each].per == "round":
            yield from step_commands(game, state, each, None, by)


def rest_of_round(
    game: Game, state: TableState, dice: Roll, by: Actor = DEALER
) -> Iterator[AnyCommand]:
    """Yield the usual commands for the remaining steps of a round in which the dice fall so."""
    for step in remaining_steps(game, state):
        yield from step_commands(game, state, step, dice, by)


def step_commands(
    game: Game, state: TableState, step: StepName, dice: Roll | None, by: Actor = DEALER
) -> Iterator[AnyCommand]:
    """Yield the usual commands for a step."""
    shooter = state.shooter
    thrower = Actor(id=shooter.player, role="shooter") if shooter and not shooter.absent else by
    at_least = game.facts.procedure.steps[step].at_least
    match step:
        case "tumble":
            yield commands.Tumble(by=by, times=at_least)
        case "throw":
            yield commands.Throw(by=thrower)
        case "call-result" if dice:
            yield commands.CallResult(by=by, dice=dice)
        case "enter-result" if dice:
            for key in dice:
                yield commands.PressKey(by=by, key=key)
            yield commands.PressEnter(by=by)
        case "illuminate":
            correct = sorted(state.current.result or ()) == sorted(state.current.called or ())
            yield commands.Illuminate(by=by, correct=correct)
        case _ if step in commands.PLAIN_STEP_COMMANDS:
            yield commands.PLAIN_STEP_COMMANDS[step](by=by)
