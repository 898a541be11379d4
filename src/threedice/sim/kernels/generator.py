"""Random dice from the counter-based generator Philox 4x32-10, three unbiased rolls per word.

Plain functions that `compiler` and `gpu` compile for the CPU and for CUDA; they also run in Python.
There is no state between draws: the words of a block of rounds depend on (seed, session, block)
alone, so any part of a simulation can be computed anywhere, in any order, with the same result.

A word below 426 x 216^3 encodes three rolls, each a number from 0 to 215: the leading digits in
base 216 of the fraction word / limit. A word at or above the limit is rejected and replaced by the
word at the same position under the next counter; the other words stay.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from numpy import uint32, uint64

Word: TypeAlias = Any
"""A machine integer: numpy's in Python, the device's when compiled."""

wide: Any = uint64
"""Type in which a draw is computed: 64-bit lanes suit a CPU's vectors; `gpu` binds it to uint32."""

ROLLS_PER_BLOCK: Final = 12
WORD_LIMIT: Final = uint32(426 * 216**3)
WORDS_PER_ROLL: Final = uint32(426 * 216**2)
"""Number of consecutive words below the limit with the same first roll."""
NEGATED_LIMIT: Final = uint32(2**32 - 426 * 216**3)
"""The limit negated modulo 2^32."""

_MULTIPLIER_0: Final = uint64(0xD2511F53)
_MULTIPLIER_1: Final = uint64(0xCD9E8D57)
_BUMP_0: Final = uint64(0x9E3779B9)
_BUMP_1: Final = uint64(0xBB67AE85)
_HALF: Final = uint64(32)
_LOW: Final = uint64(0xFFFFFFFF)


def philox(c0: Word, c1: Word, c2: Word, c3: Word, k0: Word, k1: Word) -> tuple[Word, ...]:
    """Return the four words of Philox 4x32-10 for a counter and a key.

    >>> [f"{word:08x}" for word in philox(0, 0, 0, 0, 0, 0)]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    c0, c1, c2, c3, k0, k1 = wide(c0), wide(c1), wide(c2), wide(c3), wide(k0), wide(k1)
    c0, c1, c2, c3 = philox_round(c0, c1, c2, c3, k0, k1)
    k0, k1 = bump_key(k0, k1)
    c0, c1, c2, c3 = philox_round(c0, c1, c2, c3, k0, k1)
    k0, k1 = bump_key(k0, k1)
    c0, c1, c2, c3 = philox_round(c0, c1, c2, c3, k0, k1)
    k0, k1 = bump_key(k0, k1)
    c0, c1, c2, c3 = philox_round(c0, c1, c2, c3, k0, k1)
    k0, k1 = bump_key(k0, k1)
    c0, c1, c2, c3 = philox_round(c0, c1, c2, c3, k0, k1)
    k0, k1 = bump_key(k0, k1)
    c0, c1, c2, c3 = philox_round(c0, c1, c2, c3, k0, k1)
    k0, k1 = bump_key(k0, k1)
    c0, c1, c2, c3 = philox_round(c0, c1, c2, c3, k0, k1)
    k0, k1 = bump_key(k0, k1)
    c0, c1, c2, c3 = philox_round(c0, c1, c2, c3, k0, k1)
    k0, k1 = bump_key(k0, k1)
    c0, c1, c2, c3 = philox_round(c0, c1, c2, c3, k0, k1)
    k0, k1 = bump_key(k0, k1)
    c0, c1, c2, c3 = philox_round(c0, c1, c2, c3, k0, k1)
    return low32(c0), low32(c1), low32(c2), low32(c3)


def philox_round(c0: Word, c1: Word, c2: Word, c3: Word, k0: Word, k1: Word) -> tuple[Word, ...]:
    """Return the counter after one round of Philox; only the low 32 bits of a word are used."""
    p0 = _MULTIPLIER_0 * uint64(low32(c0))
    p1 = _MULTIPLIER_1 * uint64(low32(c2))
    return (
        wide(wide(p1 >> _HALF) ^ c1 ^ k0),
        wide(p1 & _LOW),
        wide(wide(p0 >> _HALF) ^ c3 ^ k1),
        wide(p0 & _LOW),
    )


def bump_key(k0: Word, k1: Word) -> tuple[Word, Word]:
    """Return the key of the next round of Philox."""
    return wide((uint64(k0) + _BUMP_0) & _LOW), wide((uint64(k1) + _BUMP_1) & _LOW)


def low32(word: Word) -> Word:
    """Return the low 32 bits of a word."""
    return uint32(uint64(word) & _LOW)


def lesser(one: Word, other: Word) -> Word:
    """Return the lesser of two numbers; not every device has Python's `min`."""
    return one if one < other else other


def greater(one: Word, other: Word) -> Word:
    """Return the greater of two numbers."""
    return one if one > other else other


def draw_block(block: Word, session: Word, stream: Word, k0: Word, k1: Word) -> tuple[Word, ...]:
    """Return the four words of a block of rounds, each below the limit.

    A word at or above the limit is replaced by the word at its position under the next counters,
    the first that is below the limit.
    """
    s0, s1 = low32(session), low32(uint64(session) >> _HALF)
    w0, w1, w2, w3 = philox(block, s0, s1, stream, k0, k1)
    if greater(greater(w0, w1), greater(w2, w3)) >= WORD_LIMIT:
        retry = stream
        while greater(greater(w0, w1), greater(w2, w3)) >= WORD_LIMIT:
            retry = low32(uint64(retry) + uint64(1))
            v0, v1, v2, v3 = philox(block, s0, s1, retry, k0, k1)
            w0 = v0 if w0 >= WORD_LIMIT else w0
            w1 = v1 if w1 >= WORD_LIMIT else w1
            w2 = v2 if w2 >= WORD_LIMIT else w2
            w3 = v3 if w3 >= WORD_LIMIT else w3
    return w0, w1, w2, w3


def first_roll(word: Word) -> Word:
    """Return the first roll of a word below the limit, from 0 to 215.

    >>> [int(first_roll(uint32(word))) for word in (0, 19_875_455, 19_875_456, 4_293_098_495)]
    [0, 0, 1, 215]
    """
    return uint32(word) // WORDS_PER_ROLL


def shift_to_next_roll(word: Word) -> Word:
    """Return a word whose first roll is the next roll of this word.

    That is 216 x word - roll x limit, computed modulo 2^32 with `NEGATED_LIMIT`.
    """
    return low32(uint64(216) * uint64(word) + uint64(first_roll(word)) * uint64(NEGATED_LIMIT))


def word_threshold(ways: int) -> int:
    """Return the threshold below which the first roll of a word is one of the first `ways`."""
    return ways * int(WORDS_PER_ROLL)
