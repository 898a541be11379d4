"""What an automatic dealer does next, and when: pure, from the rulebook's procedure.

The order of the steps is the rulebook's; how long people are left is the table's timing. What only
a player may do (the shooter chooses and throws) is waited for, as long as bets are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from threedice.floor.deciding import HOUSE_DEALER
from threedice.floor.events import Timing
from threedice.table import commands as asked
from threedice.table.rules import skipped_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from threedice.floor.folds import Tended
    from threedice.rulebook import Game
    from threedice.rulebook.conduct import StepName
    from threedice.table.commands import AnyCommand
    from threedice.table.state import Shooter, TableState

SECOND: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Act:
    """Something to ask of the table now."""

    command: AnyCommand
    starts_round: bool = False


@dataclass(frozen=True, slots=True)
class Draw:
    """Draw the dice and call them."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do until something happens at the table, or these seconds have passed."""

    seconds: float | None = None


def next_act(game: Game, tended: Tended, elapsed: float) -> Act | Draw | Wait:
    """Return what the dealer of a table does next, so many seconds after its last step."""
    state, timing = tended.table, tended.dealt_by_house
    if not state.open or timing is None or tended.interrupted:
        return Wait()
    if state.round is None and (state.locked or set(game.facts.opening) - state.checks):
        return Wait()
    done = state.round.done if state.round else set(skipped_steps(game, state))
    step = next(each for each in game.facts.procedure.order if each not in done)
    left = _seconds(step, tended, timing) - elapsed
    if step in _BY_PLAYERS:
        return _for_players(game, state, step, left)
    if left > 0:
        return Wait(left)
    if step == "call-result":
        return Draw()
    if step == "offer-dice" or (step == "close-betting" and _must_bet(game, state)):
        return _offered(state)
    return Act(_COMMANDS[step](game, state), state.round is None)


_BY_PLAYERS: Final = ("choose-dice", "throw")

_COMMANDS: Final[dict[StepName, Callable[[Game, TableState], AnyCommand]]] = {
    "open-betting": lambda _game, _state: asked.OpenBetting(by=HOUSE_DEALER),
    "close-betting": lambda _game, _state: asked.CloseBetting(by=HOUSE_DEALER),
    "tumble": lambda game, _state: asked.Tumble(
        by=HOUSE_DEALER, times=game.facts.procedure.steps["tumble"].at_least
    ),
    "uncover": lambda _game, _state: asked.Uncover(by=HOUSE_DEALER),
    "enter-result": lambda _game, state: _entering(state),
    "illuminate": lambda _game, _state: asked.Illuminate(by=HOUSE_DEALER),
    "collect-losers": lambda _game, _state: asked.CollectLosers(by=HOUSE_DEALER),
    "pay-winners": lambda _game, _state: asked.PayWinners(by=HOUSE_DEALER),
}


def _seconds(step: StepName, tended: Tended, timing: Timing) -> float:
    """Return for how many seconds people are left before a step."""
    if step in ("close-betting", *_BY_PLAYERS):
        return timing.betting_seconds
    if step == "collect-losers":
        return timing.showing_seconds
    if step == "call-result" or tended.table.round is None:
        return timing.closing_seconds
    return 0.0


def place(tended: Tended) -> tuple[object, ...]:
    """Return where a table stands in its procedure, whatever people bet and buy meanwhile."""
    current = tended.table.round
    done = (frozenset(current.done), tuple(current.keys)) if current else ()
    return (tended.table.rounds, tended.commitment, tended.stepped_version, done)


def closing_time(tended: Tended) -> int:
    """Return when betting is to be closed, by the log: it leaves the house no choice."""
    timing = tended.dealt_by_house or Timing()
    return tended.betting_since + round(timing.betting_seconds * SECOND)


def closing_key(table: str, number: int) -> str:
    """Return the key under which the house closes betting in a round."""
    return f"{table} round {number} CloseBetting"


def _entering(state: TableState) -> AnyCommand:
    """Return the next key of the terminal: what was called, and then Enter."""
    called, keys = state.current.called or (), state.current.keys
    if len(keys) < len(called):
        return asked.PressKey(by=HOUSE_DEALER, key=called[len(keys)])
    return asked.PressEnter(by=HOUSE_DEALER)


# --- the shooter --------------------------------------------------------------------------------


def _must_bet(game: Game, state: TableState) -> bool:
    """Tell whether betting cannot close because the shooter has not bet."""
    rule = game.facts.shooter
    return rule is not None and rule.must_bet and not (state.shooter and state.shooter.stake)


def _for_players(game: Game, state: TableState, step: StepName, left: float) -> Act | Wait:
    """Wait for a player who chooses or throws; the house goes on without one who does not."""
    shooter = state.shooter
    throws = game.facts.procedure.steps[step].by
    if step == "throw" and ("shooter" not in throws or shooter is None or shooter.absent):
        return Act(asked.Throw(by=HOUSE_DEALER))
    if left > 0 or shooter is None:
        return Wait(left if shooter else None)
    if step == "choose-dice":
        return _offered(state)
    return Act(asked.Report(by=HOUSE_DEALER, irregularity="walked-away", player=shooter.player))


def _offered(state: TableState) -> Act | Wait:
    """Offer the dice to whoever sits next to the last who had them."""
    player = _next_player(list(state.seats), state.shooter)
    if player is None:
        return Wait()
    return Act(asked.OfferDice(by=HOUSE_DEALER, player=player), state.round is None)


def _next_player(players: list[str], shooter: Shooter | None) -> str | None:
    if not players:
        return None
    if shooter is None or shooter.player not in players:
        return players[0]
    return players[(players.index(shooter.player) + 1) % len(players)]
