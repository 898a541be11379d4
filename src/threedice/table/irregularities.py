"""Handle irregularities: reports with the rulebook's consequences, corrections and rulings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from threedice.facts import STAFF
from threedice.table import commands, events
from threedice.table.debts import amount_set_off
from threedice.table.equipment.register import fail_piece
from threedice.table.rules import (
    are_dice_visible,
    handles,
    optional_second_person,
    refuse,
    require_approval,
    require_irregularity,
    require_role,
    require_round,
    resolve_known_dice,
    roles_with_stand_ins,
    step_that_shows_dice,
)
from threedice.table.voids import (
    collected_stakes,
    is_being_settled,
    is_series_over,
    restore_shooter,
    reverse_rounds,
    shooter_before,
    stop_round,
    void_by_rule,
    void_or_stop,
    void_round,
)

if TYPE_CHECKING:
    from threedice.errors import Refusal
    from threedice.rulebook import Game
    from threedice.rulebook.conduct import Irregularity, IrregularityName, StepName
    from threedice.table.commands import Actor
    from threedice.table.events import AnyEvent
    from threedice.table.state import TableState


@handles(commands.Report)
def report_irregularity(game: Game, state: TableState, command: commands.Report) -> list[AnyEvent]:
    """Apply the rulebook's consequence of an irregularity."""
    rule = require_irregularity(game, command.irregularity)
    require_role(command.by, roles_with_stand_ins(game, rule.by or STAFF), rule)
    name, piece = command.irregularity, command.piece
    consequence = _consequence(game, state, command, rule)
    failed: list[AnyEvent] = []
    if piece:
        is_void = any(isinstance(event, events.RoundVoided) for event in consequence)
        failed = fail_piece(game, state, piece, rule, name, command.by, is_void=is_void)
    return [*consequence, *failed, *lock_table(state, rule, name)]


def lock_table(
    state: TableState, rule: Irregularity | None, cause: IrregularityName
) -> list[AnyEvent]:
    """Return the locking of the table by an irregularity, if that does not lock it already."""
    locks = rule and rule.locks_table and cause not in state.locked
    return [events.TableLocked(cause=cause)] if locks else []


def _consequence(
    game: Game, state: TableState, command: commands.Report, rule: Irregularity
) -> list[AnyEvent]:
    match rule.consequence:
        case "void-round" | "void-affected-rounds" | "throw-again" if not _is_fault_between_rounds(
            state, command, rule
        ):
            return _void(game, state, command, rule)
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


def _is_fault_between_rounds(
    state: TableState, command: commands.Report, rule: Irregularity
) -> bool:
    """Return whether a report only says that equipment failed while no round is being played.

    A report with a second person or with affected rounds concerns a round.
    """
    concerns_round = bool(command.approved_by or command.rounds)
    return rule.locks_table and state.round is None and not concerns_round


def _not_now(command: commands.Report, *rules: Irregularity | None) -> Refusal:
    return refuse("irregularity/not-now", *rules, irregularity=command.irregularity)


def _void(
    game: Game, state: TableState, command: commands.Report, rule: Irregularity
) -> list[AnyEvent]:
    """Void the rounds that a report concerns, or repeat the current throw.

    Payments and collected bets are put back, on the layout if the bets of the current round stand.
    A throw of which winners have been paid is void: their bets cannot be thrown for again.
    A second person must approve once the dice can be seen, and for a throw to be repeated once they
    are established: until then its bets lie as before. Without one the current round only stops.
    """
    rounds = _rounds_concerned(game, state, command, rule)
    cause, by, current = command.irregularity, command.by, state.round
    settled = [number for number in rounds if current is None or number != current.number]
    is_repeated = rule.consequence == "throw-again" and not settled and not state.current.paid
    seen = not settled and _are_dice_seen(game, state, cause)
    if is_repeated:
        needs_second = state.current.is_established or state.current.stopped is not None
    else:
        needs_second = seen or bool(settled) or rule.consequence == "void-affected-rounds"
    if needs_second and seen and command.approved_by is None:
        return stop_round(game, state, cause, by)
    second = require_approval(game, by, command.approved_by, rule) if needs_second else None
    if is_repeated:
        return _repeat_throw(game, state, command, second)
    voided: list[AnyEvent] = []
    if _dice_go_back(state, settled):
        voided = void_round(game, state, cause, "returned", by, second, include_shooter_bet=True)
    elif rounds != settled:
        voided = void_by_rule(game, state, cause, by, second)
    if second is None:
        return voided
    voids = [event for event in voided if isinstance(event, events.RoundVoided)]
    stands = any(event.bets == "stand" for event in voids)
    undone = rounds if is_being_settled(state) and not stands else settled
    returned = [stake for event in voids for stake in event.returned]
    put_back = [stake for event in voids for stake in event.restored or ()]
    reversal = reverse_rounds(game, state, undone, cause, by, second, returned, put_back)
    return [*voided, *reversal]


