"""Handle the procedure of a table: opening, the steps of a round up to the result, and closing.

Also sets limits and releases a table after a malfunction.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from threedice.errors import InvalidInput, UnknownName
from threedice.facts import SUPERVISORS
from threedice.rulebook.conduct import clause_numbers
from threedice.table import commands
from threedice.table import events as table_events
from threedice.table.betting import rejection_events
from threedice.table.chips import require_chip_multiple
from threedice.table.limits import TableLimits, check_chips, check_limits, limits_in_force
from threedice.table.rules import (
    handles,
    refuse,
    require_permission,
    require_role,
    require_second_person,
    require_step,
    require_step_role,
    skipped_steps,
)
from threedice.table.settlement import bets_after_void, void_round

if TYPE_CHECKING:
    from threedice.rulebook import Game
    from threedice.rulebook.conduct import IrregularityName, StepName
    from threedice.table.commands import Actor
    from threedice.table.events import AnyEvent
    from threedice.table.state import TableState


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
    return [
        table_events.TableOpened(
            table=command.table,
            game=game.id,
            game_hash=game.hash,
            currency=command.currency,
            mode=command.mode,
            chips=command.chips,
            float_amount=command.float_amount,
            limits=command.limits,
            by=command.by,
        )
    ]


@handles(commands.PassCheck)
def pass_check(game: Game, _state: TableState, command: commands.PassCheck) -> list[AnyEvent]:
    """Record an opening check, made by a role that the rulebook names."""
    checks = game.facts.opening
    if command.check not in checks:
        raise refuse("table/unknown-check", check=command.check, checks=", ".join(checks) or "none")
    check = checks[command.check]
    require_role(command.by, check.by, check.clause)
    return [table_events.CheckPassed(check=command.check, by=command.by)]


@handles(commands.SetLimits)
def set_limits(game: Game, state: TableState, command: commands.SetLimits) -> list[AnyEvent]:
    """Set new limits, to apply from the next opening of betting."""
    require_role(command.by, command.facts.roles)
    second = require_second_person(
        command.by, command.approved_by, SUPERVISORS, game.facts.limits.clause
    )
    _require_limits(game, state.chips, command.limits)
    return [table_events.LimitsSet(limits=command.limits, by=command.by, approved_by=second)]


def _require_limits(game: Game, chips: list[int], limits: TableLimits) -> None:
    """Refuse chips and limits that do not fit each other and the game."""
    try:
        check_chips(chips)
        check_limits(limits, game, chips)
    except (InvalidInput, UnknownName) as error:
        raise refuse("limits/wrong", game.facts.limits.clause, problem=str(error)) from None


@handles(commands.CloseTable)
def close_table(game: Game, state: TableState, command: commands.CloseTable) -> list[AnyEvent]:
    """Close the table: void a round without a result, and let all players take their chips."""
    require_role(command.by, command.facts.roles)
    current = state.round
    if current and current.is_established:
        unit = game.facts.procedure.unit
        raise refuse("table/round-open", game.facts.procedure.clause, unit=unit)
    events: list[AnyEvent] = []
    if current or state.standing or (state.shooter and state.shooter.stake):
        events += void_round(
            game, state, "the table closes", "returned", command.by, include_shooter_bet=True
        )
    carried_away = [(player, seat.stack + seat.at_risk) for player, seat in state.seats.items()]
    return [
        *events,
        table_events.TableClosed(
            carried_away=carried_away,
            float_amount=state.float_amount,
            drop=state.drop,
            by=command.by,
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
    return [table_events.TableReleased(reason=command.reason, by=command.by)]


# --- the round ----------------------------------------------------------------------------------


def start_round(game: Game, state: TableState) -> list[AnyEvent]:
    """Return the start of a round, or nothing if one is being played.

    Refuse it at a locked table and while opening checks are missing.
    """
    if state.round is not None:
        return []
    unit = game.facts.procedure.unit
    if state.locked:
        citations = [
            clause_numbers(rule.clause)
            for name, rule in game.facts.irregularities.items()
            if name in ("equipment-malfunction", state.locked)
        ]
        clauses = tuple(dict.fromkeys(number for each in citations for number in each))
        raise refuse("table/locked", clauses, unit=unit, cause=state.locked)
    missing = [check for check in game.facts.opening if check not in state.checks]
    if missing:
        clause = game.facts.opening[missing[0]].clause
        raise refuse("table/checks-missing", clause, checks=", ".join(missing))
    skipped = skipped_steps(game, state)
    return [table_events.RoundStarted(round=state.rounds + 1, game_hash=game.hash, skipped=skipped)]


@handles(commands.OpenBetting)
def open_betting(game: Game, state: TableState, command: commands.OpenBetting) -> list[AnyEvent]:
    """Announce that bets may be placed; limits set since the last round take effect."""
    require_step(game, state, command)
    limits = state.next_limits or limits_in_force(state)
    return [*start_round(game, state), table_events.BettingOpened(limits=limits, by=command.by)]


@handles(commands.CloseBetting)
def close_betting(game: Game, state: TableState, command: commands.CloseBetting) -> list[AnyEvent]:
    """Announce that no more bets may be placed.

    An electronic table now rejects what exceeds a differential.
    """
    require_step(game, state, command)
    rule, shooter = game.facts.shooter, state.shooter
    if rule and rule.must_bet and (shooter is None or not shooter.stake):
        raise refuse("shooter/must-bet", rule.clause)
    rejections = _differential_rejections(game, state) if state.mode == "refuse" else []
    return [*rejections, table_events.BettingClosed(by=command.by)]


def _differential_rejections(game: Game, state: TableState) -> list[AnyEvent]:
    """Return the rejections that bring every pair of boxes within its differential."""
    if game.facts.limits.differential is None:
        return []
    return rejection_events(game, state, list(state.current.bets))


@handles(commands.Tumble)
def tumble(game: Game, state: TableState, command: commands.Tumble) -> list[AnyEvent]:
    """Tumble the dice; too few tumbles void the round, as may tumbling before the close."""
    if command.times < 1:
        steps = game.facts.procedure.steps
        raise refuse("dice/count", steps["tumble"].clause if "tumble" in steps else ())
    early = _void_if_early(game, state, "tumbled-before-close", command.by, "tumble")
    if early:
        return early
    step = require_step(game, state, command)
    events = [
        *start_round(game, state),
        table_events.DiceTumbled(times=command.times, by=command.by),
    ]
    if command.times < step.at_least:
        events += _void(game, state, "too-few-tumbles", command.by)
    return events


def _void_if_early(
    game: Game, state: TableState, irregularity: IrregularityName, by: Actor, step: StepName
) -> list[AnyEvent]:
    """Return the voiding of a round by a step taken too early, where the rulebook has that rule."""
    rule = game.facts.irregularities.get(irregularity)
    current = state.round
    if rule is None or current is None or "close-betting" in current.done:
        return []
    require_step_role(game, step, by)
    return _void(game, state, irregularity, by)


def _void(
    game: Game, state: TableState, irregularity: IrregularityName, by: Actor
) -> list[AnyEvent]:
    """Return the voiding of the round for an irregularity."""
    bets = bets_after_void(game, game.facts.irregularities.get(irregularity))
    return void_round(game, state, irregularity, bets, by)


@handles(commands.Throw)
def throw(game: Game, state: TableState, command: commands.Throw) -> list[AnyEvent]:
    """Throw the dice; others may throw for a shooter only if the shooter is absent."""
    require_step(game, state, command)
    shooter = state.shooter
    if command.by.role == "shooter":
        _require_shooter(game, state, command.by)
    elif shooter and not shooter.absent:
        rule = game.facts.shooter
        raise refuse("shooter/only", rule.clause if rule else ())
    return [table_events.StepTaken(step="throw", by=command.by)]


@handles(commands.Uncover)
def uncover(game: Game, state: TableState, command: commands.Uncover) -> list[AnyEvent]:
    """Lift the cover; exposing the dice before betting is closed may void the round."""
    if state.round and "tumble" in state.round.done:
        early = _void_if_early(game, state, "exposed-before-close", command.by, "uncover")
        if early:
            return early
    require_step(game, state, command)
    return [table_events.StepTaken(step="uncover", by=command.by)]


# --- the shooter --------------------------------------------------------------------------------


@handles(commands.OfferDice)
def offer_dice(game: Game, state: TableState, command: commands.OfferDice) -> list[AnyEvent]:
    """Offer a player the dice; they may be offered to another until the shooter has bet."""
    may_repeat = state.round is not None and "close-betting" not in state.round.done
    require_step(game, state, command, may_repeat=may_repeat)
    if command.player not in state.seats:
        raise refuse("player/unknown", game.facts.chips.clause, player=command.player)
    return [*start_round(game, state), table_events.DiceOffered(player=command.player)]


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
        raise refuse("shooter/choose", step.clause, chosen=chosen, offered=offered)
    return [table_events.DiceChosen(player=command.by.id, dice=command.dice)]


def _require_shooter(game: Game, state: TableState, by: Actor) -> None:
    rule = game.facts.shooter
    if state.shooter is None or state.shooter.player != by.id:
        raise refuse("shooter/not-offered", rule.clause if rule else (), player=by.id)


# --- the result ---------------------------------------------------------------------------------


@handles(commands.CallResult)
def call_result(game: Game, state: TableState, command: commands.CallResult) -> list[AnyEvent]:
    """Call what the dice show; the call is the result if the procedure enters none."""
    require_step(game, state, command)
    _require_faces(command.dice)
    if Counter(state.current.known) - Counter(command.dice):
        known = ", ".join(game.faces.name(face) for face in state.current.known)
        raise refuse("dice/known", known=known)
    events: list[AnyEvent] = [
        table_events.ResultCalled(dice=command.dice, call=game.call(command.dice), by=command.by)
    ]
    if "enter-result" not in game.facts.procedure.steps:
        events.append(table_events.ResultEntered(dice=command.dice, by=command.by))
    return events


@handles(commands.PressKey)
def press_key(game: Game, state: TableState, command: commands.PressKey) -> list[AnyEvent]:
    """Press a key of the terminal, which remembers the last three."""
    step = require_step(game, state, command)
    if command.key not in range(1, 7):
        raise refuse("dice/face", step.clause, key=command.key)
    return [table_events.KeyPressed(key=command.key)]


@handles(commands.PressEnter)
def press_enter(game: Game, state: TableState, command: commands.PressEnter) -> list[AnyEvent]:
    """Enter the last three keys as the result."""
    step = require_step(game, state, command)
    keys = state.current.keys
    if len(keys) < 3:
        raise refuse("dice/too-few", step.clause)
    return [table_events.ResultEntered(dice=(keys[0], keys[1], keys[2]), by=command.by)]


@handles(commands.AmendResult)
def amend_result(game: Game, state: TableState, command: commands.AmendResult) -> list[AnyEvent]:
    """Amend a wrongly entered result under supervision, until settlement begins."""
    rule = game.facts.irregularities.get("wrong-entry")
    if rule is None:
        raise refuse("irregularity/unknown", irregularity="wrong-entry")
    require_role(command.by, rule.by, rule.clause)
    second = require_second_person(command.by, command.approved_by, rule.supervised_by, rule.clause)
    current = state.round
    if current is None or current.result is None:
        raise refuse("dice/not-called", rule.clause)
    if "collect-losers" in current.done:
        raise refuse("dice/settled", rule.clause)
    _require_faces(command.dice)
    if Counter(current.known) - Counter(command.dice):
        known = ", ".join(game.faces.name(face) for face in current.known)
        raise refuse("dice/known", rule.clause, known=known)
    if sorted(command.dice) == sorted(current.result) == sorted(current.called or ()):
        raise refuse("dice/same", rule.clause, dice=game.call(command.dice))
    return [table_events.ResultAmended(dice=command.dice, by=command.by, approved_by=second)]


@handles(commands.Illuminate)
def illuminate(game: Game, state: TableState, command: commands.Illuminate) -> list[AnyEvent]:
    """Light the winning areas; a failure changes no payment, but may lock the table."""
    require_step(game, state, command)
    current = state.current
    if current.result is None or sorted(current.result) != sorted(current.called or ()):
        entered = game.call(current.result) if current.result else "nothing"
        called = game.call(current.called) if current.called else "nothing"
        rule = game.facts.irregularities.get("wrong-entry")
        clause = rule.clause if rule else ()
        raise refuse("dice/unequal", clause, entered=entered, called=called)
    boxes = list(game.winning(current.result))
    events: list[AnyEvent] = [table_events.AreasLit(boxes=boxes, correct=command.correct)]
    failure = game.facts.irregularities.get("illumination-failed")
    if not command.correct and failure and failure.locks_table:
        events.append(table_events.TableLocked(cause="illumination-failed"))
    return events


def _require_faces(dice: tuple[int, int, int]) -> None:
    for face in dice:
        if face not in range(1, 7):
            raise refuse("dice/face", key=face)
