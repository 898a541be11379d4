"""Simulation jobs that can be divided into ranges, and the tallies that the ranges add up to.

Work that can be divided: sessions, flat rounds or table sessions, from number a to number b.

A job is plain data that can be sent anywhere. `play` does a range of it and returns a `Tally`; the
tallies of all ranges add up to the same whatever the ranges were, and whoever did them.

What has been counted so far, in whole numbers: parts of a simulation add up exactly.

A tally is named arrays and how many units of work they cover. Sums that may outgrow 64 bits are
arrays of Python's own integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Protocol

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
"""Rounds that are played before anybody hears of them: a fraction of a second."""


ROUNDS_PER_GPU_TASK: Final = 50_000_000_000


MAX_UNITS_PER_TASK: Final = 2**30
"""Sessions whose sums are sure to fit into 64 bits."""


class SimulationJob(Protocol):
    """Something to simulate, in numbered units."""

    @property
    def units(self) -> int:
        """How many units there are: sessions, or blocks of rounds."""
        ...

    @property
    def rounds_per_unit(self) -> int:
        """How many rounds one unit is."""
        ...

    def empty_tally(self) -> Tally:
        """Return the tally of nothing."""
        ...

    def play(self, first: int, count: int, device: str = "cpu") -> Tally:
        """Return the tally of some units."""
        ...


def units_per_task(job: SimulationJob, device: str = "cpu") -> int:
    """Return how many units make a good piece of work."""
    rounds = ROUNDS_PER_GPU_TASK if device == "gpu" else ROUNDS_PER_TASK
    many = max(rounds // job.rounds_per_unit // 64 * 64, 64 if job.rounds_per_unit < rounds else 1)
    return min(many, MAX_UNITS_PER_TASK)


def generator_key(seed: int) -> tuple[Any, Any]:
    """Return a seed as the key of the generator."""
    return np.uint32(seed & 0xFFFFFFFF), np.uint32(seed >> 32)


def check_seed(seed: int) -> None:
    """Refuse a seed that is no number of 64 bits."""
    if not 0 <= seed < 2**64:
        raise InvalidInput(f"a seed of {seed}; give a whole number from 0 to 2^64 - 1")


def check_task_size(count: int) -> None:
    """Refuse more sessions in one piece than can be added up in 64 bits."""
    if count > MAX_UNITS_PER_TASK:
        raise InvalidInput(
            f"{count} sessions in one piece; play at most {MAX_UNITS_PER_TASK} at once"
        )


def job_id(job: SimulationJob) -> str:
    """Return a short name for a job, the same wherever and whenever it is done."""
    return sha256(repr(job).encode()).hexdigest()[:24]


@dataclass(frozen=True)
class SessionJob:
    """Sessions of one player on the same terms."""

    terms: Terms
    sessions: int
    seed: int
    own: OwnPlan | None = None
    on: str = ""
    """What the stakes are made on, in words."""

    @property
    def units(self) -> int:
        """How many sessions there are."""
        return self.sessions

    @property
    def rounds_per_unit(self) -> int:
        """How many rounds a session is at most."""
        return self.terms.rounds

    def empty_tally(self) -> Tally:
        """Return the tally of no session."""
        sums, ends, finals, paths = self._allocate_arrays()
        return Tally(
            0, {"sums": as_python_ints(sums), "ends": ends, "finals": finals, "paths": paths}
        )

    def _allocate_arrays(self) -> list[Any]:
        shapes = self.terms.histograms.array_shapes(self.terms.rounds)
        return [np.zeros(shape, np.int64) for shape in shapes]

    def play(self, first: int, count: int, device: str = "cpu") -> Tally:
        """Play some sessions."""
        check_task_size(count)
        room = self._allocate_arrays()
        arguments = (generator_key(self.seed), *self.terms.kernel_arguments())
        try:
            if device == "gpu":
                self._play_on_gpu(first, count, arguments, room)
            else:
                move = own_plan_move(self.own, compile_checked) if self.own else None
                cpu_kernel(self.terms.kernel_spec, move)(np.uint64(first), count, *arguments, *room)
        except ZeroDivisionError:
            raise InvalidInput(f"{self.terms.plan} divides by zero") from None
        except Exception as error:
            # A plan of the user's own may raise what it likes; anything else is a fault of ours.
            if self.own is None or isinstance(error, InvalidInput):
                raise
            raise InvalidInput(
                f"{self.terms.plan} fails after many rounds: {type(error).__name__}: {error}"
            ) from None
        sums, ends, finals, paths = room
        self._check_sums(sums)
        counts = {"sums": as_python_ints(sums), "ends": ends, "finals": finals, "paths": paths}
        return Tally(count, counts)

    def _play_on_gpu(self, first: int, count: int, arguments: Any, arrays: list[Any]) -> None:
        from threedice.sim.kernels import gpu  # noqa: PLC0415  # the extra may not be installed

        gpu.check_gpu()
        move = own_plan_move(self.own, gpu.compile_device_inline) if self.own else None
        key, terms, edges, table, line = arguments
        gpu.play_on_gpu(
            self.terms.kernel_spec,
            first,
            count,
            key,
            terms,
            edges,
            table,
            line,
            *arrays[:3],
            own_move=move,
        )

    def _check_sums(self, sums: Any) -> None:
        """Refuse what a plan made of it where that makes no sense, or cannot be counted."""
        if sums[SUMS.index("broken")]:
            raise InvalidInput(
                f"{self.terms.plan} made less than one due, or a number of more than 32 bits, in "
                f"{sums[SUMS.index('broken')]} sessions; see what it does after a long run"
            )
        if self.terms.is_cut_off and sums[SUMS.index("stop_win")]:
            raise InvalidInput(
                "somebody won more than can be counted; set a lower maximum or stop-win"
            )


@dataclass(frozen=True)
class FlatJob:
    """Rounds on which the same bets stand every time: only how often each roll falls matters."""

    rounds: int
    seed: int

    @property
    def units(self) -> int:
        """How many blocks of rounds there are, the last perhaps not whole."""
        return -(-self.rounds // roll_counts.ROUNDS_PER_BLOCK)

    @property
    def rounds_per_unit(self) -> int:
        """Rounds to a block, as far as the work goes: a block costs what a few thousand do."""
        return 2**16

    def empty_tally(self) -> Tally:
        """Return the tally of no round."""
        return Tally(0, {"rolls": as_python_ints(np.zeros(216, np.int64))})

    def play(self, first: int, count: int, device: str = "cpu") -> Tally:
        """Draw how often each roll falls in some blocks."""
        if device == "gpu":
            raise InvalidInput("flat bets are drawn, not played, and need no GPU; leave it out")
        rolls = roll_counts.draw_roll_counts(first, count, self.rounds, generator_key(self.seed))
        return Tally(count, {"rolls": as_python_ints(rolls)})


IntRow = tuple[int, ...]


@dataclass(frozen=True)
class TableJob:
    """Sessions of a whole table, as the rows of `seats`.

    Nets are counted as finely as `fine` says, in so many places on either side of nothing.
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
        """How many sessions there are."""
        return self.sessions

    @property
    def rounds_per_unit(self) -> int:
        """Rounds of a session, as far as the work goes: each bet costs what many rounds do."""
        return self.rounds * len(self.bets) * 16

    def empty_tally(self) -> Tally:
        """Return the tally of no session."""
        sums, nets = self._allocate_arrays()
        return Tally(0, {"sums": as_python_ints(sums), "nets": nets})

    def _allocate_arrays(self) -> tuple[Any, Any]:
        rows = len(self.players) + 1
        return (
            np.zeros((rows, len(SUMS)), np.int64),
            np.zeros((rows, 2 * self.places + 1), np.int64),
        )

    def play(self, first: int, count: int, device: str = "cpu") -> Tally:
        """Play some sessions of the table."""
        check_task_size(count)
        if device == "gpu":
            raise InvalidInput("a table of several bets is played on the CPU; leave the GPU out")
        arrays = [np.array(each, np.int64) for each in (self.bets, self.nets, self.players)]
        spots = np.array(self.spots, np.int64)
        lines = [[row[tables.BASE] * each for each in self.line] for row in self.bets]
        line = np.array(lines, np.int32)
        sums, nets = self._allocate_arrays()
        tables.compiled_play_table()(
            np.uint64(first), count, self.rounds, generator_key(self.seed), *arrays, spots, line, self.fine,
            sums, nets,
        )  # fmt: skip
        return Tally(count, {"sums": as_python_ints(sums), "nets": nets})


