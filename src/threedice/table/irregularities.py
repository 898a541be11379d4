"""Handle irregularities: reports with the rulebook's consequences, corrections and rulings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.facts import SUPERVISORS
from threedice.table import commands, events
from threedice.table.rules import (
    handles,
    optional_second_person,
    refuse,
    require_irregularity,
    require_role,
    require_second_person,
    resolve_known_dice,
    roles_with_stand_ins,
)
from threedice.table.settlement import reverse_nets, reverse_rounds, void_by_rule, void_round

if TYPE_CHECKING:
    from threedice.errors import Refusal
    from threedice.rulebook import Game
    from threedice.rulebook.conduct import Irregularity, IrregularityName
    from threedice.table.events import AnyEvent
    from threedice.table.state import TableState


@handles(commands.Report)
def report_irregularity(game: Game, state: TableState, command: commands.Report) -> list[AnyEvent]:
    """Apply the rulebook's consequence of an irregularity."""
    rule = require_irregularity(game, command.irregularity)
    require_role(command.by, roles_with_stand_ins(game, rule.by or command.facts.roles), rule)
    consequence = _consequence(game, state, command, rule)
    return [*consequence, *_lock(state, rule, command.irregularity)]


def _lock(state: TableState, rule: Irregularity | None, cause: IrregularityName) -> list[AnyEvent]:
    """Return the locking of the table, if an irregularity locks it and it is not locked yet."""
    locks = rule and rule.locks_table and not state.locked
    return [events.TableLocked(cause=cause)] if locks else []


def _consequence(
    game: Game, state: TableState, command: commands.Report, rule: Irregularity
) -> list[AnyEvent]:
    match rule.consequence:
        case "void-round":
            return _void(game, state, command, rule)
        case "void-affected-rounds":
            return _void_affected(game, state, command, rule)
        case "throw-again":
            return _throw_again(state, command, rule)
        case "continue-if-conclusive":
            return _interrupt(game, state, command, rule)
        case _:
            return [
                events.IrregularityNoted(
                    irregularity=command.irregularity,
                    note=command.note,
                    by=command.by,
                    player=command.player,
                )
            ]


def _require_round(state: TableState, command: commands.Report, rule: Irregularity) -> None:
    """Refuse a report about the current round if there is none or it is being settled."""
    if state.round is None or "collect-losers" in state.round.done:
        raise _not_now(command, rule)


def _not_now(command: commands.Report, rule: Irregularity) -> Refusal:
    return refuse("irregularity/not-now", rule, irregularity=command.irregularity)


def _void(
    game: Game, state: TableState, command: commands.Report, rule: Irregularity
) -> list[AnyEvent]:
    """Void the current round; a second person must approve if its dice are established."""
    _require_round(state, command, rule)
    second = None
    if state.current.is_established:
        second = require_second_person(command.by, command.approved_by, SUPERVISORS, rule)
    return void_by_rule(game, state, command.irregularity, command.by, second)


def _void_affected(
    game: Game, state: TableState, command: commands.Report, rule: Irregularity
) -> list[AnyEvent]:
    """Void the named rounds, reversing settled ones; without names, the current round."""
    second = require_second_person(command.by, command.approved_by, SUPERVISORS, rule)
    rounds, cause, current = sorted(set(command.rounds)), command.irregularity, state.round
    voided: list[AnyEvent] = []
    if current and (current.number in rounds or not rounds):
        voided = void_round(game, state, cause, "returned", command.by, second)
        rounds = [each for each in rounds if each != current.number]
        rounds += [current.number] if "collect-losers" in current.done else []
    elif not rounds:
        raise _not_now(command, rule)
    returned = bool(voided)
    return [*voided, *reverse_rounds(game, state, rounds, cause, command.by, second, returned)]


def _throw_again(state: TableState, command: commands.Report, rule: Irregularity) -> list[AnyEvent]:
    """Repeat the throw; the bets are locked."""
    _require_round(state, command, rule)
    current = state.current
    if "throw" not in current.done or current.result is not None or current.is_confirmed:
        raise _not_now(command, rule)
    return [events.ThrowRepeated(cause=command.irregularity)]


