"""How a table's cost grows: a bet at 1,000, 10,000 and 100,000 live bets, and settling them all.

Run it with `python benchmarks/table.py`; it needs the `bench` extra. The reference for settling is
bare numpy over the same payoffs, bets as arrays: gather a payoff for each bet, multiply. It posts
nothing, explains nothing and knows no player, so the ratio says what all of that costs.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

import msgspec
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # run as a file, it is in no package

from threedice import load
from threedice.dice import index
from threedice.money import Balances
from threedice.table import TableState, commands, decide, evolve
from threedice.table.chip_counts.counts import face_value
from threedice.table.commands import Actor
from threedice.table.limits import uniform_limits
from threedice.table.money import table_postings

if TYPE_CHECKING:
    from threedice.rulebook import Game
    from threedice.table.commands import AnyCommand
    from threedice.table.events import AnyEvent

GAME = "sg-rws-tai-sai-v6/e"
PLAYERS = 10_000
LIVE = (1_000, 10_000, 100_000)
MORE = 2_000
ROLL = (3, 4, 6)
DEALER = Actor(id="dealer", role="dealer")
SUPERVISOR = Actor(id="supervisor", role="supervisor")
MANAGER = Actor(id="manager", role="pit-manager")
RACK = {"5": 10**9, "25": 10**9, "100": 10**9}
MIXED_STACK = {"5": 200, "25": 120, "100": 60}
LARGE_STACK = {"100": 100}
"""A stack with which the first bet of a player needs change."""


def ask(game: Game, state: TableState, command: AnyCommand) -> tuple[AnyEvent, ...]:
    """Ask something of the table and apply what happens."""
    events = decide(game, state, command)
    for event in events:
        evolve(state, event)
    return events


def full_table(game: Game, stack: dict[str, int] | None = None) -> TableState:
    """Return a table with its players seated and betting open; with a stack it deals in chips."""
    rack = RACK if stack else None
    state = TableState()
    opening = commands.OpenTable(
        by=SUPERVISOR,
        table="t",
        currency="SGD",
        mode="record",
        chips=[5, 25, 100],
        float_amount=face_value(rack) if rack else 10**12,
        limits=uniform_limits(game, 5, 10**12, 10**12),
        approved_by=MANAGER,
        rack=rack or msgspec.UNSET,
    )
    ask(game, state, opening)
    for i in range(PLAYERS):
        by = Actor(id=f"p{i}", role="player")
        counts = stack or msgspec.UNSET
        ask(game, state, commands.BuyIn(by=by, player=by.id, amount=10_000, counts=counts))
    ask(game, state, commands.OpenBetting(by=DEALER))
    return state


def bets(game: Game, start: int, count: int) -> list[AnyCommand]:
    """Return bets of ten boxes to a player, all different."""
    boxes = list(game.boxes)
    made: list[AnyCommand] = []
    for i in range(start, start + count):
        by = Actor(id=f"p{i % PLAYERS}", role="player")
        box = boxes[(i // PLAYERS * 7 + i * 13) % len(boxes)]
        made.append(commands.PlaceBet(by=by, player=by.id, box=box, amount=5 + i % 9 * 5))
    return made


def time_bets(game: Game, state: TableState, start: int) -> float:
    """Return the microseconds of one more bet, the median of many."""
    taken = []
    for command in bets(game, start, MORE):
        began = perf_counter()
        ask(game, state, command)
        taken.append(perf_counter() - began)
    return median(taken) * 1e6


def time_settlement(game: Game, state: TableState) -> tuple[float, float, float]:
    """Return the milliseconds of a settlement, of its postings, and of numpy's."""
    boxes = {box: i for i, box in enumerate(game.payoffs)}
    laid = [
        (boxes[spot], bet.total) for spot, at in state.current.bets.items() for bet in at.values()
    ]
    matrix = np.array([game.payoffs[box] for box in boxes], dtype=np.int64)
    spots, stakes = (np.array(column, dtype=np.int64) for column in zip(*laid, strict=True))
    reference = []
    for _ in range(20):
        began = perf_counter()
        net = int((stakes * matrix[spots, index(ROLL)]).sum())
        reference.append(perf_counter() - began)
    steps: list[AnyCommand] = [
        commands.CloseBetting(by=DEALER),
        commands.Tumble(by=DEALER, times=3),
        commands.Uncover(by=DEALER),
        commands.CallResult(by=DEALER, dice=ROLL),
        *(commands.PressKey(by=DEALER, key=key) for key in ROLL),
        commands.PressEnter(by=DEALER),
        commands.Illuminate(by=DEALER),
    ]
    for step in steps:
        ask(game, state, step)
    before = sum(seat.stack + seat.at_risk for seat in state.seats.values())
    gc.collect()
    began = perf_counter()
    events = (*ask(game, state, commands.CollectLosers(by=DEALER)),
              *ask(game, state, commands.PayWinners(by=DEALER)))  # fmt: skip
    settled = perf_counter() - began
    after = sum(seat.stack + seat.at_risk for seat in state.seats.values())
    if after - before != net:
        raise SystemExit("the table and numpy disagree, so their times would mean nothing")
    balances = Balances({"layout": 10**15, "float": 10**15})
    began = perf_counter()
    for event in events:
        balances.post(table_postings(event))
    return settled * 1e3, (perf_counter() - began) * 1e3, median(reference) * 1e3


def main() -> None:
    """Print what a bet and a settlement cost."""
    game = load(GAME)
    state = full_table(game)
    placed = 0
    print(f"{GAME}, {PLAYERS} players\n")
    first = 0.0
    for live in LIVE:
        for command in bets(game, placed, live - placed):
            ask(game, state, command)
        placed = live
        cost = time_bets(game, state, placed)
        placed += MORE
        first = first or cost
        print(
            f"one more bet at {live:>7} live bets {cost:8.1f} us   {cost / first:5.2f} x the first"
        )
    for stack, description in ((MIXED_STACK, "in chips"), (LARGE_STACK, "in chips with change")):
        amounts, chips = full_table(game), full_table(game, stack)
        costs = [
            (time_bets(game, amounts, i), time_bets(game, chips, i))
            for i in range(0, PLAYERS, MORE)
        ]
        ratio = median(in_chips / in_amounts for in_amounts, in_chips in costs)
        print(f"one more bet {description:24} {ratio:20.2f} x one in amounts")
    settled, posted, reference = time_settlement(game, state)
    print(f"\nsettling {placed} bets {settled:8.1f} ms  {settled / reference:7.1f} x numpy")
    print(f"posting them        {posted:8.1f} ms  {posted / reference:7.1f} x numpy")
    print(f"numpy, for reference {reference:7.2f} ms")


if __name__ == "__main__":
    main()
