"""Settle rounds: collect losers and pay winners; void a round, or reverse settled ones.

Where the rulebook says so (sg-rws-tai-sai-v6 5.1.1), bets over a limit that nobody noticed are
first apportioned pro rata. Bets are listed in the order in which a dealer works the layout.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Literal

import msgspec

from threedice.dice import contains
from threedice.money import Amount
from threedice.table import commands, events
from threedice.table.chip_counts.moves import ChipPlan
from threedice.table.debts import set_off_payments
from threedice.table.limits import box_of, limits_in_force, permitted_total, stake_step
from threedice.table.rejections import find_rejections, rejects_at_close
from threedice.table.rules import (
    handles,
    refuse,
    require_box,
    require_step,
    resolve_spot,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from threedice.dice import Roll
    from threedice.money import Odds
    from threedice.rulebook import Box, Game
    from threedice.rulebook.conduct import IrregularityName, ProRataRule
    from threedice.table.commands import Actor
    from threedice.table.events import AnyEvent, Payout, Stake, Transfer
    from threedice.table.limits import PlayerId, Spot
    from threedice.table.state import Bet, Shooter, TableState


@handles(commands.CollectLosers)
def collect_losers(
    game: Game, state: TableState, command: commands.CollectLosers
) -> list[AnyEvent]:
    """Apportion bets over a limit, and collect the losing bets."""
    require_step(game, state, command)
    roll = state.current.final_result
    shares = list(_pro_rata_shares(game, state, _staked(game, state)))
    if state.holders is not None:
        shares = _payable_shares(game, state, shares)
    plays = {(spot, player): share for spot, player, _, share in shares}
    losing = [
        (spot, player, plays.get((spot, player), bet.total))
        for spot, bets in working_order(game, state)
        if winning_odds(game, spot, roll) is None
        for player, bet in bets.items()
        if plays.get((spot, player), bet.total)
    ]
    apportioned = [events.BetsApportioned(bets=shares)] if shares else []
    collected = events.LosersCollected(bets=losing)
    return [*apportioned, collected, *_shooter_lost(game, state, roll)]


@handles(commands.PayArea)
def pay_area(game: Game, state: TableState, command: commands.PayArea) -> list[AnyEvent]:
    """Pay the winning bets of one spot before the others; its players may take their chips."""
    step = require_step(game, state, command)
    spot = resolve_spot(game, require_box(game, command.box).id, command.area)
    paid = [payout for payout in _unpaid_winners(game, state) if payout[0] == spot]
    is_shared = bool(command.area) and spot == command.box  # its areas are paid together
    if not paid or is_shared:
        place = f"{command.box} at {command.area}" if command.area else command.box
        raise refuse("payment/none", step, box=place)
    require_float(state, sum(winnings for *_, winnings in paid))
    set_off = _set_off_winnings(game, state, state.current.number, paid, [])
    return [events.AreaPaid(spot=spot, bets=paid, by=command.by), *set_off]


@handles(commands.PayWinners)
def pay_winners(game: Game, state: TableState, command: commands.PayWinners) -> list[AnyEvent]:
    """Pay the winning bets that are still unpaid; the round is settled."""
    require_step(game, state, command)
    roll, paid = state.current.final_result, list(_unpaid_winners(game, state))
    shooter = _shooter_wins(game, state)
    total: int = sum(winnings for *_, winnings in paid)
    total += sum(each.winnings for each in shooter if isinstance(each, events.ShooterWon))
    require_float(state, total)
    number = state.current.number
    settled = events.WinnersPaid(round=number, dice=roll, bets=paid)
    return [*shooter, settled, *_set_off_winnings(game, state, number, paid, shooter)]


def _unpaid_winners(game: Game, state: TableState) -> Iterator[Payout]:
    """Yield the winning bets on the layout with their winnings, in the order of payment."""
    roll = state.current.final_result
    for spot, bets in working_order(game, state):
        odds = winning_odds(game, spot, roll)
        if odds is not None:
            for player, bet in bets.items():
                yield spot, player, bet.total, odds.winnings(Amount(bet.total))


def _set_off_winnings(
    game: Game,
    state: TableState,
    number: int,
    paid: Sequence[Payout],
    shooter: Sequence[events.ShooterAdvanced | events.ShooterWon],
) -> list[events.DebtRepaid]:
    """Return the reductions of debts by the winnings of a round, the shooter's bet included."""
    if not any(state.owing.values()):
        return []
    winnings: dict[str, int] = {}
    for _, player, _, amount in paid:
        winnings[player] = winnings.get(player, 0) + amount
    for event in shooter:
        if isinstance(event, events.ShooterWon):
            winnings[event.player] = winnings.get(event.player, 0) + event.winnings
    return set_off_payments(game, state, winnings, "winnings", number)


