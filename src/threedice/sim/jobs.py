"""Simulation jobs that can be divided into ranges, and the tallies that the ranges add up to.

A job is plain data that can be sent to any worker. Its units are sessions, or blocks of rounds;
`play` runs a range of them and returns a `Tally`. The tallies of all ranges add up to the same
result, whatever the ranges and the workers.

Saved simulations hold a hash of `repr(job)`: the names of the job classes, of `Terms` and `OwnPlan`
and of their fields are part of the file format and must not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from threedice.errors import InvalidInput
from threedice.sim.kernels import roll_counts, tables
from threedice.sim.kernels.compiler import compile_checked, cpu_kernel
from threedice.sim.kernels.plans import OwnPlan, own_plan_move
from threedice.sim.kernels.sessions import SUMS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.sim.session_terms import Terms


ROUNDS_PER_TASK: Final = 50_000_000
"""Rounds of one task on a CPU, between two progress reports: a fraction of a second."""

ROUNDS_PER_GPU_TASK: Final = 50_000_000_000

MAX_UNITS_PER_TASK: Final = 2**30
"""Number of sessions whose sums certainly fit into 64 bits."""

CountArray = Any
"""A numpy array of integers, of 64 bits or of any size."""

IntRow = tuple[int, ...]


@dataclass(frozen=True)
class SessionJob:
    """Sessions of one player on the same terms.

    `own` is the user's own plan, if the terms name one; `on` describes the bet for titles.
    """

    terms: Terms
    sessions: int
    seed: int
    own: OwnPlan | None = None
    on: str = ""

    @property
    def units(self) -> int:
        """Number of sessions."""
        return self.sessions

    @property
    def rounds_per_unit(self) -> int:
        """Maximum number of rounds of a session."""
        return self.terms.rounds

    def empty_tally(self) -> Tally:
        """Return a tally of zero sessions."""
        return self._tally(0, self._allocate_arrays())

    def _allocate_arrays(self) -> list[CountArray]:
        shapes = self.terms.histograms.array_shapes(self.terms.rounds)
        return [np.zeros(shape, np.int64) for shape in shapes]

    def _tally(self, sessions: int, arrays: list[CountArray]) -> Tally:
        sums, ends, finals, paths = arrays
        counts = {"sums": as_python_ints(sums), "ends": ends, "finals": finals, "paths": paths}
        return Tally(sessions, counts)

    def play(self, first: int, count: int, device: str = "cpu") -> Tally:
        """Play a range of sessions and return its tally."""
        check_task_size(count)
        arrays = self._allocate_arrays()
        arguments = (generator_key(self.seed), *self.terms.kernel_arguments())
        try:
            if device == "gpu":
                self._play_on_gpu(first, count, arguments, arrays)
            else:
                move = own_plan_move(self.own, compile_checked) if self.own else None
                kernel = cpu_kernel(self.terms.kernel_spec, move)
                kernel(np.uint64(first), count, *arguments, *arrays)
        except ZeroDivisionError:
            raise InvalidInput(f"{self.terms.plan} divides by zero") from None
        except Exception as error:
            # A user's own plan may raise anything; any other exception is a defect of this package.
            if self.own is None or isinstance(error, InvalidInput):
                raise
            raise InvalidInput(
                f"{self.terms.plan} fails after many rounds: {type(error).__name__}: {error}"
            ) from None
        self._check_sums(arrays[0])
        return self._tally(count, arrays)

    def _play_on_gpu(
        self, first: int, count: int, arguments: tuple[Any, ...], arrays: list[CountArray]
    ) -> None:
        from threedice.sim.kernels import gpu  # noqa: PLC0415  # needs the extra `gpu`

        gpu.check_gpu()
        move = own_plan_move(self.own, gpu.compile_device_inline) if self.own else None
        spec = self.terms.kernel_spec
        gpu.play_on_gpu(spec, first, count, *arguments, *arrays[:3], own_move=move)

    def _check_sums(self, sums: Any) -> None:
        """Raise `InvalidInput` if the plan returned invalid numbers, or a counter overflowed."""
        if sums[SUMS.index("broken")]:
            raise InvalidInput(
                f"{self.terms.plan} made less than one due, or a number of more than 32 bits, in "
                f"{sums[SUMS.index('broken')]} sessions; check the plan after many rounds"
            )
        if self.terms.is_cut_off and sums[SUMS.index("stop_win")]:
            raise InvalidInput(
                "a session won more than can be counted; set a lower maximum or stop-win"
            )


@dataclass(frozen=True)
class FlatJob:
    """Rounds with the same bets in each, of which only the number of each roll matters."""

    rounds: int
    seed: int

    @property
    def units(self) -> int:
        """Number of blocks of rounds; the last may be incomplete."""
        return -(-self.rounds // roll_counts.ROUNDS_PER_BLOCK)

    @property
    def rounds_per_unit(self) -> int:
        """Cost of a block, in rounds of a simple session: far below the 2^20 rounds it holds."""
        return 2**16

    def empty_tally(self) -> Tally:
        """Return a tally of zero rounds."""
        return Tally(0, {"rolls": as_python_ints(np.zeros(216, np.int64))})

    def play(self, first: int, count: int, device: str = "cpu") -> Tally:
        """Draw the number of times that each roll falls in a range of blocks."""
        if device == "gpu":
            raise InvalidInput("flat bets are drawn, not played, and need no GPU; leave it out")
        rolls = roll_counts.draw_roll_counts(first, count, self.rounds, generator_key(self.seed))
        return Tally(count, {"rolls": as_python_ints(rolls)})


@dataclass(frozen=True)
class TableJob:
    """Sessions of a table, as rows for `kernels.tables`.

    Net results are counted in bins with `fine` precision bits, `places` of them on either side of
    zero.
    """

    sessions: int
    rounds: int
    seed: int
    bets: tuple[IntRow, ...]
    nets: tuple[IntRow, ...]
    players: tuple[IntRow, ...]
    spots: tuple[IntRow, ...]
    line: IntRow
    fine: int
    places: int

    @property
    def units(self) -> int:
        """Number of sessions."""
        return self.sessions

    @property
    def rounds_per_unit(self) -> int:
        """Cost of a session, in rounds of a simple one: each bet costs about 16 of them."""
        return self.rounds * len(self.bets) * 16

    def empty_tally(self) -> Tally:
        """Return a tally of zero sessions."""
        sums, nets = self._allocate_arrays()
        return Tally(0, {"sums": as_python_ints(sums), "nets": nets})

    def _allocate_arrays(self) -> tuple[CountArray, CountArray]:
        rows = len(self.players) + 1
        widths = (len(SUMS), 2 * self.places + 1)
        return np.zeros((rows, widths[0]), np.int64), np.zeros((rows, widths[1]), np.int64)

    def play(self, first: int, count: int, device: str = "cpu") -> Tally:
        """Play a range of sessions and return its tally."""
        check_task_size(count)
        if device == "gpu":
            raise InvalidInput("a table of several bets is played on the CPU; leave the GPU out")
        rows = (self.bets, self.nets, self.players, self.spots)
        lines = [[bet[tables.BASE] * number for number in self.line] for bet in self.bets]
        sums, nets = self._allocate_arrays()
        tables.compiled_play_table()(
            np.uint64(first),
            count,
            self.rounds,
            generator_key(self.seed),
            *(np.array(each, np.int64) for each in rows),
            np.array(lines, np.int32),
            self.fine,
            sums,
            nets,
        )
        return Tally(count, {"sums": as_python_ints(sums), "nets": nets})


AnyJob = SessionJob | FlatJob | TableJob


def units_per_task(job: AnyJob, device: str = "cpu") -> int:
    """Return the number of units for one task."""
    rounds = ROUNDS_PER_GPU_TASK if device == "gpu" else ROUNDS_PER_TASK
    units = max(rounds // job.rounds_per_unit // 64 * 64, 64 if job.rounds_per_unit < rounds else 1)
    return min(units, MAX_UNITS_PER_TASK)


def generator_key(seed: int) -> tuple[Any, Any]:
    """Return a seed as the two words of the generator's key."""
    return np.uint32(seed & 0xFFFFFFFF), np.uint32(seed >> 32)


