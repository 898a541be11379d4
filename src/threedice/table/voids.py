"""Void a round, or reverse settled ones: stakes go back, and results are undone.

Settled money is never changed: a reversal compensates it by further events.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Literal

import msgspec

from threedice.table import events
from threedice.table.rules import refuse, require_approval
from threedice.table.settlement import (
    find_shooter_bet,
    require_float,
    winning_odds,
    working_order,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from threedice.rulebook import Game
    from threedice.rulebook.conduct import IrregularityName
    from threedice.table.commands import Actor
    from threedice.table.events import AnyEvent, Stake, Transfer
    from threedice.table.state import Shooter, TableState


def void_by_rule(
    game: Game,
    state: TableState,
    irregularity: IrregularityName,
    by: Actor,
    approved_by: Actor | None = None,
    cause: str = "",
) -> list[AnyEvent]:
    """Return the voiding of the round for an irregularity, or for another cause that is like it.

    Without a rule of the irregularity's own, the procedure's rule on the bets applies. Locked bets
    stand. Bets that stand are put back if they have been collected; once winners of any area have
    been paid, no bet can lie as before, and all are returned.
    """
    rule, bets = game.facts.irregularities.get(irregularity), game.facts.procedure.void.bets
    if rule and rule.bets:
        bets = "returned" if rule.bets == "returned" else "stand"
    if state.round and state.round.paid:
        bets = "returned"
    return void_round(game, state, cause or irregularity, bets, by, approved_by)


def void_or_stop(
    game: Game,
    state: TableState,
    irregularity: IrregularityName,
    by: Actor,
    second: Actor | None = None,
    *,
    are_dice_seen: bool,
) -> list[AnyEvent]:
    """Return the voiding of the round for an irregularity, or its stop while one person reports it.

    Once the dice can be seen, everybody knows who gains from a void round.
    """
    if not are_dice_seen:
        return void_by_rule(game, state, irregularity, by)
    if second is None:
        return stop_round(game, state, irregularity, by)
    second = require_approval(game, by, second, game.facts.irregularities.get(irregularity))
    return void_by_rule(game, state, irregularity, by, second)


def stop_round(
    game: Game, state: TableState, irregularity: IrregularityName, by: Actor
) -> list[AnyEvent]:
    """Return the stop of the round until a second person decides, refusing a second stop."""
    current = state.current
    if current.stopped:
        require_approval(game, by, None, game.facts.irregularities.get(irregularity))
    return [events.RoundStopped(round=current.number, cause=irregularity, by=by)]


def is_being_settled(state: TableState) -> bool:
    """Return whether the losers of the current round have been collected."""
    return state.round is not None and "collect-losers" in state.round.done


def void_round(
    game: Game,
    state: TableState,
    cause: str,
    bets: Literal["returned", "stand"],
    by: Actor,
    approved_by: Actor | None = None,
    *,
    include_shooter_bet: bool = False,
) -> list[AnyEvent]:
    """Return the voiding of the round being played, with the stakes to be returned or put back.

    The shooter's bet spans several throws and stays, unless `include_shooter_bet`.
    """
    number = state.round.number if state.round else state.rounds + 1
    returned = stakes_on_layout(game, state) if bets == "returned" else []
    shooter_bet = find_shooter_bet(game, state)
    if include_shooter_bet and shooter_bet and shooter_bet[0].stake:
        shooter, box = shooter_bet
        returned.append((box.id, shooter.player, shooter.stake))
    restored = collected_stakes(game, state) if bets == "stand" else []
    voided = events.RoundVoided(
        round=number,
        cause=cause,
        bets=bets,
        returned=returned,
        by=by,
        approved_by=approved_by,
        restored=restored or msgspec.UNSET,
    )
    return [voided, *(restore_shooter(state, number) if restored else ())]


def stakes_on_layout(game: Game, state: TableState) -> list[Stake]:
    """Return every bet as it lies on the layout, including those left standing by a void round.

    After the losers have been collected, only the winning bets are left.
    """
    current = state.round
    layout = current.bets if current else state.standing[0] if state.standing else {}
    roll = current.final_result if current and "collect-losers" in current.done else None
    return [
        (spot, player, bet.lying)
        for spot, bets in layout.items()
        if roll is None or winning_odds(game, spot, roll)
        for player, bet in bets.items()
    ]


def collected_stakes(game: Game, state: TableState) -> list[Stake]:
    """Return the bets of the current round that have been collected, the shooter's included.

    The float must be able to return them.
    """
    if not is_being_settled(state):
        return []
    current = state.current
    collected = [
        (spot, player, bet.total)
        for spot, bets in working_order(game, state)
        if winning_odds(game, spot, current.final_result) is None
        for player, bet in bets.items()
    ]
    rule, shooter = game.facts.shooter, current.shooter
    lost = [(rule.box, shooter.player, shooter.stake)] if rule and shooter else []
    stakes = [*collected, *lost]
    require_float(state, sum(amount for _, _, amount in stakes))
    return stakes


def reverse_rounds(
    game: Game,
    state: TableState,
    rounds: list[int],
    cause: str,
    by: Actor,
    approved_by: Actor,
    returned: Sequence[Stake] = (),
    put_back: Sequence[Stake] = (),
) -> list[AnyEvent]:
    """Return the reversal of settled rounds: one transfer per player undoes the sum of their nets.

    `returned` are the bets of the current round that are being returned as well, so that players
    can pay from them. If its losers have been collected, its number is among `rounds`, and their
    stakes are paid back too, unless they are `put_back` from the float on the layout. A shooter's
    bet that was decided in the last of the rounds lies on the layout again.
    """
    if not rounds:
        return []
    unit = game.facts.procedure.unit
    nets: dict[str, int] = {}
    set_off: dict[str, int] = {}
    for number in rounds:
        if number in state.reversed:
            raise refuse("round/reversed", unit=unit, round=number)
        for player, net in _round_nets(game, state, number).items():
            nets[player] = nets.get(player, 0) + net
        for player, amount in state.set_off.get(number, {}).items():
            set_off[player] = set_off.get(player, 0) + amount
    for player, amount in set_off.items():
        set_off[player] = max(amount, -state.owing[player])  # a repaid debt is paid back
    stacks = {player: seat.stack for player, seat in state.seats.items()}
    for _, player, amount in returned:
        stacks[player] += amount
    transfers, owing = reverse_nets(nets, stacks, set_off)
    for player, amount in (*transfers, *owing):
        stacks[player] = stacks.get(player, 0) + amount
    restored = restore_shooter(state, rounds[-1], stacks)
    paid = sum(amount for _, amount in (*transfers, *owing)) + sum(each.owing for each in restored)
    require_float(state, paid + sum(amount for _, _, amount in put_back))
    return [
        events.RoundsReversed(
            rounds=rounds,
            cause=cause,
            transfers=transfers,
            owing=owing,
            by=by,
            approved_by=approved_by,
        ),
        *restored,
    ]


def shooter_before(state: TableState, number: int) -> Shooter | None:
    """Return the shooter as they were before the result of a throw, if that can be restored."""
    throw = state.round if state.round and state.round.number == number else state.last_settled
    return throw.shooter if throw and throw.number == number else None


def is_series_over(state: TableState) -> bool:
    """Return whether the last decided throw ended a series: nobody throws, or a new shooter."""
    return state.shooter is None or not state.shooter.throws


def restore_shooter(
    state: TableState, number: int, stacks: Mapping[str, int] | None = None
) -> list[events.ShooterRestored]:
    """Return the restoring of the shooter of a void throw, if its result had changed anything.

    A bet that was decided is laid again from these stacks; without them it lies there already.
    """
    shooter = shooter_before(state, number)
    if shooter is None:
        return []
    laid = shooter.stake if stacks is not None and is_series_over(state) else 0
    latest = state.shooter
    if latest is None or latest.player != shooter.player:
        latest = shooter
    return [
        events.ShooterRestored(
            round=number,
            player=shooter.player,
            dice=shooter.dice,
            throws=shooter.throws,
            stake=shooter.stake,
            laid=laid,
            owing=max(laid - (stacks or {}).get(shooter.player, 0), 0),
            absent=latest.absent,
        )
    ]


def _round_nets(game: Game, state: TableState, number: int) -> Mapping[str, int]:
    """Return each player's net result of a round that is settled or being settled."""
    if state.round and state.round.number == number:
        return state.round.nets
    if number not in state.settled:
        raise refuse("round/unknown", unit=game.facts.procedure.unit, round=number)
    return state.settled[number]


def reverse_nets(
    nets: Mapping[str, int], stacks: Mapping[str, int], set_off: Mapping[str, int]
) -> tuple[list[Transfer], list[Transfer]]:
    """Return the transfers that undo players' nets, and the changes of their debts.

    Amounts that a stack cannot pay become debt, and so do winnings that were set off against one.
    Money paid to a player reduces no debt but those that these rounds made, whose amounts in
    `set_off` are negative. Money is collected before any is paid, so that the float is never short
    in between.
    """
    undone = {player: -net for player, net in nets.items() if net or set_off.get(player)}
    transfers = sorted(undone.items(), key=itemgetter(1))
    owing = []
    for player, amount in transfers:
        owed = set_off.get(player, 0)
        owed += max(-amount - owed - stacks.get(player, 0), 0)
        if owed:
            owing.append((player, owed))
    return transfers, owing