CountArray = Any
"""An array of whole numbers."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts over the first `units` units of a job, or over some of them."""

    units: int
    counts: Mapping[str, CountArray]

    def __add__(self, other: Tally) -> Tally:
        both = {name: each + other.counts[name] for name, each in self.counts.items()}
        return Tally(self.units + other.units, both)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally) or self.counts.keys() != other.counts.keys():
            return False
        same = all(np.array_equal(each, other.counts[name]) for name, each in self.counts.items())
        return same and self.units == other.units

    __hash__ = None  # type: ignore[assignment]


def as_python_ints(array: CountArray) -> CountArray:
    """Return an array of Python's own integers, which have no largest."""
    return array.astype(object)


def encode_tally(tally: Tally) -> dict[str, Any]:
    """Return a tally as plain data: of each array its shape and what is not nothing."""
    return {
        "units": tally.units,
        "counts": {name: _encode_array(each) for name, each in tally.counts.items()},
    }


def _encode_array(array: CountArray) -> dict[str, Any]:
    flat = array.ravel()
    places = [i for i, each in enumerate(flat.tolist()) if each]
    return {
        "shape": list(array.shape),
        "places": places,
        "values": [str(flat[i]) for i in places],
    }


def decode_tally(data: Mapping[str, Any], template: Tally) -> Tally:
    """Return the tally that plain data holds, of the form of another."""
    counts = {}
    for name, blank in template.counts.items():
        kept = data["counts"][name]
        if kept["shape"] != list(blank.shape):
            raise InvalidInput(f"{name} has the shape {kept['shape']}, not {list(blank.shape)}")
        flat = blank.copy().ravel()
        for place, value in zip(kept["places"], kept["values"], strict=True):
            flat[place] = int(value)
        counts[name] = flat.reshape(blank.shape)
    return Tally(data["units"], counts)
