"""Work that can be divided: sessions, flat rounds or table sessions, from number a to number b.

A job is plain data that can be sent anywhere. `play` does a range of it and returns a `Tally`; the
tallies of all ranges add up to the same whatever the ranges were, and whoever did them.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from threedice.errors import InvalidInput
from threedice.sim import binomials, seats
from threedice.sim.compiling import checked, cpu_kernel
from threedice.sim.kernel import SUMS
from threedice.sim.own_plans import OwnPlan, move_of
from threedice.sim.tallies import Tally, whole

if TYPE_CHECKING:
    from threedice.sim.terms import Terms

ROUNDS_AT_ONCE: Final = 50_000_000
"""Rounds that are played before anybody hears of them: a fraction of a second."""
ROUNDS_AT_ONCE_GPU: Final = 50_000_000_000
MOST_AT_ONCE: Final = 2**30
"""Sessions whose sums are sure to fit into 64 bits."""


class Job(Protocol):
    """Something to simulate, in numbered units."""

    @property
    def units(self) -> int:
        """How many units there are: sessions, or blocks of rounds."""
        ...

    @property
    def rounds_a_unit(self) -> int:
        """How many rounds one unit is."""
        ...

    def blank(self) -> Tally:
        """Return the tally of nothing."""
        ...

    def play(self, first: int, count: int, device: str = "cpu") -> Tally:
        """Return the tally of some units."""
        ...


def at_once(job: Job, device: str = "cpu") -> int:
    """Return how many units make a good piece of work."""
    rounds = ROUNDS_AT_ONCE_GPU if device == "gpu" else ROUNDS_AT_ONCE
    many = max(rounds // job.rounds_a_unit // 64 * 64, 64 if job.rounds_a_unit < rounds else 1)
    return min(many, MOST_AT_ONCE)


def keys(seed: int) -> tuple[Any, Any]:
    """Return a seed as the key of the generator."""
    return np.uint32(seed & 0xFFFFFFFF), np.uint32(seed >> 32)


def check_seed(seed: int) -> None:
    """Refuse a seed that is no number of 64 bits."""
    if not 0 <= seed < 2**64:
        raise InvalidInput(f"a seed of {seed}; give a whole number from 0 to 2^64 - 1")


def check_count(count: int) -> None:
    """Refuse more sessions in one piece than can be added up in 64 bits."""
    if count > MOST_AT_ONCE:
        raise InvalidInput(f"{count} sessions in one piece; play at most {MOST_AT_ONCE} at once")


def name_of(job: Job) -> str:
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
    def rounds_a_unit(self) -> int:
        """How many rounds a session is at most."""
        return self.terms.rounds

    def blank(self) -> Tally:
        """Return the tally of no session."""
        sums, ends, finals, paths = self._room()
        return Tally(0, {"sums": whole(sums), "ends": ends, "finals": finals, "paths": paths})

    def _room(self) -> list[Any]:
        shapes = self.terms.counting.room(self.terms.rounds)
        return [np.zeros(shape, np.int64) for shape in shapes]

    def play(self, first: int, count: int, device: str = "cpu") -> Tally:
        """Play some sessions."""
        check_count(count)
        room = self._room()
        arguments = (keys(self.seed), *self.terms.arguments())
        try:
            if device == "gpu":
                self._play_there(first, count, arguments, room)
            else:
                move = move_of(self.own, checked) if self.own else None
                cpu_kernel(self.terms.shape, move)(np.uint64(first), count, *arguments, *room)
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
        self._check(sums)
        counts = {"sums": whole(sums), "ends": ends, "finals": finals, "paths": paths}
        return Tally(count, counts)

    def _play_there(self, first: int, count: int, arguments: Any, room: list[Any]) -> None:
        from threedice.sim import gpu  # noqa: PLC0415  # the extra may not be installed

        gpu.check_gpu()
        move = move_of(self.own, gpu.inlined) if self.own else None
        key, terms, edges, table, line = arguments
        gpu.play(
            self.terms.shape, first, count, key, terms, edges, table, line, *room[:3], own=move
        )

    def _check(self, sums: Any) -> None:
        """Refuse what a plan made of it where that makes no sense, or cannot be counted."""
        if sums[SUMS.index("broken")]:
            raise InvalidInput(
                f"{self.terms.plan} made less than one due, or a number of more than 32 bits, in "
                f"{sums[SUMS.index('broken')]} sessions; see what it does after a long run"
            )
        if self.terms.cut_off and sums[SUMS.index("stop_win")]:
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
        return -(-self.rounds // binomials.BLOCK)

    @property
    def rounds_a_unit(self) -> int:
        """Rounds to a block, as far as the work goes: a block costs what a few thousand do."""
        return 2**16

    def blank(self) -> Tally:
        """Return the tally of no round."""
        return Tally(0, {"rolls": whole(np.zeros(216, np.int64))})

    def play(self, first: int, count: int, device: str = "cpu") -> Tally:
        """Draw how often each roll falls in some blocks."""
        if device == "gpu":
            raise InvalidInput("flat bets are drawn, not played, and need no GPU; leave it out")
        rolls = binomials.rolls_of(first, count, self.rounds, keys(self.seed))
        return Tally(count, {"rolls": whole(rolls)})


Row = tuple[int, ...]


@dataclass(frozen=True)
class TableJob:
    """Sessions of a whole table, as the rows of `seats`.

    Nets are counted as finely as `fine` says, in so many places on either side of nothing.
    """

    sessions: int
    rounds: int
    seed: int
    bets: tuple[Row, ...]
    nets: tuple[Row, ...]
    players: tuple[Row, ...]
    spots: tuple[Row, ...]
    line: Row
    fine: int
    places: int

    @property
    def units(self) -> int:
        """How many sessions there are."""
        return self.sessions

    @property
    def rounds_a_unit(self) -> int:
        """Rounds of a session, as far as the work goes: each bet costs what many rounds do."""
        return self.rounds * len(self.bets) * 16

    def blank(self) -> Tally:
        """Return the tally of no session."""
        sums, nets = self._room()
        return Tally(0, {"sums": whole(sums), "nets": nets})

    def _room(self) -> tuple[Any, Any]:
        rows = len(self.players) + 1
        return (
            np.zeros((rows, len(SUMS)), np.int64),
            np.zeros((rows, 2 * self.places + 1), np.int64),
        )

    def play(self, first: int, count: int, device: str = "cpu") -> Tally:
        """Play some sessions of the table."""
        check_count(count)
        if device == "gpu":
            raise InvalidInput("a table of several bets is played on the CPU; leave the GPU out")
        arrays = [np.array(each, np.int64) for each in (self.bets, self.nets, self.players)]
        spots = np.array(self.spots, np.int64)
        lines = [[row[seats.BASE] * each for each in self.line] for row in self.bets]
        line = np.array(lines, np.int32)
        sums, nets = self._room()
        seats.playing()(
            np.uint64(first), count, self.rounds, keys(self.seed), *arrays, spots, line, self.fine,
            sums, nets,
        )  # fmt: skip
        return Tally(count, {"sums": whole(sums), "nets": nets})
