"""Play a round at each of many electronic tables with one player, for vectorised environments.

A compiled twin of a round of `threedice.table` in the mode "refuse", where a stake is a request:

1. The player puts down as much of each stake as limits and chips allow, the shooter's bet first.
2. Of a pair of boxes with a differential, the excess is returned; a bet that would be left under
   the minimum is returned whole.
3. A roll settles all bets. The shooter's bet stays down until a throw loses or the last one wins.
   A stand-in throws the dice if the player does not bet on the shooter's box.

Tests compare it with the table on random actions.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from threedice.sim.kernels.compiler import compile_cached, compile_inline

STEP, THROWS, OTHER = range(3)
"""Columns of the boxes: unit of payment, number of throws, opposite box or -1."""
MINIMUM, MAXIMUM, DIFFERENTIAL, BETS_ELSEWHERE = range(4)
"""Terms of all boxes; the last is 1 if the shooter may bet on other boxes too."""
NOBODY, PLAYER, STAND_IN = range(3)
"""The thrower of the dice in the current series."""

Array = Any


def requested_stake(request: Any, bankroll: Any, step: Any, terms: Array) -> Any:
    """Return how much of a request the table takes, 0 if it would be under the minimum."""
    stake = min(request, terms[MAXIMUM], bankroll)
    if step > 1:
        stake -= stake % step
    return stake if stake >= terms[MINIMUM] else np.int64(0)


def place_stakes(
    actions: Array, table: Any, bankroll: Any, start: Any, order: Array, boxes: Array,
    terms: Array, stakes: Array, placed: Array,
) -> Any:  # fmt: skip
    """Place the stakes on the boxes from `start` of `order` on; return how many were placed."""
    count = 0
    for i in range(start, len(order)):
        box = order[i]
        if actions[table, box] > 0:
            stake = requested_stake(actions[table, box], bankroll, boxes[box, STEP], terms)
            if stake > 0:
                stakes[box], placed[count] = stake, box
                bankroll, count = bankroll - stake, count + 1
    return count


def excess_to_return(stakes: Array, box: Any, boxes: Array, terms: Array) -> Any:
    """Return the chips on a box that the differential gives back."""
    permitted = stakes[boxes[box, OTHER]] + terms[DIFFERENTIAL]
    excess = stakes[box] - permitted
    if excess <= 0:
        return np.int64(0)
    step = boxes[box, STEP]
    returned = min(stakes[box], (excess + step - 1) // step * step)
    return stakes[box] if stakes[box] - returned < terms[MINIMUM] else returned


def return_excess(paired: Array, boxes: Array, terms: Array, stakes: Array) -> None:
    """Return the excess over the differentials until all pairs fit."""
    is_changed = len(paired) > 0
    while is_changed:
        is_changed = False
        for box in paired:
            returned = excess_to_return(stakes, box, boxes, terms)
            if returned > 0:
                stakes[box] -= returned
                is_changed = True


def settle_series(series: Array, table: Any, net: Any, throws: Any, step: Any) -> tuple[Any, Any]:
    """Count a throw; return the stake and the net result of a shooter's bet that it decides."""
    series[table, 1] += 1
    if net > 0 and series[table, 1] < throws:
        return np.int64(0), np.int64(0)
    stake = series[table, 0]
    series[table, 0], series[table, 1], series[table, 2] = 0, 0, NOBODY
    return stake, stake // step * net


def play_round(
    first: Any, last: Any, actions: Array, rolls: Array, nets: Array, boxes: Array, order: Array,
    paired: Array, terms: Array, bankrolls: Array, series: Array, rewards: Array, staked: Array,
) -> None:  # fmt: skip
    """Play a round at the tables from `first` up to `last`.

    `nets[roll, box]` is the net result of one unit of payment. `order` lists the boxes in the order
    in which stakes are placed, `paired` those with a differential. A row of `series` holds the
    player's bet as the shooter, the throws won, and who throws.
    """
    stakes, placed = np.zeros(len(order), np.int64), np.empty(len(order), np.int64)
    shooter_box, has_shooter = order[0], boxes[order[0], THROWS] > 1
    for table in range(first, last):
        bankroll, roll, total, count = bankrolls[table], rolls[table], 0, 0
        if has_shooter and series[table, 2] == NOBODY:
            request = actions[table, shooter_box]
            total = requested_stake(request, bankroll, boxes[shooter_box, STEP], terms)
            series[table, 0], series[table, 2] = total, PLAYER if total > 0 else STAND_IN
            bankroll -= total
        if series[table, 2] != PLAYER or terms[BETS_ELSEWHERE] == 1:
            count = place_stakes(
                actions, table, bankroll, has_shooter, order, boxes, terms, stakes, placed
            )
        return_excess(paired, boxes, terms, stakes)
        reward = 0
        for i in range(count):
            box = placed[i]
            units = stakes[box] if boxes[box, STEP] == 1 else stakes[box] // boxes[box, STEP]
            reward += units * nets[roll, box]
            total += stakes[box]
            stakes[box] = 0
        bankroll += reward
        if has_shooter:
            throws, step = boxes[shooter_box, THROWS], boxes[shooter_box, STEP]
            stake, net = settle_series(series, table, nets[roll, shooter_box], throws, step)
            bankroll, reward = bankroll + stake + net, reward + net
        bankrolls[table], rewards[table], staked[table] = bankroll, reward, total


@cache
def compiled_play_round() -> Any:
    """Return `play_round` compiled for this CPU."""
    return compile_cached(play_round, compile_inline, {}, "play_one_player_tables")
