"""Apply events to the state of a table, in place.

Only this module changes a state. Changing it in place keeps the cost of a bet constant, however
many bets the table holds. Replaying a table's events gives the same state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from threedice.errors import InvariantBroken
from threedice.table import events as table_events
from threedice.table.state import Bet, Placement, Round, Shooter, TableSeat, TableState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.table.events import AnyEvent, Stake
    from threedice.table.limits import PlayerId, Spot


def replay(events: Iterable[AnyEvent]) -> TableState:
    """Return the state that a table's events lead to."""
    state = TableState()
    for event in events:
        evolve(state, event)
    return state


def evolve(state: TableState, event: AnyEvent) -> TableState:
    """Apply an event to the state, in place, and return it."""
    match event:
        case table_events.BetPlaced():  # the most frequent events come first, for speed
            _place(state, event)
        case table_events.KeyPressed():
            state.current.keys = [*state.current.keys[-2:], event.key]
        case table_events.LosersCollected():
            _collect(state, event)
        case table_events.WinnersPaid():
            _pay(state, event)
        case table_events.RoundStarted():
            _start_round(state, event)
        case table_events.BettingOpened():
            state.limits, state.next_limits = event.limits, None
            state.current.done.add("open-betting")
        case table_events.BettingClosed():
            state.current.done.add("close-betting")
        case table_events.StepTaken():
            state.current.done.add(event.step)
        case table_events.DiceTumbled():
            state.current.times_tumbled = event.times
            state.current.done.add("tumble")
        case table_events.ResultCalled():
            state.current.called = event.dice
            state.current.done.add("call-result")
        case table_events.ResultEntered():
            state.current.result = event.dice
            state.current.keys = []
            state.current.done.add("enter-result")
        case table_events.AreasLit():
            state.current.done.add("illuminate")
        case table_events.TableOpened():
            _open(state, event)
        case table_events.CheckPassed():
            state.checks.add(event.check)
        case table_events.LimitsSet():
            state.next_limits = event.limits
        case table_events.FloatFilled():
            state.float_amount += event.amount
        case table_events.FloatCredited():
            state.float_amount -= event.amount
        case table_events.TableClosed():
            _close(state, event)
        case table_events.TableLocked():
            state.locked = event.cause
        case table_events.TableReleased():
            state.locked = ""
        case table_events.BoughtIn():
            _seat(state, event.player).stack += event.amount
            state.float_amount -= event.amount
            state.drop += event.amount if event.source == "cash" else 0
        case table_events.CashedOut():
            _cash_out(state, event)
        case table_events.ChipsChanged():
            pass
        case table_events.DebtRepaid():
            _repay(state, event)
        case table_events.ColourTaken():
            seat = state.seats[event.player]
            seat.colour, seat.colour_value = event.colour, event.value
        case table_events.ColouredUp():
            seat = state.seats[event.player]
            seat.colour, seat.colour_value = "", 0
        case table_events.BetWithdrawn():
            _take_back(state, event.spot, event.player, event.amount, event.area)
            _forget_moves(state, event.spot, event.player)
        case table_events.BetRejected():
            _reject(state, event)
            _forget_moves(state, event.spot, event.player)
        case table_events.ChipsMoved():
            _move(state, event)
            key = (event.player, event.spot, event.to_spot)
            moved = state.current.moved
            moved[key] = moved.get(key, 0) + event.amount
        case table_events.ChipsPutBack():
            _move(state, event)
            state.current.moved[event.player, event.to_spot, event.spot] -= event.amount
        case table_events.LineJudged():
            if not event.accepted:
                _take_back(state, event.spot, event.player, event.amount, event.area)
                _forget_moves(state, event.spot, event.player)
        case table_events.DiceOffered():
            state.shooter = Shooter(event.player)
            state.current.done.add("offer-dice")
            state.current.done.discard("choose-dice")
        case table_events.DiceChosen():
            _shooter(state).dice = event.dice
            state.current.done.add("choose-dice")
        case table_events.ResultAmended():
            state.current.result = state.current.called = event.dice
            state.current.done.discard("illuminate")
        case table_events.BetsApportioned():
            _apportion(state, event)
        case table_events.ShooterAdvanced():
            _shooter(state).throws = event.throws
        case table_events.ShooterWon():
            state.seats[event.player].stack += event.stake + event.winnings
            state.seats[event.player].at_risk -= event.stake
            state.float_amount -= event.winnings
            _add_net(state, event.player, event.winnings)
            state.shooter = None
        case table_events.ShooterLost():
            state.seats[event.player].at_risk -= event.stake
            state.float_amount += event.stake
            _add_net(state, event.player, -event.stake)
            state.shooter = None
        case table_events.RoundVoided():
            _void(state, event)
        case table_events.RoundsReversed():
            _reverse(state, event)
        case table_events.ThrowRepeated():
            state.current.done.discard("throw")
            state.current.known = []
        case table_events.RoundContinued():
            state.current.known = event.known
        case table_events.IrregularityNoted():
            if state.shooter and event.player == state.shooter.player:
                state.shooter.absent = event.irregularity == "walked-away"
        case table_events.BetCorrected():
            _transfer(state, event.player, event.amount, event.owing)
            nets = state.settled[event.round]
            nets[event.player] = nets.get(event.player, 0) + event.amount
        case table_events.RulingMade():
            _transfer(state, event.player, event.amount, event.owing)
        case _:
            assert_never(event)
    return state


