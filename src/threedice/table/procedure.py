"""Handle the procedure of a table: opening, the steps of a round up to the result, and closing.

Also sets limits and releases a table after a malfunction.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from threedice.errors import InvalidInput, UnknownName
from threedice.table import commands, events
from threedice.table.chip_counts.counts import face_value
from threedice.table.chip_counts.racks import close_rack, open_rack
from threedice.table.chips import require_chip_multiple
from threedice.table.commands import Actor
from threedice.table.equipment.checks import require_ready
from threedice.table.equipment.register import fail_lights, release_reported_pieces
from threedice.table.irregularities import lock_table
from threedice.table.limits import TableLimits, check_chips, check_limits, limits_in_force
from threedice.table.rejections import find_rejections, rejects_at_close
from threedice.table.rules import (
    approver_roles,
    are_dice_visible,
    handles,
    optional_second_person,
    optional_steps,
    refuse,
    require_approval,
    require_irregularity,
    require_permission,
    require_role,
    require_seat,
    require_second_person,
    require_step,
    require_step_role,
    roles_with_stand_ins,
    skipped_steps,
    step_that_shows_dice,
)
from threedice.table.voids import void_or_stop, void_round

if TYPE_CHECKING:
    from threedice.rulebook import Game
    from threedice.rulebook.conduct import Irregularity, IrregularityName
    from threedice.table.events import AnyEvent
    from threedice.table.state import Round, Shooter, TableState


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
    second = optional_second_person(game, command, game.facts.limits)
    opened = events.TableOpened(
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
    if command.rack is msgspec.UNSET:
        return [opened]
    racked, opener = open_rack(game, state, command)
    moves = [("vault", "float", "", racked)]
    value = face_value(racked)
    return [replace(opened, float_amount=value, chip_moves=moves, colours_account=True), opener]


@handles(commands.SetLimits)
def set_limits(game: Game, state: TableState, command: commands.SetLimits) -> list[AnyEvent]:
    """Set new limits, to apply from the next opening of betting."""
    require_role(command.by, command.facts.roles)
    second = require_approval(game, command.by, command.approved_by, game.facts.limits)
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
    """Close the table: void a round without dice, and let all players take their chips.

    Once the dice lie open or any is known, the round is played to its end, or abandoned first.
    """
    require_role(command.by, command.facts.roles)
    second = optional_second_person(game, command)
    current, procedure = state.round, game.facts.procedure
    if current and are_dice_visible(game, current):
        raise refuse("table/round-open", procedure, unit=procedure.unit)
    voided: list[AnyEvent] = []
    shooter_bet = bool(state.shooter and state.shooter.stake)
    if shooter_bet and game.facts.shooter and game.facts.shooter.at_close == "refuse":
        raise refuse("bet/locked", game.facts.shooter)
    if current or state.standing or shooter_bet:
        cause = "the table closes"
        voided = void_round(game, state, cause, "returned", command.by, include_shooter_bet=True)
    carried_away = [(player, seat.stack + seat.at_risk) for player, seat in state.seats.items()]
    closer = close_rack(game, state, command)
    return [
        *voided,
        *closer,
        events.TableClosed(
            carried_away=carried_away,
            float_amount=face_value(closer[0].counted) if closer else state.float_amount,
            drop=state.drop,
            by=command.by,
            approved_by=second,
        ),
    ]


@handles(commands.ReleaseTable)
def release_table(game: Game, state: TableState, command: commands.ReleaseTable) -> list[AnyEvent]:
    """Unlock the table after a malfunction, from all causes or from one of them."""
    require_permission(game, command.by, "release-table", command.facts.roles)
    if not state.locked:
        raise refuse("table/not-locked")
    if command.cause and command.cause not in state.locked:
        causes = ", ".join(state.locked)
        raise refuse("table/other-cause", cause=command.cause, causes=causes)
    if not command.reason.strip():
        raise refuse("reason/missing")
    return [
        events.TableReleased(
            reason=command.reason,
            by=command.by,
            remedy=command.remedy,
            cause=command.cause or None,
        ),
        *release_reported_pieces(state, command),
    ]


# --- the round ----------------------------------------------------------------------------------


def start_round(game: Game, state: TableState) -> list[AnyEvent]:
    """Return the start of a round, or nothing if one is being played.

    Refuse it at a locked table and while checks or equipment do not permit it.
    """
    if state.round is not None:
        return []
    unit = game.facts.procedure.unit
    if state.locked:
        names = ("equipment-malfunction", *state.locked)
        rules = [rule for name, rule in game.facts.irregularities.items() if name in names]
        raise refuse("table/locked", *rules, unit=unit, cause=", ".join(state.locked))
    require_ready(game, state)
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
    if not rejects_at_close(game, state):
        return [closed]
    return [*find_rejections(game, state, state.current.bets), closed]


@handles(commands.Tumble)
def tumble(game: Game, state: TableState, command: commands.Tumble) -> list[AnyEvent]:
    """Tumble the dice; too few tumbles void the round, as may tumbling before the close.

    Where the tumble shows the dice, they stop it instead.
    """
    if command.times < 1:
        raise refuse("dice/count", game.facts.procedure.steps.get("tumble"))
    early = _void_if_early(game, state, "tumbled-before-close", command)
    if early:
        return early
    step = require_step(game, state, command)
    tumbled = events.DiceTumbled(times=command.times, by=command.by)
    started = start_round(game, state)
    if command.times >= step.at_least:
        return [*started, tumbled]
    seen = step_that_shows_dice(game) == command.step
    void = void_or_stop(game, state, "too-few-tumbles", command.by, are_dice_seen=seen)
    return [*started, tumbled, *void]


def _void_if_early(
    game: Game,
    state: TableState,
    irregularity: IrregularityName,
    command: commands.Tumble | commands.Uncover,
) -> list[AnyEvent]:
    """Return the voiding of a round by a step taken too early, where the rulebook has that rule.

    A step that shows the dice stops the round instead.
    """
    rule = game.facts.irregularities.get(irregularity)
    current = state.round
    if rule is None or current is None or "close-betting" in current.done:
        return []
    require_step_role(game, command.step, command.by)
    seen = step_that_shows_dice(game) == command.step
    return void_or_stop(game, state, irregularity, command.by, are_dice_seen=seen)


@handles(commands.Throw)
def throw(game: Game, state: TableState, command: commands.Throw) -> list[AnyEvent]:
    """Throw the dice; others throw for a shooter only if the shooter is absent.

    The dealer may record the throw of a shooter who is present.
    """
    require_step(game, state, command)
    shooter = state.shooter
    if command.is_recorded or command.by.role == "shooter":
        shooter = _require_shooter(game, state, command)
    elif shooter and not shooter.absent:
        raise refuse("shooter/only", game.facts.shooter)
    if shooter is None or shooter.absent or not command.is_recorded:
        return [events.StepTaken(step="throw", by=command.by)]
    thrower = Actor(id=shooter.player, role="shooter")
    return [events.StepTaken(step="throw", by=thrower, recorded_by=command.by)]


@handles(commands.Uncover)
def uncover(game: Game, state: TableState, command: commands.Uncover) -> list[AnyEvent]:
    """Lift the cover; exposing the dice before betting is closed may stop the round."""
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
    require_seat(state, command.player)
    return [*start_round(game, state), events.DiceOffered(player=command.player)]


@handles(commands.ChooseDice)
def choose_dice(game: Game, state: TableState, command: commands.ChooseDice) -> list[AnyEvent]:
    """Choose the dice of a series from the dice offered, or record the shooter's choice."""
    step = require_step(game, state, command)
    shooter = _require_shooter(game, state, command)
    rule = game.facts.shooter
    offered, chosen = (rule.dice_offered, rule.dice_chosen) if rule else (3, 3)
    different = set(command.dice)
    if (
        len(command.dice) != chosen
        or len(different) != chosen
        or not different <= set(range(1, offered + 1))
    ):
        raise refuse("shooter/choose", step, chosen=chosen, offered=offered)
    recorder = command.by if command.is_recorded else None
    return [events.DiceChosen(player=shooter.player, dice=command.dice, recorded_by=recorder)]


