"""A table in session: several players, several bets each, and the limits they share.

A CPU's kernel, for what `kernel` cannot do: bets that compete for room in a box, the differential,
and a shooter's bet that stays down for several throws. Every round

1. the players stake in the order in which they sit, each of his bets in turn, what its plan makes
   due, as far as the box's limits, the room left in a box that all share, and his money allow;
2. of a pair of boxes under a differential, the excess goes back, the last placed first, and a bet
   that this would leave under its minimum goes back whole;
3. one roll decides all bets. One that needs several throws stays down until it has lost or won;
4. a player is ruined who can make none of his bets and has none down; or he stops, as he said.

A bet that is not made in a round leaves its plan where it was.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numba
import numpy as np
from numpy import int32, int64, uint32, uint64

from threedice.sim.kernels.compiler import GENERATOR_FUNCTIONS, compile_cached, compile_functions
from threedice.sim.kernels.generator import draw_block, first_roll, shift_to_next_roll
from threedice.sim.kernels.plans import (
    LINE_CAPACITY,
    MOVES,
    dalembert,
    fibonacci,
    flat,
    grand_martingale,
    labouchere,
    martingale,
    oscars_grind,
    paroli,
)
from threedice.sim.kernels.sessions import (
    AHEAD,
    LEVEL,
    ahead_and_level,
    bin_index,
    net_bin_index,
    session_sums,
)

TABLE_STREAM: Final = uint32(0x40000000)
"""Keeps these draws apart from those of sessions under the same seed."""
PLAN_NUMBERS: Final = {name: number for number, name in enumerate(MOVES)}
BASE, MINIMUM, MAXIMUM, STEP, THROWS, SPOT, PLAYER, PLAN, DUE, MEMORY = range(10)
"""The columns of the bets."""
BANKROLL, FLOOR, CEILING = range(3)
"""The columns of the players."""
SPOT_MAXIMUM, OTHER, DIFFERENTIAL, SHARED = range(4)
"""The columns of the spots: the maximum, the opposite spot or -1, its differential, who shares."""

Array = Any


def next_plan_state(
    bets: Array, at: int, due: Any, memory: Any, stake: Any, net: Any, lines: Array, fresh: Array
) -> tuple[Any, Any]:
    """Return what a bet's plan makes due and remembers after its stake brought a net result."""
    limits = (int32(bets[at, BASE]), int32(bets[at, MAXIMUM]))
    before, brought = (int32(due), int32(memory)), (int32(stake), int32(net), net > 0, net < 0)
    line, plan = (lines, at, fresh[at]), bets[at, PLAN]
    if plan == 1:
        return martingale(before, brought, limits, line)
    if plan == 2:
        return grand_martingale(before, brought, limits, line)
    if plan == 3:
        return paroli(before, brought, limits, line)
    if plan == 4:
        return dalembert(before, brought, limits, line)
    if plan == 5:
        return fibonacci(before, brought, limits, line)
    if plan == 6:
        return oscars_grind(before, brought, limits, line)
    if plan == 7:
        return labouchere(before, brought, limits, line)
    return flat(before, brought, limits, line)


def possible_stake(bets: Array, at: int, due: Any, left: Any, room: Any) -> Any:
    """Return what can be staked on a bet with so much left and so much room, perhaps nothing."""
    made = min(due, bets[at, MAXIMUM], left, room)
    if bets[at, STEP] > 1:
        made -= made % bets[at, STEP]
    return made if made >= bets[at, MINIMUM] else int64(0)


def place_bets(
    bets: Array, spots: Array, dues: Array, down: Array, gone: Array, bank: Array, stakes: Array,
    totals: Array,
) -> None:  # fmt: skip
    """Let everybody stake, in turn; a bet that is down already stays as it is."""
    for spot in range(len(spots)):
        totals[spot] = 0
    for b in range(len(bets)):
        player, spot = bets[b, PLAYER], bets[b, SPOT]
        if down[b] == 0:
            stakes[b] = 0
            if gone[player] == 0:
                room = spots[spot, SPOT_MAXIMUM] - totals[spot]
                room = room if spots[spot, SHARED] else spots[spot, SPOT_MAXIMUM]
                stakes[b] = possible_stake(bets, b, dues[b], bank[player], room)
                bank[player] -= stakes[b]
        totals[spot] += stakes[b]