def working_order(game: Game, state: TableState) -> Iterator[tuple[Spot, dict[str, Bet]]]:
    """Yield the spots with bets in the order in which a dealer works the layout."""
    bets = state.current.bets
    for box in game.working_order:
        if box in bets:
            yield box, bets[box]
        for end in game.ends.get(box, ()):
            if (spot := f"{box}@{end}") in bets:
                yield spot, bets[spot]


def winning_odds(game: Game, spot: Spot, roll: Roll) -> Odds | None:
    """Return the odds at which a spot wins on a roll, or None if it loses."""
    return game.boxes[box_of(spot)].odds_on(roll)


def playing_stakes(game: Game, state: TableState) -> dict[Spot, dict[PlayerId, int]]:
    """Return what each bet on the layout would play if the round went on from here.

    An electronic table rejects excess at the close, and unnoticed excess is apportioned when losers
    are collected.
    """
    if state.round is None:
        return {}
    stakes, done = _staked(game, state), state.round.done
    if rejects_at_close(game, state) and "close-betting" not in done:
        for rejected in find_rejections(game, state, stakes):
            stakes[rejected.spot][rejected.player] -= rejected.amount
    if "collect-losers" not in done:
        for spot, player, _, share in list(_pro_rata_shares(game, state, stakes)):
            stakes[spot][player] = share
    return stakes


def _staked(game: Game, state: TableState) -> dict[Spot, dict[PlayerId, int]]:
    """Return the stakes on the layout, in the order in which a dealer works it."""
    return {
        spot: {player: bet.total for player, bet in bets.items()}
        for spot, bets in working_order(game, state)
    }


def _pro_rata_shares(
    game: Game, state: TableState, stakes: Mapping[Spot, Mapping[PlayerId, int]]
) -> Iterator[tuple[Spot, str, int, int]]:
    """Yield the bets that play in part: (spot, player, stake, amount played)."""
    policy, limits = game.facts.limits, limits_in_force(state)
    shared = policy.maximum.scope == "box" and policy.maximum.unnoticed == "pro-rata"
    rule = policy.pro_rata if shared else None
    if rule is None:
        return
    totals = {spot: sum(bets.values()) for spot, bets in stakes.items()}
    by_differential = policy.differential and policy.differential.unnoticed == "pro-rata"
    for spot, bets in stakes.items():
        allowed = limits.for_box(box_of(spot)).maximum
        if by_differential:
            allowed = permitted_total(game, limits, totals, spot)
        minimum = limits.for_box(box_of(spot)).minimum
        step = stake_step(game.boxes[box_of(spot)], state.chips)
        shares = apportion_by_rule(rule, bets, allowed, minimum, step)
        for player, stake in bets.items():
            if shares[player] != stake:
                yield spot, player, stake, shares[player]


def _payable_shares(
    game: Game, state: TableState, shares: Sequence[tuple[Spot, str, int, int]]
) -> list[tuple[Spot, str, int, int]]:
    """Return shares whose returned parts chips can make: the next higher part where they cannot.

    A bet of which less than the minimum would be left goes back whole.
    """
    plan, limits, payable = ChipPlan(game, state), limits_in_force(state), []
    for spot, player, stake, share in shares:
        step = stake_step(game.boxes[box_of(spot)], state.chips)
        least = min(share, limits.for_box(box_of(spot)).minimum)
        returned = plan.least_payable(spot, player, stake - share, stake - least, step) or stake
        plan.return_stake(spot, player, returned)
        payable.append((spot, player, stake, stake - returned))
    return payable


# --- the shooter --------------------------------------------------------------------------------


def find_shooter_bet(game: Game, state: TableState) -> tuple[Shooter, Box] | None:
    """Return the shooter and the box of the shooter's bet, if the table has a shooter."""
    rule, shooter = game.facts.shooter, state.shooter
    return (shooter, game.boxes[rule.box]) if rule and shooter else None


def _shooter_lost(game: Game, state: TableState, roll: Roll) -> list[AnyEvent]:
    """Return the loss of the shooter's bet if the throw does not win."""
    shooter_bet = find_shooter_bet(game, state)
    if shooter_bet is None or contains(shooter_bet[1].wins, roll):
        return []
    shooter = shooter_bet[0]
    return [events.ShooterLost(player=shooter.player, stake=shooter.stake)]


