"""A table for `seats`: who sits there, what they bet, and the limits, checked and put in rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from threedice.dice import ROLLS, contains
from threedice.errors import InvalidInput
from threedice.maths.plans import LINE, PLANS, Plan
from threedice.sim.jobs import Row, TableJob, check_seed
from threedice.sim.memory import check_memory
from threedice.sim.places import fine_for, place_of
from threedice.sim.seats import PLAN_NUMBERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.rulebook import Box, Game

UNLIMITED: Final = 2**30
"""The bankroll of somebody who brought none, and the maximum where there is none."""
PLACES: Final = 2**15
"""Into at most so many places are gains counted, and losses."""
MOST: Final = 2**31
"""Results of a session must stay below this to be counted."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A bet that is made again and again: the box, the base stake, and the plan."""

    box: str
    base: int
    plan: str = "flat"


@dataclass(frozen=True, slots=True)
class Seat:
    """A player at the table; without a bankroll he can always pay."""

    name: str
    bets: tuple[Placed, ...]
    bankroll: int | None = None
    stop_loss: int | None = None
    stop_win: int | None = None


def table_job(
    game: Game,
    seats: Sequence[Seat],
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
    _check_seats(game, seats, minimum, top, differential)
    boxes = list(dict.fromkeys(each.box for seat in seats for each in seat.bets))
    boxes += [other for other in _opposites(game, boxes) if other not in boxes]
    laid = [(i, each) for i, seat in enumerate(seats) for each in seat.bets]
    bets = tuple(_bet_row(game, each, i, boxes, minimum, top) for i, each in laid)
    nets = tuple(_nets(game.box(each.box)) for _, each in laid)
    players = tuple(_player_row(seat) for seat in seats)
    spots = tuple(_spot_row(game, box, boxes, top, differential) for box in boxes)
    gains = [_gain(game, seat, rounds, top) for seat in seats]
    _check_size(rounds, gains)
    losses = [_loss(seat, rounds, top) for seat in seats]
    most = max(sum(gains), sum(losses))
    fine = fine_for(most, PLACES)
    places = int(place_of(most, fine, PLACES)) + 1
    job = TableJob(sessions, rounds, seed, bets, nets, players, spots, LINE, fine, places)
    check_memory(job)
    return job


def step_of(box: Box) -> int:
    """Return the smallest stake that a box can pay evenly."""
    return box.unit


def _bet_row(
    game: Game, each: Placed, player: int, boxes: list[str], minimum: int, top: int
) -> Row:
    box = game.box(each.box)
    step = step_of(box)
    due, *line = Plan(each.plan, each.base, top).start()
    memory = len(line) if each.plan == "labouchere" else 0
    least = -(-minimum // step) * step
    return (
        each.base, least, top, step, box.throws, boxes.index(each.box), player,
        PLAN_NUMBERS[each.plan], due, memory,
    )  # fmt: skip


def _nets(box: Box) -> Row:
    """Return what a box brings for each step staked on each of the 216 rolls."""
    row = []
    for roll in ROLLS:
        odds = next((line.odds for line in box.lines if contains(line.rolls, roll)), None)
        row.append(int(odds.ratio * box.unit) if odds else -box.unit)
    return tuple(row)


def _player_row(seat: Seat) -> Row:
    bankroll = UNLIMITED if seat.bankroll is None else seat.bankroll
    floor = -1 if seat.stop_loss is None else bankroll - seat.stop_loss
    return bankroll, floor, 2**62 if seat.stop_win is None else bankroll + seat.stop_win


def _spot_row(game: Game, box: str, boxes: list[str], top: int, differential: int | None) -> Row:
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


def _gain(game: Game, seat: Seat, rounds: int, top: int) -> int:
    """Return the most that a player could win in a session."""
    won = 0
    for each in seat.bets:
        box = game.box(each.box)
        won += max(_nets(box)) * _most(each, top) // box.unit * -(-rounds // box.throws)
    return won


def _loss(seat: Seat, rounds: int, top: int) -> int:
    """Return the most that a player could lose in a session."""
    staked = sum(_most(each, top) * rounds for each in seat.bets)
    if seat.bankroll is not None:
        return min(seat.bankroll, staked)
    if staked > UNLIMITED:
        raise InvalidInput(
            f"{seat.name} could lose {staked} in {rounds} rounds, more than can be counted here; "
            "give him a bankroll, set a lower --maximum, or play fewer rounds"
        )
    return staked


def _most(each: Placed, top: int) -> int:
    """Return the most that can be staked on a bet."""
    return each.base if each.plan == "flat" else min(top, UNLIMITED)


def _check_size(rounds: int, gains: list[int]) -> None:
    if sum(gains) >= MOST:
        raise InvalidInput(
            f"{rounds} rounds could bring {sum(gains)}, more than can be counted here; set a "
            "lower --maximum, or play fewer rounds"
        )


def _check_seats(
    game: Game, seats: Sequence[Seat], minimum: int, top: int, differential: int | None
) -> None:
    if not seats:
        raise InvalidInput("nobody sits at the table; give at least one player")
    if not 0 < minimum <= top:
        raise InvalidInput(f"limits {minimum} to {top} leave no room")
    if differential is not None and (differential < 1 or game.facts.limits.differential is None):
        raise InvalidInput(
            f"a differential of {differential} on {game.id}; give one above zero, and only where "
            "the rulebook has pairs of boxes under it"
        )
    names = [seat.name for seat in seats]
    if len(set(names)) < len(names):
        raise InvalidInput("two players have the same name; give each his own")
    series = [each for seat in seats for each in seat.bets if game.box(each.box).throws > 1]
    if len(series) > 1:
        raise InvalidInput(f"{series[0].box} is the shooter's alone; let one player bet it")
    for seat in seats:
        _check_seat(game, seat, minimum, top)


def _check_seat(game: Game, seat: Seat, minimum: int, top: int) -> None:
    if not seat.bets:
        raise InvalidInput(f"{seat.name} bets on nothing; give BOX=AMOUNT")
    if len({each.box for each in seat.bets}) < len(seat.bets):
        raise InvalidInput(f"{seat.name} bets twice on the same box; make it one bet")
    for each in seat.bets:
        box = game.box(each.box)
        if each.plan not in PLANS:
            raise InvalidInput(f"{each.plan!r} is no plan for a table; choose {', '.join(PLANS)}")
        if not minimum <= each.base <= top or each.base % box.unit:
            raise InvalidInput(
                f"{seat.name}'s {each.base} on {each.box} is not within {minimum} to {top}, or no "
                f"multiple of {box.unit}"
            )
    least = min(each.base for each in seat.bets)
    if seat.bankroll is not None and not least <= seat.bankroll <= UNLIMITED:
        raise InvalidInput(
            f"{seat.name}'s bankroll of {seat.bankroll} must be {least} at least, his smallest "
            f"bet, and {UNLIMITED} at most"
        )
    for name, stop in (("stop-loss", seat.stop_loss), ("stop-win", seat.stop_win)):
        if stop is not None and stop < 1:
            raise InvalidInput(f"a {name} of {stop} for {seat.name}; give an amount above zero")
