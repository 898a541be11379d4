"""Philox matches its published vectors, and all rolls are equally likely."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from threedice.sim.kernels.compiler import compile_inline, link
from threedice.sim.kernels.generator import (
    WORD_LIMIT,
    draw_block,
    first_roll,
    philox,
    shift_to_next_roll,
    word_threshold,
)

VECTORS = [
    ((0, 0, 0, 0, 0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 6, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
words = st.integers(0, 2**32 - 1)
fit = st.integers(0, int(WORD_LIMIT) - 1)


@pytest.mark.parametrize(("counter", "expected"), VECTORS)
def test_philox_matches_the_published_vectors(
    counter: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    assert philox(*counter) == expected


@pytest.mark.parametrize(("counter", "expected"), VECTORS)
def test_compiled_philox_matches_the_published_vectors(
    counter: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    machine = compile_inline(link(philox, compile_inline, {}))

    assert machine(*(np.uint32(each) for each in counter)) == expected


@given(st.tuples(words, words, words, words, words, words))
def test_philox_in_32_bit_arithmetic_draws_the_same_words(counter: tuple[int, ...]) -> None:
    narrow = link(philox, lambda function: function, {"wide": np.uint32})

    assert narrow(*(np.uint32(each) for each in counter)) == philox(*counter)


@given(fit)
def test_word_encodes_three_rolls_in_base_216(word: int) -> None:
    one = np.uint32(word)
    two = shift_to_next_roll(one)
    three = shift_to_next_roll(two)

    first, second, third = (int(first_roll(each)) for each in (one, two, three))
    assert word // 426 == (first * 216 + second) * 216 + third
    assert max(first, second, third) < 216


@given(st.integers(0, 216**3 - 1))
def test_first_and_last_word_of_three_rolls_decode_to_these_rolls(rolls: int) -> None:
    for word in (426 * rolls, 426 * rolls + 425):
        found, one = 0, np.uint32(word)
        for _ in range(3):
            found, one = 216 * found + int(first_roll(one)), shift_to_next_roll(one)
        assert found == rolls


def test_every_roll_has_the_same_number_of_words() -> None:
    edges = [word_threshold(ways) for ways in range(217)]

    assert {b - a for a, b in pairwise(edges)} == {426 * 216**2}
    assert (edges[0], edges[-1]) == (0, int(WORD_LIMIT))
    for roll in range(216):
        assert int(first_roll(np.uint32(edges[roll]))) == roll
        assert int(first_roll(np.uint32(edges[roll + 1] - 1))) == roll


def find_word_over_limit() -> tuple[int, int]:
    """Find a word over the limit; return its block and its place in the block."""
    machine = compile_inline(link(philox, compile_inline, {}))

    def search() -> tuple[int, int]:
        for block in range(1_000_000):
            found = machine(np.uint32(block), np.uint32(7), np.uint32(0), np.uint32(0),
                            np.uint32(3), np.uint32(0))  # fmt: skip
            for place in range(4):
                if found[place] >= WORD_LIMIT:
                    return block, place
        return -1, -1

    quick: Any = numba.njit(search)
    block, place = quick()
    return int(block), int(place)


def test_word_over_the_limit_is_redrawn_without_moving_other_words() -> None:
    block, place = find_word_over_limit()
    assert block >= 0
    raw, again = philox(block, 7, 0, 0, 3, 0), philox(block, 7, 0, 1, 3, 0)

    taken = draw_block(block, 7, 0, 3, 0)

    assert raw[place] >= WORD_LIMIT > taken[place]
    expected = [b if a >= WORD_LIMIT else a for a, b in zip(raw, again, strict=True)]
    assert list(taken) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((0, 0, 0, 1, 0), (0, 0, 0, 2, 0)),
        ((0, 0, 0, 1, 0), (0, 0, 0, 1, 1)),
        ((0, 0, 0, 1, 0), (0, 1, 0, 1, 0)),
        ((0, 2**32, 0, 1, 0), (0, 0, 0, 1, 0)),
        ((0, 0, 0, 1, 0), (1, 0, 0, 1, 0)),
        ((0, 0, 0, 1, 0), (0, 0, 0x80000000, 1, 0)),
    ],
)
def test_different_seed_session_block_or_stream_draws_different_words(
    one: tuple[int, ...], other: tuple[int, ...]
) -> None:
    assert draw_block(*one) != draw_block(*other)