def _require_shooter(game: Game, state: TableState, command: commands.ShooterCommand) -> Shooter:
    """Return the shooter, refusing the step of a player who does not have the dice."""
    player, shooter = command.player or command.by.id, state.shooter
    if shooter is None or shooter.player != player:
        raise refuse("shooter/not-offered", game.facts.shooter, player=player)
    return shooter


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
    """Amend a wrongly called or entered result under supervision, until settlement begins.

    Where the entry is optional, the call can be amended without one.
    """
    rule = require_irregularity(game, "wrong-entry")
    require_role(command.by, roles_with_stand_ins(game, rule.by), rule)
    allowed = approver_roles(game, command.facts.approvers, rule)
    approvals = None if rule.supervised_by else game.facts.people.approvals
    second = require_second_person(command.by, command.approved_by, allowed, rule, approvals)
    current = state.round
    is_left_out = "enter-result" in optional_steps(game, state) or (
        current is not None and "enter-result" in current.skipped
    )
    if current is None or (current.called if is_left_out else current.result) is None:
        is_called = current is not None and current.called is not None
        raise refuse("dice/not-entered" if is_called else "dice/not-called", rule)
    if "collect-losers" in current.done:
        raise refuse("dice/settled", rule)
    _require_dice(game, current, command.dice, rule)
    recorded = [sorted(dice) for dice in (current.called, current.result) if dice]
    if all(sorted(command.dice) == dice for dice in recorded):
        raise refuse("dice/same", rule, dice=game.call(command.dice))
    return [events.ResultAmended(dice=command.dice, by=command.by, approved_by=second)]


@handles(commands.Illuminate)
def illuminate(game: Game, state: TableState, command: commands.Illuminate) -> list[AnyEvent]:
    """Light the winning areas; a failure changes no payment, but may lock the table.

    The lights follow the entry. Where they may be left out, the dealer records that they show
    nothing or something else, and goes on by the dice.
    """
    step = require_step(game, state, command)
    called, entered = state.current.final_result, state.current.result
    if command.correct or command.step not in optional_steps(game, state):
        if entered is None:
            raise refuse("step/not-now", step, step=command.step, after="enter-result")
        if sorted(entered) != sorted(called):
            rule = game.facts.irregularities.get("wrong-entry")
            raise refuse("dice/unequal", rule, entered=game.call(entered), called=game.call(called))
    boxes = list(game.winning(called))
    lit = events.AreasLit(boxes=boxes, correct=command.correct)
    failure = game.facts.irregularities.get("illumination-failed")
    if command.correct:
        return [lit]
    cause: IrregularityName = "illumination-failed"
    return [lit, *fail_lights(state, cause, command.by), *lock_table(state, failure, cause)]


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
