"""Betting: placing, withdrawing and rejecting bets, and chips that were moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from threedice.dice import contains
from threedice.rulebook.conduct import cited
from threedice.table import events as happened
from threedice.table.limits import limits_of, rejections, room
from threedice.table.refusal import refuse
from threedice.table.rules import (
    STAFF,
    need_act,
    need_betting,
    need_box,
    need_open,
    need_role,
    on_bets,
    spot_of,
)
from threedice.table.state import box_of
from threedice.table.terms import step_of

if TYPE_CHECKING:
    from threedice.rulebook import Box, Game
    from threedice.table import commands as asked
    from threedice.table.events import AnyEvent, Spot
    from threedice.table.state import Bet, Round, Seat, TableState


def place_bet(game: Game, state: TableState, command: asked.PlaceBet) -> list[AnyEvent]:
    """Put chips of a player on a box."""
    need_open(state)
    need_betting(game, state)
    _need_manner(game, command)
    box = need_box(game, command.box)
    spot = spot_of(game, command.box, command.area)
    seat = state.seats.get(command.player)
    if seat is None:
        raise refuse("player/unknown", game.facts.chips.clause, player=command.player)
    _need_amount(game, state, seat, box, command.amount)
    if command.amount > seat.stack:
        rule = game.facts.people.acts.get("call-bet") if command.manner == "call" else None
        clause = rule.clause if rule else on_bets(game)
        raise refuse("bet/stack", clause, amount=command.amount, stack=seat.stack)
    shooter = game.facts.shooter
    if shooter and command.box == shooter.box:
        return [_shooters_bet(game, state, command)]
    has_dice = state.shooter is not None and state.shooter.player == command.player
    if shooter and has_dice and not shooter.may_bet_elsewhere:
        raise refuse("role/not-allowed", shooter.clause, role="shooter", allowed="other players")
    if state.mode == "refuse":
        _need_room(game, state, spot, command)
    return [_placed(state, command, spot, command.manner)]


def _placed(
    state: TableState,
    command: asked.PlaceBet,
    spot: Spot,
    manner: Literal["self", "behalf", "call", "shooter"],
) -> AnyEvent:
    return happened.BetPlaced(
        player=command.player,
        spot=spot,
        area=command.area,
        amount=command.amount,
        number=state.placements + 1,
        manner=manner,
        by=command.by,
    )


def _need_manner(game: Game, command: asked.PlaceBet) -> None:
    """Refuse whoever may not bet for this player in this manner."""
    if command.manner == "behalf":
        need_act(game, command.by, "bet-on-behalf")
        if command.by.id == command.player:
            raise refuse("role/same-person", game.facts.people.acts["bet-on-behalf"].clause)
        return
    need_act(game, command.by, "call-bet" if command.manner == "call" else "bet")
    if command.by.id != command.player:
        rule = game.facts.people.acts.get("bet-on-behalf")
        allowed = ", ".join(rule.by) if rule else "nobody"
        clause = rule.clause if rule else ()
        raise refuse("role/not-allowed", clause, role=command.by.role, allowed=allowed)


def _need_amount(game: Game, state: TableState, seat: Seat, box: Box, amount: int) -> None:
    """Refuse an amount that chips cannot make or odds cannot pay."""
    chip = seat.colour_value or state.chips[0]
    if amount < 1 or amount % chip:
        raise refuse("bet/amount", game.facts.chips.clause, amount=amount, chip=chip)
    _need_payable(state, box, amount)


def _need_payable(state: TableState, box: Box, amount: int) -> None:
    """Refuse an amount that the odds of a box cannot pay exactly in chips."""
    step = step_of(box, state.chips)
    if amount % step:
        raise refuse("bet/not-payable", box.pays, amount=amount, step=step)


def _need_room(game: Game, state: TableState, spot: Spot, command: asked.PlaceBet) -> None:
    """Refuse a bet that breaks the maximum or leaves the player under the minimum."""
    policy, limits = game.facts.limits, limits_of(state).of(command.box)
    fits = room(game, state, spot, command.player)
    if command.amount > fits:
        raise refuse(
            "bet/over-maximum",
            policy.maximum.clause,
            amount=command.amount,
            room=fits,
            maximum=limits.maximum,
        )
    before = _total(state.current, spot, command.player)
    if policy.minimum.scope == "box":
        before = state.current.totals.get(spot, 0)
    if before + command.amount < limits.minimum:
        raise refuse(
            "bet/under-minimum",
            policy.minimum.clause,
            total=before + command.amount,
            minimum=limits.minimum,
        )


def _total(current: Round, spot: Spot, player: str) -> int:
    bet = current.bets.get(spot, {}).get(player)
    return bet.total if bet else 0


def _shooters_bet(game: Game, state: TableState, command: asked.PlaceBet) -> AnyEvent:
    """Place the bet that only the shooter may hold, once, before his first throw."""
    rule, shooter = game.facts.shooter, state.shooter
    clause = rule.clause if rule else ()
    if shooter is None or shooter.player != command.player or command.by.id != command.player:
        raise refuse("shooter/only", clause)
    if not shooter.dice:
        raise refuse("shooter/no-dice", clause)
    if shooter.throws:
        raise refuse("shooter/series", clause)
    limits = limits_of(state).of(command.box)
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
    return _placed(state, command, command.box, "shooter")


def withdraw_bet(game: Game, state: TableState, command: asked.WithdrawBet) -> list[AnyEvent]:
    """Give a player chips back from a box before the close."""
    need_open(state)
    box = need_box(game, command.box)
    _need_hands_on(game, state, box)
    current = need_betting(game, state)
    shooter = game.facts.shooter
    if shooter and shooter.locked and box.id == shooter.box:
        raise refuse("bet/locked", shooter.clause)
    if command.by.id != command.player:
        need_act(game, command.by, "bet-on-behalf")
    spot = spot_of(game, command.box, command.area)
    bet = _need_bet(game, current, spot, command.player, command.amount)
    _need_at_end(game, bet, command)
    colour_value = state.seats[command.player].colour_value
    _need_withdrawable(game, state, spot, bet, command.amount, colour_value)
    return [
        happened.BetWithdrawn(
            player=command.player, spot=spot, amount=command.amount, area=command.area
        )
    ]


def _need_hands_on(game: Game, state: TableState, box: Box) -> None:
    """Refuse hands on bets once there is a result: losing ones for good, others until paid."""
    hands_off, lost = game.facts.procedure.hands_off, None
    result = state.round.result or state.round.called if state.round else None
    if result and not contains(box.wins, result):
        lost = game.facts.irregularities.get("losing-bet-handled")
    if result and (hands_off or lost):
        clauses = (
            *cited(lost.clause if lost else []),
            *cited(hands_off.clause if hands_off else []),
        )
        raise refuse("betting/closed", tuple(dict.fromkeys(clauses)))


def _need_bet(game: Game, current: Round, spot: Spot, player: str, amount: int) -> Bet:
    bet = current.bets.get(spot, {}).get(player)
    if bet is None or not 0 < amount <= bet.total:
        staked = bet.total if bet else 0
        raise refuse("bet/not-there", on_bets(game), amount=amount, staked=staked)
    return bet


def _need_at_end(
    game: Game,
    bet: Bet,
    command: asked.WithdrawBet | asked.MoveChips | asked.PutBack | asked.JudgeLine,
) -> None:
    """Refuse more than lies at the end that is named."""
    at_end = sum(each.amount for each in bet.placements if command.area in ("", each.area))
    if command.amount > at_end:
        raise refuse("bet/not-there", on_bets(game), amount=command.amount, staked=at_end)


def _need_withdrawable(
    game: Game, state: TableState, spot: Spot, bet: Bet, amount: int, colour_value: int
) -> None:
    """Refuse a rest that chips cannot make or that is too small for an electronic table."""
    rest, chip = bet.total - amount, colour_value or state.chips[0]
    if amount % chip:
        raise refuse("bet/amount", game.facts.chips.clause, amount=amount, chip=chip)
    _need_payable(state, game.boxes[box_of(spot)], rest)
    minimum = game.facts.limits.minimum
    least = limits_of(state).of(box_of(spot)).minimum
    left = rest if minimum.scope == "player" else state.current.totals[spot] - amount
    if state.mode == "refuse" and 0 < left < least:
        raise refuse("bet/under-minimum", minimum.clause, total=left, minimum=least)


def reject_excess(game: Game, state: TableState, command: asked.RejectExcess) -> list[AnyEvent]:
    """Reject what is over a limit in a box, the last placement first."""
    need_open(state)
    need_betting(game, state)
    need_role(command.by, STAFF)
    need_box(game, command.box)
    spot = spot_of(game, command.box, command.area)
    events = rejected(game, state, [spot])
    if not events:
        raise refuse("bet/nothing-over", game.facts.limits.maximum.clause, box=command.box)
    return events


def rejected(game: Game, state: TableState, spots: list[Spot]) -> list[AnyEvent]:
    """Return the rejections that bring spots within their limits."""
    return [
        happened.BetRejected(
            player=each.player,
            spot=each.spot,
            amount=each.amount,
            number=each.number,
            limit=each.limit,
        )
        for each in rejections(game, state, spots)
    ]


def move_chips(game: Game, state: TableState, command: asked.MoveChips) -> list[AnyEvent]:
    """Record that chips lie elsewhere than where they were put, while that can still matter."""
    need_open(state)
    positions, current = game.facts.procedure.positions, state.round
    if current is None or positions.fixed_at in current.done:
        raise refuse("bet/position-fixed", positions.clause)
    spot, to_spot = _need_spots(game, command)
    need_role(command.by, STAFF)
    bet = _need_bet(game, current, spot, command.player, command.amount)
    _need_at_end(game, bet, command)
    _need_movable(game, state, command)
    return [
        happened.ChipsMoved(
            player=command.player,
            spot=spot,
            to_spot=to_spot,
            amount=command.amount,
            by=command.by,
            area=command.area,
            to_area=command.to_area,
        )
    ]


def put_back(game: Game, state: TableState, command: asked.PutBack) -> list[AnyEvent]:
    """Put chips back that were moved by accident; a misplaced call bet is not."""
    need_open(state)
    rule = game.facts.irregularities.get("bet-moved")
    if rule is None:
        raise refuse("irregularity/unknown", irregularity="bet-moved")
    need_role(command.by, rule.by, rule.clause)
    current = state.round
    if current is None or "collect-losers" in current.done:
        raise refuse("bet/position-fixed", rule.clause)
    spot, to_spot = _need_spots(game, command)
    bet = _need_bet(game, current, spot, command.player, command.amount)
    moved = current.moved.get((command.player, to_spot, spot), 0)
    if any(each.manner == "call" for each in bet.placements) and not moved:
        misplaced = game.facts.irregularities.get("call-bet-misplaced", rule)
        raise refuse("bet/call-bet", misplaced.clause)
    if command.amount > moved:
        raise refuse("bet/not-there", rule.clause, amount=command.amount, staked=moved)
    _need_at_end(game, bet, command)
    _need_movable(game, state, command)
    return [
        happened.ChipsPutBack(
            player=command.player,
            spot=spot,
            to_spot=to_spot,
            amount=command.amount,
            by=command.by,
            area=command.area,
            to_area=command.to_area,
        )
    ]


def judge_line(game: Game, state: TableState, command: asked.JudgeLine) -> list[AnyEvent]:
    """Decide whether chips that touch a line are a bet, until the round is settled."""
    need_open(state)
    rule = game.facts.irregularities.get("bet-on-line")
    if rule is None:
        raise refuse("irregularity/unknown", irregularity="bet-on-line")
    need_role(command.by, rule.by, rule.clause)
    current = state.round
    if current is None or "collect-losers" in current.done:
        raise refuse("bet/position-fixed", rule.clause)
    need_box(game, command.box)
    spot = spot_of(game, command.box, command.area)
    bet = _need_bet(game, current, spot, command.player, command.amount)
    _need_at_end(game, bet, command)
    if not command.accepted:
        colour_value = state.seats[command.player].colour_value or state.chips[0]
        if command.amount % colour_value:
            clause = game.facts.chips.clause
            raise refuse("bet/amount", clause, amount=command.amount, chip=colour_value)
        _need_payable(state, game.boxes[command.box], bet.total - command.amount)
    return [
        happened.LineJudged(
            player=command.player,
            spot=spot,
            amount=command.amount,
            accepted=command.accepted,
            by=command.by,
            area=command.area,
        )
    ]


def _need_movable(game: Game, state: TableState, command: asked.MoveChips | asked.PutBack) -> None:
    """Refuse to move an amount that chips cannot make, or that either box could not pay."""
    if command.amount % state.chips[0]:
        clause = game.facts.chips.clause
        raise refuse("bet/amount", clause, amount=command.amount, chip=state.chips[0])
    for box in (command.box, command.to_box):
        _need_payable(state, game.boxes[box], command.amount)


def _need_spots(game: Game, command: asked.MoveChips | asked.PutBack) -> tuple[Spot, Spot]:
    """Return the two spots of a move; the shooter's box takes no part in one."""
    rule = game.facts.shooter
    for box in (need_box(game, command.box), need_box(game, command.to_box)):
        if rule and box.id == rule.box:
            raise refuse("shooter/only", rule.clause)
    spot = spot_of(game, command.box, command.area)
    return spot, spot_of(game, command.to_box, command.to_area)
