"""Handle the procedure of a table: opening, the steps of a round up to the result, and closing.

Also sets limits and releases a table after a malfunction.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from threedice.errors import InvalidInput, UnknownName
from threedice.facts import SUPERVISORS
from threedice.table import commands, events
from threedice.table.chips import require_chip_multiple
from threedice.table.limits import TableLimits, check_chips, check_limits, limits_in_force
from threedice.table.rejections import find_rejections
from threedice.table.rules import (
    clauses_of,
    handles,
    optional_second_person,
    refuse,
    require_irregularity,
    require_permission,
    require_role,
    require_seat,
    require_second_person,
    require_step,
    require_step_role,
    skipped_steps,
)
from threedice.table.settlement import void_by_rule, void_round

if TYPE_CHECKING:
    from threedice.rulebook import Game
    from threedice.rulebook.conduct import Irregularity, IrregularityName
    from threedice.table.commands import Actor
    from threedice.table.events import AnyEvent
    from threedice.table.state import Round, TableState


@handles(commands.OpenTable)
def open_table(game: Game, state: TableState, command: commands.OpenTable) -> list[AnyEvent]:
    """Open a table on a game."""
    if state.open:
        raise refuse("table/already-open")
    require_permission(game, command.by, "open-table", command.facts.roles)
    if state.currency not in ("", command.currency):
        raise refuse("table/currency", currency=state.currency)
    _require_limits(game, command.chips, command.limits)
    require_chip_multiple(command.float_amount, command.chips[0], minimum=0)
    second = optional_second_person(command, game.facts.limits)
    return [
        events.TableOpened(
            table=command.table,
            game=game.id,
            game_hash=game.hash,
            currency=command.currency,
            mode=command.mode,
            chips=command.chips,
            float_amount=command.float_amount,
            limits=command.limits,
            by=command.by,
            approved_by=second,
        )
    ]


@handles(commands.PassCheck)
def pass_check(game: Game, _state: TableState, command: commands.PassCheck) -> list[AnyEvent]:
    """Record an opening check, made by a role that the rulebook names."""
    checks = game.facts.opening
    if command.check not in checks:
        raise refuse("table/unknown-check", check=command.check, checks=", ".join(checks) or "none")
    check = checks[command.check]
    require_role(command.by, check.by, check)
    return [events.CheckPassed(check=command.check, by=command.by)]


@handles(commands.SetLimits)
def set_limits(game: Game, state: TableState, command: commands.SetLimits) -> list[AnyEvent]:
    """Set new limits, to apply from the next opening of betting."""
    require_role(command.by, command.facts.roles)
    second = require_second_person(command.by, command.approved_by, SUPERVISORS, game.facts.limits)
    _require_limits(game, state.chips, command.limits)
    return [events.LimitsSet(limits=command.limits, by=command.by, approved_by=second)]


def _require_limits(game: Game, chips: list[int], limits: TableLimits) -> None:
    """Refuse chips and limits that do not fit each other and the game."""
    try:
        check_chips(chips)
        check_limits(limits, game, chips)
    except (InvalidInput, UnknownName) as error:
        raise refuse("limits/wrong", game.facts.limits, problem=str(error)) from None


@handles(commands.CloseTable)
def close_table(game: Game, state: TableState, command: commands.CloseTable) -> list[AnyEvent]:
    """Close the table: void a round without a result, and let all players take their chips."""
    require_role(command.by, command.facts.roles)
    second = optional_second_person(command)
    current, procedure = state.round, game.facts.procedure
    if current and current.is_established:
        raise refuse("table/round-open", procedure, unit=procedure.unit)
    voided: list[AnyEvent] = []
    if current or state.standing or (state.shooter and state.shooter.stake):
        cause = "the table closes"
        voided = void_round(game, state, cause, "returned", command.by, include_shooter_bet=True)
    carried_away = [(player, seat.stack + seat.at_risk) for player, seat in state.seats.items()]
    return [
        *voided,
        events.TableClosed(
            carried_away=carried_away,
            float_amount=state.float_amount,
            drop=state.drop,
            by=command.by,
            approved_by=second,
        ),
    ]


@handles(commands.ReleaseTable)
def release_table(game: Game, state: TableState, command: commands.ReleaseTable) -> list[AnyEvent]:
    """Unlock the table after a malfunction."""
    require_permission(game, command.by, "release-table", command.facts.roles)
    if not state.locked:
        raise refuse("table/not-locked")
    if not command.reason.strip():
        raise refuse("reason/missing")
    return [events.TableReleased(reason=command.reason, by=command.by)]


# --- the round ----------------------------------------------------------------------------------


def start_round(game: Game, state: TableState) -> list[AnyEvent]:
    """Return the start of a round, or nothing if one is being played.

    Refuse it at a locked table and while opening checks are missing.
    """
    if state.round is not None:
        return []
    unit = game.facts.procedure.unit
    if state.locked:
        names = ("equipment-malfunction", state.locked)
        rules = [rule for name, rule in game.facts.irregularities.items() if name in names]
        clauses = tuple(dict.fromkeys(clauses_of(*rules)))
        raise refuse("table/locked", clauses, unit=unit, cause=state.locked)
    missing = [check for check in game.facts.opening if check not in state.checks]
    if missing:
        first = game.facts.opening[missing[0]]
        raise refuse("table/checks-missing", first, checks=", ".join(missing))
    skipped = skipped_steps(game, state)
    return [events.RoundStarted(round=state.rounds + 1, game_hash=game.hash, skipped=skipped)]


@handles(commands.OpenBetting)
def open_betting(game: Game, state: TableState, command: commands.OpenBetting) -> list[AnyEvent]:
    """Announce that bets may be placed; limits set since the last round take effect."""
    require_step(game, state, command)
    limits = state.next_limits or limits_in_force(state)
    return [*start_round(game, state), events.BettingOpened(limits=limits, by=command.by)]


@handles(commands.CloseBetting)
def close_betting(game: Game, state: TableState, command: commands.CloseBetting) -> list[AnyEvent]:
    """Announce that no more bets may be placed.

    An electronic table now rejects what exceeds a differential.
    """
    require_step(game, state, command)
    rule, shooter = game.facts.shooter, state.shooter
    if rule and rule.must_bet and (shooter is None or not shooter.stake):
        raise refuse("shooter/must-bet", rule)
    closed = events.BettingClosed(by=command.by)
    if state.mode == "record" or game.facts.limits.differential is None:
        return [closed]
    return [*find_rejections(game, state, state.current.bets), closed]


@handles(commands.Tumble)
def tumble(game: Game, state: TableState, command: commands.Tumble) -> list[AnyEvent]:
    """Tumble the dice; too few tumbles void the round, as may tumbling before the close."""
    if command.times < 1:
        raise refuse("dice/count", game.facts.procedure.steps.get("tumble"))
    early = _void_if_early(game, state, "tumbled-before-close", command)
    if early:
        return early
    step = require_step(game, state, command)
    tumbled = events.DiceTumbled(times=command.times, by=command.by)
    too_few = command.times < step.at_least
    void = void_by_rule(game, state, "too-few-tumbles", command.by) if too_few else []
    return [*start_round(game, state), tumbled, *void]


def _void_if_early(
    game: Game,
    state: TableState,
    irregularity: IrregularityName,
    command: commands.Tumble | commands.Uncover,
) -> list[AnyEvent]:
    """Return the voiding of a round by a step taken too early, where the rulebook has that rule."""
    rule = game.facts.irregularities.get(irregularity)
    current = state.round
    if rule is None or current is None or "close-betting" in current.done:
        return []
    require_step_role(game, command.step, command.by)
    return void_by_rule(game, state, irregularity, command.by)


@handles(commands.Throw)
def throw(game: Game, state: TableState, command: commands.Throw) -> list[AnyEvent]:
    """Throw the dice; others may throw for a shooter only if the shooter is absent."""
    require_step(game, state, command)
    shooter = state.shooter
    if command.by.role == "shooter":
        _require_shooter(game, state, command.by)
    elif shooter and not shooter.absent:
        raise refuse("shooter/only", game.facts.shooter)
    return [events.StepTaken(step="throw", by=command.by)]


@handles(commands.Uncover)
def uncover(game: Game, state: TableState, command: commands.Uncover) -> list[AnyEvent]:
    """Lift the cover; exposing the dice before betting is closed may void the round."""
    if state.round and "tumble" in state.round.done:
        early = _void_if_early(game, state, "exposed-before-close", command)
        if early:
            return early
    require_step(game, state, command)
    return [events.StepTaken(step="uncover", by=command.by)]


# --- the shooter --------------------------------------------------------------------------------


@handles(commands.OfferDice)
def offer_dice(game: Game, state: TableState, command: commands.OfferDice) -> list[AnyEvent]:
    """Offer a player the dice; they may be offered to another until the shooter has bet."""
    may_repeat = state.round is not None and "close-betting" not in state.round.done
    require_step(game, state, command, may_repeat=may_repeat)
    require_seat(game, state, command.player)
    return [*start_round(game, state), events.DiceOffered(player=command.player)]


@handles(commands.ChooseDice)
def choose_dice(game: Game, state: TableState, command: commands.ChooseDice) -> list[AnyEvent]:
    """Choose the dice of a series from the dice offered."""
    step = require_step(game, state, command)
    _require_shooter(game, state, command.by)
    rule = game.facts.shooter
    offered, chosen = (rule.dice_offered, rule.dice_chosen) if rule else (3, 3)
    different = set(command.dice)
    if (
        len(command.dice) != chosen
        or len(different) != chosen
        or not different <= set(range(1, offered + 1))
    ):
        raise refuse("shooter/choose", step, chosen=chosen, offered=offered)
    return [events.DiceChosen(player=command.by.id, dice=command.dice)]


def _require_shooter(game: Game, state: TableState, by: Actor) -> None:
    if state.shooter is None or state.shooter.player != by.id:
        raise refuse("shooter/not-offered", game.facts.shooter, player=by.id)


# --- the result ---------------------------------------------------------------------------------


@handles(commands.CallResult)
def call_result(game: Game, state: TableState, command: commands.CallResult) -> list[AnyEvent]:
    """Call what the dice show; the call is the result if the procedure enters none."""
    require_step(game, state, command)
    dice, by = command.dice, command.by
    _require_dice(game, state.current, dice)
    called = events.ResultCalled(dice=dice, call=game.call(dice), by=by)
    if "enter-result" in game.facts.procedure.steps:
        return [called]
    return [called, events.ResultEntered(dice=dice, by=by)]


@handles(commands.PressKey)
def press_key(game: Game, state: TableState, command: commands.PressKey) -> list[AnyEvent]:
    """Press a key of the terminal, which remembers the last three."""
    step = require_step(game, state, command)
    if command.key not in range(1, 7):
        raise refuse("dice/face", step, key=command.key)
    return [events.KeyPressed(key=command.key)]


@handles(commands.PressEnter)
def press_enter(game: Game, state: TableState, command: commands.PressEnter) -> list[AnyEvent]:
    """Enter the last three keys as the result."""
    step = require_step(game, state, command)
    keys = state.current.keys
    if len(keys) < 3:
        raise refuse("dice/too-few", step)
    return [events.ResultEntered(dice=(keys[0], keys[1], keys[2]), by=command.by)]


@handles(commands.AmendResult)
def amend_result(game: Game, state: TableState, command: commands.AmendResult) -> list[AnyEvent]:
    """Amend a wrongly entered result under supervision, until settlement begins."""
    rule = require_irregularity(game, "wrong-entry")
    require_role(command.by, rule.by, rule)
    second = require_second_person(command.by, command.approved_by, rule.supervised_by, rule)
    current = state.round
    if current is None or current.result is None:
        raise refuse("dice/not-called", rule)
    if "collect-losers" in current.done:
        raise refuse("dice/settled", rule)
    _require_dice(game, current, command.dice, rule)
    if sorted(command.dice) == sorted(current.result) == sorted(current.called or ()):
        raise refuse("dice/same", rule, dice=game.call(command.dice))
    return [events.ResultAmended(dice=command.dice, by=command.by, approved_by=second)]


@handles(commands.Illuminate)
def illuminate(game: Game, state: TableState, command: commands.Illuminate) -> list[AnyEvent]:
    """Light the winning areas; a failure changes no payment, but may lock the table."""
    require_step(game, state, command)
    current = state.current
    if current.result is None or sorted(current.result) != sorted(current.called or ()):
        entered = game.call(current.result) if current.result else "nothing"
        called = game.call(current.called) if current.called else "nothing"
        rule = game.facts.irregularities.get("wrong-entry")
        raise refuse("dice/unequal", rule, entered=entered, called=called)
    boxes = list(game.winning(current.result))
    lit = events.AreasLit(boxes=boxes, correct=command.correct)
    failure = game.facts.irregularities.get("illumination-failed")
    if not command.correct and failure and failure.locks_table:
        return [lit, events.TableLocked(cause="illumination-failed")]
    return [lit]


def _require_dice(
    game: Game, current: Round, dice: tuple[int, int, int], rule: Irregularity | None = None
) -> None:
    """Refuse dice that no terminal has keys for, or that contradict those already known."""
    for face in dice:
        if face not in range(1, 7):
            raise refuse("dice/face", key=face)
    if Counter(current.known) - Counter(dice):
        known = ", ".join(game.faces.name(face) for face in current.known)
        raise refuse("dice/known", rule, known=known)
