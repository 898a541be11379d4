"""Play sessions round by round and add them to sums and logarithmic histograms.

Plain functions over integers, which every device compiles; `odds.sessions.plans` defines the rules.
The constants STEPPED to PATHS, `move` and `settle` are bound when a kernel is compiled
(`compiler`), so that branches that do not apply to a session cost nothing. `play_lanes` is the loop
of a CPU, which plays many sessions in the lanes of vectors; that of a GPU, one session per thread,
is in `gpu`. Both call the same functions for everything that happens in a round.

Histograms are logarithmic: with p precision bits, every amount below 2^(p + 1) has a bin of its
own, and from there on each doubling has 2^p bins, so that amounts are known to one part in 2^p.
`bin_index` is compiled into the kernels; the other histogram functions read the counts.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy import int32, int64, uint32, uint64

from threedice.sim.kernels.generator import (
    ROLLS_PER_BLOCK,
    WORD_LIMIT,
    draw_block,
    first_roll,
    greater,
    lesser,
    low32,
    philox,
    shift_to_next_roll,
)
from threedice.sim.kernels.plans import LINE_CAPACITY
from threedice.sim.kernels.plans import flat as move

LANES: Final = 64
"""Number of sessions that a CPU plays at once; their state fits into its first-level cache."""

STEPPED = True
"""True if stakes must be multiples of a step above one."""
FLOORED = True
"""True if a bankroll above zero may be too small for the minimum stake."""
CAPPED = True
"""True if the plan may make more due than the maximum."""
OWN = True
"""True if the plan is a user's own; a due stake under the minimum is then raised to it."""
STOPS = True
"""True if there is a stop-loss or a stop-win."""
LINED = True
"""True if the plan keeps a line."""
COUNTS = True
"""True if histograms of endings and final bankrolls are counted, besides the sums."""
PATHS = True
"""True if bankrolls are also counted during the session (on a CPU)."""

IntArray = Any
"""A numpy array of integers."""

SUMS: Final = (
    "bank", "bank_squared_low", "bank_squared_high",
    "staked", "staked_squared_low", "staked_squared_high",
    "both_low", "both_high",
    "played", "ruined", "stop_loss", "stop_win", "broken", "ahead", "level",
)  # fmt: skip
"""Names of the sums over sessions, in order; squares and products are split into 32-bit halves.

The names are stored in progress files by position, and read by string.
"""

AHEAD, LEVEL = SUMS.index("ahead"), SUMS.index("level")

ENDING_NAMES: Final = ("ruined", "stop-loss", "stop-win", "played-out")

_LOW: Final = int64(0xFFFFFFFF)
_HALF: Final = int64(32)


def actual_stake(due: Any, bank: Any, minimum: Any, maximum: Any, step: Any) -> Any:
    """Return the stake that the player makes, 0 if it would be under the minimum."""
    if OWN:
        due = greater(due, minimum) if due > 0 else due
    stake = lesser(due, bank)
    if CAPPED:
        stake = lesser(stake, maximum)
    if STEPPED:
        stake = int32(stake - stake % step)
    if FLOORED:
        stake = stake if stake >= minimum else int32(0)
    return stake


def settle_two(word: Any, odds: Any) -> tuple[Any, bool, bool]:
    """Return (net of one step, won, lost) of a box with two results: one comparison."""
    edges, nets, _ = odds
    won = word < edges[0]
    return nets[0] if won else nets[3], won, not won


def settle_tiers(word: Any, odds: Any) -> tuple[Any, bool, bool]:
    """Return (net of one step, won, lost) of a bet with up to four results, best first."""
    edges, nets, _ = odds
    upper = nets[0] if word < edges[0] else nets[1]
    lower = nets[2] if word < edges[2] else nets[3]
    net = upper if word < edges[1] else lower
    return net, net > 0, net < 0


def settle_table(word: Any, odds: Any) -> tuple[Any, bool, bool]:
    """Return (net of one step, won, lost) of a bet with many results, from a table of 216."""
    net = odds[2][first_roll(word)]
    return net, net > 0, net < 0


settle = settle_tiers


