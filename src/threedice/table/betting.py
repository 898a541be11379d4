"""Handle bets: place, withdraw and reject them, and record chips that were moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from threedice.dice import contains
from threedice.table import commands, events
from threedice.table.limits import limits_in_force, remaining_room, stake_step
from threedice.table.rejections import find_rejections
from threedice.table.rules import (
    are_dice_visible,
    handles,
    optional_second_person,
    refuse,
    require_approval,
    require_box,
    require_irregularity,
    require_open_betting,
    require_permission,
    require_role,
    require_seat,
    resolve_spot,
    roles_with_stand_ins,
)

if TYPE_CHECKING:
    from threedice.rulebook import Box, Game
    from threedice.rulebook.conduct import Irregularity, IrregularityName, ShooterRule
    from threedice.table.events import AnyEvent, BetManner
    from threedice.table.limits import Spot
    from threedice.table.state import Bet, Placement, Round, Shooter, TableState

_BetCommand = commands.WithdrawBet | commands.RelocationCommand | commands.JudgeLine
_Relocated = TypeVar("_Relocated", bound=events.ChipsRelocated)


@handles(commands.PlaceBet)
def place_bet(game: Game, state: TableState, command: commands.PlaceBet) -> list[AnyEvent]:
    """Put a player's chips on a box."""
    call_rule = game.facts.people.acts.get("call-bet") if command.manner == "call" else None
    current = require_open_betting(game, state, call_rule)
    _require_manner(game, command)
    box = require_box(game, command.box)
    spot = resolve_spot(game, command.box, command.area)
    seat = require_seat(state, command.player)
    _require_chips(command.amount, _smallest_chip(state, command.player))
    _require_payable(state, box, command.amount)
    if command.counts and state.holders is None:
        raise refuse("chips/amounts-only")
    if command.amount > seat.stack:
        raise refuse("bet/stack", call_rule, amount=command.amount, stack=seat.stack)
    manner: BetManner = command.manner
    rule, shooter = game.facts.shooter, state.shooter
    if rule and command.box == rule.box:
        _require_shooter(rule, shooter, command)
        spot, manner, before = command.box, "shooter", 0
        room = limits_in_force(state).for_box(spot).maximum
    else:
        if rule and shooter and shooter.player == command.player and not rule.may_bet_elsewhere:
            raise refuse("role/not-allowed", rule, role="shooter", allowed="other players")
        before = _staked(game, current, spot, command.player)
        room = remaining_room(game, state, spot, command.player)
    if state.mode == "refuse":
        _require_within_limits(game, state, command, before, room)
    return [
        events.BetPlaced(
            player=command.player,
            spot=spot,
            area=command.area,
            amount=command.amount,
            number=state.placements + 1,
            manner=manner,
            by=command.by,
        )
    ]


def _require_manner(game: Game, command: commands.PlaceBet) -> None:
    """Refuse an actor who may not bet for this player in this manner."""
    acts = game.facts.people.acts
    if command.manner == "behalf":
        require_permission(game, command.by, "bet-on-behalf")
        if command.by.id == command.player:
            raise refuse("role/same-person", acts["bet-on-behalf"])
        return
    is_own, call_rule = command.by.id == command.player, acts.get("call-bet")
    if command.manner == "call" and call_rule and not is_own:
        recorders = roles_with_stand_ins(game, call_rule.recorded_by)
        require_role(command.by, recorders, call_rule)
        return
    require_permission(game, command.by, "call-bet" if command.manner == "call" else "bet")
    if not is_own:
        rule = acts.get("bet-on-behalf")
        allowed = ", ".join(rule.by) if rule else "nobody"
        raise refuse("role/not-allowed", rule, role=command.by.role, allowed=allowed)


def _require_chips(amount: int, chip: int) -> None:
    """Refuse an amount that chips of this value cannot make up."""
    if amount < 1 or amount % chip:
        raise refuse("bet/amount", amount=amount, chip=chip)


