"""Play sessions round by round and add them to sums and logarithmic histograms.

Sessions, round by round, in the form of `maths.plans`: what every device compiles.

Plain functions over whole numbers. The names in capitals are settled when they are compiled
(`compiling`), and so are `move` and `settle`; what does not apply to a session then costs nothing.
`play_lanes` is the loop of a CPU, many sessions side by side in vectors; that of a GPU, a session
to a thread, is in `gpu`. Both call the same functions for everything that happens in a round.

Where an amount is counted: small ones each by itself, large ones to so many significant bits.

A bankroll may end anywhere from nothing to two thousand million, and what is asked about it is
asked of amounts near what was brought. So every amount below 2^(fine + 1) has a place of its own,
and from there on each doubling has 2^fine places: what is not known exactly is known to one part in
2^fine. `bin_index` is compiled into the kernels; the others read their counts.
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
"""How many sessions a CPU plays side by side; their state stays in its nearest cache."""


STEPPED = True
"""Whether stakes must be multiples of a step above one."""


FLOORED = True
"""Whether what is left may be too little for a stake without being nothing."""


CAPPED = True
"""Whether the plan may make more due than the maximum."""


OWN = True
"""Whether the plan is the user's own; where it makes less than the minimum due, that is made up."""


STOPS = True
"""Whether there is a stop-loss or a stop-win."""


LINED = True
"""Whether the plan keeps a line."""


COUNTS = True
"""Whether final bankrolls and ends are counted one by one, besides the sums."""


PATHS = True
"""Whether bankrolls are counted along the way too (on a CPU)."""


IntArray = Any
"""An array of whole numbers."""


SUMS: Final = (
    "bank", "bank_squared_low", "bank_squared_high",
    "staked", "staked_squared_low", "staked_squared_high",
    "both_low", "both_high",
    "played", "ruined", "stop_loss", "stop_win", "broken", "ahead", "level",
)  # fmt: skip
"""What the sums over sessions are, in order; squares and products go in two halves of 32 bits."""


AHEAD, LEVEL = SUMS.index("ahead"), SUMS.index("level")


_LOW: Final = int64(0xFFFFFFFF)


_HALF: Final = int64(32)


ENDING_NAMES: Final = ("ruined", "stop-loss", "stop-win", "played-out")


def actual_stake(due: Any, bank: Any, minimum: Any, maximum: Any, step: Any) -> Any:
    """Return the stake a player makes, nothing where he cannot make the minimum."""
    if OWN:
        due = greater(due, minimum) if due > 0 else due
    made = lesser(due, bank)
    if CAPPED:
        made = lesser(made, maximum)
    if STEPPED:
        made = int32(made - made % step)
    if FLOORED:
        made = made if made >= minimum else int32(0)
    return made


def settle_two(word: Any, odds: Any) -> tuple[Any, bool, bool]:
    """Return what a box that wins or loses brings for each step staked: one comparison."""
    edges, nets, _ = odds
    won = word < edges[0]
    return nets[0] if won else nets[3], won, not won


def settle_tiers(word: Any, odds: Any) -> tuple[Any, bool, bool]:
    """Return what a bet of up to four results brings for each step staked, best first."""
    edges, nets, _ = odds
    upper = nets[0] if word < edges[0] else nets[1]
    lower = nets[2] if word < edges[2] else nets[3]
    net = upper if word < edges[1] else lower
    return net, net > 0, net < 0


def settle_table(word: Any, odds: Any) -> tuple[Any, bool, bool]:
    """Return what a bet of many results brings for each step staked, from a table of 216."""
    net = odds[2][first_roll(word)]
    return net, net > 0, net < 0


settle = settle_tiers


