"""Handle irregularities: reports with the rulebook's consequences, corrections and rulings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.facts import SUPERVISORS
from threedice.table import commands
from threedice.table import events as table_events
from threedice.table.rules import (
    handles,
    refuse,
    require_role,
    require_second_person,
    resolve_known_dice,
    roles_with_stand_ins,
)
from threedice.table.settlement import bets_after_void, reverse_nets, reverse_rounds, void_round

if TYPE_CHECKING:
    from threedice.rulebook import Game
    from threedice.rulebook.conduct import Irregularity
    from threedice.table.events import AnyEvent
    from threedice.table.state import TableState


@handles(commands.Report)
def report_irregularity(game: Game, state: TableState, command: commands.Report) -> list[AnyEvent]:
    """Apply the rulebook's consequence of an irregularity."""
    rule = game.facts.irregularities.get(command.irregularity)
    if rule is None:
        raise refuse("irregularity/unknown", irregularity=command.irregularity)
    roles = roles_with_stand_ins(game, rule.by or command.facts.roles)
    require_role(command.by, roles, rule.clause)
    events = _consequence(game, state, command, rule)
    if rule.locks_table and not state.locked:
        events.append(table_events.TableLocked(cause=command.irregularity))
    return events


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
                table_events.IrregularityNoted(
                    irregularity=command.irregularity,
                    note=command.note,
                    by=command.by,
                    player=command.player,
                )
            ]


def _require_round(state: TableState, command: commands.Report, rule: Irregularity) -> None:
    """Refuse a report about the current round if there is none or it is being settled."""
    current = state.round
    if current is None or "collect-losers" in current.done:
        raise refuse("irregularity/not-now", rule.clause, irregularity=command.irregularity)


def _void(
    game: Game, state: TableState, command: commands.Report, rule: Irregularity
) -> list[AnyEvent]:
    """Void the current round; a second person must approve if its dice are established."""
    _require_round(state, command, rule)
    second = None
    if state.current.is_established:
        second = require_second_person(command.by, command.approved_by, SUPERVISORS, rule.clause)
    bets = bets_after_void(game, rule)
    return void_round(game, state, command.irregularity, bets, command.by, second)


def _void_affected(
    game: Game, state: TableState, command: commands.Report, rule: Irregularity
) -> list[AnyEvent]:
    """Void the named rounds, reversing settled ones; without names, the current round."""
    second = require_second_person(command.by, command.approved_by, SUPERVISORS, rule.clause)
    rounds = sorted(set(command.rounds))
    events: list[AnyEvent] = []
    current = state.round.number if state.round else None
    if state.round and (current in rounds or not rounds):
        cause = command.irregularity
        events += void_round(game, state, cause, "returned", command.by, second)
        rounds = [each for each in rounds if each != current]
        rounds += [state.round.number] if "collect-losers" in state.round.done else []
    elif not rounds:
        raise refuse("irregularity/not-now", rule.clause, irregularity=command.irregularity)
    cause = command.irregularity
    returned = bool(events)
    return [*events, *reverse_rounds(game, state, rounds, cause, command.by, second, returned)]


def _throw_again(state: TableState, command: commands.Report, rule: Irregularity) -> list[AnyEvent]:
    """Repeat the throw; the bets are locked."""
    _require_round(state, command, rule)
    current = state.current
    if "throw" not in current.done or current.result is not None or current.is_confirmed:
        raise refuse("irregularity/not-now", rule.clause, irregularity=command.irregularity)
    return [table_events.ThrowRepeated(cause=command.irregularity)]


def _interrupt(
    game: Game, state: TableState, command: commands.Report, rule: Irregularity
) -> list[AnyEvent]:
    """Continue the round if the known dice decide any available bet, else void it.

    A called or entered result always continues the round, whatever the report says and even
    without bets: software must not void dice that lie on the table.
    """
    current = state.round
    if current is None:
        raise refuse("irregularity/not-now", rule.clause, irregularity=command.irregularity)
    established = current.called or current.result  # the call first: an entry may be wrong
    known = established or _require_known_dice(state, command, rule)
    if known and "close-betting" not in current.done:
        return _void_exposed(game, state, command, rule)
    if not known and rule.covered_dice_stand and _is_under_cover(game, state):
        return [table_events.RoundContinued(known=[], won=[], lost=[])]
    conclusive = game.conclusive(known)
    decided = conclusive.won | conclusive.lost
    if rule.available == "placed":
        decided &= {spot.partition("@")[0] for spot in state.current.bets}
    if not decided and not established:
        bets = bets_after_void(game, rule)
        return void_round(game, state, command.irregularity, bets, command.by)
    in_order = [box for box in game.boxes if box in decided]
    return [
        table_events.RoundContinued(
            known=list(known),
            won=[box for box in in_order if box in conclusive.won],
            lost=[box for box in in_order if box in conclusive.lost],
        )
    ]


def _require_known_dice(
    state: TableState, command: commands.Report, rule: Irregularity
) -> tuple[int, ...]:
    """Return the known dice of the round, refusing an impossible report."""
    known = resolve_known_dice(state.current, command.known)
    if known is None:
        raise refuse("irregularity/dice", rule.clause, known=command.known)
    return tuple(known)


def _void_exposed(
    game: Game, state: TableState, command: commands.Report, rule: Irregularity
) -> list[AnyEvent]:
    """Void a round whose dice are known before betting is closed, so that they were exposed."""
    exposed = game.facts.irregularities.get("exposed-before-close")
    if exposed is None:
        raise refuse("irregularity/not-now", rule.clause, irregularity=command.irregularity)
    bets = bets_after_void(game, exposed)
    return void_round(game, state, "exposed-before-close", bets, command.by)


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
    clause = rule.clause if rule else game.facts.procedure.void.clause
    require_role(command.by, command.facts.roles, clause)
    if state.round is None or state.round.is_established:
        raise refuse("irregularity/not-now", clause, irregularity="interruption")
    if not command.reason.strip():
        raise refuse("reason/missing", clause)
    events = void_round(game, state, command.reason, bets_after_void(game, rule), command.by)
    if rule and rule.locks_table and not state.locked:
        events.append(table_events.TableLocked(cause="interruption"))
    return events


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
        table_events.BetCorrected(
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
    roles = rule.by if rule else command.facts.roles
    require_role(command.by, roles, rule.clause if rule else ())
    if not _is_known_player(state, command.player):
        raise refuse("player/unknown", player=command.player)
    owing = _require_transfer(state, command.player, command.amount, command.reason)
    return [
        table_events.RulingMade(
            player=command.player,
            amount=command.amount,
            owing=owing,
            reason=command.reason,
            by=command.by,
        )
    ]


def _is_known_player(state: TableState, player: str) -> bool:
    """Return whether a player has chips at the table or has bet in a settled round."""
    return player in state.seats or any(player in nets for nets in state.settled.values())


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