def _interrupt(
    game: Game, state: TableState, command: commands.Report, rule: Irregularity
) -> list[AnyEvent]:
    """Continue the round if the known dice decide any available bet, else void it.

    A called or entered result always continues the round, whatever the report says and even
    without bets: software must not void dice that lie on the table.
    """
    current = state.round
    if current is None:
        raise _not_now(command, rule)
    established = current.called or current.result  # the call first: an entry may be wrong
    known = established or resolve_known_dice(current, command.known)
    if known is None:
        raise refuse("irregularity/dice", rule, known=command.known)
    if known and "close-betting" not in current.done:
        if "exposed-before-close" not in game.facts.irregularities:
            raise _not_now(command, rule)
        return void_by_rule(game, state, "exposed-before-close", command.by)
    if not known and rule.covered_dice_stand and _is_under_cover(game, state):
        return [events.RoundContinued(known=[], won=[], lost=[])]
    conclusive = game.conclusive(known)
    decided = conclusive.won | conclusive.lost
    if rule.available == "placed":
        decided &= {spot.partition("@")[0] for spot in state.current.bets}
    if not decided and not established:
        return void_by_rule(game, state, command.irregularity, command.by)
    in_order = [box for box in game.boxes if box in decided]
    return [
        events.RoundContinued(
            known=list(known),
            won=[box for box in in_order if box in conclusive.won],
            lost=[box for box in in_order if box in conclusive.lost],
        )
    ]


def _is_under_cover(game: Game, state: TableState) -> bool:
    """Return whether the dice have been tumbled and are still covered."""
    done, steps = state.current.done, game.facts.procedure.steps
    return "tumble" in done and steps["tumble"].covered and "uncover" not in done


@handles(commands.AbandonRound)
def abandon_round(game: Game, state: TableState, command: commands.AbandonRound) -> list[AnyEvent]:
    """Void a round whose dice were lost before they were called, as an interruption does.

    A round with all dice confirmed after an interruption is refused: its result must be called.
    """
    rule = game.facts.irregularities.get("interruption")
    grounds = rule or game.facts.procedure.void
    require_role(command.by, command.facts.roles, grounds)
    if state.round is None or state.round.is_established:
        raise refuse("irregularity/not-now", grounds, irregularity="interruption")
    if not command.reason.strip():
        raise refuse("reason/missing", grounds)
    voided = void_by_rule(game, state, "interruption", command.by, cause=command.reason)
    return [*voided, *_lock(state, rule, "interruption")]


@handles(commands.CorrectBet)
def correct_bet(game: Game, state: TableState, command: commands.CorrectBet) -> list[AnyEvent]:
    """Correct the payment of a settled bet by a compensating transfer."""
    require_role(command.by, command.facts.roles)
    second = require_second_person(command.by, command.approved_by, SUPERVISORS)
    unit = game.facts.procedure.unit
    if command.round not in state.settled or command.round in state.reversed:
        raise refuse("round/unknown", unit=unit, round=command.round)
    if command.player not in state.settled[command.round]:
        raise refuse("round/no-bet", player=command.player, unit=unit, round=command.round)
    owing = _require_transfer(state, command.player, command.amount, command.reason)
    return [
        events.BetCorrected(
            round=command.round,
            player=command.player,
            amount=command.amount,
            owing=owing,
            reason=command.reason,
            by=command.by,
            approved_by=second,
        )
    ]


@handles(commands.MakeRuling)
def make_ruling(game: Game, state: TableState, command: commands.MakeRuling) -> list[AnyEvent]:
    """Record a ruling on a case the rules do not provide for."""
    rule = game.facts.irregularities.get("not-provided-for")
    require_role(command.by, rule.by if rule else command.facts.roles, rule)
    second = optional_second_person(command, rule)
    has_bet = any(command.player in nets for nets in state.settled.values())
    if command.player not in state.seats and not has_bet:
        raise refuse("player/unknown", player=command.player)
    owing = _require_transfer(state, command.player, command.amount, command.reason)
    return [
        events.RulingMade(
            player=command.player,
            amount=command.amount,
            owing=owing,
            reason=command.reason,
            by=command.by,
            approved_by=second,
        )
    ]


def _require_transfer(state: TableState, player: str, amount: int, reason: str) -> int:
    """Return the change of the player's debt by a transfer, refusing an impossible transfer."""
    if not reason.strip():
        raise refuse("reason/missing")
    if not amount:
        raise refuse("amount/zero")
    if amount % state.chips[0]:
        raise refuse("chips/amount", amount=amount, chip=state.chips[0])
    if amount > state.float_amount:
        raise refuse("float/short", short=amount - state.float_amount)
    seat = state.seats.get(player)
    _, owing = reverse_nets({player: -amount}, {player: seat.stack if seat else 0}, state.owing)
    return owing[0][1] if owing else 0
