"""From plain functions to machine code: for the CPU here, for CUDA in `gpu`.

A kernel is compiled for what it is asked to do. Its functions are copied with the names they use
bound anew, each to the compiled form of the function of that name, to the plan's move, to the way a
bet is settled, or to a constant; the compiler then leaves out whatever cannot happen. What was
compiled for a CPU is kept on disk under a name that says which kernel it is and of which source, so
that a changed source is never run from an old file.
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
"""A Python function, before or after it is compiled."""


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """What a kernel is compiled for; sessions of one shape share the machine code.

    A plan that is none of ours goes by the name "own".
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
        """The shape as part of a name."""
        flags = "".join("01"[each] for each in (self.stepped, self.floored, self.stops))
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
    """Return what the names in capitals of `kernel` stand for in a shape."""
    known = spec.plan in plans.MOVES
    return {
        "STEPPED": spec.stepped,
        "FLOORED": spec.floored,
        "STOPS": spec.stops,
        "COUNTS": spec.counts,
        "PATHS": spec.paths,
        "CAPPED": not known or spec.plan in plans.PLANS_ABOVE_MAXIMUM,
        "OWN": not known,
        "LINED": spec.plan == "labouchere",
    }


def rebind_globals(
    function: KernelFunction, names: Mapping[str, Any], qualname: str = ""
) -> KernelFunction:
    """Return a copy of a function in which some global names stand for something else."""
    copy = FunctionType(
        function.__code__, {**function.__globals__, **names}, function.__name__,
        function.__defaults__, function.__closure__,
    )  # fmt: skip
    copy.__qualname__ = qualname or function.__qualname__
    return copy


def compile_functions(
    functions: Iterable[KernelFunction],
    compile_one: Callable[[KernelFunction], KernelFunction],
    names: Mapping[str, Any],
) -> dict[str, Any]:
    """Compile functions in order, each calling the compiled form of those before it."""
    known = dict(names)
    for function in functions:
        known[function.__name__] = compile_one(rebind_globals(function, known))
    return known


def cpu_kernel(
    spec: KernelSpec, own_move: KernelFunction = None, replacements: tuple[KernelFunction, ...] = ()
) -> KernelFunction:
    """Return `play_lanes` as machine code for this CPU.

    `own` is a plan that is not among ours; `instead` holds functions that take the places of those
    of the same name, for measuring what the others cost.
    """
    return (
        _uncached_kernel(spec, own_move, replacements)
        if own_move or replacements
        else _built_in_kernel(spec)
    )


@cache
def _built_in_kernel(spec: KernelSpec) -> KernelFunction:
    names = compile_dependencies(spec, plans.MOVES[spec.plan], compile_inline, LANE_FUNCTIONS)
    return compile_cached(sessions.play_lanes, names, f"play_{spec.name}")


def compile_cached(
    function: KernelFunction, names: Mapping[str, Any], name_prefix: str
) -> KernelFunction:
    """Compile a function for this CPU, or take what was compiled of the same source before."""
    name = f"{name_prefix}_{_source_digest()}".replace("-", "_")
    try:
        return numba.njit(nogil=True, cache=True)(rebind_globals(function, names, name))
    except RuntimeError:  # nowhere to keep what is compiled
        return numba.njit(nogil=True)(rebind_globals(function, names, name))


@cache
def _uncached_kernel(
    spec: KernelSpec, own_move: KernelFunction, replacements: tuple[KernelFunction, ...]
) -> KernelFunction:
    move = own_move or plans.MOVES[spec.plan]
    names = compile_dependencies(
        spec, move, compile_inline, LANE_FUNCTIONS, replacements=replacements
    )
    return numba.njit(nogil=True)(rebind_globals(sessions.play_lanes, names))


def compile_dependencies(
    spec: KernelSpec,
    move: KernelFunction,
    compile_one: Callable[[KernelFunction], KernelFunction],
    device_functions: tuple[KernelFunction, ...],
    names: Mapping[str, Any] | None = None,
    replacements: tuple[KernelFunction, ...] = (),
) -> dict[str, Any]:
    """Compile all that a kernel of some shape calls, the device's own functions `besides`."""
    other = {each.__name__: each for each in replacements}
    drawing = [other.get(each.__name__, each) for each in GENERATOR_FUNCTIONS]
    playing = [other.get(each.__name__, each) for each in (*ROUND_FUNCTIONS, *device_functions)]
    known = compile_functions(drawing, compile_one, {**kernel_constants(spec), **(names or {})})
    known["settle"] = compile_one(rebind_globals(SETTLE_FUNCTIONS[spec.settlement], known))
    known["move"] = compile_one(rebind_globals(move, known))
    return compile_functions(playing, compile_one, known)


def compile_inline(function: KernelFunction) -> KernelFunction:
    """Compile a function for this CPU as part of those that call it."""
    # In numpy's model a division by zero is no error; ours never are, and vectors need to know.
    return numba.njit(forceinline=True, error_model="numpy")(function)


def compile_checked(function: KernelFunction) -> KernelFunction:
    """Compile a function of the user's own for this CPU; where it divides by zero, it says so."""
    return numba.njit(error_model="python")(function)


_SOURCE_MODULES = ("generator", "plans", "sessions", "tables", "roll_counts", "compiler")


@cache
def _source_digest() -> str:
    """Return a digest of the source that kernels are compiled from, and of how they are."""
    files = (Path(__file__).with_name(f"{each}.py") for each in _SOURCE_MODULES)
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
