"""Play sessions of a table with several players, several bets each, and shared limits.

A kernel for the CPU, for what `sessions` cannot do: bets that compete for room in a box, the
differential, and a shooter's bet that stays down for several throws. In every round

1. the players stake in the order of their seats, bet by bet: the stake that the plan makes due, cut
   to the limits of the box, the room left in a box that all players share, and the bankroll;
2. of a pair of boxes with a differential, the excess is returned, the last placed bet first; a bet
   that would be left under its minimum is returned whole;
3. one roll decides all bets. A bet that needs several throws stays down until it wins or loses;
4. a player who cannot make any bet and has none down is ruined; otherwise the stops are checked.

A bet that is not made in a round leaves the state of its plan as it was.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np
from numpy import int32, int64, uint32, uint64

from threedice.sim.kernels.compiler import compile_cached, compile_inline
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
    net_bin_index,
    session_sums,
)

TABLE_STREAM: Final = uint32(0x40000000)
"""Stream number that separates these draws from those of sessions with the same seed."""
PLAN_NUMBERS: Final = {name: number for number, name in enumerate(MOVES)}
BASE, MINIMUM, MAXIMUM, STEP, THROWS, SPOT, PLAYER, PLAN, DUE, MEMORY = range(10)
"""Columns of the bets."""
BANKROLL, FLOOR, CEILING = range(3)
"""Columns of the players."""
SPOT_MAXIMUM, OTHER, DIFFERENTIAL, SHARED = range(4)
"""Columns of the spots (boxes).

The maximum, the opposite spot or -1, the differential, and whether all players share the maximum.
"""

Array = Any


def next_plan_state(
    bets: Array, at: int, hands: Any, net: Any, lines: Array, new_lines: Array
) -> tuple[Any, Any]:
    """Return the due stake and the memory of a bet's plan after the net result of its stake."""
    dues, memories, stakes, _ = hands
    limits = (int32(bets[at, BASE]), int32(bets[at, MAXIMUM]))
    state = (int32(dues[at]), int32(memories[at]))
    outcome = (int32(stakes[at]), int32(net), net > 0, net < 0)
    line, plan = (lines, at, new_lines[at]), bets[at, PLAN]
    if plan == 1:
        return martingale(state, outcome, limits, line)
    if plan == 2:
        return grand_martingale(state, outcome, limits, line)
    if plan == 3:
        return paroli(state, outcome, limits, line)
    if plan == 4:
        return dalembert(state, outcome, limits, line)
    if plan == 5:
        return fibonacci(state, outcome, limits, line)
    if plan == 6:
        return oscars_grind(state, outcome, limits, line)
    if plan == 7:
        return labouchere(state, outcome, limits, line)
    return flat(state, outcome, limits, line)


def possible_stake(bets: Array, at: int, due: Any, bankroll: Any, room: Any) -> Any:
    """Return the stake that bankroll and room in the box allow, 0 if under the minimum."""
    stake = min(due, bets[at, MAXIMUM], bankroll, room)
    if bets[at, STEP] > 1:
        stake -= stake % bets[at, STEP]
    return stake if stake >= bets[at, MINIMUM] else int64(0)


def place_bets(bets: Array, spots: Array, hands: Any, seats: Any, totals: Array) -> None:
    """Place the bets of all players in turn; a bet that is already down stays as it is."""
    dues, _, stakes, down = hands
    bank, departed, _, _ = seats
    for spot in range(len(spots)):
        totals[spot] = 0
    for b in range(len(bets)):
        player, spot = bets[b, PLAYER], bets[b, SPOT]
        if down[b] == 0:
            stakes[b] = 0
            if departed[player] == 0:
                room = spots[spot, SPOT_MAXIMUM] - totals[spot]
                room = room if spots[spot, SHARED] else spots[spot, SPOT_MAXIMUM]
                stakes[b] = possible_stake(bets, b, dues[b], bank[player], room)
                bank[player] -= stakes[b]
        totals[spot] += stakes[b]


