"""Play sessions on a GPU: the functions of `sessions` compiled for CUDA, one session per thread.

Only the outer loop differs from the CPU's; rounds, dice and sums are the same functions, so the
results are the same numbers. Needs the extra `gpu`; Numba's simulator (the environment variable
`NUMBA_ENABLE_CUDASIM=1`) runs the module without a GPU, slowly.
"""

from __future__ import annotations

from functools import cache
from inspect import signature
from typing import Any, Final

import numpy as np
from numba import config as numba_config
from numba import cuda as numba_cuda
from numpy import int32, int64, uint32, uint64

from threedice.errors import InvalidInput
from threedice.extras import require_extra
from threedice.sim.kernels.compiler import KernelSpec, kernel_names, link
from threedice.sim.kernels.generator import ROLLS_PER_BLOCK, draw_block, shift_to_next_roll
from threedice.sim.kernels.plans import LINE_CAPACITY
from threedice.sim.kernels.sessions import (
    AHEAD,
    COUNTS,
    LEVEL,
    LINED,
    ahead_and_level,
    bin_index,
    ending_index,
    is_over,
    play_round,
    play_word,
    session_sums,
)

if not hasattr(np, "row_stack"):  # numba-cuda uses a name that numpy has removed
    setattr(np, "row_stack", np.vstack)  # noqa: B010 -- mypy does not know the attribute

THREADS_PER_BLOCK: Final = 128
BLOCKS_PER_MULTIPROCESSOR: Final = 16
ROOM = LINE_CAPACITY
"""Capacity for the line of a Labouchere; a compile-time constant like those of `sessions`."""

Array = Any
cuda: Any = numba_cuda  # Any, because numba's types do not declare these attributes
config: Any = numba_config


def play_threads(
    first: Any, count: Any, keys: Any, terms: Any, edges: Any, table: Array,
    new_line: Array, sums: Array, ends: Array, finals: Array,
) -> None:  # fmt: skip
    """Play this thread's share of the sessions from `first` on, and add them to the sums."""
    limits = (terms[0], terms[1], terms[2], terms[3], terms[4], terms[5])
    bankroll, rounds = terms[6], terms[7]
    odds = (edges, (terms[10], terms[11], terms[12], terms[13]), table)
    round_bits, final_bits = terms[14], terms[15]
    full, rest = rounds // int32(ROLLS_PER_BLOCK), rounds % int32(ROLLS_PER_BLOCK)
    lines = cuda.local.array((1, ROOM), int32)
    line = (lines, 0, new_line)
    zero = int64(0)
    thread_sums = (zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero)
    ahead, level = zero, zero
    for number in range(cuda.grid(1), count, cuda.gridsize(1)):
        session = uint64(first) + uint64(number)
        if LINED:
            for i in range(len(new_line)):
                lines[0, i] = new_line[i]
        state = (bankroll, terms[8], terms[9], int32(0), int32(0))
        block = uint32(0)
        while block < full and not is_over(state, limits):
            w0, w1, w2, w3 = draw_block(block, session, uint32(0), keys[0], keys[1])
            state = play_word(w0, state, limits, odds, line)
            state = play_word(w1, state, limits, odds, line)
            state = play_word(w2, state, limits, odds, line)
            state = play_word(w3, state, limits, odds, line)
            block = uint32(block + uint32(1))
        if rest > 0 and not is_over(state, limits):
            w0, w1, w2, w3 = draw_block(block, session, uint32(0), keys[0], keys[1])
            for _ in range(rest // int32(3)):
                state = play_word(w0, state, limits, odds, line)
                w0, w1, w2 = w1, w2, w3
            for _ in range(rest % int32(3)):
                state = play_round(w0, state, limits, odds, line)
                w0 = shift_to_next_roll(w0)
        end = ending_index(state, limits)
        thread_sums = add_sums(thread_sums, session_sums(state, end))
        is_ahead, is_level = ahead_and_level(state[0], bankroll)
        ahead, level = ahead + is_ahead, level + is_level
        if COUNTS:
            cuda.atomic.add(ends, (end, bin_index(state[3], round_bits, ends.shape[1])), int64(1))
            cuda.atomic.add(finals, bin_index(state[0], final_bits, len(finals)), int64(1))
    for i in range(13):
        cuda.atomic.add(sums, i, thread_sums[i])
    cuda.atomic.add(sums, AHEAD, ahead)
    cuda.atomic.add(sums, LEVEL, level)


def add_sums(sums: Any, more: Any) -> Any:
    """Return the sums with those of a session added."""
    return (
        sums[0] + more[0], sums[1] + more[1], sums[2] + more[2], sums[3] + more[3],
        sums[4] + more[4], sums[5] + more[5], sums[6] + more[6], sums[7] + more[7],
        sums[8] + more[8], sums[9] + more[9], sums[10] + more[10], sums[11] + more[11],
        sums[12] + more[12],
    )  # fmt: skip


@cache
def gpu_kernel(
    spec: KernelSpec, own_move: Any = None, replacements: tuple[Any, ...] = (), **options: Any
) -> Any:
    """Return `play_threads` compiled for the GPU; the parameters are those of `cpu_kernel`."""
    room = LINE_CAPACITY if spec.plan == "labouchere" else 1
    names = kernel_names(
        spec, compile_device_inline, own_move, replacements, wide=uint32, ROOM=room
    )
    return cuda.jit(**options)(link(play_threads, compile_device_inline, names))


def compile_device_inline(function: Any) -> Any:
    """Compile a function for the GPU, inlined into its callers."""
    option = "forceinline" if "forceinline" in signature(cuda.jit).parameters else "inline"
    return cuda.jit(function, device=True, **{option: True})


def check_gpu() -> None:
    """Raise `MissingExtra` without the extra, or `InvalidInput` if no GPU can be reached."""
    if not cuda.is_available():
        require_extra("gpu", "a GPU")
        raise InvalidInput(
            "no GPU can be reached; use a machine with an NVIDIA GPU and its driver, or leave "
            "--device gpu out"
        )


def launch_grid() -> tuple[int, int]:
    """Return the number of blocks, and of threads in each, that occupy the whole GPU."""
    if config.ENABLE_CUDASIM:
        return 2, 2
    multiprocessors = cuda.get_current_device().MULTIPROCESSOR_COUNT
    return int(multiprocessors) * BLOCKS_PER_MULTIPROCESSOR, THREADS_PER_BLOCK


def play_on_gpu(
    spec: KernelSpec, first: int, count: int, keys: Any, terms: Any, edges: Any, table: Array,
    new_line: Array, sums: Array, ends: Array, finals: Array, *, own_move: Any = None,
) -> None:  # fmt: skip
    """Play sessions on the GPU, and add them to the sums and histograms."""
    kernel = gpu_kernel(spec, own_move)
    blocks, threads = launch_grid()
    on_device = [cuda.to_device(array) for array in (table, new_line, sums, ends, finals)]
    kernel[blocks, threads](np.uint64(first), np.int64(count), keys, terms, edges, *on_device)
    for host_array, device_array in zip((sums, ends, finals), on_device[2:], strict=True):
        device_array.copy_to_host(host_array)
