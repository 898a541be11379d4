"""Handle bets: place, withdraw and reject them, and record chips that were moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from threedice.dice import contains
from threedice.rulebook.conduct import clause_numbers
from threedice.table import commands
from threedice.table import events as table_events
from threedice.table.limits import (
    box_of,
    find_rejections,
    limits_in_force,
    remaining_room,
    stake_step,
)
from threedice.table.rules import (
    betting_clauses,
    handles,
    refuse,
    require_box,
    require_open_betting,
    require_permission,
    require_role,
    resolve_spot,
)

if TYPE_CHECKING:
    from threedice.rulebook import Box, Game
    from threedice.table.events import AnyEvent
    from threedice.table.limits import Spot
    from threedice.table.state import Bet, Round, TableSeat, TableState


@handles(commands.PlaceBet)
def place_bet(game: Game, state: TableState, command: commands.PlaceBet) -> list[AnyEvent]:
    """Put a player's chips on a box."""
    require_open_betting(game, state)
    _require_manner(game, command)
    box = require_box(game, command.box)
    spot = resolve_spot(game, command.box, command.area)
    seat = state.seats.get(command.player)
    if seat is None:
        raise refuse("player/unknown", game.facts.chips.clause, player=command.player)
    _require_stake_amount(game, state, seat, box, command.amount)
    if command.amount > seat.stack:
        rule = game.facts.people.acts.get("call-bet") if command.manner == "call" else None
        clause = rule.clause if rule else betting_clauses(game)
        raise refuse("bet/stack", clause, amount=command.amount, stack=seat.stack)
    shooter = game.facts.shooter
    if shooter and command.box == shooter.box:
        return [_place_shooter_bet(game, state, command)]
    is_shooter = state.shooter is not None and state.shooter.player == command.player
    if shooter and is_shooter and not shooter.may_bet_elsewhere:
        raise refuse("role/not-allowed", shooter.clause, role="shooter", allowed="other players")
    if state.mode == "refuse":
        _require_room(game, state, spot, command)
    return [_bet_placed(state, command, spot, command.manner)]


def _bet_placed(
    state: TableState,
    command: commands.PlaceBet,
    spot: Spot,
    manner: Literal["self", "behalf", "call", "shooter"],
) -> AnyEvent:
    return table_events.BetPlaced(
        player=command.player,
        spot=spot,
        area=command.area,
        amount=command.amount,
        number=state.placements + 1,
        manner=manner,
        by=command.by,
    )


def _require_manner(game: Game, command: commands.PlaceBet) -> None:
    """Refuse an actor who may not bet for this player in this manner."""
    if command.manner == "behalf":
        require_permission(game, command.by, "bet-on-behalf")
        if command.by.id == command.player:
            raise refuse("role/same-person", game.facts.people.acts["bet-on-behalf"].clause)
        return
    require_permission(game, command.by, "call-bet" if command.manner == "call" else "bet")
    if command.by.id != command.player:
        rule = game.facts.people.acts.get("bet-on-behalf")
        allowed = ", ".join(rule.by) if rule else "nobody"
        clause = rule.clause if rule else ()
        raise refuse("role/not-allowed", clause, role=command.by.role, allowed=allowed)


def _require_stake_amount(
    game: Game, state: TableState, seat: TableSeat, box: Box, amount: int
) -> None:
    """Refuse an amount that chips cannot make up or the odds cannot pay."""
    chip = seat.colour_value or state.chips[0]
    if amount < 1 or amount % chip:
        raise refuse("bet/amount", game.facts.chips.clause, amount=amount, chip=chip)
    _require_payable(state, box, amount)


def _require_payable(state: TableState, box: Box, amount: int) -> None:
    """Refuse an amount that the odds of a box cannot pay exactly in chips."""
    step = stake_step(box, state.chips)
    if amount % step:
        raise refuse("bet/not-payable", box.pays, amount=amount, step=step)


def _require_room(game: Game, state: TableState, spot: Spot, command: commands.PlaceBet) -> None:
    """Refuse a bet that exceeds the maximum or leaves the total under the minimum."""
    policy, limits = game.facts.limits, limits_in_force(state).for_box(command.box)
    room = remaining_room(game, state, spot, command.player)
    if command.amount > room:
        raise refuse(
            "bet/over-maximum",
            policy.maximum.clause,
            amount=command.amount,
            room=room,
            maximum=limits.maximum,
        )
    before = _player_total(state.current, spot, command.player)
    if policy.minimum.scope == "box":
        before = state.current.totals.get(spot, 0)
    if before + command.amount < limits.minimum:
        raise refuse(
            "bet/under-minimum",
            policy.minimum.clause,
            total=before + command.amount,
            minimum=limits.minimum,
        )


def _player_total(current: Round, spot: Spot, player: str) -> int:
    bet = current.bets.get(spot, {}).get(player)
    return bet.total if bet else 0