def trim_differential(bets: Array, spots: Array, hands: Any, bank: Array, totals: Array) -> None:
    """Return the excess over the differentials, the last placed bet first, until all pairs fit."""
    _, _, stakes, down = hands
    changed = True
    while changed:
        changed = False
        for spot in range(len(spots)):
            other = spots[spot, OTHER]
            if other < 0:
                continue
            capped = min(totals[other], spots[other, SPOT_MAXIMUM])
            excess = totals[spot] - min(
                spots[spot, SPOT_MAXIMUM], capped + spots[spot, DIFFERENTIAL]
            )
            for reverse in range(len(bets)):
                b = len(bets) - 1 - reverse
                if excess > 0 and bets[b, SPOT] == spot and stakes[b] > 0 and down[b] == 0:
                    step = bets[b, STEP]
                    returned = min(stakes[b], (excess + step - 1) // step * step)
                    if stakes[b] - returned < bets[b, MINIMUM]:
                        returned = stakes[b]
                    stakes[b] -= returned
                    bank[bets[b, PLAYER]] += returned
                    totals[spot] -= returned
                    excess -= returned
                    changed = True


def settle_bets(
    roll: Any, bets: Array, nets: Array, hands: Any, seats: Any, lines: Array, new_lines: Array
) -> Any:
    """Settle all bets on a roll, and return the house's win."""
    dues, memories, stakes, down = hands
    bank, _, staked, _ = seats
    house = int64(0)
    for b in range(len(bets)):
        stake, player = stakes[b], bets[b, PLAYER]
        if stake == 0:
            continue
        if down[b] == 0:
            staked[player] += stake
        step_net = nets[b, roll]
        down[b] += 1
        if step_net > 0 and down[b] < bets[b, THROWS]:
            continue
        down[b] = 0
        net = stake // bets[b, STEP] * step_net
        bank[player] += stake + net
        house -= net
        dues[b], memories[b] = next_plan_state(bets, b, hands, net, lines, new_lines)
    return house


def mark_departures(bets: Array, players: Array, hands: Any, seats: Any) -> None:
    """Mark the players who are ruined or stop after a round, and count the rounds played."""
    dues, _, stakes, down = hands
    bank, departed, _, played = seats
    for player in range(len(players)):
        has_bet, can_bet, worth = False, False, bank[player]
        for b in range(len(bets)):
            if bets[b, PLAYER] == player:
                has_bet = has_bet or stakes[b] > 0
                can_bet = can_bet or down[b] > 0
                can_bet = (
                    can_bet or possible_stake(bets, b, dues[b], bank[player], bets[b, MAXIMUM]) > 0
                )
                worth += stakes[b] if down[b] > 0 else 0
        played[player] += has_bet
        if departed[player] == 0:
            if not can_bet:
                departed[player] = 1
            elif worth <= players[player, FLOOR]:
                departed[player] = 2
            elif worth >= players[player, CEILING]:
                departed[player] = 3


def play_table(
    first: Any, count: Any, rounds: Any, keys: Any, bets: Array, nets: Array, players: Array,
    spots: Array, new_lines: Array, precision_bits: Any, sums: Array, counts: Array,
) -> None:  # fmt: skip
    """Play sessions of a table from `first` on, and add them to the sums and histograms.

    Amounts are net results; the last row of sums and counts is the house's. `hands` holds for each
    bet its due stake, the memory of its plan, its stake, and the throws it has been down; `seats`
    for each player the bankroll, 0 or the index of the ending in `ENDING_NAMES` plus one, the
    turnover, and the rounds played.
    """
    dues, memories = np.empty(len(bets), np.int64), np.empty(len(bets), np.int64)
    stakes, down = np.empty(len(bets), np.int64), np.empty(len(bets), np.int64)
    bank, departed = np.empty(len(players), np.int64), np.empty(len(players), np.int64)
    staked, played = np.empty(len(players), np.int64), np.empty(len(players), np.int64)
    hands, seats = (dues, memories, stakes, down), (bank, departed, staked, played)
    totals, lines = np.empty(len(spots), np.int64), np.empty((len(bets), LINE_CAPACITY), np.int32)
    for number in range(count):
        session = uint64(first) + uint64(number)
        for b in range(len(bets)):
            dues[b], memories[b], down[b], stakes[b] = bets[b, DUE], bets[b, MEMORY], 0, 0
            for i in range(new_lines.shape[1]):
                lines[b, i] = new_lines[b, i]
        for player in range(len(players)):
            bank[player], departed[player] = players[player, BANKROLL], 0
            staked[player], played[player] = 0, 0
        house_win = int64(0)
        w0, w1, w2, w3 = draw_block(uint32(0), session, TABLE_STREAM, keys[0], keys[1])
        for round_number in range(rounds):
            place_bets(bets, spots, hands, seats, totals)
            trim_differential(bets, spots, hands, bank, totals)
            house_win += settle_bets(first_roll(w0), bets, nets, hands, seats, lines, new_lines)
            mark_departures(bets, players, hands, seats)
            w0 = shift_to_next_roll(w0)
            if round_number % 12 == 11:
                block = uint32((round_number + 1) // 12)
                w0, w1, w2, w3 = draw_block(block, session, TABLE_STREAM, keys[0], keys[1])
            elif round_number % 3 == 2:
                w0, w1, w2 = w1, w2, w3
        turnover = int64(0)
        for b in range(len(bets)):  # a bet still down at the end is returned
            bank[bets[b, PLAYER]] += stakes[b] if down[b] > 0 else int64(0)
            staked[bets[b, PLAYER]] -= stakes[b] if down[b] > 0 else int64(0)
        for player in range(len(players)):
            turnover += staked[player]
            end = departed[player] - 1 if departed[player] else 3
            net = bank[player] - players[player, BANKROLL]
            state = (net, int64(1), int64(0), played[player], staked[player])
            add_row(sums, player, session_sums(state, end), net)
            counts[player, net_bin_index(net, precision_bits, counts.shape[1] // 2)] += 1
        state = (house_win, int64(1), int64(0), int64(rounds), turnover)
        add_row(sums, len(players), session_sums(state, 3), house_win)
        counts[len(players), net_bin_index(house_win, precision_bits, counts.shape[1] // 2)] += 1


def add_row(sums: Array, row: int, contribution: Any, net: Any) -> None:
    """Add a session with its net result to a row of sums."""
    for i in range(len(contribution)):
        sums[row, i] += contribution[i]
    ahead, level = ahead_and_level(net, int64(0))
    sums[row, AHEAD] += ahead
    sums[row, LEVEL] += level


@cache
def compiled_play_table() -> Any:
    """Return `play_table` compiled for this CPU."""
    return compile_cached(play_table, compile_inline, {}, "play_table")