# --- the table ----------------------------------------------------------------------------------


def _open(state: TableState, event: table_events.TableOpened) -> None:
    state.open = True
    state.table, state.game_hash = event.table, event.game_hash
    state.currency, state.mode, state.chips = event.currency, event.mode, event.chips
    state.limits = event.limits
    state.float_amount = event.float_amount
    state.drop = 0
    state.checks.clear()


def _close(state: TableState, event: table_events.TableClosed) -> None:
    state.open = False
    for player, _ in event.carried_away:
        del state.seats[player]
    state.float_amount = state.drop = 0
    state.next_limits, state.shooter, state.standing = None, None, None


def _start_round(state: TableState, event: table_events.RoundStarted) -> None:
    state.rounds = event.round
    state.round = Round(event.round, set(event.skipped))
    if state.standing:
        state.round.bets, state.round.totals = state.standing
        state.standing = None


def _shooter(state: TableState) -> Shooter:
    if state.shooter is None:
        raise InvariantBroken("nobody has the dice")
    return state.shooter


# --- chips --------------------------------------------------------------------------------------


def _seat(state: TableState, player: PlayerId) -> TableSeat:
    return state.seats.setdefault(player, TableSeat())


def _cash_out(state: TableState, event: table_events.CashedOut) -> None:
    seat = state.seats[event.player]
    seat.stack -= event.amount
    if event.to == "account":
        state.float_amount += event.amount
    if not seat.stack and not seat.at_risk:
        del state.seats[event.player]


def _repay(state: TableState, event: table_events.DebtRepaid) -> None:
    if event.source == "stack":
        state.seats[event.player].stack -= event.amount
        state.float_amount += event.amount
    else:
        state.drop += event.amount
    state.owing[event.player] -= event.amount


def _transfer(state: TableState, player: PlayerId, amount: int, owing: int) -> None:
    """Move money between the float and a player; `owing` is the change of the player's debt."""
    _seat(state, player).stack += amount + owing
    state.float_amount -= amount + owing
    if owing:
        state.owing[player] = state.owing.get(player, 0) + owing


# --- bets ---------------------------------------------------------------------------------------


def _place(state: TableState, event: table_events.BetPlaced) -> None:
    seat = state.seats[event.player]
    seat.stack -= event.amount
    seat.at_risk += event.amount
    state.placements = event.number
    if state.shooter and event.manner == "shooter":
        state.shooter.stake += event.amount
        return
    add_placement(state, event)


def add_placement(state: TableState, event: table_events.BetPlaced) -> None:
    """Add chips that have left a stack to the bets of the round."""
    current, spot, amount = state.current, event.spot, event.amount
    bet = current.bets.setdefault(spot, {}).setdefault(event.player, Bet())
    bet.total += amount
    bet.placements.append(Placement(event.number, amount, event.area, event.manner))
    current.totals[spot] = current.totals.get(spot, 0) + amount