def _are_dice_seen(game: Game, state: TableState, cause: IrregularityName) -> bool:
    """Return whether the dice of the round can be seen, or the cause is that they were shown."""
    shows = _CAUSES_BY_STEP.get(cause) == step_that_shows_dice(game)
    return shows or are_dice_visible(game, state.current)


_CAUSES_BY_STEP: Final[dict[IrregularityName, StepName]] = {
    "exposed-before-close": "uncover",
    "tumbled-before-close": "tumble",
}
"""The irregularities that consist of a step taken too early, which may have shown the dice."""


def _rounds_concerned(
    game: Game, state: TableState, command: commands.Report, rule: Irregularity
) -> list[int]:
    """Return the rounds that a report voids, refusing a round for which it comes too late."""
    rounds = sorted(set(command.rounds)) or round_in_question(state, rule)
    if not rounds or not all(_may_be_void(state, number, rule) for number in rounds):
        raise _not_now(command, rule, game.facts.irregularities.get("error-found-late"))
    return rounds


def round_in_question(state: TableState, rule: Irregularity) -> list[int]:
    """Return the round that a report without numbers concerns, if there is one.

    It is the current round, or the last settled one if the step that causes the irregularity has
    not been taken since.
    """
    current, last = state.round, state.last_settled
    if current and (not last or rule.caused_by in (None, *current.done)):
        return [current.number]
    return [last.number] if last and rule.consequence != "void-affected-rounds" else []


def _may_be_void(state: TableState, number: int, rule: Irregularity) -> bool:
    """Return whether an irregularity that is found now still voids a round."""
    current, last = state.round, state.last_settled
    if current and number == current.number:
        return rule.caused_by in (None, *current.done)
    if rule.consequence == "void-affected-rounds" or rule.found_until == "always":
        return True
    if rule.found_until == "last-payment" or last is None or number != last.number:
        return False
    return rule.found_until == "next-throw" or number == state.rounds


def _dice_go_back(state: TableState, settled: list[int]) -> bool:
    """Return whether voiding settled throws takes the dice from a new shooter or a new round."""
    ended = is_series_over(state) and any(shooter_before(state, number) for number in settled)
    return ended and bool(state.round or (state.shooter and state.shooter.stake))


def _repeat_throw(
    game: Game, state: TableState, command: commands.Report, second: Actor | None
) -> list[AnyEvent]:
    """Have the dice thrown again; the bets are locked, and collected ones are put back."""
    repeated = events.ThrowRepeated(
        cause=command.irregularity,
        restored=collected_stakes(game, state),
        by=command.by if second else None,
        approved_by=second,
    )
    return [repeated, *restore_shooter(state, state.current.number)]


