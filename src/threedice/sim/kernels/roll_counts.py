"""How rounds fall on the 216 rolls, without playing them: halves and thirds of blocks of rounds.

A block of rounds is divided over the faces of the first die, each part over those of the second,
and so on: thirds and halves, five draws to a die. Of m rounds a share of a half or a third goes one
way; m is a sum of powers of two, and for each of those the number is drawn from a table of its
distribution, made once, in integers. A draw takes 64 bits of Philox keyed by (seed, block), so a
block comes out the same wherever it is drawn, and a table is off by less than 2^-64 at each entry.
"""

from __future__ import annotations

from functools import cache
from math import isqrt
from typing import Any, Final

import numba
import numpy as np
from numpy import int64, uint32, uint64

from threedice.sim.kernels.compiler import GENERATOR_FUNCTIONS, compile_cached, compile_functions
from threedice.sim.kernels.generator import philox

BLOCK_BITS: Final = 20
ROUNDS_PER_BLOCK: Final = 2**BLOCK_BITS
"""Rounds to a block; part of what a seed means, and so not to be changed."""
ROLL_COUNT_STREAM: Final = uint32(0x80000000)
"""Keeps these draws apart from those of sessions under the same seed."""
_FIXED_POINT_BITS: Final = 256
_GUIDE_ENTRIES: Final = 256

Array = Any


def binomial_cdf(trials: int, parts: int) -> tuple[int, list[int]]:
    """Return where a binomial distribution of chance 1/parts begins, and its sums over 2^64.

    Reckoned outwards from the likeliest number in fixed point of 256 bits; what is cut off is less
    likely than 2^-100.

    >>> binomial_cdf(2, 2) == (0, [2**62, 2**62 * 3])
    True
    """
    likeliest = trials // parts
    spread = 12 * isqrt(trials * (parts - 1) // parts**2 + 1) + 12
    first, last = max(0, likeliest - spread), min(trials, likeliest + spread)
    weights = {likeliest: 1 << _FIXED_POINT_BITS}
    for k in range(likeliest, last):
        weights[k + 1] = weights[k] * (trials - k) // ((k + 1) * (parts - 1))
    for k in range(likeliest, first, -1):
        weights[k - 1] = weights[k] * k * (parts - 1) // (trials - k + 1)
    whole, so_far, sums = sum(weights.values()), 0, []
    for k in range(first, last):
        so_far += weights[k]
        sums.append((so_far << 64) // whole)
    return first, sums


@cache
def binomial_tables() -> tuple[Array, Array, Array, Array]:
    """Return all tables end to end: sums, where each begins, its first number, and its guide.

    Row 0 is for halves, row 1 for thirds; the guide says where to look for the first eight bits of
    a draw.
    """
    sums: list[int] = []
    begins, firsts = (
        np.zeros((2, BLOCK_BITS + 2), np.int64),
        np.zeros((2, BLOCK_BITS + 1), np.int64),
    )
    guides = np.zeros((2, BLOCK_BITS + 1, _GUIDE_ENTRIES + 1), np.int64)
    for row, parts in enumerate((2, 3)):
        for power in range(BLOCK_BITS + 1):
            first, own = binomial_cdf(2**power, parts)
            begins[row, power], firsts[row, power] = len(sums), first
            marks = np.array([each << 56 for each in range(_GUIDE_ENTRIES)], np.uint64)
            found = np.searchsorted(np.array(own, np.uint64), marks, side="right")
            guides[row, power, :_GUIDE_ENTRIES], guides[row, power, _GUIDE_ENTRIES] = (
                found,
                len(own),
            )
            sums += own
    return np.array(sums, np.uint64), begins, firsts, guides


def draw_bits(number: Any, block: Any, k0: Any, k1: Any) -> Any:
    """Return the 64 bits of a draw."""
    w0, w1, w2, w3 = philox(
        uint32(number // int64(2)),
        uint32(block),
        uint32(uint64(block) >> uint64(32)),
        ROLL_COUNT_STREAM,
        k0,
        k1,
    )
    high, low = (w0, w1) if number % int64(2) == 0 else (w2, w3)
    return uint64(high) << uint64(32) | uint64(low)


def draw_binomial(
    trials: Any, row: Any, number: Any, block: Any, k0: Any, k1: Any,
    sums: Array, begins: Array, firsts: Array, guides: Array,
) -> tuple[Any, Any]:  # fmt: skip
    """Return how many of some rounds go one way, and the number of the next draw."""
    found = int64(0)
    for power in range(BLOCK_BITS + 1):
        if trials >> power & 1:
            bits = draw_bits(number, block, k0, k1)
            number += 1
            mark = int64(bits >> uint64(56))
            low = begins[row, power] + guides[row, power, mark]
            high = begins[row, power] + guides[row, power, mark + 1]
            while low < high:
                middle = (low + high) // 2
                if sums[middle] <= bits:
                    low = middle + 1
                else:
                    high = middle
            found += firsts[row, power] + low - begins[row, power]
    return found, number


def split_over_faces(
    trials: Any, number: Any, block: Any, k0: Any, k1: Any, out: Array,
    sums: Array, begins: Array, firsts: Array, guides: Array,
) -> Any:  # fmt: skip
    """Divide rounds over six faces, thirds first, and return the number of the next draw."""
    first, number = draw_binomial(trials, 1, number, block, k0, k1, sums, begins, firsts, guides)
    second, number = draw_binomial(
        trials - first, 0, number, block, k0, k1, sums, begins, firsts, guides
    )
    thirds = (first, second, trials - first - second)
    for i in range(3):
        half, number = draw_binomial(
            thirds[i], 0, number, block, k0, k1, sums, begins, firsts, guides
        )
        out[2 * i], out[2 * i + 1] = half, thirds[i] - half
    return number


def count_rolls(
    first: Any, count: Any, rounds: Any, k0: Any, k1: Any, rolls: Array,
    sums: Array, begins: Array, firsts: Array, guides: Array,
) -> None:  # fmt: skip
    """Add to each roll how often it falls in some blocks of so many rounds in all."""
    one, two, three = np.empty(6, np.int64), np.empty(6, np.int64), np.empty(6, np.int64)
    for block in range(first, first + count):
        number = int64(0)
        trials = min(int64(ROUNDS_PER_BLOCK), rounds - block * ROUNDS_PER_BLOCK)
        number = split_over_faces(trials, number, block, k0, k1, one, sums, begins, firsts, guides)
        for a in range(6):
            number = split_over_faces(
                one[a], number, block, k0, k1, two, sums, begins, firsts, guides
            )
            for b in range(6):
                number = split_over_faces(
                    two[b], number, block, k0, k1, three, sums, begins, firsts, guides
                )
                for c in range(6):
                    rolls[36 * a + 6 * b + c] += three[c]


@cache
def compiled_count_rolls() -> Any:
    """Return `count_rolls` as machine code."""
    return compile_cached(
        count_rolls,
        compile_functions(
            (*GENERATOR_FUNCTIONS, draw_bits, draw_binomial, split_over_faces),
            numba.njit(nogil=True),
            {},
        ),
        "fall",
    )


def draw_roll_counts(first: int, count: int, rounds: int, key: tuple[Any, Any]) -> Array:
    """Return how often each of the 216 rolls falls in some blocks of so many rounds in all."""
    rolls = np.zeros(216, np.int64)
    compiled_count_rolls()(first, count, rounds, key[0], key[1], rolls, *binomial_tables())
    return rolls
