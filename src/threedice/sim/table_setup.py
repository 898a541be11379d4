"""A table for `seats`: who sits there, what they bet, and the limits, checked and put in rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from threedice.dice import ROLLS, contains
from threedice.errors import InvalidInput
from threedice.odds.sessions.plans import DEFAULT_LINE, PLANS, StakingPlan
from threedice.sim.jobs import IntRow, TableJob, check_seed
from threedice.sim.kernels.sessions import bin_index, choose_precision_bits
from threedice.sim.kernels.tables import PLAN_NUMBERS
from threedice.sim.runner import check_memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.rulebook import Box, Game

UNLIMITED: Final = 2**30
"""The bankroll of somebody who brought none, and the maximum where there is none."""
MAX_NET_BINS: Final = 2**15
"""Into at most so many places are gains counted, and losses."""
MAX_RESULT: Final = 2**31
"""Results of a session must stay below this to be counted."""


@dataclass(frozen=True, slots=True)
class PlannedBet:
    """A bet that is made again and again: the box, the base stake, and the plan."""

    box: str
    base: int
    plan: str = "flat"


@dataclass(frozen=True, slots=True)
class SimulatedPlayer:
    """A player at the table; without a bankroll he can always pay."""

    name: str
    bets: tuple[PlannedBet, ...]
    bankroll: int | None = None
    stop_loss: int | None = None
    stop_win: int | None = None


def table_job(
    game: Game,
    seats: Sequence[SimulatedPlayer],
    *,
    rounds: int,
    sessions: int,
    minimum: int = 1,
    maximum: int | None = None,
    differential: int | None = None,
    seed: int = 1,
) -> TableJob:
    """Return sessions of a table; limits are the same for every box, and for every pair."""
    check_seed(seed)
    if rounds < 1 or sessions < 1:
        raise InvalidInput(f"{sessions} sessions of {rounds} rounds; play at least one of one")
    top = UNLIMITED if maximum is None else maximum
    _check_players(game, seats, minimum, top, differential)
    boxes = list(dict.fromkeys(each.box for seat in seats for each in seat.bets))
    boxes += [other for other in _opposites(game, boxes) if other not in boxes]
    laid = [(i, each) for i, seat in enumerate(seats) for each in seat.bets]
    bets = tuple(_bet_row(game, each, i, boxes, minimum, top) for i, each in laid)
    nets = tuple(_nets(game.box(each.box)) for _, each in laid)
    players = tuple(_player_row(seat) for seat in seats)
    spots = tuple(_spot_row(game, box, boxes, top, differential) for box in boxes)
    gains = [_max_gain(game, seat, rounds, top) for seat in seats]
    _check_gains(rounds, gains)
    losses = [_max_loss(seat, rounds, top) for seat in seats]
    most = max(sum(gains), sum(losses))
    fine = choose_precision_bits(most, MAX_NET_BINS)
    places = int(bin_index(most, fine, MAX_NET_BINS)) + 1
    job = TableJob(sessions, rounds, seed, bets, nets, players, spots, DEFAULT_LINE, fine, places)
    check_memory(job)
    return job


def stake_step(box: Box) -> int:
    """Return the smallest stake that a box can pay evenly."""
    return box.unit


def _bet_row(
    game: Game, bet: PlannedBet, player: int, boxes: list[str], minimum: int, top: int
) -> IntRow:
    box = game.box(bet.box)
    step = stake_step(box)
    due, *line = StakingPlan(bet.plan, bet.base, top).initial_state()
    memory = len(line) if bet.plan == "labouchere" else 0
    least = -(-minimum // step) * step
    return (
        bet.base, least, top, step, box.throws, boxes.index(bet.box), player,
        PLAN_NUMBERS[bet.plan], due, memory,
    )  # fmt: skip


def _nets(box: Box) -> IntRow:
    """Return what a box brings for each step staked on each of the 216 rolls."""
    row = []
    for roll in ROLLS:
        odds = next((line.odds for line in box.lines if contains(line.rolls, roll)), None)
        row.append(int(odds.ratio * box.unit) if odds else -box.unit)
    return tuple(row)


def _player_row(player: SimulatedPlayer) -> IntRow:
    bankroll = UNLIMITED if player.bankroll is None else player.bankroll
    floor = -1 if player.stop_loss is None else bankroll - player.stop_loss
    return bankroll, floor, 2**62 if player.stop_win is None else bankroll + player.stop_win


def _spot_row(game: Game, box: str, boxes: list[str], top: int, differential: int | None) -> IntRow:
    across = _opposite(game, box)
    limited = across is not None and differential is not None
    shared = game.facts.limits.maximum.scope == "box"
    other = boxes.index(across) if limited and across else -1
    return top, other, differential or 0, int(shared)


def _opposite(game: Game, box: str) -> str | None:
    policy = game.facts.limits.differential
    for pair in policy.pairs if policy else []:
        if box in pair:
            return pair[1] if box == pair[0] else pair[0]
    return None


def _opposites(game: Game, boxes: list[str]) -> list[str]:
    found = (_opposite(game, box) for box in boxes)
    return [each for each in found if each is not None]


def _max_gain(game: Game, player: SimulatedPlayer, rounds: int, top: int) -> int:
    """Return the most that a player could win in a session."""
    won = 0
    for each in player.bets:
        box = game.box(each.box)
        won += max(_nets(box)) * _max_stake(each, top) // box.unit * -(-rounds // box.throws)
    return won


def _max_loss(player: SimulatedPlayer, rounds: int, top: int) -> int:
    """Return the most that a player could lose in a session."""
    staked = sum(_max_stake(each, top) * rounds for each in player.bets)
    if player.bankroll is not None:
        return min(player.bankroll, staked)
    if staked > UNLIMITED:
        raise InvalidInput(
            f"{player.name} could lose {staked} in {rounds} rounds, more than can be counted here; "
            "give him a bankroll, set a lower --maximum, or play fewer rounds"
        )
    return staked


def _max_stake(bet: PlannedBet, top: int) -> int:
    """Return the most that can be staked on a bet."""
    return bet.base if bet.plan == "flat" else min(top, UNLIMITED)


def _check_gains(rounds: int, gains: list[int]) -> None:
    if sum(gains) >= MAX_RESULT:
        raise InvalidInput(
            f"{rounds} rounds could bring {sum(gains)}, more than can be counted here; set a "
            "lower --maximum, or play fewer rounds"
        )


def _check_players(
    game: Game, players: Sequence[SimulatedPlayer], minimum: int, top: int, differential: int | None
) -> None:
    if not players:
        raise InvalidInput("nobody sits at the table; give at least one player")
    if not 0 < minimum <= top:
        raise InvalidInput(f"limits {minimum} to {top} leave no room")
    if differential is not None and (differential < 1 or game.facts.limits.differential is None):
        raise InvalidInput(
            f"a differential of {differential} on {game.id}; give one above zero, and only where "
            "the rulebook has pairs of boxes under it"
        )
    names = [seat.name for seat in players]
    if len(set(names)) < len(names):
        raise InvalidInput("two players have the same name; give each his own")
    series = [each for seat in players for each in seat.bets if game.box(each.box).throws > 1]
    if len(series) > 1:
        raise InvalidInput(f"{series[0].box} is the shooter's alone; let one player bet it")
    for seat in players:
        _check_player(game, seat, minimum, top)


def _check_player(game: Game, player: SimulatedPlayer, minimum: int, top: int) -> None:
    if not player.bets:
        raise InvalidInput(f"{player.name} bets on nothing; give BOX=AMOUNT")
    if len({each.box for each in player.bets}) < len(player.bets):
        raise InvalidInput(f"{player.name} bets twice on the same box; make it one bet")
    for each in player.bets:
        box = game.box(each.box)
        if each.plan not in PLANS:
            raise InvalidInput(f"{each.plan!r} is no plan for a table; choose {', '.join(PLANS)}")
        if not minimum <= each.base <= top or each.base % box.unit:
            raise InvalidInput(
                f"{player.name}'s {each.base} on {each.box} is not within {minimum} to {top}, or no "
                f"multiple of {box.unit}"
            )
    least = min(each.base for each in player.bets)
    if player.bankroll is not None and not least <= player.bankroll <= UNLIMITED:
        raise InvalidInput(
            f"{player.name}'s bankroll of {player.bankroll} must be {least} at least, his smallest "
            f"bet, and {UNLIMITED} at most"
        )
    for name, stop in (("stop-loss", player.stop_loss), ("stop-win", player.stop_win)):
        if stop is not None and stop < 1:
            raise InvalidInput(f"a {name} of {stop} for {player.name}; give an amount above zero")