def _smallest_chip(state: TableState, player: str) -> int:
    """Return the value of the smallest chip that a player plays with."""
    return state.seats[player].colour_value or state.chips[0]


def _require_payable(state: TableState, box: Box, amount: int) -> None:
    """Refuse an amount that the odds of a box cannot pay exactly in chips."""
    step = stake_step(box, state.chips)
    if amount % step:
        raise refuse("bet/not-payable", box.pays, amount=amount, step=step)


def _require_shooter(
    rule: ShooterRule, shooter: Shooter | None, command: commands.PlaceBet
) -> None:
    """Refuse the shooter's bet to others, after the first throw, and once it is placed."""
    if shooter is None or shooter.player != command.player:
        raise refuse("shooter/only", rule)
    if not shooter.dice:
        raise refuse("shooter/no-dice", rule)
    if shooter.throws:
        raise refuse("shooter/series", rule)
    if rule.locked and shooter.stake:
        raise refuse("bet/locked", rule)


def _staked(game: Game, current: Round, spot: Spot, player: str) -> int:
    """Return the stakes on a spot to which the minimum applies: the player's, or everybody's."""
    if game.facts.limits.minimum.scope == "box":
        return current.totals.get(spot, 0)
    bet = current.bets.get(spot, {}).get(player)
    return bet.total if bet else 0


def _require_within_limits(
    game: Game, state: TableState, command: commands.PlaceBet, before: int, room: int
) -> None:
    """Refuse a bet that exceeds the maximum or leaves the total under the minimum."""
    policy, limits = game.facts.limits, limits_in_force(state).for_box(command.box)
    amount, total = command.amount, before + command.amount
    if amount > room:
        maximum = limits.maximum
        raise refuse("bet/over-maximum", policy.maximum, amount=amount, room=room, maximum=maximum)
    if total < limits.minimum:
        raise refuse("bet/under-minimum", policy.minimum, total=total, minimum=limits.minimum)


@handles(commands.WithdrawBet)
def withdraw_bet(game: Game, state: TableState, command: commands.WithdrawBet) -> list[AnyEvent]:
    """Return a player's chips from a box before the close.

    A withdrawal must not leave an unpayable bet nor, on an electronic table, a too small one.
    """
    box, amount = require_box(game, command.box), command.amount
    _require_handling_allowed(game, state, box)
    current = require_open_betting(game, state)
    _require_unlocked(game, box)
    if command.by.id != command.player:
        require_permission(game, command.by, "bet-on-behalf")
    spot = resolve_spot(game, command.box, command.area)
    bet = _require_bet(current, spot, command, command.area)
    _require_chips(amount, _smallest_chip(state, command.player))
    _require_payable(state, box, bet.total - amount)
    minimum = limits_in_force(state).for_box(command.box).minimum
    total = _staked(game, current, spot, command.player) - amount
    if state.mode == "refuse" and 0 < total < minimum:
        raise refuse("bet/under-minimum", game.facts.limits.minimum, total=total, minimum=minimum)
    excess = bet.excess_with(amount) or msgspec.UNSET
    return [
        events.BetWithdrawn(
            player=command.player, spot=spot, amount=amount, area=command.area, excess=excess
        )
    ]


def _require_unlocked(game: Game, box: Box) -> None:
    """Refuse to lower the shooter's bet, where the rulebook locks it."""
    shooter = game.facts.shooter
    if shooter and shooter.locked and box.id == shooter.box:
        raise refuse("bet/locked", shooter)


def _require_handling_allowed(game: Game, state: TableState, box: Box) -> None:
    """Refuse to let a player handle a bet once there is a result, where the rulebook forbids it."""
    hands_off, lost = game.facts.procedure.hands_off, None
    result = state.round.called if state.round else None
    if result and not contains(box.wins, result):
        lost = game.facts.irregularities.get("losing-bet-handled")
    if result and (hands_off or lost):
        raise refuse("betting/closed", lost, hands_off)