def trim_differential(
    bets: Array, spots: Array, down: Array, bank: Array, stakes: Array, totals: Array
) -> None:
    """Give back what is over a differential, the last placed first, until all of it fits."""
    changed = True
    while changed:
        changed = False
        for spot in range(len(spots)):
            other = spots[spot, OTHER]
            if other < 0:
                continue
            held = min(totals[other], spots[other, SPOT_MAXIMUM])
            excess = totals[spot] - min(spots[spot, SPOT_MAXIMUM], held + spots[spot, DIFFERENTIAL])
            for back in range(len(bets)):
                b = len(bets) - 1 - back
                if excess > 0 and bets[b, SPOT] == spot and stakes[b] > 0 and down[b] == 0:
                    step = bets[b, STEP]
                    goes = min(stakes[b], (excess + step - 1) // step * step)
                    if stakes[b] - goes < bets[b, MINIMUM]:
                        goes = stakes[b]
                    stakes[b] -= goes
                    bank[bets[b, PLAYER]] += goes
                    totals[spot] -= goes
                    excess -= goes
                    changed = True


def settle_bets(
    roll: Any, bets: Array, nets: Array, dues: Array, memories: Array, down: Array, bank: Array,
    stakes: Array, staked: Array, lines: Array, fresh: Array,
) -> Any:  # fmt: skip
    """Decide all bets by a roll, and return what the house has won by it."""
    house = int64(0)
    for b in range(len(bets)):
        stake, player = stakes[b], bets[b, PLAYER]
        if stake == 0:
            continue
        if down[b] == 0:
            staked[player] += stake
        each = nets[b, roll]
        down[b] += 1
        if each > 0 and down[b] < bets[b, THROWS]:
            continue
        down[b] = 0
        net = stake // bets[b, STEP] * each
        bank[player] += stake + net
        house -= net
        due, memory = next_plan_state(bets, b, dues[b], memories[b], stake, net, lines, fresh)
        dues[b], memories[b] = due, memory
    return house


def mark_departures(
    bets: Array, players: Array, dues: Array, down: Array, gone: Array, bank: Array, stakes: Array,
    played: Array,
) -> None:  # fmt: skip
    """See who is ruined or stops after a round: 1, 2 and 3 stand for the first of `ENDS`."""
    for player in range(len(players)):
        has, can, worth = False, False, bank[player]
        for b in range(len(bets)):
            if bets[b, PLAYER] == player:
                has = has or stakes[b] > 0
                can = can or down[b] > 0
                can = can or possible_stake(bets, b, dues[b], bank[player], bets[b, MAXIMUM]) > 0
                worth += stakes[b] if down[b] > 0 else 0
        played[player] += has
        if gone[player] == 0:
            if not can:
                gone[player] = 1
            elif worth <= players[player, FLOOR]:
                gone[player] = 2
            elif worth >= players[player, CEILING]:
                gone[player] = 3


def play_table(
    first: Any, count: Any, rounds: Any, keys: Any, bets: Array, nets: Array, players: Array,
    spots: Array, fresh: Array, precision_bits: Any, sums: Array, counts: Array,
) -> None:  # fmt: skip
    """Play sessions of a table from `first` on, and add up what players and house come to.

    Everything is counted as what was won or lost; the last row of sums and counts is the house's.
    """
    dues, memories = np.empty(len(bets), np.int64), np.empty(len(bets), np.int64)
    down, stakes = np.empty(len(bets), np.int64), np.empty(len(bets), np.int64)
    bank, gone = np.empty(len(players), np.int64), np.empty(len(players), np.int64)
    staked, played = np.empty(len(players), np.int64), np.empty(len(players), np.int64)
    totals, lines = np.empty(len(spots), np.int64), np.empty((len(bets), LINE_CAPACITY), np.int32)
    for number in range(count):
        session = uint64(first) + uint64(number)
        for b in range(len(bets)):
            dues[b], memories[b], down[b], stakes[b] = bets[b, DUE], bets[b, MEMORY], 0, 0
            for place in range(fresh.shape[1]):
                lines[b, place] = fresh[b, place]
        for player in range(len(players)):
            bank[player], gone[player] = players[player, BANKROLL], 0
            staked[player], played[player] = 0, 0
        won = int64(0)
        w0, w1, w2, w3 = draw_block(uint32(0), session, TABLE_STREAM, keys[0], keys[1])
        for turn in range(rounds):
            place_bets(bets, spots, dues, down, gone, bank, stakes, totals)
            trim_differential(bets, spots, down, bank, stakes, totals)
            won += settle_bets(
                first_roll(w0), bets, nets, dues, memories, down, bank, stakes, staked, lines, fresh
            )
            mark_departures(bets, players, dues, down, gone, bank, stakes, played)
            w0 = shift_to_next_roll(w0)
            if turn % 12 == 11:
                block = uint32((turn + 1) // 12)
                w0, w1, w2, w3 = draw_block(block, session, TABLE_STREAM, keys[0], keys[1])
            elif turn % 3 == 2:
                w0, w1, w2 = w1, w2, w3
        everything = int64(0)
        for b in range(len(bets)):  # what is down when the night ends goes back
            bank[bets[b, PLAYER]] += stakes[b] if down[b] > 0 else int64(0)
            staked[bets[b, PLAYER]] -= stakes[b] if down[b] > 0 else int64(0)
        for player in range(len(players)):
            everything += staked[player]
            end = gone[player] - 1 if gone[player] else 3
            net = bank[player] - players[player, BANKROLL]
            state = (net, int64(1), int64(0), played[player], staked[player])
            add_row(sums, player, session_sums(state, end), net)
            counts[player, net_bin_index(net, precision_bits, counts.shape[1] // 2)] += 1
        state = (won, int64(1), int64(0), int64(rounds), everything)
        add_row(sums, len(players), session_sums(state, 3), won)
        counts[len(players), net_bin_index(won, precision_bits, counts.shape[1] // 2)] += 1


def add_row(sums: Array, row: int, more: Any, net: Any) -> None:
    """Add a session and what it brought to a row of sums."""
    for place in range(len(more)):
        sums[row, place] += more[place]
    ahead, level = ahead_and_level(net, int64(0))
    sums[row, AHEAD] += ahead
    sums[row, LEVEL] += level


@cache
def compiled_play_table() -> Any:
    """Return `play_table` as machine code."""
    functions = (
        *GENERATOR_FUNCTIONS, *MOVES.values(), bin_index, net_bin_index, session_sums, ahead_and_level, next_plan_state, possible_stake,
        place_bets, trim_differential, settle_bets, mark_departures, add_row,
    )  # fmt: skip
    return compile_cached(
        play_table, compile_functions(functions, numba.njit(nogil=True), {}), "play_table"
    )
