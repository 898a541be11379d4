"""Validate the players, bets and limits of a simulated table, and build its job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from threedice.dice import ROLLS, contains
from threedice.errors import InvalidInput
from threedice.odds.limits import (
    LayoutLimits,
    check_differential,
    differential_pairs,
    is_maximum_shared,
)
from threedice.odds.sessions.plans import DEFAULT_LINE, PLANS, StakingPlan
from threedice.sim.jobs import IntRow, TableJob, check_seed
from threedice.sim.kernels.sessions import bin_index, choose_precision_bits
from threedice.sim.kernels.tables import PLAN_NUMBERS
from threedice.sim.runner import check_memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.rulebook import Box, Game

UNLIMITED: Final = 2**30
"""Default bankroll of a player, and default maximum of a box."""
MAX_NET_BINS: Final = 2**15
"""Maximum number of bins for wins, and for losses."""
MAX_RESULT: Final = 2**31
"""Exclusive upper bound on the result of a session."""


@dataclass(frozen=True, slots=True)
class PlannedBet:
    """A bet that is repeated in every round: the box, the base stake, and the staking plan."""

    box: str
    base: int
    plan: str = "flat"


@dataclass(frozen=True, slots=True)
class SimulatedPlayer:
    """A player at the table; without a bankroll they can always pay."""

    name: str
    bets: tuple[PlannedBet, ...]
    bankroll: int | None = None
    stop_loss: int | None = None
    stop_win: int | None = None


def table_job(
    game: Game,
    players: Sequence[SimulatedPlayer],
    *,
    rounds: int,
    sessions: int,
    minimum: int = 1,
    maximum: int | None = None,
    differential: int | None = None,
    seed: int = 1,
) -> TableJob:
    """Return the job of a table's sessions; the limits hold for every box and every pair."""
    check_seed(seed)
    if rounds < 1 or sessions < 1:
        raise InvalidInput(
            f"{sessions} sessions of {rounds} rounds; play at least one session of one round"
        )
    box_maximum = UNLIMITED if maximum is None else maximum
    limits = LayoutLimits(minimum, box_maximum, differential)
    check_differential(game, limits)
    if differential == 0:
        raise InvalidInput("a differential of 0; give one above zero, or leave it out")
    _check_players(game, players, limits)
    boxes = list(dict.fromkeys(bet.box for player in players for bet in player.bets))
    opposites = _opposites(game)
    boxes += [opposites[box] for box in boxes if opposites.get(box, box) not in boxes]
    planned = [(i, bet) for i, player in enumerate(players) for bet in player.bets]
    max_win = sum(_max_win(game, player, rounds, box_maximum) for player in players)
    if max_win >= MAX_RESULT:
        raise InvalidInput(
            f"{rounds} rounds could win {max_win}, more than can be counted; set a "
            "lower --maximum, or play fewer rounds"
        )
    max_loss = sum(_max_loss(player, rounds, box_maximum) for player in players)
    max_result = max(max_win, max_loss)
    precision_bits = choose_precision_bits(max_result, MAX_NET_BINS)
    job = TableJob(
        sessions,
        rounds,
        seed,
        bets=tuple(_bet_row(game, bet, i, boxes, minimum, box_maximum) for i, bet in planned),
        nets=tuple(step_nets(game.box(bet.box)) for _, bet in planned),
        players=tuple(_player_row(player) for player in players),
        spots=tuple(_spot_row(game, box, boxes, box_maximum, differential) for box in boxes),
        line=DEFAULT_LINE,
        fine=precision_bits,
        places=int(bin_index(max_result, precision_bits, MAX_NET_BINS)) + 1,
    )
    check_memory(job)
    return job


