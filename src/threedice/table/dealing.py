"""The round as it is dealt: every step of the procedure up to the result."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from threedice.rulebook.conduct import cited
from threedice.table import events as happened
from threedice.table.betting import rejected
from threedice.table.limits import limits_of
from threedice.table.refusal import refuse
from threedice.table.rules import (
    need_hands,
    need_open,
    need_role,
    need_second,
    need_step,
    skipped_steps,
)
from threedice.table.voiding import fate_of_bets, void_round

if TYPE_CHECKING:
    from threedice.rulebook import Game
    from threedice.rulebook.conduct import IrregularityName, StepName
    from threedice.table import commands as asked
    from threedice.table.commands import Actor
    from threedice.table.events import AnyEvent
    from threedice.table.state import TableState


def started(game: Game, state: TableState) -> list[AnyEvent]:
    """Return the start of a round where none is being played, refusing it at a locked table."""
    if state.round is not None:
        return []
    unit = game.facts.procedure.unit
    if state.locked:
        clauses = [
            cited(rule.clause)
            for name, rule in game.facts.irregularities.items()
            if name in ("equipment-malfunction", state.locked)
        ]
        cites = tuple(dict.fromkeys(number for each in clauses for number in each))
        raise refuse("table/locked", cites, unit=unit, cause=state.locked)
    missing = [check for check in game.facts.opening if check not in state.checks]
    if missing:
        clause = game.facts.opening[missing[0]].clause
        raise refuse("table/checks-missing", clause, checks=", ".join(missing))
    skipped = skipped_steps(game, state)
    return [happened.RoundStarted(round=state.rounds + 1, game_hash=game.hash, skipped=skipped)]


def open_betting(game: Game, state: TableState, command: asked.OpenBetting) -> list[AnyEvent]:
    """Announce that bets may be placed; limits that waited take effect."""
    need_open(state)
    need_step(game, state, "open-betting", command.by)
    limits = state.next_limits or limits_of(state)
    return [*started(game, state), happened.BettingOpened(limits=limits, by=command.by)]


def close_betting(game: Game, state: TableState, command: asked.CloseBetting) -> list[AnyEvent]:
    """Announce that no more bets may be placed; an electronic table trims the differential."""
    need_open(state)
    need_step(game, state, "close-betting", command.by)
    rule, shooter = game.facts.shooter, state.shooter
    if rule and rule.must_bet and (shooter is None or not shooter.stake):
        raise refuse("shooter/must-bet", rule.clause)
    trimmed = _trimmed(game, state) if state.mode == "refuse" else []
    return [*trimmed, happened.BettingClosed(by=command.by)]


def _trimmed(game: Game, state: TableState) -> list[AnyEvent]:
    """Return the rejections that bring both sides of every differential within it."""
    if game.facts.limits.differential is None:
        return []
    return rejected(game, state, list(state.current.bets))


def tumble(game: Game, state: TableState, command: asked.Tumble) -> list[AnyEvent]:
    """Tumble the dice; too few tumbles, or open dice before the close, void the round."""
    need_open(state)
    if command.times < 1:
        steps = game.facts.procedure.steps
        raise refuse("dice/count", steps["tumble"].clause if "tumble" in steps else ())
    early = _void_if_early(game, state, "tumbled-before-close", command.by, "tumble")
    if early:
        return early
    step = need_step(game, state, "tumble", command.by)
    events = [*started(game, state), happened.DiceTumbled(times=command.times, by=command.by)]
    if command.times < step.at_least:
        events += _void(game, state, "too-few-tumbles", command.by)
    return events


def _void_if_early(
    game: Game, state: TableState, irregularity: IrregularityName, by: Actor, step: StepName
) -> list[AnyEvent]:
    """Return the voiding of a round by a step taken before betting is closed."""
    rule = game.facts.irregularities.get(irregularity)
    current = state.round
    if rule is None or current is None or "close-betting" in current.done:
        return []
    need_hands(game, step, by)
    return _void(game, state, irregularity, by)


def _void(
    game: Game, state: TableState, irregularity: IrregularityName, by: Actor
) -> list[AnyEvent]:
    """Return the voiding that the rulebook attaches to an irregularity."""
    fate = fate_of_bets(game, game.facts.irregularities.get(irregularity))
    return void_round(game, state, irregularity, fate, by)


def throw(game: Game, state: TableState, command: asked.Throw) -> list[AnyEvent]:
    """Throw the dice, by whoever the rulebook lets; the shooter throws for himself."""
    need_open(state)
    need_step(game, state, "throw", command.by)
    shooter = state.shooter
    if command.by.role == "shooter":
        _need_shooter(game, state, command.by)
    elif shooter and not shooter.absent:
        rule = game.facts.shooter
        raise refuse("shooter/only", rule.clause if rule else ())
    return [happened.StepTaken(step="throw", by=command.by)]


def uncover(game: Game, state: TableState, command: asked.Uncover) -> list[AnyEvent]:
    """Lift the cover; while bets may still be placed, exposing the dice voids the round."""
    need_open(state)
    if state.round and "tumble" in state.round.done:
        exposed = _void_if_early(game, state, "exposed-before-close", command.by, "uncover")
        if exposed:
            return exposed
    need_step(game, state, "uncover", command.by)
    return [happened.StepTaken(step="uncover", by=command.by)]


# --- the shooter --------------------------------------------------------------------------------


def offer_dice(game: Game, state: TableState, command: asked.OfferDice) -> list[AnyEvent]:
    """Offer a player the dice; until a shooter has bet, they may be passed on."""
    need_open(state)
    passing = state.round is not None and "close-betting" not in state.round.done
    need_step(game, state, "offer-dice", command.by, again=passing)
    if command.player not in state.seats:
        raise refuse("player/unknown", game.facts.chips.clause, player=command.player)
    return [*started(game, state), happened.DiceOffered(player=command.player)]


def choose_dice(game: Game, state: TableState, command: asked.ChooseDice) -> list[AnyEvent]:
    """Choose the dice of a series from those offered."""
    need_open(state)
    step = need_step(game, state, "choose-dice", command.by)
    _need_shooter(game, state, command.by)
    rule = game.facts.shooter
    offered, chosen = (rule.dice_offered, rule.dice_chosen) if rule else (3, 3)
    picked = set(command.dice)
    if (
        len(command.dice) != chosen
        or len(picked) != chosen
        or not picked <= set(range(1, offered + 1))
    ):
        raise refuse("shooter/choose", step.clause, chosen=chosen, offered=offered)
    return [happened.DiceChosen(player=command.by.id, dice=command.dice)]


def _need_shooter(game: Game, state: TableState, by: Actor) -> None:
    rule = game.facts.shooter
    if state.shooter is None or state.shooter.player != by.id:
        raise refuse("shooter/not-offered", rule.clause if rule else (), player=by.id)


# --- the result ---------------------------------------------------------------------------------


def call_result(game: Game, state: TableState, command: asked.CallResult) -> list[AnyEvent]:
    """Call what the dice show; where nothing is entered, the call is the result."""
    need_open(state)
    need_step(game, state, "call-result", command.by)
    _need_faces(command.dice)
    if Counter(state.current.known) - Counter(command.dice):
        known = ", ".join(game.faces.name(face) for face in state.current.known)
        raise refuse("dice/known", known=known)
    events: list[AnyEvent] = [
        happened.ResultCalled(dice=command.dice, call=game.call(command.dice), by=command.by)
    ]
    if "enter-result" not in game.facts.procedure.steps:
        events.append(happened.ResultEntered(dice=command.dice, by=command.by))
    return events


def press_key(game: Game, state: TableState, command: asked.PressKey) -> list[AnyEvent]:
    """Press a key of the terminal; it echoes the last three."""
    need_open(state)
    step = need_step(game, state, "enter-result", command.by)
    if command.key not in range(1, 7):
        raise refuse("dice/face", step.clause, key=command.key)
    return [happened.KeyPressed(key=command.key)]


def press_enter(game: Game, state: TableState, command: asked.PressEnter) -> list[AnyEvent]:
    """Enter the last three keys as the result."""
    need_open(state)
    step = need_step(game, state, "enter-result", command.by)
    keys = state.current.keys
    if len(keys) < 3:
        raise refuse("dice/too-few", step.clause)
    return [happened.ResultEntered(dice=(keys[0], keys[1], keys[2]), by=command.by)]


def amend_result(game: Game, state: TableState, command: asked.AmendResult) -> list[AnyEvent]:
    """Amend a wrong entry under supervision, until settlement begins."""
    need_open(state)
    rule = game.facts.irregularities.get("wrong-entry")
    if rule is None:
        raise refuse("irregularity/unknown", irregularity="wrong-entry")
    need_role(command.by, rule.by, rule.clause)
    second = need_second(command.by, command.approved_by, rule.supervised_by, rule.clause)
    current = state.round
    if current is None or current.result is None:
        raise refuse("dice/not-called", rule.clause)
    if "collect-losers" in current.done:
        raise refuse("dice/settled", rule.clause)
    _need_faces(command.dice)
    if Counter(current.known) - Counter(command.dice):
        known = ", ".join(game.faces.name(face) for face in current.known)
        raise refuse("dice/known", rule.clause, known=known)
    if sorted(command.dice) == sorted(current.result) == sorted(current.called or ()):
        raise refuse("dice/same", rule.clause, dice=game.call(command.dice))
    return [happened.ResultAmended(dice=command.dice, by=command.by, approved_by=second)]


def illuminate(game: Game, state: TableState, command: asked.Illuminate) -> list[AnyEvent]:
    """See the winning areas lit; lights that fail change no payment, but may lock the table."""
    need_open(state)
    need_step(game, state, "illuminate", command.by)
    current = state.current
    if current.result is None or sorted(current.result) != sorted(current.called or ()):
        entered = game.call(current.result) if current.result else "nothing"
        called = game.call(current.called) if current.called else "nothing"
        rule = game.facts.irregularities.get("wrong-entry")
        clause = rule.clause if rule else ()
        raise refuse("dice/unequal", clause, entered=entered, called=called)
    boxes = list(game.winning(current.result))
    events: list[AnyEvent] = [happened.AreasLit(boxes=boxes, correct=command.correct)]
    failure = game.facts.irregularities.get("illumination-failed")
    if not command.correct and failure and failure.locks_table:
        events.append(happened.TableLocked(cause="illumination-failed"))
    return events


def _need_faces(dice: tuple[int, int, int]) -> None:
    for face in dice:
        if face not in range(1, 7):
            raise refuse("dice/face", key=face)
