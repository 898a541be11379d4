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

from threedice.sim import generator, kernel, moves, places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Plain = Any
"""A Python function, before or after it is compiled."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a kernel is compiled for; sessions of one shape share the machine code.

    A plan that is none of ours goes by the name "own".
    """

    plan: str
    settling: str
    stepped: bool = False
    floored: bool = False
    stops: bool = False
    counts: bool = True
    paths: bool = False

    @property
    def name(self) -> str:
        """The shape as part of a name."""
        flags = "".join("01"[each] for each in (self.stepped, self.floored, self.stops))
        return f"{self.plan}_{self.settling}_{flags}{int(self.counts)}{int(self.paths)}"


SETTLING: dict[str, Plain] = {
    "two": kernel.settle_two,
    "tiers": kernel.settle_tiers,
    "table": kernel.settle_table,
}

DRAWING: tuple[Plain, ...] = (
    generator.low,
    generator.mixed,
    generator.bumped,
    generator.philox,
    generator.lesser,
    generator.greater,
    generator.drawn,
    generator.roll_of,
    generator.rest_of,
)
PLAYING: tuple[Plain, ...] = (
    kernel.stake_made,
    kernel.play_round,
    kernel.play_word,
    kernel.end_of,
    kernel.over,
    places.place_of,
    kernel.sums_of,
    kernel.stand_of,
)


LANES: tuple[Plain, ...] = (
    kernel.kept,
    kernel.keep,
    kernel.draw_lanes,
    kernel.begin,
    kernel.play_block,
    kernel.count_in,
    kernel.stand_in,
)


def constants(shape: Shape) -> dict[str, bool]:
    """Return what the names in capitals of `kernel` stand for in a shape."""
    known = shape.plan in moves.MOVES
    return {
        "STEPPED": shape.stepped,
        "FLOORED": shape.floored,
        "STOPS": shape.stops,
        "COUNTS": shape.counts,
        "PATHS": shape.paths,
        "CAPPED": not known or shape.plan in moves.BEYOND_MAXIMUM,
        "OWN": not known,
        "LINED": shape.plan == "labouchere",
    }


def bound(function: Plain, names: Mapping[str, Any], called: str = "") -> Plain:
    """Return a copy of a function in which some global names stand for something else."""
    copy = FunctionType(
        function.__code__, {**function.__globals__, **names}, function.__name__,
        function.__defaults__, function.__closure__,
    )  # fmt: skip
    copy.__qualname__ = called or function.__qualname__
    return copy


def compiled(
    functions: Iterable[Plain], by: Callable[[Plain], Plain], names: Mapping[str, Any]
) -> dict[str, Any]:
    """Compile functions in order, each calling the compiled form of those before it."""
    known = dict(names)
    for function in functions:
        known[function.__name__] = by(bound(function, known))
    return known


def cpu_kernel(shape: Shape, own: Plain = None, instead: tuple[Plain, ...] = ()) -> Plain:
    """Return `play_lanes` as machine code for this CPU.

    `own` is a plan that is not among ours; `instead` holds functions that take the places of those
    of the same name, for measuring what the others cost.
    """
    return _own_kernel(shape, own, instead) if own or instead else _cpu_kernel(shape)


@cache
def _cpu_kernel(shape: Shape) -> Plain:
    names = names_for(shape, moves.MOVES[shape.plan], inlined, LANES)
    return kept(kernel.play_lanes, names, f"play_{shape.name}")


def kept(function: Plain, names: Mapping[str, Any], called: str) -> Plain:
    """Compile a function for this CPU, or take what was compiled of the same source before."""
    name = f"{called}_{_source()}".replace("-", "_")
    try:
        return numba.njit(nogil=True, cache=True)(bound(function, names, name))
    except RuntimeError:  # nowhere to keep what is compiled
        return numba.njit(nogil=True)(bound(function, names, name))


@cache
def _own_kernel(shape: Shape, own: Plain, instead: tuple[Plain, ...]) -> Plain:
    move = own or moves.MOVES[shape.plan]
    names = names_for(shape, move, inlined, LANES, instead=instead)
    return numba.njit(nogil=True)(bound(kernel.play_lanes, names))


def names_for(
    shape: Shape,
    move: Plain,
    by: Callable[[Plain], Plain],
    besides: tuple[Plain, ...],
    names: Mapping[str, Any] | None = None,
    instead: tuple[Plain, ...] = (),
) -> dict[str, Any]:
    """Compile all that a kernel of some shape calls, the device's own functions `besides`."""
    other = {each.__name__: each for each in instead}
    drawing = [other.get(each.__name__, each) for each in DRAWING]
    playing = [other.get(each.__name__, each) for each in (*PLAYING, *besides)]
    known = compiled(drawing, by, {**constants(shape), **(names or {})})
    known["settle"] = by(bound(SETTLING[shape.settling], known))
    known["move"] = by(bound(move, known))
    return compiled(playing, by, known)


def inlined(function: Plain) -> Plain:
    """Compile a function for this CPU as part of those that call it."""
    # In numpy's model a division by zero is no error; ours never are, and vectors need to know.
    return numba.njit(forceinline=True, error_model="numpy")(function)


def checked(function: Plain) -> Plain:
    """Compile a function of the user's own for this CPU; where it divides by zero, it says so."""
    return numba.njit(error_model="python")(function)


_SOURCES = ("generator", "moves", "places", "kernel", "binomials", "seats", "compiling")


@cache
def _source() -> str:
    """Return a digest of the source that kernels are compiled from, and of how they are."""
    files = (Path(__file__).with_name(f"{each}.py") for each in _SOURCES)
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