def _require_bet(current: Round, spot: Spot, command: _BetCommand, area: str = "") -> Bet:
    """Return a player's bet, refusing an amount that it does not hold, or not in the area."""
    bet = current.bets.get(spot, {}).get(command.player)
    staked = bet.total if bet else 0
    if bet and area and 0 < command.amount <= staked:
        staked = sum(each.amount for each in bet.placements if each.area == area)
    if bet is None or not 0 < command.amount <= staked:
        raise refuse("bet/not-there", amount=command.amount, staked=staked)
    return bet


@handles(commands.RejectExcess)
def reject_excess(game: Game, state: TableState, command: commands.RejectExcess) -> list[AnyEvent]:
    """Reject the chips in a box that exceed a limit, the last placement first."""
    require_open_betting(game, state)
    require_role(command.by, command.facts.roles)
    _require_unlocked(game, require_box(game, command.box))
    rejections = find_rejections(game, state, [resolve_spot(game, command.box, command.area)])
    if not rejections:
        raise refuse("bet/nothing-over", game.facts.limits.maximum, box=command.box)
    return [*rejections]


# --- chips that were moved ----------------------------------------------------------------------


@handles(commands.MoveChips)
def move_chips(game: Game, state: TableState, command: commands.MoveChips) -> list[AnyEvent]:
    """Record that chips have moved to another box, until the rulebook fixes the positions."""
    positions, current = game.facts.procedure.positions, state.round
    if current is None or positions.fixed_at in current.done:
        raise refuse("bet/position-fixed", positions)
    spot, to_spot = _require_spots(game, command)
    require_role(command.by, command.facts.roles)
    bet = _require_bet(current, spot, command, command.area)
    moved = _relocate(events.ChipsMoved, game, state, command, spot, to_spot)
    return [msgspec.structs.replace(moved, excess=bet.excess_with(command.amount))]


@handles(commands.PutBack)
def put_back(game: Game, state: TableState, command: commands.PutBack) -> list[AnyEvent]:
    """Put chips where they belong that were moved, or misplaced by the dealer.

    Chips of which no move is recorded are put back if the supervisor says who moved them; once the
    dice can be seen, that may take a second person.
    """
    irregularities = game.facts.irregularities
    rule = irregularities.get("bet-moved")
    if rule is None:
        grounds = (game.facts.procedure.positions, irregularities.get("bet-misplaced"))
        raise refuse("irregularity/unknown", *grounds, irregularity="bet-moved")
    current = _require_unsettled(state, command, rule)
    spot, to_spot = _require_spots(game, command)
    bet = _require_bet(current, spot, command, command.area)
    chips = [each for each in reversed(bet.placements) if command.area in ("", each.area)]
    movable = [each for each in chips if _may_be_put_back(game, command, each, to_spot)]
    movable.sort(key=lambda each: each.origin != to_spot)  # recorded moves first
    available = sum(each.amount for each in movable)
    if command.amount > available:
        if any(each.manner == "call" for each in chips if each not in movable):
            raise refuse("bet/call-bet", irregularities.get("call-bet-misplaced", rule))
        raise refuse("bet/not-there", rule, amount=command.amount, staked=available)
    put_back = _relocate(events.ChipsPutBack, game, state, command, spot, to_spot)
    second = optional_second_person(game, command, rule)
    recorded = sum(each.amount for each in movable if each.origin == to_spot)
    if _takes_two_people(game, current, rule) and command.amount > recorded:
        second = require_approval(game, command.by, second, rule)
    put_back = msgspec.structs.replace(
        put_back, moved_by=command.moved_by or None, approved_by=second
    )
    parts = _take(movable, command.amount)
    if parts == _take(chips, command.amount):
        return [msgspec.structs.replace(put_back, excess=bet.excess_with(command.amount))]
    return [
        msgspec.structs.replace(put_back, number=number, amount=amount)
        for number, amount in parts.items()
    ]