def play_round(word: Any, state: Any, terms: Any, odds: Any, line: Any) -> Any:
    """Return the state of a session after one round more, decided by the first roll of a word."""
    bank, due, memory, played, staked = state
    base, minimum, maximum, step, floor, ceiling = terms
    stake = actual_stake(due, bank, minimum, maximum, step)
    each, won, lost = settle(word, odds)
    net = int32(stake // step * each) if STEPPED else int32(stake * each)
    after, kept = move((due, memory), (stake, net, won, lost), (base, maximum), line)
    bank = int32(bank + net)
    if STOPS:
        # Nothing due is nothing staked, so that his bankroll stays where it stopped him.
        after = int32(0) if (bank <= floor) | (bank >= ceiling) else after
    played = int32(played + lesser(stake, int32(1)))
    return bank, after, kept, played, int32(staked + stake)


def play_word(word: Any, state: Any, terms: Any, odds: Any, line: Any) -> Any:
    """Return the state of a session after the three rounds of a word."""
    state = play_round(word, state, terms, odds, line)
    word = shift_to_next_roll(word)
    state = play_round(word, state, terms, odds, line)
    return play_round(shift_to_next_roll(word), state, terms, odds, line)


def ending_index(state: Any, terms: Any) -> int:
    """Return how a session ended, as a place in `ENDING_NAMES`; what ruins comes before what stops."""
    bank = state[0]
    able = bank - bank % terms[3] if STEPPED else bank
    if able < terms[1]:
        return 0
    if bank <= terms[4]:
        return 1
    return 2 if bank >= terms[5] else 3


def session_sums(state: Any, end: Any) -> Any:
    """Return what a session adds to each of the `SUMS` but the last two."""
    bank, staked = int64(state[0]), int64(state[4])
    return (
        bank, bank * bank & _LOW, bank * bank >> _HALF,
        staked, staked * staked & _LOW, staked * staked >> _HALF,
        bank * staked & _LOW, bank * staked >> _HALF,
        int64(state[3]), int64(end == 0), int64(end == 1), int64(end == 2), int64(state[1] < 0),
    )  # fmt: skip


def ahead_and_level(bank: Any, initial_bank: Any) -> Any:
    """Return what a session adds to the last two of the `SUMS`: is it ahead, is it level."""
    return int64(bank > initial_bank), int64(bank == initial_bank)


def is_over(state: Any, terms: Any) -> Any:
    """Tell whether a session can only go on as it is: ruined or stopped."""
    return (state[0] < terms[1]) | (state[1] <= 0)


def play_lanes(
    first: Any, count: int, keys: Any, terms: Any, edges: Any, table: IntArray,
    fresh: IntArray, sums: IntArray, ends: IntArray, finals: IntArray, paths: IntArray,
) -> None:  # fmt: skip
    """Play sessions from `first` on, `LANES` of them side by side, and add up what they come to."""
    limits = (terms[0], terms[1], terms[2], terms[3], terms[4], terms[5])
    odds = (edges, (terms[10], terms[11], terms[12], terms[13]), table)
    rounds, path_fine, stride = terms[7], terms[16], terms[17]
    blocks = (rounds + ROLLS_PER_BLOCK - 1) // ROLLS_PER_BLOCK
    lanes, words = np.empty((5, LANES), int32), np.empty((4, LANES), uint32)
    lines = np.empty((LANES, LINE_CAPACITY if LINED else 1), int32)
    for group in range(0, count, LANES):
        start, many = uint64(first) + uint64(group), min(LANES, count - group)
        init_lanes(lanes, lines, fresh, terms)
        for block in range(blocks):
            draw_lanes(block, start, keys[0], keys[1], words)
            todo = min(ROLLS_PER_BLOCK, rounds - ROLLS_PER_BLOCK * block)
            play_block(todo, lanes, words, limits, odds, lines, fresh)
            if PATHS and ((block + 1) % stride == 0 or block + 1 == blocks):
                for lane in range(many):
                    place = bin_index(lanes[0, lane], path_fine, paths.shape[1])
                    paths[block // stride, place] += 1
        add_ahead_and_level(many, lanes, terms[6], sums)
        for lane in range(many):
            add_session(load_lane(lanes, lane), limits, terms, sums, ends, finals)


def init_lanes(lanes: IntArray, lines: IntArray, fresh: IntArray, terms: Any) -> None:
    """Begin new sessions side by side."""
    for lane in range(LANES):
        store_lane(lanes, lane, (terms[6], terms[8], terms[9], int32(0), int32(0)))
        if LINED:
            for place in range(len(fresh)):
                lines[lane, place] = fresh[place]


def play_block(
    todo: int, lanes: IntArray, words: IntArray, limits: Any, odds: Any, lines: IntArray,
    fresh: IntArray,
) -> None:  # fmt: skip
    """Play a block of rounds, or the first so many of it, in sessions side by side."""
    if todo == ROLLS_PER_BLOCK:
        for at in range(4):
            for lane in range(LANES):
                line = (lines, lane, fresh)
                store_lane(
                    lanes,
                    lane,
                    play_word(words[at, lane], load_lane(lanes, lane), limits, odds, line),
                )
    else:
        for turn in range(todo):
            for lane in range(LANES):
                word, line = words[turn // 3, lane], (lines, lane, fresh)
                store_lane(
                    lanes, lane, play_round(word, load_lane(lanes, lane), limits, odds, line)
                )
                words[turn // 3, lane] = shift_to_next_roll(word)


def add_session(
    state: Any, limits: Any, terms: Any, sums: IntArray, ends: IntArray, finals: IntArray
) -> None:
    """Add a session that is over to the sums and counts."""
    end = ending_index(state, limits)
    more = session_sums(state, end)
    for place in range(len(more)):
        sums[place] += more[place]
    if COUNTS:
        ends[end, bin_index(state[3], terms[14], ends.shape[1])] += 1
        finals[bin_index(state[0], terms[15], len(finals))] += 1


def add_ahead_and_level(
    lane_count: int, lanes: IntArray, initial_bank: Any, sums: IntArray
) -> None:
    """Add to the sums how many of the sessions side by side are ahead, and how many level."""
    ahead, level = int64(0), int64(0)
    for lane in range(lane_count):  # a loop of its own: it goes in vectors
        more, same = ahead_and_level(lanes[0, lane], initial_bank)
        ahead, level = ahead + more, level + same
    sums[AHEAD] += ahead
    sums[LEVEL] += level


def load_lane(lanes: IntArray, lane: int) -> Any:
    """Return the state of one of the sessions side by side."""
    return lanes[0, lane], lanes[1, lane], lanes[2, lane], lanes[3, lane], lanes[4, lane]


def store_lane(lanes: IntArray, lane: int, state: Any) -> None:
    """Keep the state of one of the sessions side by side."""
    lanes[0, lane], lanes[1, lane], lanes[2, lane] = state[0], state[1], state[2]
    lanes[3, lane], lanes[4, lane] = state[3], state[4]


def draw_lanes(block: Any, start: Any, k0: Any, k1: Any, words: IntArray) -> None:
    """Draw the words of a block for sessions side by side, anew where it must be."""
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
            most = greater(
                greater(words[0, lane], words[1, lane]), greater(words[2, lane], words[3, lane])
            )
            if most >= WORD_LIMIT:
                w0, w1, w2, w3 = draw_block(uint32(block), start + uint64(lane), uint32(0), k0, k1)
                words[0, lane], words[1, lane], words[2, lane], words[3, lane] = w0, w1, w2, w3


HistogramArray = Any
"""An array of whole numbers."""


class HistogramBin(NamedTuple):
    """How often amounts from `low` to `high` came; the two are the same where it is known."""

    low: int
    high: int
    times: int


def bin_index(amount: Any, precision_bits: Any, bin_count: int) -> Any:
    """Return the place of an amount that is not negative; the last takes all beyond it.

    >>> [int(bin_index(each, 2, 100)) for each in (0, 7, 8, 9, 10, 15, 16, 19, 20)]
    [0, 7, 8, 8, 9, 11, 12, 12, 13]
    """
    number, bits = int64(amount), int64(precision_bits)
    above, shift, step = number >> bits, int64(0), int64(16)
    if above > 1:
        while step > 0:  # how often it can be halved; not every device counts bits alike
            if above >> step > 0:
                above, shift = above >> step, shift + step
            step = step >> int64(1)
    return lesser((shift << bits) + (number >> shift), int64(bin_count - 1))


def net_bin_index(net: Any, precision_bits: Any, zero_bin: int) -> Any:
    """Return the place of a gain or a loss around `middle`, where nothing was won or lost.

    >>> [int(net_bin_index(each, 2, 50)) for each in (-9, -8, -1, 0, 1, 9)]
    [42, 42, 49, 50, 51, 58]
    """
    if net < 0:
        return int64(zero_bin) - bin_index(-net, precision_bits, zero_bin + 1)
    return int64(zero_bin) + bin_index(net, precision_bits, zero_bin + 1)


def bin_bounds(index: int, precision_bits: int) -> tuple[int, int]:
    """Return the amounts that are counted at a place, the least and the most.

    >>> bin_bounds(7, 2), bin_bounds(11, 2), bin_bounds(12, 2)
    ((7, 7), (14, 15), (16, 19))
    """
    shift = max((index >> precision_bits) - 1, 0)
    low = (index - (shift << precision_bits)) << shift
    return low, low + (1 << shift) - 1


def choose_precision_bits(max_amount: int, bin_count: int) -> int:
    """Return how finely amounts up to the most can be counted in so many places."""
    return next(
        fine for fine in range(30, -1, -1) if int(bin_index(max_amount, fine, 2**62)) < bin_count
    )


def nonempty_bins(
    counts: HistogramArray, precision_bits: int, grain: int = 1
) -> tuple[HistogramBin, ...]:
    """Return the amounts that were counted at all, least first."""
    (places,) = counts.nonzero()
    spans = ((*bin_bounds(int(place), precision_bits), int(counts[place])) for place in places)
    return tuple(HistogramBin(low * grain, high * grain, count) for low, high, count in spans)


def nonempty_net_bins(counts: HistogramArray, precision_bits: int) -> tuple[HistogramBin, ...]:
    """Return the gains and losses that were counted at all, the greatest loss first."""
    middle = len(counts) // 2
    losses = nonempty_bins(counts[middle:0:-1], precision_bits)
    turned = (HistogramBin(-high, -low, count) for low, high, count in reversed(losses) if high)
    return (*turned, *nonempty_bins(counts[middle:], precision_bits))
