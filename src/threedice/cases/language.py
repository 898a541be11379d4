"""The language of cases: its registry of phrases, its actors, and the usual steps of a round."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast, get_args

from threedice.errors import ThreediceError
from threedice.rulebook.conduct import TableRole
from threedice.table import commands
from threedice.table.commands import Actor

if TYPE_CHECKING:
    from threedice.rulebook import Game
    from threedice.rulebook.conduct import StepName
    from threedice.table.commands import AnyCommand
    from threedice.table.state import TableState


@dataclass(frozen=True, slots=True)
class CaseContext:
    """The game and the current state of the table, as a line sees them."""

    game: Game
    state: TableState


# --- phrases ------------------------------------------------------------------------------------


NAME_PATTERN: Final = r"[a-z][a-z0-9-]*"
BOX_PATTERN: Final = r"[a-z][a-z0-9:-]*"
AREA_PATTERN: Final = r"( at (?P<area>\w+))?"
PhraseHandler = Callable[[CaseContext, re.Match[str]], Iterator[Any]]

PHRASES: Final[list[tuple[re.Pattern[str], PhraseHandler, str]]] = []
"""Every phrase: its pattern, its handler and an example; the first match wins."""


class ExpectationFailed(ThreediceError):
    """An expectation about the table does not hold."""


def phrase(example: str, pattern: str) -> Callable[[PhraseHandler], PhraseHandler]:
    """Register the decorated handler for lines that match a pattern."""

    def register(handler: PhraseHandler) -> PhraseHandler:
        PHRASES.append((re.compile(pattern), handler, example))
        return handler

    return register


# --- actors and steps ---------------------------------------------------------------------------


STAFF_ROLES: Final = tuple(
    role for role in get_args(TableRole) if role not in ("player", "shooter")
)
DEALER, SUPERVISOR = Actor(id="dealer", role="dealer"), Actor(id="supervisor", role="supervisor")


def actor(name: str, context: CaseContext | None = None) -> Actor:
    """Return the actor of a name: a member of staff by role, the shooter, or a player."""
    if name in STAFF_ROLES:
        return Actor(id=name, role=cast("TableRole", name))
    shooter = context.state.shooter if context else None
    return Actor(id=name, role="shooter" if shooter and shooter.player == name else "player")


def commands_before(context: CaseContext, step: StepName) -> Iterator[AnyCommand]:
    """Yield the usual commands for the pending steps of the round before a step."""
    order = context.game.facts.procedure.order
    steps = context.game.facts.procedure.steps
    for each in order[: order.index(step)]:
        done = context.state.round is not None and each in context.state.round.done
        if not done and steps[each].per == "round":
            yield from step_commands(context, each, None)


def step_commands(
    context: CaseContext, step: StepName, dice: tuple[int, int, int] | None
) -> Iterator[AnyCommand]:
    """Yield the usual commands for a step."""
    shooter = context.state.shooter
    thrower = Actor(id=shooter.player, role="shooter") if shooter and not shooter.absent else DEALER
    at_least = context.game.facts.procedure.steps[step].at_least
    match step:
        case "tumble":
            yield commands.Tumble(by=DEALER, times=at_least)
        case "throw":
            yield commands.Throw(by=thrower)
        case "call-result" if dice:
            yield commands.CallResult(by=DEALER, dice=dice)
        case "enter-result" if dice:
            for key in dice:
                yield commands.PressKey(by=DEALER, key=key)
            yield commands.PressEnter(by=DEALER)
        case _ if step in commands.PLAIN_STEP_COMMANDS:
            yield commands.PLAIN_STEP_COMMANDS[step](by=DEALER)
