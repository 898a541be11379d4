"""Apply events to the state of a table, in place.

Only this module changes a state. Changing it in place keeps the cost of a bet constant, however
many bets the table holds. Replaying a table's events gives the same state.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Final, assert_never

import msgspec

from threedice.errors import InvariantBroken
from threedice.table import events
from threedice.table.chip_counts.counts import face_value
from threedice.table.chip_counts.ledger import apply_moves, event_moves
from threedice.table.equipment.evolve import evolve_equipment
from threedice.table.state import (
    Bet,
    Placement,
    Round,
    RoundStop,
    SettledRound,
    Shooter,
    TableSeat,
    TableState,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.rulebook.conduct import StepName
    from threedice.table.events import AnyEvent, Stake
    from threedice.table.limits import PlayerId, Spot


def replay(history: Iterable[AnyEvent]) -> TableState:
    """Return the state that a table's events lead to."""
    state = TableState()
    for event in history:
        evolve(state, event)
    return state


def evolve(state: TableState, event: AnyEvent) -> TableState:
    """Apply an event to the state, in place, and return it."""
    match event:
        case events.BetPlaced():  # the most frequent events come first, for speed
            _place(state, event)
        case events.KeyPressed():
            state.current.keys = [*state.current.keys[-2:], event.key]
        case events.LosersCollected():
            _collect(state, event)
        case events.AreaPaid():
            _pay(state, event)
            del state.current.bets[event.spot], state.current.totals[event.spot]
            state.current.paid.append(event.spot)
        case events.WinnersPaid():
            _pay(state, event)
            _end_round(state, event)
        case events.RoundStarted():
            _start_round(state, event)
        case events.BettingOpened():
            state.limits, state.next_limits = event.limits, None
            state.current.done.add("open-betting")
        case events.BettingClosed():
            state.current.done.add("close-betting")
        case events.StepTaken():
            state.current.done.add(event.step)
            if event.step == "throw":
                state.last_settled = None
        case events.DiceTumbled():
            state.last_settled = None
            state.current.times_tumbled = event.times
            state.current.done.add("tumble")
        case events.ResultCalled():
            state.current.called = event.dice
            state.current.done.add("call-result")
        case events.ResultEntered():
            state.current.result = event.dice
            state.current.keys = []
            state.current.done.add("enter-result")
        case events.AreasLit():
            state.current.done.add("illuminate")
        case events.TableOpened():
            _open(state, event)
        case events.CheckPassed():
            state.checks.add(event.check)
            state.equipment.failed.pop(event.check, None)
            if event.test:
                state.equipment.proved.clear()
        case events.LimitsSet():
            state.next_limits = event.limits
        case events.FloatFilled():
            state.float_amount += event.amount
            state.slips = event.slip or state.slips
        case events.FloatCredited():
            state.float_amount -= event.amount
            state.slips = event.slip or state.slips
        case events.RackCounted():
            state.float_amount += face_value(event.counted) - face_value(event.expected)
            state.slips = event.slip
            if event.kind == "closer":
                state.last_closer = event.counted
        case events.DropCounted():
            state.slips = event.slip
            del state.uncounted_drops[event.closing]
        case events.TableClosed():
            _close(state, event)
        case events.TableLocked():
            state.locked = list(dict.fromkeys([*state.locked, event.cause]))
        case events.TableReleased():
            left = [cause for cause in state.locked if cause != event.cause]
            state.locked = left if event.cause else []
            if state.round:
                unnamed = state.round.unnamed
                state.round.unnamed = [cause for cause in unnamed if cause in state.locked]
        case events.BoughtIn():
            _take_seat(state, event.player).stack += event.amount
            state.float_amount -= event.amount
            state.drop += event.amount if event.source == "cash" else 0
        case events.CashedOut():
            _cash_out(state, event)
        case events.ChipsChanged():
            pass
        case events.DebtRepaid():
            _repay(state, event)
        case events.ColourTaken():
            seat = state.seats[event.player]
            seat.colour, seat.colour_value = event.colour, event.value
        case events.ColouredUp():
            seat = state.seats[event.player]
            seat.colour, seat.colour_value = "", 0
        case events.BetWithdrawn():
            _take_back(state, event)
        case events.BetRejected():
            _reject(state, event)
        case events.ChipsMoved():
            _move(state, event)
        case events.ChipsPutBack():
            _move(state, event, event.number)
        case events.LineJudged():
            if not event.accepted:
                _take_back(state, event)
        case events.DiceOffered():
            state.shooter = Shooter(event.player)
            state.current.done.add("offer-dice")
            state.current.done.discard("choose-dice")
        case events.DiceChosen():
            _shooter(state).dice = event.dice
            state.current.done.add("choose-dice")
        case events.ResultAmended():
            state.current.called = event.dice
            if state.current.result is not None:
                state.current.result = event.dice
            state.current.done -= {"illuminate"}.difference(state.current.skipped)
        case events.BetsApportioned():
            _apportion(state, event)
        case events.ShooterAdvanced():
            state.current.shooter = replace(_shooter(state))
            _shooter(state).throws = event.throws
        case events.ShooterWon():
            state.seats[event.player].stack += event.stake + event.winnings
            state.seats[event.player].at_risk -= event.stake
            state.float_amount -= event.winnings
            _add_net(state, event.player, event.winnings)
            state.current.shooter, state.shooter = state.shooter, None
        case events.ShooterLost():
            state.seats[event.player].at_risk -= event.stake
            state.float_amount += event.stake
            _add_net(state, event.player, -event.stake)
            state.current.shooter, state.shooter = state.shooter, None
        case events.ShooterRestored():
            _restore_shooter(state, event)
        case events.RoundStopped():
            state.current.stopped = RoundStop(event.cause, event.by)
        case events.RoundResumed():
            state.current.stopped = None
        case events.RoundVoided():
            _void(state, event)
        case events.RoundsReversed():
            _reverse(state, event)
        case events.ThrowRepeated():
            _repeat_throw(state, event)
        case events.RoundContinued():
            state.current.known = event.known
            state.current.unnamed.append("interruption")
        case events.IrregularityNoted():
            if state.round:
                state.round.unnamed.append(event.irregularity)
            if state.shooter and event.player == state.shooter.player:
                state.shooter.absent = event.irregularity == "walked-away"
        case events.BetCorrected():
            _transfer(state, event.player, event.amount, event.owing)
            nets = state.settled[event.round]
            nets[event.player] = nets.get(event.player, 0) + event.amount
            if event.owing:
                _add_set_off(state, event.round, event.player, -event.owing)
        case events.RulingMade():
            _transfer(state, event.player, event.amount, event.owing)
        case events.EquipmentEvent():
            evolve_equipment(state, event)
        case _:
            assert_never(event)
    if state.holders is not None:
        apply_moves(state.holders, event_moves(event))
    if state.colours_owed is not None and isinstance(event, events.ChipEvent):
        state.colours_owed += event.colours_owed or 0
        state.float_amount += event.colours_owed or 0
    return state


