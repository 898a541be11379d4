"""Settlement: losers are collected, then winners are paid, to the cent.

Bets over a limit that nobody noticed are apportioned first, where the rulebook says so
(sg-rws-tai-sai-v6 5.1.1). Everything is listed in the order a dealer works the layout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.dice import contains
from threedice.money import Amount
from threedice.table import events as happened
from threedice.table.limits import limits_of, permitted, share
from threedice.table.refusal import refuse
from threedice.table.rules import need_open, need_step
from threedice.table.state import box_of
from threedice.table.terms import step_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.dice import Roll
    from threedice.money import Odds
    from threedice.rulebook import Box, Game
    from threedice.table import commands as asked
    from threedice.table.events import AnyEvent, Paid, Spot
    from threedice.table.state import Bet, Shooter, TableState


def collect_losers(game: Game, state: TableState, command: asked.CollectLosers) -> list[AnyEvent]:
    """Apportion what is over a limit, and take the losing bets."""
    need_open(state)
    need_step(game, state, "collect-losers", command.by)
    roll = state.current.decided
    shares = list(_shares(game, state))
    plays = {(spot, player): share for spot, player, _, share in shares}
    losing = [
        (spot, player, plays.get((spot, player), bet.total))
        for spot, bets in working_order(game, state)
        if odds_on(game, spot, roll) is None
        for player, bet in bets.items()
    ]
    events: list[AnyEvent] = [happened.BetsApportioned(bets=shares)] if shares else []
    return [*events, happened.LosersCollected(bets=losing), *_shooter_lost(game, state, roll)]


def pay_winners(game: Game, state: TableState, command: asked.PayWinners) -> list[AnyEvent]:
    """Pay the winning bets; the round is settled."""
    need_open(state)
    need_step(game, state, "pay-winners", command.by)
    roll = state.current.decided
    paid: list[Paid] = [
        (spot, player, bet.total, odds.winnings(Amount(bet.total)))
        for spot, bets in working_order(game, state)
        if (odds := odds_on(game, spot, roll)) is not None
        for player, bet in bets.items()
    ]
    shooter = _shooter_wins(game, state)
    owed: int = sum(winnings for *_, winnings in paid)
    owed += sum(each.winnings for each in shooter if isinstance(each, happened.ShooterWon))
    if owed > state.float_amount:
        raise refuse("float/short", short=owed - state.float_amount)
    number = state.current.number
    return [*shooter, happened.WinnersPaid(round=number, dice=roll, bets=paid)]


def working_order(game: Game, state: TableState) -> Iterator[tuple[Spot, dict[str, Bet]]]:
    """Yield the spots with bets as a dealer works the layout."""
    bets = state.current.bets
    for box in game.working_order:
        if box in bets:
            yield box, bets[box]
        for end in game.ends.get(box, ()):
            if (spot := f"{box}@{end}") in bets:
                yield spot, bets[spot]


def odds_on(game: Game, spot: Spot, roll: Roll) -> Odds | None:
    """Return the odds at which a spot wins on a roll, or nothing."""
    lines = game.boxes[box_of(spot)].lines
    return next((line.odds for line in lines if contains(line.rolls, roll)), None)


def _shares(game: Game, state: TableState) -> Iterator[tuple[Spot, str, int, int]]:
    """Yield the bets that play in part: (spot, player, stake, plays)."""
    policy, limits, current = game.facts.limits, limits_of(state), state.current
    shared = policy.maximum.scope == "box" and policy.maximum.unnoticed == "pro-rata"
    rule = policy.pro_rata if shared else None
    if rule is None:
        return
    for spot, bets in working_order(game, state):
        allowed = permitted(game, limits, current.totals, spot)
        if current.totals[spot] <= allowed:
            continue
        stakes = {player: bet.total for player, bet in bets.items()}
        minimum = limits.of(box_of(spot)).minimum
        step = step_of(game.boxes[box_of(spot)], state.chips)
        shares = share(rule, stakes, allowed, minimum, step)
        for player, stake in stakes.items():
            if shares[player] != stake:
                yield spot, player, stake, shares[player]


# --- the shooter --------------------------------------------------------------------------------


def shooters_bet(game: Game, state: TableState) -> tuple[Shooter, Box] | None:
    """Return who has the dice, and the box of the bet that only he may hold."""
    rule, shooter = game.facts.shooter, state.shooter
    return (shooter, game.boxes[rule.box]) if rule and shooter else None


def _shooter_lost(game: Game, state: TableState, roll: Roll) -> list[AnyEvent]:
    """Take the shooter's bet at the first throw without what he needs."""
    held = shooters_bet(game, state)
    if held is None or contains(held[1].wins, roll):
        return []
    return [happened.ShooterLost(player=held[0].player, stake=held[0].stake)]


def _shooter_wins(
    game: Game, state: TableState
) -> list[happened.ShooterAdvanced | happened.ShooterWon]:
    """Count the throw of a shooter who has not lost by it, and pay him on the last."""
    held = shooters_bet(game, state)
    if held is None:
        return []
    shooter, box = held
    throws = shooter.throws + 1
    if throws < box.throws:
        return [happened.ShooterAdvanced(player=shooter.player, throws=throws)]
    (line,) = box.lines
    winnings = line.odds.winnings(Amount(shooter.stake))
    return [happened.ShooterWon(player=shooter.player, stake=shooter.stake, winnings=winnings)]
