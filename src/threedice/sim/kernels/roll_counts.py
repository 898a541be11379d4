"""Draw how often each of the 216 rolls falls in blocks of rounds, without playing the rounds.

This samples a multinomial distribution by binomial splits: a block of rounds is divided over the
faces of the first die, each part over those of the second, and so on, in thirds and halves, five
draws to a die. The number of trials of a split is a sum of powers of two, and for each of them a
binomial number is drawn from a table of its cumulative distribution, computed once in integers. A
draw takes 64 bits of Philox keyed by (seed, block), so a block has the same result wherever it is
drawn, and the error of each table entry is below 2^-64.
"""

from __future__ import annotations

from functools import cache
from math import isqrt
from typing import Any, Final

import numba
import numpy as np
from numpy import int64, uint32, uint64

from threedice.sim.kernels.compiler import compile_cached
from threedice.sim.kernels.generator import philox

BLOCK_BITS: Final = 20
ROUNDS_PER_BLOCK: Final = 2**BLOCK_BITS
"""Rounds in a block. It determines the results of a seed, so it must not change."""
ROLL_COUNT_STREAM: Final = uint32(0x80000000)
"""Stream number that separates these draws from those of sessions with the same seed."""
_FIXED_POINT_BITS: Final = 256
_GUIDE_ENTRIES: Final = 256

Array = Any


def binomial_cdf(trials: int, parts: int) -> tuple[int, list[int]]:
    """Return the cumulative binomial distribution of probability 1/parts, scaled to 2^64.

    The result is the first number of successes, and the cumulative probabilities from there on. It
    is computed outwards from the mode in 256-bit fixed point; the truncation error is below 2^-100.

    >>> binomial_cdf(2, 2) == (0, [2**62, 2**62 * 3])
    True
    """
    mode = trials // parts
    half_width = 12 * isqrt(trials * (parts - 1) // parts**2 + 1) + 12
    first, last = max(0, mode - half_width), min(trials, mode + half_width)
    weights = {mode: 1 << _FIXED_POINT_BITS}
    for k in range(mode, last):
        weights[k + 1] = weights[k] * (trials - k) // ((k + 1) * (parts - 1))
    for k in range(mode, first, -1):
        weights[k - 1] = weights[k] * k * (parts - 1) // (trials - k + 1)
    total, cumulative, sums = sum(weights.values()), 0, []
    for k in range(first, last):
        cumulative += weights[k]
        sums.append((cumulative << 64) // total)
    return first, sums


@cache
def binomial_tables() -> tuple[Array, Array, Array, Array]:
    """Return all tables, concatenated: sums, start of each table, its first number, its guide.

    Row 0 is for halves, row 1 for thirds. The guide narrows the binary search by the first eight
    bits of a draw.
    """
    sums: list[int] = []
    starts, firsts = (
        np.zeros((2, BLOCK_BITS + 2), np.int64),
        np.zeros((2, BLOCK_BITS + 1), np.int64),
    )
    guides = np.zeros((2, BLOCK_BITS + 1, _GUIDE_ENTRIES + 1), np.int64)
    prefixes = np.array([prefix << 56 for prefix in range(_GUIDE_ENTRIES)], np.uint64)
    for row, parts in enumerate((2, 3)):
        for power in range(BLOCK_BITS + 1):
            first, cdf = binomial_cdf(2**power, parts)
            starts[row, power], firsts[row, power] = len(sums), first
            guide = np.searchsorted(np.array(cdf, np.uint64), prefixes, side="right")
            guides[row, power, :_GUIDE_ENTRIES] = guide
            guides[row, power, _GUIDE_ENTRIES] = len(cdf)
            sums += cdf
    return np.array(sums, np.uint64), starts, firsts, guides


def draw_bits(draw: Any, block: Any, k0: Any, k1: Any) -> Any:
    """Return the 64 bits of a draw, numbered within its block."""
    w0, w1, w2, w3 = philox(
        uint32(draw // int64(2)),
        uint32(block),
        uint32(uint64(block) >> uint64(32)),
        ROLL_COUNT_STREAM,
        k0,
        k1,
    )
    high, low = (w0, w1) if draw % int64(2) == 0 else (w2, w3)
    return uint64(high) << uint64(32) | uint64(low)


def draw_binomial(
    trials: Any, row: Any, draw: Any, block: Any, k0: Any, k1: Any, tables: Any
) -> tuple[Any, Any]:
    """Return a binomial number of successes, and the number of the next draw."""
    sums, starts, firsts, guides = tables
    successes = int64(0)
    for power in range(BLOCK_BITS + 1):
        if trials >> power & 1:
            bits = draw_bits(draw, block, k0, k1)
            draw += 1
            prefix = int64(bits >> uint64(56))
            low = starts[row, power] + guides[row, power, prefix]
            high = starts[row, power] + guides[row, power, prefix + 1]
            while low < high:
                middle = (low + high) // 2
                if sums[middle] <= bits:
                    low = middle + 1
                else:
                    high = middle
            successes += firsts[row, power] + low - starts[row, power]
    return successes, draw


def split_over_faces(
    trials: Any, draw: Any, block: Any, k0: Any, k1: Any, out: Array, tables: Any
) -> Any:
    """Divide rounds over six faces, thirds first, and return the number of the next draw."""
    first, draw = draw_binomial(trials, 1, draw, block, k0, k1, tables)
    second, draw = draw_binomial(trials - first, 0, draw, block, k0, k1, tables)
    thirds = (first, second, trials - first - second)
    for i in range(3):
        half, draw = draw_binomial(thirds[i], 0, draw, block, k0, k1, tables)
        out[2 * i], out[2 * i + 1] = half, thirds[i] - half
    return draw


def count_rolls(
    first: Any, count: Any, rounds: Any, k0: Any, k1: Any, rolls: Array, tables: Any
) -> None:
    """Add the counts of each roll in a range of blocks; `rounds` is the total of the job."""
    one, two, three = np.empty(6, np.int64), np.empty(6, np.int64), np.empty(6, np.int64)
    for block in range(first, first + count):
        draw = int64(0)
        trials = min(int64(ROUNDS_PER_BLOCK), rounds - block * ROUNDS_PER_BLOCK)
        draw = split_over_faces(trials, draw, block, k0, k1, one, tables)
        for a in range(6):
            draw = split_over_faces(one[a], draw, block, k0, k1, two, tables)
            for b in range(6):
                draw = split_over_faces(two[b], draw, block, k0, k1, three, tables)
                for c in range(6):
                    rolls[36 * a + 6 * b + c] += three[c]


@cache
def compiled_count_rolls() -> Any:
    """Return `count_rolls` compiled for this CPU."""
    return compile_cached(count_rolls, numba.njit(nogil=True), {}, "count_rolls")


def draw_roll_counts(first: int, count: int, rounds: int, key: tuple[Any, Any]) -> Array:
    """Return the counts of the 216 rolls in a range of blocks of a job."""
    rolls = np.zeros(216, np.int64)
    compiled_count_rolls()(first, count, rounds, *key, rolls, binomial_tables())
    return rolls