def _take_back(
    state: TableState, spot: Spot, player: PlayerId, amount: int, area: str = ""
) -> None:
    """Return chips from a spot to a stack, the last placed first."""
    _remove_chips(state, spot, player, amount, area)
    seat = state.seats[player]
    seat.stack += amount
    seat.at_risk -= amount


def _forget_moves(state: TableState, spot: Spot, player: PlayerId) -> None:
    """Reduce the moves to a spot to its bet: chips that have left it cannot be put back from it."""
    current = state.current
    bet = current.bets.get(spot, {}).get(player)
    remaining = bet.total if bet else 0
    for key, amount in current.moved.items():
        if key[0] == player and key[2] == spot:
            current.moved[key] = min(amount, remaining)


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
        removed.append(Placement(last.number, taken, last.area, last.manner))
        last.amount -= taken
        amount -= taken
        if not last.amount:
            bet.placements.remove(last)
    if not bet.placements:
        del current.bets[spot][player]
    return removed


def _reject(state: TableState, event: table_events.BetRejected) -> None:
    _remove_chips(state, event.spot, event.player, event.amount, number=event.number)
    seat = state.seats[event.player]
    seat.stack += event.amount
    seat.at_risk -= event.amount


def _move(state: TableState, event: table_events.ChipsMoved | table_events.ChipsPutBack) -> None:
    """Move chips to another spot; they keep their area unless the event names another."""
    to_spot, to_area = event.to_spot, event.to_area or event.to_spot.partition("@")[2]
    removed = _remove_chips(state, event.spot, event.player, event.amount, event.area)
    current = state.current
    bet = current.bets.setdefault(to_spot, {}).setdefault(event.player, Bet())
    bet.total += event.amount
    for placement in reversed(removed):
        placement.area = to_area or placement.area
        same = next((each for each in bet.placements if _is_same_placement(each, placement)), None)
        if same:
            same.amount += placement.amount
        else:
            bet.placements.append(placement)
    current.totals[to_spot] = current.totals.get(to_spot, 0) + event.amount


def _is_same_placement(one: Placement, other: Placement) -> bool:
    return (one.number, one.area) == (other.number, other.area)


# --- settlement ---------------------------------------------------------------------------------


def _apportion(state: TableState, event: table_events.BetsApportioned) -> None:
    current = state.current
    for spot, player, stake, plays in event.bets:
        current.bets[spot][player].total = plays
        current.totals[spot] -= stake - plays
        seat = state.seats[player]
        seat.stack += stake - plays
        seat.at_risk -= stake - plays


def _collect(state: TableState, event: table_events.LosersCollected) -> None:
    current = state.current
    current.done.add("collect-losers")
    seats, nets = state.seats, current.nets
    for _, player, amount in event.bets:
        seats[player].at_risk -= amount
        nets[player] = nets.get(player, 0) - amount
    state.float_amount += sum(amount for _, _, amount in event.bets)


def _pay(state: TableState, event: table_events.WinnersPaid) -> None:
    seats, nets = state.seats, state.current.nets
    for _, player, stake, winnings in event.bets:
        seat = seats[player]
        seat.at_risk -= stake
        seat.stack += stake + winnings
        nets[player] = nets.get(player, 0) + winnings
    state.float_amount -= sum(winnings for _, _, _, winnings in event.bets)
    state.settled[event.round] = state.current.nets
    state.round = None


def _add_net(state: TableState, player: PlayerId, amount: int) -> None:
    """Add to a player's net result of the round, which a reversal of the round would undo."""
    nets = state.current.nets
    nets[player] = nets.get(player, 0) + amount


def _void(state: TableState, event: table_events.RoundVoided) -> None:
    state.rounds = event.round  # may be the next round, voided while only standing bets are down
    if event.bets == "stand":
        state.standing = (state.current.bets, state.current.totals)
    else:
        state.standing = None
        _return_stakes(state, event.returned)
    state.round = None


def _return_stakes(state: TableState, stakes: Iterable[Stake]) -> None:
    for _, player, amount in stakes:
        seat = state.seats[player]
        seat.stack += amount
        seat.at_risk -= amount


def _reverse(state: TableState, event: table_events.RoundsReversed) -> None:
    owing = dict(event.owing)
    for player, amount in event.transfers:
        _transfer(state, player, amount, owing.get(player, 0))
    state.reversed.update(event.rounds)