def _bet_row(
    game: Game, bet: PlannedBet, player: int, boxes: list[str], minimum: int, maximum: int
) -> IntRow:
    """Return the columns of a bet, in the order of `kernels.tables`."""
    box = game.box(bet.box)
    step = box.unit
    due, *line = StakingPlan(bet.plan, bet.base, maximum).initial_state()
    return (
        bet.base,
        -(-minimum // step) * step,
        maximum,
        step,
        box.throws,
        boxes.index(bet.box),
        player,
        PLAN_NUMBERS[bet.plan],
        due,
        len(line) if bet.plan == "labouchere" else 0,
    )


def step_nets(box: Box) -> IntRow:
    """Return the net result of one step on a box, for each of the 216 rolls."""
    row = []
    for roll in ROLLS:
        odds = next((line.odds for line in box.lines if contains(line.rolls, roll)), None)
        row.append(int(odds.ratio * box.unit) if odds else -box.unit)
    return tuple(row)


def _player_row(player: SimulatedPlayer) -> IntRow:
    bankroll = UNLIMITED if player.bankroll is None else player.bankroll
    floor = -1 if player.stop_loss is None else bankroll - player.stop_loss
    return bankroll, floor, 2**62 if player.stop_win is None else bankroll + player.stop_win


def _spot_row(
    game: Game, box: str, boxes: list[str], maximum: int, differential: int | None
) -> IntRow:
    opposite = None if differential is None else _opposites(game).get(box)
    opposite_index = boxes.index(opposite) if opposite else -1
    return maximum, opposite_index, differential or 0, int(is_maximum_shared(game))


def _opposites(game: Game) -> dict[str, str]:
    """Return the opposite box of each box under a differential."""
    pairs = differential_pairs(game)
    return dict(pairs) | {other: box for box, other in pairs}


def _max_win(game: Game, player: SimulatedPlayer, rounds: int, maximum: int) -> int:
    """Return an upper bound on a player's win in a session."""
    return sum(
        max(step_nets(box)) * _max_stake(bet, maximum) // box.unit * -(-rounds // box.throws)
        for bet, box in ((bet, game.box(bet.box)) for bet in player.bets)
    )


def _max_loss(player: SimulatedPlayer, rounds: int, maximum: int) -> int:
    """Return an upper bound on a player's loss in a session."""
    staked = sum(_max_stake(bet, maximum) * rounds for bet in player.bets)
    if player.bankroll is not None:
        return min(player.bankroll, staked)
    if staked > UNLIMITED:
        raise InvalidInput(
            f"{player.name} could lose {staked} in {rounds} rounds, more than can be counted; "
            "give them a bankroll, set a lower --maximum, or play fewer rounds"
        )
    return staked


def _max_stake(bet: PlannedBet, maximum: int) -> int:
    """Return the largest stake that the plan of a bet can make."""
    return bet.base if bet.plan == "flat" else min(maximum, UNLIMITED)


def _check_players(game: Game, players: Sequence[SimulatedPlayer], limits: LayoutLimits) -> None:
    if not players:
        raise InvalidInput("there are no players at the table; give at least one player")
    names = [player.name for player in players]
    if len(set(names)) < len(names):
        raise InvalidInput("two players have the same name; give each their own")
    multi_throw = [bet for player in players for bet in player.bets if game.box(bet.box).throws > 1]
    if len(multi_throw) > 1:
        raise InvalidInput(f"{multi_throw[0].box} is the shooter's alone; let one player bet it")
    for player in players:
        _check_player(game, player, limits)


def _check_player(game: Game, player: SimulatedPlayer, limits: LayoutLimits) -> None:
    if not player.bets:
        raise InvalidInput(f"{player.name} bets on nothing; give BOX=AMOUNT")
    if len({bet.box for bet in player.bets}) < len(player.bets):
        raise InvalidInput(f"{player.name} bets twice on the same box; make it one bet")
    for bet in player.bets:
        box = game.box(bet.box)
        if bet.plan not in PLANS:
            raise InvalidInput(f"{bet.plan!r} is not a plan for a table; choose {', '.join(PLANS)}")
        if limits.clamp(bet.base) != bet.base or bet.base % box.unit:
            raise InvalidInput(
                f"{player.name}'s {bet.base} on {bet.box} is not within {limits.minimum} to "
                f"{limits.maximum}, or not a multiple of {box.unit}"
            )
    smallest = min(bet.base for bet in player.bets)
    if player.bankroll is not None and not smallest <= player.bankroll <= UNLIMITED:
        raise InvalidInput(
            f"{player.name}'s bankroll of {player.bankroll} must be at least {smallest}, the "
            f"smallest bet, and at most {UNLIMITED}"
        )
    for name, stop in (("stop-loss", player.stop_loss), ("stop-win", player.stop_win)):
        if stop is not None and stop < 1:
            raise InvalidInput(f"a {name} of {stop} for {player.name}; give an amount above zero")
