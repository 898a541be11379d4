"""A table played by hand: the rules of `sim.kernels.tables`, by the `table` package."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.sim.paths import rolls
from threedice.dice import ROLLS, contains
from threedice.odds.sessions.plans import StakingPlan, actual_stake
from threedice.sim.table_setup import UNLIMITED, PlannedBet, SimulatedPlayer
from threedice.table import TableState, commands, decide, evolve
from threedice.table.commands import Actor
from threedice.table.limits import uniform_limits
from threedice.table.rejections import find_rejections

if TYPE_CHECKING:
    from threedice.rulebook import Game

DEALER = Actor(id="dealer", role="dealer")
SUPERVISOR = Actor(id="supervisor", role="supervisor")
STREAM = 0x40000000


@dataclass
class Down:
    """A bet that is made again and again."""

    player: str
    placed: PlannedBet
    plan: StakingPlan
    state: tuple[int, ...]
    stake: int = 0
    throws: int = 0


@dataclass
class Hands:
    """What a session comes to, by player."""

    bank: dict[str, int]
    staked: dict[str, int]
    rounds: dict[str, int]
    gone: dict[str, str] = field(default_factory=dict)
    house: int = 0


def play(
    game: Game, seats: list[SimulatedPlayer], rounds: int, seed: int, number: int,
    minimum: int, maximum: int, differential: int | None,
) -> Hands:  # fmt: skip
    """Play one session of a table."""
    start = {seat.name: UNLIMITED if seat.bankroll is None else seat.bankroll for seat in seats}
    hands = Hands(dict(start), dict.fromkeys(start, 0), dict.fromkeys(start, 0))
    bets = []
    for seat in seats:
        for each in seat.bets:
            plan = StakingPlan(each.plan, each.base, maximum)
            bets.append(Down(seat.name, each, plan, plan.initial_state()))
    for roll in rolls(seed, number, rounds, STREAM):
        place(game, bets, hands, minimum, maximum)
        if differential is not None:
            give_back(game, bets, hands, minimum, maximum, differential)
        decide_all(game, bets, hands, roll)
        for seat in seats:
            leave(game, seat, start[seat.name], bets, hands, minimum, maximum)
    for bet in bets:
        if bet.throws:
            hands.bank[bet.player] += bet.stake
            hands.staked[bet.player] -= bet.stake
    return hands


def place(game: Game, bets: list[Down], hands: Hands, minimum: int, maximum: int) -> None:
    shared = game.facts.limits.maximum.scope == "box"
    totals: dict[str, int] = {}
    for bet in bets:
        box = game.box(bet.placed.box)
        if not bet.throws:
            room = maximum - totals.get(box.id, 0) if shared else maximum
            left = min(hands.bank[bet.player], room)
            bet.stake = actual_stake(bet.state[0], left, minimum, maximum, box.unit)
            if bet.player in hands.gone:
                bet.stake = 0
            hands.bank[bet.player] -= bet.stake
        totals[box.id] = totals.get(box.id, 0) + bet.stake


def give_back(
    game: Game, bets: list[Down], hands: Hands, minimum: int, maximum: int, differential: int
) -> None:
    """Lay the bets on a real table, and let it say what goes back under the differential."""
    state = TableState()

    def ask(command: commands.AnyCommand) -> None:
        for event in decide(game, state, command):
            evolve(state, event)

    limits = uniform_limits(game, minimum, maximum, differential)
    ask(
        commands.OpenTable(
            by=SUPERVISOR, table="t", currency="SGD", mode="record", chips=[1],
            float_amount=10**12, limits=limits,
        )
    )  # fmt: skip
    for name in dict.fromkeys(bet.player for bet in bets):
        ask(commands.BuyIn(by=Actor(id=name, role="player"), player=name, amount=10**9))
    ask(commands.OpenBetting(by=DEALER))
    for bet in bets:
        if bet.stake:
            by = Actor(id=bet.player, role="player")
            box = bet.placed.box
            ask(commands.PlaceBet(by=by, player=bet.player, box=box, amount=bet.stake))
    spots = list(dict.fromkeys(bet.placed.box for bet in bets))
    for each in find_rejections(
        game, state, [spot for spot in spots if spot in state.current.bets]
    ):
        (bet,) = (b for b in bets if (b.player, b.placed.box) == (each.player, each.spot))
        bet.stake -= each.amount
        hands.bank[bet.player] += each.amount


def decide_all(game: Game, bets: list[Down], hands: Hands, roll: int) -> None:
    for name in {bet.player for bet in bets if bet.stake}:
        hands.rounds[name] += 1
    for bet in bets:
        if not bet.stake:
            continue
        box = game.box(bet.placed.box)
        if not bet.throws:
            hands.staked[bet.player] += bet.stake
        odds = next((line.odds for line in box.lines if contains(line.rolls, ROLLS[roll])), None)
        bet.throws += 1
        if odds and bet.throws < box.throws:
            continue
        net = int(odds.ratio * bet.stake) if odds else -bet.stake
        hands.bank[bet.player] += bet.stake + net
        hands.house -= net
        bet.state = bet.plan.next_state(bet.state, bet.stake, net)
        bet.throws = 0


def leave(
    game: Game,
    seat: SimulatedPlayer,
    start: int,
    bets: list[Down],
    hands: Hands,
    minimum: int,
    maximum: int,
) -> None:
    own = [bet for bet in bets if bet.player == seat.name]
    left = hands.bank[seat.name]
    can = any(
        bet.throws
        or actual_stake(bet.state[0], left, minimum, maximum, game.box(bet.placed.box).unit)
        for bet in own
    )
    worth = left + sum(bet.stake for bet in own if bet.throws)
    if not can:
        hands.gone.setdefault(seat.name, "ruined")
    elif seat.stop_loss is not None and worth <= start - seat.stop_loss:
        hands.gone.setdefault(seat.name, "stop_loss")
    elif seat.stop_win is not None and worth >= start + seat.stop_win:
        hands.gone.setdefault(seat.name, "stop_win")