def _shooter_wins(
    game: Game, state: TableState
) -> list[events.ShooterAdvanced | events.ShooterWon]:
    """Return the progress of a shooter whose throw won: another throw, or the payout on the last.

    A shooter whose throw lost has left the state when losers were collected.
    """
    shooter_bet = find_shooter_bet(game, state)
    if shooter_bet is None:
        return []
    shooter, box = shooter_bet
    throws = shooter.throws + 1
    if throws < box.throws:
        return [events.ShooterAdvanced(player=shooter.player, throws=throws)]
    (line,) = box.lines
    winnings = line.odds.winnings(Amount(shooter.stake))
    return [events.ShooterWon(player=shooter.player, stake=shooter.stake, winnings=winnings)]


# --- void and reversed rounds -------------------------------------------------------------------


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
    """Return every bet on the layout, including those left standing by a void round.

    After the losers have been collected, only the winning bets are left.
    """
    current = state.round
    layout = current.bets if current else state.standing[0] if state.standing else {}
    roll = current.final_result if current and "collect-losers" in current.done else None
    return [
        (spot, player, bet.total)
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


def require_float(state: TableState, paid: int) -> None:
    """Refuse to pay more than the float holds."""
    if paid > state.float_amount:
        raise refuse("float/short", short=paid - state.float_amount)


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
            owing=max(laid - stacks[shooter.player], 0) if stacks is not None else 0,
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


# --- pro rata -----------------------------------------------------------------------------------


def apportion_by_rule(
    rule: ProRataRule, stakes: Mapping[PlayerId, int], allowed: int, minimum: int, step: int
) -> dict[PlayerId, int]:
    """Return the amount that each stake plays under a rulebook's pro rata rule."""
    floor = minimum if rule.never_below_minimum else 0
    exempt_below = minimum if rule.exempt_below_minimum else 0
    return apportion(rule.method, stakes, allowed, floor, step, exempt_below)


def apportion(
    method: Literal["floor", "absorb"],
    stakes: Mapping[PlayerId, int],
    allowed: int,
    minimum: int,
    chip: int,
    exempt_below: int | None = None,
) -> dict[PlayerId, int]:
    """Return the amount that each stake plays in a box over its limit.

    `floor`: stake x allowed / total, rounded down to the smallest chip but not below the minimum;
    a stake below the minimum plays in full (sg-rws-tai-sai-v6 5.1.1, sg-rws-tai-sai-v6 5.1.2).

    >>> apportion("floor", {"a": 900, "b": 300, "c": 40}, 1000, 50, 5)
    {'a': 725, 'b': 240, 'c': 40}

    `absorb`: the other stakes are reduced by what floors and exemptions add.

    >>> apportion("absorb", {"a": 900, "b": 300, "c": 40}, 1000, 50, 5)
    {'a': 720, 'b': 240, 'c': 40}
    """
    below = minimum if exempt_below is None else exempt_below
    total = sum(stakes.values())
    if total <= allowed:
        return dict(stakes)
    if method == "absorb":
        fixed, remaining, sharing = split_fixed_stakes(stakes, allowed, minimum, chip, below)
        return {
            player: fixed[player]
            if player in fixed
            else stake * remaining // sharing // chip * chip
            for player, stake in stakes.items()
        }
    return {
        player: stake
        if stake < below
        else min(max(stake * allowed // total // chip * chip, minimum), stake)
        for player, stake in stakes.items()
    }


def split_fixed_stakes(
    stakes: Mapping[PlayerId, int], allowed: int, minimum: int, chip: int, below: int
) -> tuple[dict[PlayerId, int], int, int]:
    """Return the fixed amounts by player, the amount they leave, and the total stakes sharing it.

    Stakes below `below` play in full; a stake whose share is under the minimum plays the minimum.
    """
    fixed = {player: stake for player, stake in stakes.items() if stake < below}
    while True:
        remaining = max(allowed - sum(fixed.values()), 0)
        sharing = {player: stake for player, stake in stakes.items() if player not in fixed}
        total = sum(sharing.values())
        below_minimum = [
            player
            for player, stake in sharing.items()
            if stake * remaining // total // chip * chip < minimum
        ]
        if not below_minimum:
            return fixed, remaining, total
        fixed.update((player, min(minimum, stakes[player])) for player in below_minimum)
