"""Sessions, round by round, in the form of `maths.plans`: what every device compiles.

Plain functions over whole numbers. The names in capitals are settled when they are compiled
(`compiling`), and so are `move` and `settle`; what does not apply to a session then costs nothing.
`play_lanes` is the loop of a CPU, many sessions side by side in vectors; that of a GPU, a session
to a thread, is in `gpu`. Both call the same functions for everything that happens in a round.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy import int32, int64, uint32, uint64

from threedice.sim.generator import (
    LIMIT,
    ROLLS_A_BLOCK,
    drawn,
    greater,
    lesser,
    low,
    philox,
    rest_of,
    roll_of,
)
from threedice.sim.moves import RING
from threedice.sim.moves import flat as move
from threedice.sim.places import place_of

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

Numbers = Any
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
ENDS: Final = ("ruined", "stop-loss", "stop-win", "played-out")


def stake_made(due: Any, bank: Any, minimum: Any, maximum: Any, step: Any) -> Any:
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
    net = odds[2][roll_of(word)]
    return net, net > 0, net < 0


settle = settle_tiers


def play_round(word: Any, state: Any, terms: Any, odds: Any, line: Any) -> Any:
    """Return the state of a session after one round more, decided by the first roll of a word."""
    bank, due, memory, played, staked = state
    base, minimum, maximum, step, floor, ceiling = terms
    stake = stake_made(due, bank, minimum, maximum, step)
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
    word = rest_of(word)
    state = play_round(word, state, terms, odds, line)
    return play_round(rest_of(word), state, terms, odds, line)


def end_of(state: Any, terms: Any) -> int:
    """Return how a session ended, as a place in `ENDS`; what ruins comes before what stops."""
    bank = state[0]
    able = bank - bank % terms[3] if STEPPED else bank
    if able < terms[1]:
        return 0
    if bank <= terms[4]:
        return 1
    return 2 if bank >= terms[5] else 3


def sums_of(state: Any, end: Any) -> Any:
    """Return what a session adds to each of the `SUMS` but the last two."""
    bank, staked = int64(state[0]), int64(state[4])
    return (
        bank, bank * bank & _LOW, bank * bank >> _HALF,
        staked, staked * staked & _LOW, staked * staked >> _HALF,
        bank * staked & _LOW, bank * staked >> _HALF,
        int64(state[3]), int64(end == 0), int64(end == 1), int64(end == 2), int64(state[1] < 0),
    )  # fmt: skip


def stand_of(bank: Any, brought: Any) -> Any:
    """Return what a session adds to the last two of the `SUMS`: is it ahead, is it level."""
    return int64(bank > brought), int64(bank == brought)


def over(state: Any, terms: Any) -> Any:
    """Tell whether a session can only go on as it is: ruined or stopped."""
    return (state[0] < terms[1]) | (state[1] <= 0)


def play_lanes(
    first: Any, count: int, keys: Any, terms: Any, edges: Any, table: Numbers,
    fresh: Numbers, sums: Numbers, ends: Numbers, finals: Numbers, paths: Numbers,
) -> None:  # fmt: skip
    """Play sessions from `first` on, `LANES` of them side by side, and add up what they come to."""
    limits = (terms[0], terms[1], terms[2], terms[3], terms[4], terms[5])
    odds = (edges, (terms[10], terms[11], terms[12], terms[13]), table)
    rounds, path_fine, stride = terms[7], terms[16], terms[17]
    blocks = (rounds + ROLLS_A_BLOCK - 1) // ROLLS_A_BLOCK
    lanes, words = np.empty((5, LANES), int32), np.empty((4, LANES), uint32)
    lines = np.empty((LANES, RING if LINED else 1), int32)
    for group in range(0, count, LANES):
        start, many = uint64(first) + uint64(group), min(LANES, count - group)
        begin(lanes, lines, fresh, terms)
        for block in range(blocks):
            draw_lanes(block, start, keys[0], keys[1], words)
            todo = min(ROLLS_A_BLOCK, rounds - ROLLS_A_BLOCK * block)
            play_block(todo, lanes, words, limits, odds, lines, fresh)
            if PATHS and ((block + 1) % stride == 0 or block + 1 == blocks):
                for lane in range(many):
                    place = place_of(lanes[0, lane], path_fine, paths.shape[1])
                    paths[block // stride, place] += 1
        stand_in(many, lanes, terms[6], sums)
        for lane in range(many):
            count_in(kept(lanes, lane), limits, terms, sums, ends, finals)


def begin(lanes: Numbers, lines: Numbers, fresh: Numbers, terms: Any) -> None:
    """Begin new sessions side by side."""
    for lane in range(LANES):
        keep(lanes, lane, (terms[6], terms[8], terms[9], int32(0), int32(0)))
        if LINED:
            for place in range(len(fresh)):
                lines[lane, place] = fresh[place]


def play_block(
    todo: int, lanes: Numbers, words: Numbers, limits: Any, odds: Any, lines: Numbers,
    fresh: Numbers,
) -> None:  # fmt: skip
    """Play a block of rounds, or the first so many of it, in sessions side by side."""
    if todo == ROLLS_A_BLOCK:
        for at in range(4):
            for lane in range(LANES):
                line = (lines, lane, fresh)
                keep(lanes, lane, play_word(words[at, lane], kept(lanes, lane), limits, odds, line))
    else:
        for turn in range(todo):
            for lane in range(LANES):
                word, line = words[turn // 3, lane], (lines, lane, fresh)
                keep(lanes, lane, play_round(word, kept(lanes, lane), limits, odds, line))
                words[turn // 3, lane] = rest_of(word)


def count_in(
    state: Any, limits: Any, terms: Any, sums: Numbers, ends: Numbers, finals: Numbers
) -> None:
    """Add a session that is over to the sums and counts."""
    end = end_of(state, limits)
    more = sums_of(state, end)
    for place in range(len(more)):
        sums[place] += more[place]
    if COUNTS:
        ends[end, place_of(state[3], terms[14], ends.shape[1])] += 1
        finals[place_of(state[0], terms[15], len(finals))] += 1


def stand_in(many: int, lanes: Numbers, brought: Any, sums: Numbers) -> None:
    """Add to the sums how many of the sessions side by side are ahead, and how many level."""
    ahead, level = int64(0), int64(0)
    for lane in range(many):  # a loop of its own: it goes in vectors
        more, same = stand_of(lanes[0, lane], brought)
        ahead, level = ahead + more, level + same
    sums[AHEAD] += ahead
    sums[LEVEL] += level


def kept(lanes: Numbers, lane: int) -> Any:
    """Return the state of one of the sessions side by side."""
    return lanes[0, lane], lanes[1, lane], lanes[2, lane], lanes[3, lane], lanes[4, lane]


def keep(lanes: Numbers, lane: int, state: Any) -> None:
    """Keep the state of one of the sessions side by side."""
    lanes[0, lane], lanes[1, lane], lanes[2, lane] = state[0], state[1], state[2]
    lanes[3, lane], lanes[4, lane] = state[3], state[4]


def draw_lanes(block: Any, start: Any, k0: Any, k1: Any, words: Numbers) -> None:
    """Draw the words of a block for sessions side by side, anew where it must be."""
    highest = uint32(0)
    for lane in range(LANES):
        session = start + uint64(lane)
        w0, w1, w2, w3 = philox(
            uint32(block), low(session), low(session >> uint64(32)), uint32(0), k0, k1
        )
        words[0, lane], words[1, lane], words[2, lane], words[3, lane] = w0, w1, w2, w3
        highest = greater(highest, greater(greater(w0, w1), greater(w2, w3)))
    if highest >= LIMIT:
        for lane in range(LANES):
            most = greater(
                greater(words[0, lane], words[1, lane]), greater(words[2, lane], words[3, lane])
            )
            if most >= LIMIT:
                w0, w1, w2, w3 = drawn(uint32(block), start + uint64(lane), uint32(0), k0, k1)
                words[0, lane], words[1, lane], words[2, lane], words[3, lane] = w0, w1, w2, w3