def _place_shooter_bet(game: Game, state: TableState, command: commands.PlaceBet) -> AnyEvent:
    """Place the bet that only the shooter may hold, before the first throw of the series."""
    rule, shooter = game.facts.shooter, state.shooter
    clause = rule.clause if rule else ()
    if shooter is None or shooter.player != command.player or command.by.id != command.player:
        raise refuse("shooter/only", clause)
    if not shooter.dice:
        raise refuse("shooter/no-dice", clause)
    if shooter.throws:
        raise refuse("shooter/series", clause)
    limits = limits_in_force(state).for_box(command.box)
    total = shooter.stake + command.amount
    if state.mode == "refuse" and total > limits.maximum:
        raise refuse(
            "bet/over-maximum",
            game.facts.limits.maximum.clause,
            amount=command.amount,
            room=limits.maximum - shooter.stake,
            maximum=limits.maximum,
        )
    if state.mode == "refuse" and total < limits.minimum:
        raise refuse(
            "bet/under-minimum",
            game.facts.limits.minimum.clause,
            total=total,
            minimum=limits.minimum,
        )
    return _bet_placed(state, command, command.box, "shooter")


@handles(commands.WithdrawBet)
def withdraw_bet(game: Game, state: TableState, command: commands.WithdrawBet) -> list[AnyEvent]:
    """Return a player's chips from a box before the close."""
    box = require_box(game, command.box)
    _require_handling_allowed(game, state, box)
    current = require_open_betting(game, state)
    shooter = game.facts.shooter
    if shooter and shooter.locked and box.id == shooter.box:
        raise refuse("bet/locked", shooter.clause)
    if command.by.id != command.player:
        require_permission(game, command.by, "bet-on-behalf")
    spot = resolve_spot(game, command.box, command.area)
    bet = _require_bet(game, current, spot, command.player, command.amount)
    _require_amount_in_area(game, bet, command)
    colour_value = state.seats[command.player].colour_value
    _require_withdrawable(game, state, spot, bet, command.amount, colour_value)
    return [
        table_events.BetWithdrawn(
            player=command.player, spot=spot, amount=command.amount, area=command.area
        )
    ]


def _require_handling_allowed(game: Game, state: TableState, box: Box) -> None:
    """Refuse to let a player handle a bet once there is a result, where the rulebook forbids it."""
    hands_off, lost = game.facts.procedure.hands_off, None
    result = state.round.result or state.round.called if state.round else None
    if result and not contains(box.wins, result):
        lost = game.facts.irregularities.get("losing-bet-handled")
    if result and (hands_off or lost):
        clauses = (
            *clause_numbers(lost.clause if lost else []),
            *clause_numbers(hands_off.clause if hands_off else []),
        )
        raise refuse("betting/closed", tuple(dict.fromkeys(clauses)))


def _require_bet(game: Game, current: Round, spot: Spot, player: str, amount: int) -> Bet:
    bet = current.bets.get(spot, {}).get(player)
    if bet is None or not 0 < amount <= bet.total:
        staked = bet.total if bet else 0
        raise refuse("bet/not-there", betting_clauses(game), amount=amount, staked=staked)
    return bet


def _require_amount_in_area(
    game: Game,
    bet: Bet,
    command: commands.WithdrawBet | commands.MoveChips | commands.PutBack | commands.JudgeLine,
) -> None:
    """Refuse an amount larger than the bet's chips in the named area."""
    staked = sum(each.amount for each in bet.placements if command.area in ("", each.area))
    if command.amount > staked:
        raise refuse("bet/not-there", betting_clauses(game), amount=command.amount, staked=staked)


def _require_withdrawable(
    game: Game, state: TableState, spot: Spot, bet: Bet, amount: int, colour_value: int
) -> None:
    """Refuse a withdrawal that leaves an unpayable bet or, on an electronic table, a too small one.

    A withdrawn amount must also be a whole number of chips.
    """
    remaining, chip = bet.total - amount, colour_value or state.chips[0]
    if amount % chip:
        raise refuse("bet/amount", game.facts.chips.clause, amount=amount, chip=chip)
    _require_payable(state, game.boxes[box_of(spot)], remaining)
    rule = game.facts.limits.minimum
    minimum = limits_in_force(state).for_box(box_of(spot)).minimum
    total = remaining if rule.scope == "player" else state.current.totals[spot] - amount
    if state.mode == "refuse" and 0 < total < minimum:
        raise refuse("bet/under-minimum", rule.clause, total=total, minimum=minimum)


@handles(commands.RejectExcess)
def reject_excess(game: Game, state: TableState, command: commands.RejectExcess) -> list[AnyEvent]:
    """Reject the chips in a box that exceed a limit, the last placement first."""
    require_open_betting(game, state)
    require_role(command.by, command.facts.roles)
    require_box(game, command.box)
    spot = resolve_spot(game, command.box, command.area)
    events = rejection_events(game, state, [spot])
    if not events:
        raise refuse("bet/nothing-over", game.facts.limits.maximum.clause, box=command.box)
    return events


