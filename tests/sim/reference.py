"""Reference simulation in plain Python: sessions by the plans of `odds`, tables by `table`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from threedice.dice import ROLLS, contains
from threedice.odds.sessions.plans import StakingPlan, actual_stake
from threedice.odds.sessions.session import BettingSession
from threedice.odds.stakes import spread
from threedice.rulebook import load
from threedice.sim.jobs import generator_key
from threedice.sim.kernels.generator import draw_block, first_roll, shift_to_next_roll
from threedice.sim.table_setup import UNLIMITED, PlannedBet, SimulatedPlayer
from threedice.table import TableState, commands, decide, evolve
from threedice.table.commands import Actor
from threedice.table.limits import uniform_limits
from threedice.table.rejections import find_rejections

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.rulebook import Game

DEALER = Actor(id="dealer", role="dealer")
SUPERVISOR = Actor(id="supervisor", role="supervisor")
TABLE_STREAM = 0x40000000


@dataclass(frozen=True)
class SessionResult:
    """The result of a session."""

    left: int
    rounds: int
    staked: int
    ending: str


@cache
def rolls(seed: int, session: int, rounds: int, stream: int = 0) -> tuple[int, ...]:
    """Return the first rolls of a session, numbered 0 to 215."""
    found: list[int] = []
    for block in range(-(-rounds // 12)):
        for word in draw_block(block, session, stream, *generator_key(seed)):
            for _ in range(3):
                found.append(int(first_roll(word)))
                word = shift_to_next_roll(word)  # noqa: PLW2901
    return tuple(found[:rounds])


def betting_session(
    name: str,
    shares: Mapping[str, int],
    plan: StakingPlan,
    bankroll: int,
    rounds: int,
    minimum: int = 0,
    stop_loss: int | None = None,
    stop_win: int | None = None,
) -> BettingSession:
    """Describe a session on a spread of boxes."""
    return BettingSession(
        spread(load(name), shares), plan, bankroll, rounds, minimum, stop_loss, stop_win
    )


def play_session(session: BettingSession, seed: int, number: int) -> SessionResult:
    """Play one session round by round by the rules of `odds.sessions.plans`."""
    nets = sorted(session.spread.nets, reverse=True)
    state, left, staked = session.plan.initial_state(), session.bankroll, 0
    for count, roll in enumerate(rolls(seed, number, session.rounds), start=1):
        stake = session.next_stake(state, left)
        net = stake // session.spread.step * nets[roll]
        state, left, staked = session.plan.next_state(state, stake, net), left + net, staked + stake
        ending = session.ending(state, left)
        if ending:
            return SessionResult(left, count, staked, ending)
    return SessionResult(left, session.rounds, staked, "played out")


# --- tables -------------------------------------------------------------------------------------


@dataclass
class RunningBet:
    """A bet that a player repeats each round."""

    player: str
    placed: PlannedBet
    plan: StakingPlan
    state: tuple[int, ...]
    stake: int = 0
    throws: int = 0


@dataclass
class TableResult:
    """The result of a session at a table, by player."""

    bank: dict[str, int]
    staked: dict[str, int]
    rounds: dict[str, int]
    gone: dict[str, str] = field(default_factory=dict)
    house: int = 0


def play_table(
    game: Game, seats: list[SimulatedPlayer], rounds: int, seed: int, number: int,
    minimum: int, maximum: int, differential: int | None,
) -> TableResult:  # fmt: skip
    """Play one session of a table."""
    start = {seat.name: UNLIMITED if seat.bankroll is None else seat.bankroll for seat in seats}
    result = TableResult(dict(start), dict.fromkeys(start, 0), dict.fromkeys(start, 0))
    bets = []
    for seat in seats:
        for each in seat.bets:
            plan = StakingPlan(each.plan, each.base, maximum)
            bets.append(RunningBet(seat.name, each, plan, plan.initial_state()))
    for roll in rolls(seed, number, rounds, TABLE_STREAM):
        place_bets(game, bets, result, minimum, maximum)
        if differential is not None:
            return_excess(game, bets, result, minimum, maximum, differential)
        settle_bets(game, bets, result, roll)
        for seat in seats:
            end_if_stopped(game, seat, start[seat.name], bets, result, minimum, maximum)
    for bet in bets:
        if bet.throws:
            result.bank[bet.player] += bet.stake
            result.staked[bet.player] -= bet.stake
    return result


def place_bets(
    game: Game, bets: list[RunningBet], result: TableResult, minimum: int, maximum: int
) -> None:
    shared = game.facts.limits.maximum.scope == "box"
    totals: dict[str, int] = {}
    for bet in bets:
        box = game.box(bet.placed.box)
        if not bet.throws:
            room = maximum - totals.get(box.id, 0) if shared else maximum
            left = min(result.bank[bet.player], room)
            bet.stake = actual_stake(bet.state[0], left, minimum, maximum, box.unit)
            if bet.player in result.gone:
                bet.stake = 0
            result.bank[bet.player] -= bet.stake
        totals[box.id] = totals.get(box.id, 0) + bet.stake


def return_excess(
    game: Game,
    bets: list[RunningBet],
    result: TableResult,
    minimum: int,
    maximum: int,
    differential: int,
) -> None:
    """Place the bets at a `table`, and return the excess over the differential."""
    state = TableState()

    def send(command: commands.AnyCommand) -> None:
        for event in decide(game, state, command):
            evolve(state, event)

    limits = uniform_limits(game, minimum, maximum, differential)
    send(
        commands.OpenTable(
            by=SUPERVISOR, table="t", currency="SGD", mode="record", chips=[1],
            float_amount=10**12, limits=limits,
        )
    )  # fmt: skip
    for name in dict.fromkeys(bet.player for bet in bets):
        send(commands.BuyIn(by=Actor(id=name, role="player"), player=name, amount=10**9))
    send(commands.OpenBetting(by=DEALER))
    for bet in bets:
        if bet.stake:
            by = Actor(id=bet.player, role="player")
            box = bet.placed.box
            send(commands.PlaceBet(by=by, player=bet.player, box=box, amount=bet.stake))
    spots = list(dict.fromkeys(bet.placed.box for bet in bets))
    for each in find_rejections(
        game, state, [spot for spot in spots if spot in state.current.bets]
    ):
        (bet,) = (b for b in bets if (b.player, b.placed.box) == (each.player, each.spot))
        bet.stake -= each.amount
        result.bank[bet.player] += each.amount


def settle_bets(game: Game, bets: list[RunningBet], result: TableResult, roll: int) -> None:
    for name in {bet.player for bet in bets if bet.stake}:
        result.rounds[name] += 1
    for bet in bets:
        if not bet.stake:
            continue
        box = game.box(bet.placed.box)
        if not bet.throws:
            result.staked[bet.player] += bet.stake
        odds = next((line.odds for line in box.lines if contains(line.rolls, ROLLS[roll])), None)
        bet.throws += 1
        if odds and bet.throws < box.throws:
            continue
        net = int(odds.ratio * bet.stake) if odds else -bet.stake
        result.bank[bet.player] += bet.stake + net
        result.house -= net
        bet.state = bet.plan.next_state(bet.state, bet.stake, net)
        bet.throws = 0


def end_if_stopped(
    game: Game,
    seat: SimulatedPlayer,
    start: int,
    bets: list[RunningBet],
    result: TableResult,
    minimum: int,
    maximum: int,
) -> None:
    own = [bet for bet in bets if bet.player == seat.name]
    left = result.bank[seat.name]
    can = any(
        bet.throws
        or actual_stake(bet.state[0], left, minimum, maximum, game.box(bet.placed.box).unit)
        for bet in own
    )
    worth = left + sum(bet.stake for bet in own if bet.throws)
    if not can:
        result.gone.setdefault(seat.name, "ruined")
    elif seat.stop_loss is not None and worth <= start - seat.stop_loss:
        result.gone.setdefault(seat.name, "stop_loss")
    elif seat.stop_win is not None and worth >= start + seat.stop_win:
        result.gone.setdefault(seat.name, "stop_win")