# --- the table ----------------------------------------------------------------------------------


def _open(state: TableState, event: events.TableOpened) -> None:
    state.open = True
    state.table, state.game_hash = event.table, event.game_hash
    state.currency, state.mode, state.chips = event.currency, event.mode, event.chips
    state.limits = event.limits
    state.float_amount = event.float_amount
    state.drop = 0
    state.checks.clear()
    state.equipment.failed.clear()
    state.holders = None if event.chip_moves is msgspec.UNSET else {}
    state.colours_owed = 0 if event.colours_account else None


def _close(state: TableState, event: events.TableClosed) -> None:
    state.open = False
    if state.holders is not None:
        state.closings += 1
        state.uncounted_drops[state.closings] = event.drop
        state.holders = state.colours_owed = None
    for player, _ in event.carried_away:
        del state.seats[player]
    state.float_amount = state.drop = 0
    state.next_limits, state.shooter, state.standing = None, None, None
    state.last_settled = None
    state.equipment.proved.clear()


def _start_round(state: TableState, event: events.RoundStarted) -> None:
    state.rounds = event.round
    state.round = Round(event.round, set(event.skipped), skipped=event.skipped)
    if state.standing:
        state.round.bets, state.round.totals = state.standing
        state.standing = None


def _shooter(state: TableState) -> Shooter:
    if state.shooter is None:
        raise InvariantBroken("nobody has the dice")
    return state.shooter


# --- chips --------------------------------------------------------------------------------------


def _take_seat(state: TableState, player: PlayerId) -> TableSeat:
    """Return a player's seat; a player without one gets the lowest number that is free."""
    seat = state.seats.get(player)
    if seat is None:
        taken = {each.number for each in state.seats.values()}
        number = next(number for number in count(1) if number not in taken)
        seat = state.seats[player] = TableSeat(number=number)
    return seat


def _cash_out(state: TableState, event: events.CashedOut) -> None:
    seat = state.seats[event.player]
    seat.stack -= event.amount
    if event.to == "account":
        state.float_amount += event.amount
    if not seat.stack and not seat.at_risk:
        del state.seats[event.player]


