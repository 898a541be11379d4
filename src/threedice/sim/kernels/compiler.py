"""Compile kernels from plain functions: for the CPU here, for CUDA in `gpu`.

A kernel is specialised for a `KernelSpec`. `link` copies its functions with their global names
bound to the compiled functions of the same names, to the plan's move, to a settle function, or to
constants, so that the compiler removes the branches that cannot occur. Because names are bound by
string, a kernel function must be imported without an alias. CPU kernels are cached on disk under a
name that contains the spec and a digest of the source, so that changed source is compiled again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import FunctionType
from typing import Any

import numba

from threedice.sim.kernels import plans, sessions

KernelFunction = Any
"""A Python function, compiled or not."""

Compile = Callable[[KernelFunction], KernelFunction]

_PACKAGE = "threedice.sim.kernels"


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
        flags = (self.stepped, self.floored, self.stops, self.counts, self.paths)
        return f"{self.plan}_{self.settlement}_{''.join('01'[flag] for flag in flags)}"


SETTLE_FUNCTIONS: dict[str, KernelFunction] = {
    "two": sessions.settle_two,
    "tiers": sessions.settle_tiers,
    "table": sessions.settle_table,
}


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


def link(
    function: KernelFunction, compile_one: Compile, names: dict[str, Any], qualname: str = ""
) -> KernelFunction:
    """Return a copy of a function with its global names bound to `names`.

    Kernel functions that it calls are compiled first, unless `names` has them, and added to it.
    """
    for name in function.__code__.co_names:
        called = function.__globals__.get(name)
        is_kernel = isinstance(called, FunctionType) and called.__module__.startswith(_PACKAGE)
        if is_kernel and name not in names:
            names[name] = compile_one(link(called, compile_one, names))
    copy = FunctionType(
        function.__code__,
        {**function.__globals__, **names},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__qualname__ = qualname or function.__qualname__
    return copy


@cache
def cpu_kernel(
    spec: KernelSpec, own_move: KernelFunction = None, replacements: tuple[KernelFunction, ...] = ()
) -> KernelFunction:
    """Return `play_lanes` compiled for this CPU.

    `own_move` is the move of a user's own plan. `replacements` replace the kernel functions of the
    same names, to measure the cost of the originals. With either, it is not cached on disk.
    """
    names = kernel_names(spec, compile_inline, own_move, replacements)
    if own_move or replacements:
        return numba.njit(nogil=True)(link(sessions.play_lanes, compile_inline, names))
    return compile_cached(sessions.play_lanes, compile_inline, names, f"play_{spec.name}")


@cache
def recording_kernel(spec: KernelSpec, own_move: KernelFunction = None) -> KernelFunction:
    """Return `record_sessions` compiled for this CPU."""
    names = kernel_names(spec, compile_inline, own_move)
    if own_move:
        return numba.njit(nogil=True)(link(sessions.record_sessions, compile_inline, names))
    return compile_cached(sessions.record_sessions, compile_inline, names, f"record_{spec.name}")


def kernel_names(
    spec: KernelSpec,
    compile_one: Compile,
    own_move: KernelFunction = None,
    replacements: tuple[KernelFunction, ...] = (),
    **constants: Any,
) -> dict[str, Any]:
    """Return the names that differ between kernels: constants, settle function, and move."""
    names = {**kernel_constants(spec), **constants}
    functions = {function.__name__: function for function in replacements}
    functions["settle"] = SETTLE_FUNCTIONS[spec.settlement]
    functions["move"] = own_move or plans.MOVES[spec.plan]
    for name, function in functions.items():
        names[name] = compile_one(link(function, compile_one, names))
    return names


def compile_cached(
    function: KernelFunction, compile_one: Compile, names: dict[str, Any], name_prefix: str
) -> KernelFunction:
    """Compile a function for this CPU, or load it from the cache on disk."""
    name = f"{name_prefix}_{_source_digest()}".replace("-", "_")
    linked = link(function, compile_one, names, name)
    try:
        return numba.njit(nogil=True, cache=True)(linked)
    except RuntimeError:  # there is no writable cache directory
        return numba.njit(nogil=True)(linked)


def compile_inline(function: KernelFunction) -> KernelFunction:
    """Compile a function for this CPU, inlined into its callers."""
    # Kernels never divide by zero. Without the check of the numpy error model, loops vectorise.
    return numba.njit(forceinline=True, error_model="numpy")(function)


def compile_checked(function: KernelFunction) -> KernelFunction:
    """Compile a user's own function for this CPU; a division by zero raises an exception."""
    return numba.njit(error_model="python")(function)


_SOURCE_MODULES = (
    "generator", "plans", "sessions", "tables", "one_player_tables", "roll_counts", "dice_monitor",
    "compiler",
)  # fmt: skip


@cache
def _source_digest() -> str:
    """Return a digest of the source of the kernels and of this compiler."""
    files = (Path(__file__).with_name(f"{module}.py") for module in _SOURCE_MODULES)
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