def check_seed(seed: int) -> None:
    """Raise `InvalidInput` for a seed outside 64 bits."""
    if not 0 <= seed < 2**64:
        raise InvalidInput(f"a seed of {seed}; give a whole number from 0 to 2^64 - 1")


def check_task_size(count: int) -> None:
    """Raise `InvalidInput` for more sessions in one task than 64-bit sums can hold."""
    if count > MAX_UNITS_PER_TASK:
        raise InvalidInput(
            f"{count} sessions in one task; play at most {MAX_UNITS_PER_TASK} at once"
        )


@dataclass(frozen=True, slots=True)
class Tally:
    """Named arrays of counts over some units of a job.

    Sums that may exceed 64 bits are arrays of Python integers, so that tallies add up exactly.
    """

    units: int
    counts: Mapping[str, CountArray]

    def __add__(self, other: Tally) -> Tally:
        counts = {name: array + other.counts[name] for name, array in self.counts.items()}
        return Tally(self.units + other.units, counts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally) or self.counts.keys() != other.counts.keys():
            return False
        equal = all(
            np.array_equal(array, other.counts[name]) for name, array in self.counts.items()
        )
        return equal and self.units == other.units

    __hash__ = None  # type: ignore[assignment]


def as_python_ints(array: CountArray) -> CountArray:
    """Return an array of Python integers, which cannot overflow."""
    return array.astype(object)


def encode_tally(tally: Tally) -> dict[str, Any]:
    """Return a tally as plain data, each array as its shape and its non-zero entries."""
    return {
        "units": tally.units,
        "counts": {name: _encode_array(array) for name, array in tally.counts.items()},
    }


def _encode_array(array: CountArray) -> dict[str, Any]:
    flat = array.ravel()
    indices = [index for index, value in enumerate(flat.tolist()) if value]
    return {
        "shape": list(array.shape),
        "places": indices,
        "values": [str(flat[index]) for index in indices],
    }


def decode_tally(data: Mapping[str, Any], template: Tally) -> Tally:
    """Decode a tally whose arrays must have the names and shapes of the template."""
    counts = {}
    for name, empty in template.counts.items():
        stored = data["counts"][name]
        if stored["shape"] != list(empty.shape):
            raise InvalidInput(f"{name} has the shape {stored['shape']}, not {list(empty.shape)}")
        flat = empty.copy().ravel()
        for index, value in zip(stored["places"], stored["values"], strict=True):
            flat[index] = int(value)
        counts[name] = flat.reshape(empty.shape)
    return Tally(data["units"], counts)