def rejection_events(game: Game, state: TableState, spots: list[Spot]) -> list[AnyEvent]:
    """Return the events that reject what exceeds the limits on some spots."""
    return [
        table_events.BetRejected(
            player=each.player,
            spot=each.spot,
            amount=each.amount,
            number=each.number,
            limit=each.limit,
        )
        for each in find_rejections(game, state, spots)
    ]


@handles(commands.MoveChips)
def move_chips(game: Game, state: TableState, command: commands.MoveChips) -> list[AnyEvent]:
    """Record that chips have moved to another box, until the rulebook fixes the positions."""
    positions, current = game.facts.procedure.positions, state.round
    if current is None or positions.fixed_at in current.done:
        raise refuse("bet/position-fixed", positions.clause)
    spot, to_spot = _require_spots(game, command)
    require_role(command.by, command.facts.roles)
    bet = _require_bet(game, current, spot, command.player, command.amount)
    _require_amount_in_area(game, bet, command)
    _require_movable(game, state, command)
    return [
        table_events.ChipsMoved(
            player=command.player,
            spot=spot,
            to_spot=to_spot,
            amount=command.amount,
            by=command.by,
            area=command.area,
            to_area=command.to_area,
        )
    ]


@handles(commands.PutBack)
def put_back(game: Game, state: TableState, command: commands.PutBack) -> list[AnyEvent]:
    """Put back chips that were moved by accident; a misplaced call bet stays."""
    rule = game.facts.irregularities.get("bet-moved")
    if rule is None:
        raise refuse("irregularity/unknown", irregularity="bet-moved")
    require_role(command.by, rule.by, rule.clause)
    current = state.round
    if current is None or "collect-losers" in current.done:
        raise refuse("bet/position-fixed", rule.clause)
    spot, to_spot = _require_spots(game, command)
    bet = _require_bet(game, current, spot, command.player, command.amount)
    moved = current.moved.get((command.player, to_spot, spot), 0)
    if any(each.manner == "call" for each in bet.placements) and not moved:
        misplaced = game.facts.irregularities.get("call-bet-misplaced", rule)
        raise refuse("bet/call-bet", misplaced.clause)
    if command.amount > moved:
        raise refuse("bet/not-there", rule.clause, amount=command.amount, staked=moved)
    _require_amount_in_area(game, bet, command)
    _require_movable(game, state, command)
    return [
        table_events.ChipsPutBack(
            player=command.player,
            spot=spot,
            to_spot=to_spot,
            amount=command.amount,
            by=command.by,
            area=command.area,
            to_area=command.to_area,
        )
    ]


@handles(commands.JudgeLine)
def judge_line(game: Game, state: TableState, command: commands.JudgeLine) -> list[AnyEvent]:
    """Record whether chips that touch a line count as a bet, until settlement begins."""
    rule = game.facts.irregularities.get("bet-on-line")
    if rule is None:
        raise refuse("irregularity/unknown", irregularity="bet-on-line")
    require_role(command.by, rule.by, rule.clause)
    current = state.round
    if current is None or "collect-losers" in current.done:
        raise refuse("bet/position-fixed", rule.clause)
    require_box(game, command.box)
    spot = resolve_spot(game, command.box, command.area)
    bet = _require_bet(game, current, spot, command.player, command.amount)
    _require_amount_in_area(game, bet, command)
    if not command.accepted:
        colour_value = state.seats[command.player].colour_value or state.chips[0]
        if command.amount % colour_value:
            clause = game.facts.chips.clause
            raise refuse("bet/amount", clause, amount=command.amount, chip=colour_value)
        _require_payable(state, game.boxes[command.box], bet.total - command.amount)
    return [
        table_events.LineJudged(
            player=command.player,
            spot=spot,
            amount=command.amount,
            accepted=command.accepted,
            by=command.by,
            area=command.area,
        )
    ]


def _require_movable(
    game: Game, state: TableState, command: commands.MoveChips | commands.PutBack
) -> None:
    """Refuse to move an amount that chips cannot make up, or that either box cannot pay."""
    if command.amount % state.chips[0]:
        clause = game.facts.chips.clause
        raise refuse("bet/amount", clause, amount=command.amount, chip=state.chips[0])
    for box in (command.box, command.to_box):
        _require_payable(state, game.boxes[box], command.amount)


def _require_spots(game: Game, command: commands.MoveChips | commands.PutBack) -> tuple[Spot, Spot]:
    """Return the two spots of a move, refusing the shooter's box."""
    rule = game.facts.shooter
    for box in (require_box(game, command.box), require_box(game, command.to_box)):
        if rule and box.id == rule.box:
            raise refuse("shooter/only", rule.clause)
    spot = resolve_spot(game, command.box, command.area)
    return spot, resolve_spot(game, command.to_box, command.to_area)