def _repay(state: TableState, event: events.DebtRepaid) -> None:
    if event.source == "cash":
        state.drop += event.amount
    else:
        state.seats[event.player].stack -= event.amount
        state.float_amount += event.amount
    state.owing[event.player] -= event.amount
    if event.round:
        _add_set_off(state, event.round, event.player, event.amount)


def _add_set_off(state: TableState, number: int, player: PlayerId, amount: int) -> None:
    set_off = state.set_off.setdefault(number, {})
    set_off[player] = set_off.get(player, 0) + amount


def _transfer(state: TableState, player: PlayerId, amount: int, owing: int) -> None:
    """Move money between the float and a player; `owing` is the change of the player's debt."""
    _take_seat(state, player).stack += amount + owing
    state.float_amount -= amount + owing
    if owing:
        state.owing[player] = state.owing.get(player, 0) + owing


# --- bets ---------------------------------------------------------------------------------------


def _place(state: TableState, event: events.BetPlaced) -> None:
    seat = state.seats[event.player]
    seat.stack -= event.amount
    seat.at_risk += event.amount
    state.placements = event.number
    if state.shooter and event.manner == "shooter":
        state.shooter.stake += event.amount
        return
    current, spot, amount = state.current, event.spot, event.amount
    bets = current.bets.setdefault(spot, {})
    bet = bets.get(event.player)
    if bet is None:
        bet = bets[event.player] = Bet()
    bet.total += amount
    bet.placements.append(Placement(event.number, amount, event.area, event.manner))
    current.totals[spot] = current.totals.get(spot, 0) + amount


def _take_back(state: TableState, event: events.BetWithdrawn | events.LineJudged) -> None:
    """Return chips from a spot to a stack."""
    excess = _lift_excess(state, event.spot, event.player, event.excess)
    _remove_chips(state, event.spot, event.player, event.amount, event.area)
    _return_chips(state, event.player, event.amount + excess)


def _reject(state: TableState, event: events.BetRejected) -> None:
    """Return chips over a limit to a stack, or let them lie as excess if they wait."""
    excess = _lift_excess(state, event.spot, event.player, event.excess)
    if event.waits:
        state.current.bets[event.spot][event.player].excess += event.amount
    else:
        _return_chips(state, event.player, event.amount + excess)
    _remove_chips(state, event.spot, event.player, event.amount, number=event.number)


def _lift_excess(
    state: TableState, spot: Spot, player: PlayerId, excess: int | msgspec.UnsetType
) -> int:
    """Take excess off a bet, and return how much."""
    if not excess:
        return 0
    state.current.bets[spot][player].excess -= excess
    return excess


def _return_chips(state: TableState, player: PlayerId, amount: int) -> None:
    """Return chips at risk to a player's stack."""
    seat = state.seats[player]
    seat.stack += amount
    seat.at_risk -= amount


def _remove_chips(
    state: TableState, spot: Spot, player: PlayerId, amount: int, area: str = "", number: int = 0
) -> list[Placement]:
    """Take chips off a spot, the last placed first; return them as placements.

    `area` limits this to the chips in one area, `number` to one placement, which a move may have
    split into several entries.
    """
    current = state.current
    bet = current.bets[spot][player]
    bet.total -= amount
    current.totals[spot] -= amount
    removed = []
    while amount:
        last = next(
            each
            for each in reversed(bet.placements)
            if area in ("", each.area) and number in (0, each.number)
        )
        taken = min(last.amount, amount)
        removed.append(Placement(last.number, taken, last.area, last.manner, last.origin))
        last.amount -= taken
        amount -= taken
        if not last.amount:
            bet.placements.remove(last)
    if not bet.placements and not bet.excess:
        _forget_bet(current, spot, player)
    return removed


def _forget_bet(current: Round, spot: Spot, player: PlayerId) -> None:
    """Remove a bet without chips; a spot without chips holds no bet that was placed."""
    del current.bets[spot][player]
    if not current.bets[spot]:
        del current.bets[spot], current.totals[spot]


