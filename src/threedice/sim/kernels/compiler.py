"""Compile kernels from plain functions: for the CPU here, for CUDA in `gpu`.

A kernel is specialised for a `KernelSpec`. Its functions are copied with their global names bound
to the compiled functions of the same names, to the plan's move, to a settle function, or to
constants, so that the compiler removes the branches that cannot occur. Because names are bound by
string, a kernel function must be imported without an alias. CPU kernels are cached on disk under a
name that contains the spec and a digest of the source, so that changed source is compiled again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numba

from threedice.sim.kernels import generator, plans, sessions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

KernelFunction = Any
"""A Python function, compiled or not."""


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """Properties that a kernel is specialised for; sessions with equal specs share the kernel.

    A user's own plan has the name "own".
    """

    plan: str
    settlement: str
    stepped: bool = False
    floored: bool = False
    stops: bool = False
    counts: bool = True
    paths: bool = False

    @property
    def name(self) -> str:
        """The spec as a part of a file name."""
        flags = "".join("01"[flag] for flag in (self.stepped, self.floored, self.stops))
        return f"{self.plan}_{self.settlement}_{flags}{int(self.counts)}{int(self.paths)}"


SETTLE_FUNCTIONS: dict[str, KernelFunction] = {
    "two": sessions.settle_two,
    "tiers": sessions.settle_tiers,
    "table": sessions.settle_table,
}

GENERATOR_FUNCTIONS: tuple[KernelFunction, ...] = (
    generator.low32,
    generator.philox_round,
    generator.bump_key,
    generator.philox,
    generator.lesser,
    generator.greater,
    generator.draw_block,
    generator.first_roll,
    generator.shift_to_next_roll,
)
ROUND_FUNCTIONS: tuple[KernelFunction, ...] = (
    sessions.actual_stake,
    sessions.play_round,
    sessions.play_word,
    sessions.ending_index,
    sessions.is_over,
    sessions.bin_index,
    sessions.session_sums,
    sessions.ahead_and_level,
)
LANE_FUNCTIONS: tuple[KernelFunction, ...] = (
    sessions.load_lane,
    sessions.store_lane,
    sessions.draw_lanes,
    sessions.init_lanes,
    sessions.play_block,
    sessions.add_session,
    sessions.add_ahead_and_level,
)


def kernel_constants(spec: KernelSpec) -> dict[str, bool]:
    """Return the values of the constants of `sessions` for a spec."""
    built_in = spec.plan in plans.MOVES
    return {
        "STEPPED": spec.stepped,
        "FLOORED": spec.floored,
        "STOPS": spec.stops,
        "COUNTS": spec.counts,
        "PATHS": spec.paths,
        "CAPPED": not built_in or spec.plan in plans.PLANS_ABOVE_MAXIMUM,
        "OWN": not built_in,
        "LINED": spec.plan == "labouchere",
    }


def rebind_globals(
    function: KernelFunction, names: Mapping[str, Any], qualname: str = ""
) -> KernelFunction:
    """Return a copy of a function with some of its global names bound to other values."""
    copy = FunctionType(
        function.__code__,
        {**function.__globals__, **names},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__qualname__ = qualname or function.__qualname__
    return copy


def compile_functions(
    functions: Iterable[KernelFunction],
    compile_one: Callable[[KernelFunction], KernelFunction],
    names: Mapping[str, Any],
) -> dict[str, Any]:
    """Compile functions in order, each calling the compiled forms of those before it."""
    bound = dict(names)
    for function in functions:
        bound[function.__name__] = compile_one(rebind_globals(function, bound))
    return bound


@cache
def cpu_kernel(
    spec: KernelSpec, own_move: KernelFunction = None, replacements: tuple[KernelFunction, ...] = ()
) -> KernelFunction:
    """Return `play_lanes` compiled for this CPU.

    `own_move` is the move of a user's own plan. `replacements` replace the kernel functions of the
    same names, to measure the cost of the originals. With either, it is not cached on disk.
    """
    move = own_move or plans.MOVES[spec.plan]
    names = compile_dependencies(
        spec, move, compile_inline, LANE_FUNCTIONS, replacements=replacements
    )
    if own_move or replacements:
        return numba.njit(nogil=True)(rebind_globals(sessions.play_lanes, names))
    return compile_cached(sessions.play_lanes, names, f"play_{spec.name}")


def compile_cached(
    function: KernelFunction, names: Mapping[str, Any], name_prefix: str
) -> KernelFunction:
    """Compile a function for this CPU, or load it from the cache on disk."""
    name = f"{name_prefix}_{_source_digest()}".replace("-", "_")
    try:
        return numba.njit(nogil=True, cache=True)(rebind_globals(function, names, name))
    except RuntimeError:  # there is no writable cache directory
        return numba.njit(nogil=True)(rebind_globals(function, names, name))


def compile_dependencies(
    spec: KernelSpec,
    move: KernelFunction,
    compile_one: Callable[[KernelFunction], KernelFunction],
    device_functions: tuple[KernelFunction, ...],
    names: Mapping[str, Any] | None = None,
    replacements: tuple[KernelFunction, ...] = (),
) -> dict[str, Any]:
    """Compile all functions that a kernel calls, including those of the device."""
    replaced = {function.__name__: function for function in replacements}

    def with_replacements(functions: Iterable[KernelFunction]) -> list[KernelFunction]:
        return [replaced.get(function.__name__, function) for function in functions]

    constants = {**kernel_constants(spec), **(names or {})}
    bound = compile_functions(with_replacements(GENERATOR_FUNCTIONS), compile_one, constants)
    bound["settle"] = compile_one(rebind_globals(SETTLE_FUNCTIONS[spec.settlement], bound))
    bound["move"] = compile_one(rebind_globals(move, bound))
    functions = with_replacements((*ROUND_FUNCTIONS, *device_functions))
    return compile_functions(functions, compile_one, bound)


def compile_inline(function: KernelFunction) -> KernelFunction:
    """Compile a function for this CPU, inlined into its callers."""
    # Kernels never divide by zero. Without the check of the numpy error model, loops vectorise.
    return numba.njit(forceinline=True, error_model="numpy")(function)


def compile_checked(function: KernelFunction) -> KernelFunction:
    """Compile a user's own function for this CPU; a division by zero raises an exception."""
    return numba.njit(error_model="python")(function)


_SOURCE_MODULES = ("generator", "plans", "sessions", "tables", "roll_counts", "compiler")


@cache
def _source_digest() -> str:
    """Return a digest of the source of the kernels and of this compiler."""
    files = (Path(__file__).with_name(f"{module}.py") for module in _SOURCE_MODULES)
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
