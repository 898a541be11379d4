"""Settle rounds: collect losers and pay winners.

Where the rulebook says so (sg-rws-tai-sai-v6 5.1.1), bets over a limit that nobody noticed are
first apportioned pro rata. Bets are listed in the order in which a dealer works the layout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import UNSET, UnsetType

from threedice.dice import contains
from threedice.money import Amount
from threedice.table import commands, events
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
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from threedice.dice import Roll
    from threedice.money import Odds
    from threedice.rulebook import Box, Game
    from threedice.rulebook.conduct import ProRataRule
    from threedice.table.events import AnyEvent, Payout, Stake
    from threedice.table.limits import PlayerId, Spot
    from threedice.table.state import Bet, Shooter, TableState


@handles(commands.CollectLosers)
def collect_losers(
    game: Game, state: TableState, command: commands.CollectLosers
) -> list[AnyEvent]:
    """Apportion bets over a limit, and collect the losing bets."""
    require_step(game, state, command)
    roll = state.current.final_result
    shares = list(_shares_to_play(game, state, _staked(game, state)))
    waits = state.holders is not None
    apportioned = [events.BetsApportioned(bets=shares, waits=waits)] if shares else []
    plays = {(spot, player): share for spot, player, _, share in shares}
    losing: list[Stake] = []
    excess: list[Stake] = []
    for spot, bets in working_order(game, state):
        if winning_odds(game, spot, roll) is not None:
            continue
        for player, bet in bets.items():
            share = plays.get((spot, player), bet.total)
            losing.append((spot, player, share))
            if waits:
                excess.append((spot, player, bet.lying - share))
    collected = events.LosersCollected(bets=_nonzero(losing), excess=_nonzero(excess) or UNSET)
    return [*apportioned, collected, *_shooter_lost(game, state, roll)]


def _nonzero(stakes: Iterable[Stake]) -> list[Stake]:
    return [stake for stake in stakes if stake[2]]


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
    excess = _winners_excess(game, state, spot)
    return [events.AreaPaid(spot=spot, bets=paid, excess=excess, by=command.by), *set_off]


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
    excess = _winners_excess(game, state)
    settled = events.WinnersPaid(round=number, dice=roll, bets=paid, excess=excess)
    return [*shooter, settled, *_set_off_winnings(game, state, number, paid, shooter)]


def _unpaid_winners(game: Game, state: TableState) -> Iterator[Payout]:
    """Yield the winning bets on the layout with their winnings, in the order of payment."""
    roll = state.current.final_result
    for spot, bets in working_order(game, state):
        odds = winning_odds(game, spot, roll)
        if odds is not None:
            for player, bet in bets.items():
                if bet.total:
                    yield spot, player, bet.total, odds.winnings(Amount(bet.total))


def _winners_excess(game: Game, state: TableState, spot: Spot = "") -> list[Stake] | UnsetType:
    """Return the excess that lies with winning bets, of one spot if named, for tables in chips."""
    roll = state.current.final_result
    excess = _nonzero(
        (each, player, bet.excess)
        for each, bets in working_order(game, state)
        if spot in ("", each) and winning_odds(game, each, roll) is not None
        for player, bet in bets.items()
    )
    return excess or UNSET


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
        for spot, player, _, share in _shares_to_play(game, state, stakes):
            stakes[spot][player] = share
    return stakes


def _staked(game: Game, state: TableState) -> dict[Spot, dict[PlayerId, int]]:
    """Return the stakes on the layout, in the order in which a dealer works it."""
    return {
        spot: {player: bet.total for player, bet in bets.items()}
        for spot, bets in working_order(game, state)
    }


def _shares_to_play(
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


def require_float(state: TableState, paid: int) -> None:
    """Refuse to pay more than the float holds."""
    if paid > state.float_amount:
        raise refuse("float/short", short=paid - state.float_amount)


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
