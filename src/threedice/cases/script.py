"""What the phrases of cases are made of: who acts, how a step ordinarily goes, plain limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast, get_args

from threedice.rulebook.conduct import Role
from threedice.table import commands as asked
from threedice.table.commands import Actor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from threedice.rulebook import Game
    from threedice.rulebook.conduct import StepName
    from threedice.table.commands import AnyCommand
    from threedice.table.state import TableState

STAFF: Final = tuple(role for role in get_args(Role) if role not in ("player", "shooter"))


@dataclass(frozen=True, slots=True)
class Scene:
    """What a line can see: the game, and the table as it stands."""

    game: Game
    state: TableState


def actor(name: str, scene: Scene | None = None) -> Actor:
    """Return who acts: a member of staff by role, the shooter, or a player by name."""
    if name in STAFF:
        return Actor(id=name, role=cast("Role", name))
    shooter = scene.state.shooter if scene else None
    return Actor(id=name, role="shooter" if shooter and shooter.player == name else "player")


DEALER, SUPERVISOR = Actor(id="dealer", role="dealer"), Actor(id="supervisor", role="supervisor")


def before(scene: Scene, step: StepName) -> Iterator[AnyCommand]:
    """Yield the steps before one that have not been taken, as an ordinary round has them."""
    order = scene.game.facts.procedure.order
    steps = scene.game.facts.procedure.steps
    for each in order[: order.index(step)]:
        done = scene.state.round is not None and each in scene.state.round.done
        if not done and steps[each].per == "round":
            yield from step_commands(scene, each, None)


_PLAIN_STEPS: Final[dict[StepName, Callable[..., AnyCommand]]] = {
    "open-betting": asked.OpenBetting,
    "close-betting": asked.CloseBetting,
    "uncover": asked.Uncover,
    "illuminate": asked.Illuminate,
    "collect-losers": asked.CollectLosers,
    "pay-winners": asked.PayWinners,
}


def step_commands(
    scene: Scene, step: StepName, dice: tuple[int, int, int] | None
) -> Iterator[AnyCommand]:
    """Yield the commands for a step as it ordinarily goes."""
    shooter = scene.state.shooter
    thrower = Actor(id=shooter.player, role="shooter") if shooter and not shooter.absent else DEALER
    at_least = scene.game.facts.procedure.steps[step].at_least
    match step:
        case "tumble":
            yield asked.Tumble(by=DEALER, times=at_least)
        case "throw":
            yield asked.Throw(by=thrower)
        case "call-result" if dice:
            yield asked.CallResult(by=DEALER, dice=dice)
        case "enter-result" if dice:
            for key in dice:
                yield asked.PressKey(by=DEALER, key=key)
            yield asked.PressEnter(by=DEALER)
        case _ if step in _PLAIN_STEPS:
            yield _PLAIN_STEPS[step](by=DEALER)