def _move(
    state: TableState, event: events.ChipsMoved | events.ChipsPutBack, number: int = 0
) -> None:
    """Move chips to another spot; they keep their area unless the event names another."""
    to_spot, to_area = event.to_spot, event.to_area or event.to_spot.partition("@")[2]
    excess = _lift_excess(state, event.spot, event.player, event.excess)
    removed = _remove_chips(state, event.spot, event.player, event.amount, event.area, number)
    current = state.current
    bet = current.bets.setdefault(to_spot, {}).setdefault(event.player, Bet())
    bet.total += event.amount
    bet.excess += excess
    for placement in reversed(removed):
        placement.area = to_area or placement.area
        origin = placement.origin or event.spot
        placement.origin = "" if origin == to_spot else origin
        split = (placement.number, placement.area)
        same = next((each for each in bet.placements if (each.number, each.area) == split), None)
        if same:
            same.amount += placement.amount
        else:
            bet.placements.append(placement)
    current.totals[to_spot] = current.totals.get(to_spot, 0) + event.amount


# --- settlement ---------------------------------------------------------------------------------


def _apportion(state: TableState, event: events.BetsApportioned) -> None:
    current = state.current
    for spot, player, stake, plays in event.bets:
        bet = current.bets[spot][player]
        bet.total = plays
        current.totals[spot] -= stake - plays
        if event.waits:
            bet.excess += stake - plays
            continue
        _return_chips(state, player, stake - plays)
        if not plays:
            _forget_bet(current, spot, player)


def _collect(state: TableState, event: events.LosersCollected) -> None:
    current = state.current
    current.done.add("collect-losers")
    seats, nets = state.seats, current.nets
    for _, player, amount in event.bets:
        seats[player].at_risk -= amount
        nets[player] = nets.get(player, 0) - amount
    _return_excess(state, event)
    state.float_amount += sum(amount for _, _, amount in event.bets)


def _pay(state: TableState, event: events.AreaPaid | events.WinnersPaid) -> None:
    seats, nets = state.seats, state.current.nets
    for _, player, stake, winnings in event.bets:
        seat = seats[player]
        seat.at_risk -= stake
        seat.stack += stake + winnings
        nets[player] = nets.get(player, 0) + winnings
    _return_excess(state, event)
    state.float_amount -= sum(winnings for _, _, _, winnings in event.bets)


def _return_excess(state: TableState, event: events.SettlementEvent) -> None:
    """Return the excess that lay with the bets that an event settles."""
    for spot, player, amount in event.excess or ():
        _lift_excess(state, spot, player, amount)
        _return_chips(state, player, amount)
        if not state.current.bets[spot][player].total:
            _forget_bet(state.current, spot, player)


def _end_round(state: TableState, event: events.WinnersPaid) -> None:
    state.settled[event.round] = state.current.nets
    state.last_settled = SettledRound(event.round, state.current.shooter)
    state.round = None


def _add_net(state: TableState, player: PlayerId, amount: int) -> None:
    """Add to a player's net result of the round, which a reversal of the round would undo."""
    nets = state.current.nets
    nets[player] = nets.get(player, 0) + amount


def _void(state: TableState, event: events.RoundVoided) -> None:
    state.rounds = event.round  # may be the next round, voided while only standing bets are down
    if event.bets == "stand":
        state.standing = (state.current.bets, state.current.totals)
        _put_back(state, event.restored or ())
    else:
        state.standing = None
        for _, player, amount in event.returned:
            _return_chips(state, player, amount)
    state.round = None


_STEPS_FROM_THROW: Final[frozenset[StepName]] = frozenset(
    {"throw", "uncover", "call-result", "enter-result", "illuminate", "collect-losers"}
)
"""The steps that a repeated throw takes again, as far as the procedure has them."""


def _repeat_throw(state: TableState, event: events.ThrowRepeated) -> None:
    current = state.current
    current.done -= _STEPS_FROM_THROW.difference(current.skipped)
    current.known, current.keys, current.called, current.result = [], [], None, None
    current.nets, current.shooter, current.stopped = {}, None, None
    _put_back(state, event.restored)


def _put_back(state: TableState, collected: Iterable[Stake]) -> None:
    """Return collected bets from the float to the layout."""
    for _, player, amount in collected:
        _take_seat(state, player).at_risk += amount
        state.float_amount -= amount


def _restore_shooter(state: TableState, event: events.ShooterRestored) -> None:
    player = event.player
    state.shooter = Shooter(player, event.dice, event.stake, event.throws, event.absent)
    if event.laid:
        _transfer(state, player, 0, event.owing)
        seat = state.seats[player]
        seat.stack -= event.laid
        seat.at_risk += event.laid


def _reverse(state: TableState, event: events.RoundsReversed) -> None:
    owing = dict(event.owing)
    for player, amount in event.transfers:
        _transfer(state, player, amount, owing.get(player, 0))
    state.reversed.update(event.rounds)