_MISPLACEMENTS: Final[dict[str, IrregularityName]] = {
    "behalf": "bet-misplaced",
    "call": "call-bet-misplaced",
}
"""The irregularity of a bet that the dealer put in the wrong place, by its manner."""


def _may_be_put_back(
    game: Game, command: commands.PutBack, placement: Placement, to_spot: Spot
) -> bool:
    """Return whether chips were moved from a spot, or misplaced by the dealer in a way to undo.

    Of chips that the dealer placed, no word of the dealer's moving them counts: only the rule on
    their misplacement does.
    """
    if command.moved_by == "patron" or placement.origin == to_spot:
        return True
    misplacement = _MISPLACEMENTS.get(placement.manner)
    rule = game.facts.irregularities.get(misplacement) if misplacement else None
    return rule.consequence == "put-back" if rule else bool(command.moved_by)


def _take(placements: list[Placement], amount: int) -> dict[int, int]:
    """Return the amounts by placement number that make up an amount, taken in this order."""
    parts: dict[int, int] = {}
    for each in placements:
        taken = min(each.amount, amount)
        if taken:
            parts[each.number] = parts.get(each.number, 0) + taken
        amount -= taken
    return parts


@handles(commands.JudgeLine)
def judge_line(game: Game, state: TableState, command: commands.JudgeLine) -> list[AnyEvent]:
    """Record whether chips that touch a line count as a bet, until settlement begins.

    Once the dice can be seen, rejecting them may take a second person.
    """
    rule = require_irregularity(game, "bet-on-line")
    current = _require_unsettled(state, command, rule)
    box = require_box(game, command.box)
    spot = resolve_spot(game, command.box, command.area)
    bet = _require_bet(current, spot, command, command.area)
    second = optional_second_person(game, command, rule)
    if not command.accepted:
        _require_chips(command.amount, _smallest_chip(state, command.player))
        _require_payable(state, box, bet.total - command.amount)
        if _takes_two_people(game, current, rule):
            second = require_approval(game, command.by, second, rule)
    return [
        events.LineJudged(
            player=command.player,
            spot=spot,
            amount=command.amount,
            accepted=command.accepted,
            by=command.by,
            area=command.area,
            approved_by=second,
            excess=0 if command.accepted else bet.excess_with(command.amount),
        )
    ]


def _takes_two_people(game: Game, current: Round, rule: Irregularity) -> bool:
    """Return whether a decision on chips takes two people now: everybody knows who gains by it."""
    return rule.second_person == "after-call" and are_dice_visible(game, current)


def _require_unsettled(
    state: TableState, command: commands.PutBack | commands.JudgeLine, rule: Irregularity
) -> Round:
    """Return the round whose settlement has not begun, refusing an actor not named by the rule."""
    require_role(command.by, rule.by, rule)
    if state.round is None or "collect-losers" in state.round.done:
        raise refuse("bet/position-fixed", rule)
    return state.round


def _require_spots(game: Game, command: commands.RelocationCommand) -> tuple[Spot, Spot]:
    """Return the two spots of a move, refusing the shooter's box."""
    rule = game.facts.shooter
    for box in (require_box(game, command.box), require_box(game, command.to_box)):
        if rule and box.id == rule.box:
            raise refuse("shooter/only", rule)
    spot = resolve_spot(game, command.box, command.area)
    return spot, resolve_spot(game, command.to_box, command.to_area)


def _relocate(
    kind: type[_Relocated],
    game: Game,
    state: TableState,
    command: commands.RelocationCommand,
    spot: Spot,
    to_spot: Spot,
) -> _Relocated:
    """Return the move, refusing an amount that chips cannot make up or either box cannot pay."""
    _require_chips(command.amount, state.chips[0])
    for box in (command.box, command.to_box):
        _require_payable(state, game.boxes[box], command.amount)
    return kind(
        player=command.player,
        spot=spot,
        to_spot=to_spot,
        amount=command.amount,
        by=command.by,
        area=command.area,
        to_area=command.to_area,
    )