def _interrupt(
    game: Game, state: TableState, command: commands.Report, rule: Irregularity
) -> list[AnyEvent]:
    """Continue the round if the known dice decide any available bet, else void it.

    A called or entered result always continues the round, whatever the report says and even
    without bets: software must not void dice that lie on the table.
    """
    current, second = state.round, command.approved_by
    if current is None:
        raise _not_now(command, rule)
    established = current.called or current.result  # the call first: an entry may be wrong
    known = established or resolve_known_dice(current, command.known)
    if known is None:
        raise refuse("irregularity/dice", rule, known=command.known)
    if known and "close-betting" not in current.done:
        if "exposed-before-close" not in game.facts.irregularities:
            raise _not_now(command, rule)
        return void_or_stop(
            game, state, "exposed-before-close", command.by, second, are_dice_seen=True
        )
    if not known and rule.covered_dice_stand and _is_under_cover(game, state):
        return [events.RoundContinued(known=[], won=[], lost=[])]
    conclusive = game.conclusive(known)
    decided = conclusive.won | conclusive.lost
    if rule.available == "placed":
        decided &= {spot.partition("@")[0] for spot in state.current.bets}
    if not decided and not established:
        seen = bool(known) or are_dice_visible(game, current)
        return void_or_stop(
            game, state, command.irregularity, command.by, second, are_dice_seen=seen
        )
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

    Once dice lie open or are known, a second person must approve. A round with all dice confirmed
    after an interruption is refused: its result must be called.
    """
    rule = game.facts.irregularities.get("interruption")
    grounds = rule or game.facts.procedure.void
    require_role(command.by, command.facts.roles, grounds)
    current = require_round(game, state, grounds)
    if current.is_established:
        raise refuse("irregularity/not-now", grounds, irregularity="interruption")
    if not command.reason.strip():
        raise refuse("reason/missing", grounds)
    second = optional_second_person(game, command, grounds)
    if are_dice_visible(game, current):
        second = require_approval(game, command.by, second, grounds)
    return void_lost_round(game, state, command.reason, command.by, second)


@handles(commands.ResumeRound)
def resume_round(game: Game, state: TableState, command: commands.ResumeRound) -> list[AnyEvent]:
    """Let a stopped round go on, by the decision of another person than the one who stopped it."""
    current = require_round(game, state)
    stopped = current.stopped
    if stopped is None:
        raise refuse("round/not-stopped", unit=game.facts.procedure.unit)
    rule = game.facts.irregularities.get(stopped.cause)
    second = require_approval(game, stopped.by, command.by, rule)
    if not command.reason.strip():
        raise refuse("reason/missing", rule)
    return [
        events.RoundResumed(
            round=current.number, cause=stopped.cause, reason=command.reason, by=second
        )
    ]


def void_lost_round(
    game: Game, state: TableState, cause: str, by: Actor, approved_by: Actor | None = None
) -> list[AnyEvent]:
    """Return the voiding of a round whose dice are lost, and the lock that an interruption sets."""
    voided = void_by_rule(game, state, "interruption", by, approved_by, cause)
    rule = game.facts.irregularities.get("interruption")
    return [*voided, *lock_table(state, rule, "interruption")]


@handles(commands.CorrectBet)
def correct_bet(game: Game, state: TableState, command: commands.CorrectBet) -> list[AnyEvent]:
    """Correct the payment of a settled bet by a compensating transfer."""
    rule = game.facts.corrections
    if rule and not rule.allowed:
        raise refuse("bet/settled", rule)
    require_role(command.by, rule.by if rule else command.facts.roles, rule)
    second = require_approval(game, command.by, command.approved_by, rule)
    unit = game.facts.procedure.unit
    if command.round not in state.settled or command.round in state.reversed:
        raise refuse("round/unknown", rule, unit=unit, round=command.round)
    if command.player not in state.settled[command.round]:
        raise refuse("round/no-bet", rule, player=command.player, unit=unit, round=command.round)
    owing = _require_transfer(game, state, command.player, command.amount, command.reason)
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
    second = optional_second_person(game, command, rule)
    has_bet = any(command.player in nets for nets in state.settled.values())
    if command.player not in state.seats and not has_bet:
        raise refuse("player/unknown", player=command.player)
    owing = _require_transfer(game, state, command.player, command.amount, command.reason)
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


def _require_transfer(game: Game, state: TableState, player: str, amount: int, reason: str) -> int:
    """Return the change of the player's debt by a transfer, refusing an impossible transfer."""
    if not reason.strip():
        raise refuse("reason/missing")
    if not amount:
        raise refuse("amount/zero")
    if amount % state.chips[0]:
        raise refuse("chips/amount", amount=amount, chip=state.chips[0])
    if amount > state.float_amount:
        raise refuse("float/short", short=amount - state.float_amount)
    if amount > 0:
        return -amount_set_off(game, state, player, amount)
    seat = state.seats.get(player)
    return max(-amount - (seat.stack if seat else 0), 0)