def play_round(word: Any, state: Any, terms: Any, odds: Any, line: Any) -> Any:
    """Return the state of a session after one more round, decided by the first roll of a word.

    The state is (bankroll, due, memory, rounds played, turnover).
    """
    bank, due, memory, played, staked = state
    base, minimum, maximum, step, floor, ceiling = terms
    stake = actual_stake(due, bank, minimum, maximum, step)
    step_net, won, lost = settle(word, odds)
    net = int32(stake // step * step_net) if STEPPED else int32(stake * step_net)
    due, memory = move((due, memory), (stake, net, won, lost), (base, maximum), line)
    bank = int32(bank + net)
    if STOPS:
        # With 0 due nothing is staked any more, so the bankroll stays as it is.
        due = int32(0) if (bank <= floor) | (bank >= ceiling) else due
    played = int32(played + lesser(stake, int32(1)))
    return bank, due, memory, played, int32(staked + stake)


def play_word(word: Any, state: Any, terms: Any, odds: Any, line: Any) -> Any:
    """Return the state of a session after the three rounds of a word."""
    state = play_round(word, state, terms, odds, line)
    word = shift_to_next_roll(word)
    state = play_round(word, state, terms, odds, line)
    return play_round(shift_to_next_roll(word), state, terms, odds, line)


def ending_index(state: Any, terms: Any) -> int:
    """Return the ending of a session as an index of `ENDING_NAMES`; ruin is checked first."""
    bank = state[0]
    max_stake = bank - bank % terms[3] if STEPPED else bank
    if max_stake < terms[1]:
        return 0
    if bank <= terms[4]:
        return 1
    return 2 if bank >= terms[5] else 3


def session_sums(state: Any, end: Any) -> Any:
    """Return the contribution of a session to each of the `SUMS` but the last two."""
    bank, staked = int64(state[0]), int64(state[4])
    return (
        bank, bank * bank & _LOW, bank * bank >> _HALF,
        staked, staked * staked & _LOW, staked * staked >> _HALF,
        bank * staked & _LOW, bank * staked >> _HALF,
        int64(state[3]), int64(end == 0), int64(end == 1), int64(end == 2), int64(state[1] < 0),
    )  # fmt: skip


def ahead_and_level(bank: Any, initial_bank: Any) -> Any:
    """Return the contribution of a session to the last two of the `SUMS`."""
    return int64(bank > initial_bank), int64(bank == initial_bank)


def is_over(state: Any, terms: Any) -> Any:
    """Return whether a session is ruined or stopped, so that further rounds change nothing."""
    return (state[0] < terms[1]) | (state[1] <= 0)


def play_lanes(
    first: Any, count: int, keys: Any, terms: Any, edges: Any, table: IntArray,
    new_line: IntArray, sums: IntArray, ends: IntArray, finals: IntArray, paths: IntArray,
) -> None:  # fmt: skip
    """Play sessions from `first` on, `LANES` at once, and add them to sums and histograms.

    `terms`, `edges`, `table` and `new_line` come from `Terms.kernel_arguments`.
    """
    limits = (terms[0], terms[1], terms[2], terms[3], terms[4], terms[5])
    odds = (edges, (terms[10], terms[11], terms[12], terms[13]), table)
    rounds, path_bits, blocks_per_point = terms[7], terms[16], terms[17]
    blocks = (rounds + ROLLS_PER_BLOCK - 1) // ROLLS_PER_BLOCK
    lanes, words = np.empty((5, LANES), int32), np.empty((4, LANES), uint32)
    lines = np.empty((LANES, LINE_CAPACITY if LINED else 1), int32)
    for group in range(0, count, LANES):
        start, lane_count = uint64(first) + uint64(group), min(LANES, count - group)
        init_lanes(lanes, lines, new_line, terms)
        for block in range(blocks):
            draw_lanes(block, start, keys[0], keys[1], words)
            block_rounds = min(ROLLS_PER_BLOCK, rounds - ROLLS_PER_BLOCK * block)
            play_block(block_rounds, lanes, words, limits, odds, lines, new_line)
            if PATHS and ((block + 1) % blocks_per_point == 0 or block + 1 == blocks):
                for lane in range(lane_count):
                    index = bin_index(lanes[0, lane], path_bits, paths.shape[1])
                    paths[block // blocks_per_point, index] += 1
        add_ahead_and_level(lane_count, lanes, terms[6], sums)
        for lane in range(lane_count):
            add_session(load_lane(lanes, lane), limits, terms, sums, ends, finals)


def record_sessions(
    first: Any, count: int, keys: Any, terms: Any, edges: Any, table: IntArray,
    new_line: IntArray, stakes: IntArray, banks: IntArray,
) -> None:  # fmt: skip
    """Play sessions from `first` on, and record the stake and the bankroll of every round.

    They are the sessions that `play_lanes` counts; this loop is for histories, not for speed.
    """
    limits = (terms[0], terms[1], terms[2], terms[3], terms[4], terms[5])
    odds = (edges, (terms[10], terms[11], terms[12], terms[13]), table)
    line = np.empty((1, LINE_CAPACITY if LINED else 1), int32)
    words = np.empty(4, uint32)
    for number in range(count):
        state = (terms[6], terms[8], terms[9], int32(0), int32(0))
        if LINED:
            for i in range(len(new_line)):
                line[0, i] = new_line[i]
        for i in range(terms[7]):
            if i % ROLLS_PER_BLOCK == 0:
                block, session = uint32(i // ROLLS_PER_BLOCK), uint64(first) + uint64(number)
                w0, w1, w2, w3 = draw_block(block, session, uint32(0), keys[0], keys[1])
                words[0], words[1], words[2], words[3] = w0, w1, w2, w3
            place = i % ROLLS_PER_BLOCK // 3
            staked = state[4]
            state = play_round(words[place], state, limits, odds, (line, 0, new_line))
            words[place] = shift_to_next_roll(words[place])
            stakes[number, i], banks[number, i] = state[4] - staked, state[0]


def init_lanes(lanes: IntArray, lines: IntArray, new_line: IntArray, terms: Any) -> None:
    """Start a new session in every lane."""
    for lane in range(LANES):
        store_lane(lanes, lane, (terms[6], terms[8], terms[9], int32(0), int32(0)))
        if LINED:
            for i in range(len(new_line)):
                lines[lane, i] = new_line[i]


def play_block(
    block_rounds: int, lanes: IntArray, words: IntArray, limits: Any, odds: Any, lines: IntArray,
    new_line: IntArray,
) -> None:  # fmt: skip
    """Play the first rounds of a block, or all of them, in every lane."""
    if block_rounds == ROLLS_PER_BLOCK:
        for i in range(4):
            for lane in range(LANES):
                line = (lines, lane, new_line)
                store_lane(
                    lanes,
                    lane,
                    play_word(words[i, lane], load_lane(lanes, lane), limits, odds, line),
                )
    else:
        for i in range(block_rounds):
            for lane in range(LANES):
                word, line = words[i // 3, lane], (lines, lane, new_line)
                store_lane(
                    lanes, lane, play_round(word, load_lane(lanes, lane), limits, odds, line)
                )
                words[i // 3, lane] = shift_to_next_roll(word)


def add_session(
    state: Any, limits: Any, terms: Any, sums: IntArray, ends: IntArray, finals: IntArray
) -> None:
    """Add a finished session to the sums and histograms."""
    end = ending_index(state, limits)
    contribution = session_sums(state, end)
    for i in range(len(contribution)):
        sums[i] += contribution[i]
    if COUNTS:
        ends[end, bin_index(state[3], terms[14], ends.shape[1])] += 1
        finals[bin_index(state[0], terms[15], len(finals))] += 1


def add_ahead_and_level(
    lane_count: int, lanes: IntArray, initial_bank: Any, sums: IntArray
) -> None:
    """Add the number of lanes that are ahead, and of those that are level, to the sums."""
    ahead, level = int64(0), int64(0)
    for lane in range(lane_count):  # a separate loop, because it vectorises
        is_ahead, is_level = ahead_and_level(lanes[0, lane], initial_bank)
        ahead, level = ahead + is_ahead, level + is_level
    sums[AHEAD] += ahead
    sums[LEVEL] += level


def load_lane(lanes: IntArray, lane: int) -> Any:
    """Return the state of the session in a lane."""
    return lanes[0, lane], lanes[1, lane], lanes[2, lane], lanes[3, lane], lanes[4, lane]


def store_lane(lanes: IntArray, lane: int, state: Any) -> None:
    """Set the state of the session in a lane."""
    lanes[0, lane], lanes[1, lane], lanes[2, lane] = state[0], state[1], state[2]
    lanes[3, lane], lanes[4, lane] = state[3], state[4]


def draw_lanes(block: Any, start: Any, k0: Any, k1: Any, words: IntArray) -> None:
    """Draw the words of a block for every lane, and replace those at or above the limit."""
    highest = uint32(0)
    for lane in range(LANES):
        session = start + uint64(lane)
        w0, w1, w2, w3 = philox(
            uint32(block), low32(session), low32(session >> uint64(32)), uint32(0), k0, k1
        )
        words[0, lane], words[1, lane], words[2, lane], words[3, lane] = w0, w1, w2, w3
        highest = greater(highest, greater(greater(w0, w1), greater(w2, w3)))
    if highest >= WORD_LIMIT:
        for lane in range(LANES):
            lane_highest = greater(
                greater(words[0, lane], words[1, lane]), greater(words[2, lane], words[3, lane])
            )
            if lane_highest >= WORD_LIMIT:
                w0, w1, w2, w3 = draw_block(uint32(block), start + uint64(lane), uint32(0), k0, k1)
                words[0, lane], words[1, lane], words[2, lane], words[3, lane] = w0, w1, w2, w3


# --- histograms ---------------------------------------------------------------------------------


class HistogramBin(NamedTuple):
    """The number of `times` that an amount from `low` to `high` occurred."""

    low: int
    high: int
    times: int


def bin_index(amount: Any, precision_bits: Any, bin_count: int) -> Any:
    """Return the bin of a non-negative amount; the last bin takes all larger amounts.

    >>> [int(bin_index(amount, 2, 100)) for amount in (0, 7, 8, 9, 10, 15, 16, 19, 20)]
    [0, 7, 8, 8, 9, 11, 12, 12, 13]
    """
    number, bits = int64(amount), int64(precision_bits)
    above, shift, step = number >> bits, int64(0), int64(16)
    if above > 1:
        while step > 0:  # the binary logarithm; devices differ in their bit-counting functions
            if above >> step > 0:
                above, shift = above >> step, shift + step
            step = step >> int64(1)
    return lesser((shift << bits) + (number >> shift), int64(bin_count - 1))


def net_bin_index(net: Any, precision_bits: Any, zero_bin: int) -> Any:
    """Return the bin of a win or a loss; `zero_bin` is the bin of zero, in the middle.

    >>> [int(net_bin_index(net, 2, 50)) for net in (-9, -8, -1, 0, 1, 9)]
    [42, 42, 49, 50, 51, 58]
    """
    if net < 0:
        return int64(zero_bin) - bin_index(-net, precision_bits, zero_bin + 1)
    return int64(zero_bin) + bin_index(net, precision_bits, zero_bin + 1)


def bin_bounds(index: int, precision_bits: int) -> tuple[int, int]:
    """Return the smallest and the largest amount of a bin.

    >>> bin_bounds(7, 2), bin_bounds(11, 2), bin_bounds(12, 2)
    ((7, 7), (14, 15), (16, 19))
    """
    shift = max((index >> precision_bits) - 1, 0)
    low = (index - (shift << precision_bits)) << shift
    return low, low + (1 << shift) - 1


def choose_precision_bits(max_amount: int, bin_count: int) -> int:
    """Return the highest precision with which amounts up to a maximum fit into the bins."""
    return next(
        bits for bits in range(30, -1, -1) if int(bin_index(max_amount, bits, 2**62)) < bin_count
    )


def nonempty_bins(
    counts: IntArray, precision_bits: int, grain: int = 1
) -> tuple[HistogramBin, ...]:
    """Return the bins with counts above zero, smallest amount first."""
    (indices,) = counts.nonzero()
    bins = ((*bin_bounds(int(index), precision_bits), int(counts[index])) for index in indices)
    return tuple(HistogramBin(low * grain, high * grain, count) for low, high, count in bins)


def nonempty_net_bins(counts: IntArray, precision_bits: int) -> tuple[HistogramBin, ...]:
    """Return the bins of wins and losses with counts above zero, largest loss first."""
    zero_bin = len(counts) // 2
    losses = nonempty_bins(counts[zero_bin:0:-1], precision_bits)
    negated = (HistogramBin(-high, -low, count) for low, high, count in reversed(losses) if high)
    return (*negated, *nonempty_bins(counts[zero_bin:], precision_bits))
