"""The language of cases: the phrase registry, actors, and the ordinary commands of each step.

What the phrases of cases are made of: who acts, how a step ordinarily goes, plain limits.

How a phrase of the language of cases is declared: its words, its pattern, what it does.
"""

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


STAFF_ROLES: Final = tuple(
    role for role in get_args(TableRole) if role not in ("player", "shooter")
)


@dataclass(frozen=True, slots=True)
class CaseContext:
    """What a line can see: the game, and the table as it stands."""

    game: Game
    state: TableState


def actor(name: str, context: CaseContext | None = None) -> Actor:
    """Return who acts: a member of staff by role, the shooter, or a player by name."""
    if name in STAFF_ROLES:
        return Actor(id=name, role=cast("TableRole", name))
    shooter = context.state.shooter if context else None
    return Actor(id=name, role="shooter" if shooter and shooter.player == name else "player")


DEALER, SUPERVISOR = Actor(id="dealer", role="dealer"), Actor(id="supervisor", role="supervisor")


def commands_before(context: CaseContext, step: StepName) -> Iterator[AnyCommand]:
    """Yield the steps before one that have not been taken, as an ordinary round has them."""
    order = context.game.facts.procedure.order
    steps = context.game.facts.procedure.steps
    for each in order[: order.index(step)]:
        done = context.state.round is not None and each in context.state.round.done
        if not done and steps[each].per == "round":
            yield from step_commands(context, each, None)


_SIMPLE_STEP_COMMANDS: Final[dict[StepName, Callable[..., AnyCommand]]] = {
    "open-betting": commands.OpenBetting,
    "close-betting": commands.CloseBetting,
    "uncover": commands.Uncover,
    "illuminate": commands.Illuminate,
    "collect-losers": commands.CollectLosers,
    "pay-winners": commands.PayWinners,
}


def step_commands(
    context: CaseContext, step: StepName, dice: tuple[int, int, int] | None
) -> Iterator[AnyCommand]:
    """Yield the commands for a step as it ordinarily goes."""
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
        case _ if step in _SIMPLE_STEP_COMMANDS:
            yield _SIMPLE_STEP_COMMANDS[step](by=DEALER)


NAME_PATTERN: Final = r"[a-z][a-z0-9-]*"


BOX_PATTERN: Final = r"[a-z][a-z0-9:-]*"


AREA_PATTERN: Final = r"( at (?P<area>\w+))?"


PhraseHandler = Callable[[CaseContext, re.Match[str]], Iterator[Any]]


PHRASES: Final[list[tuple[re.Pattern[str], PhraseHandler, str]]] = []
"""Every phrase: its pattern, what it does, and how it is written."""


class ExpectationFailed(ThreediceError):
    """What a line states about the table is not so."""


def phrase(example: str, pattern: str) -> Callable[[PhraseHandler], PhraseHandler]:
    """Declare a phrase of the language of cases."""

    def declare(lines: PhraseHandler) -> PhraseHandler:
        PHRASES.append((re.compile(pattern), lines, example))
        return lines

    return declare
