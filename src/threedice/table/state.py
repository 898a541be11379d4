"""The state of one table: players' chips, limits in force and the current round.

A table holds its players' chips, so that a bet needs no data outside the table. Only `evolve`
changes a state. Snapshots encode it by its annotations, so its types are imported at run time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from threedice.errors import InvariantBroken
from threedice.rulebook.conduct import StepName
from threedice.table.limits import LimitMode, PlayerId, Spot, TableLimits


@dataclass(slots=True)
class TableSeat:
    """A player's chips at the table: in the stack, and at risk on the layout."""

    stack: int = 0
    at_risk: int = 0
    colour: str = ""
    colour_value: int = 0


class Placement(msgspec.Struct, gc=False):
    """Chips put on a spot at one time; later placements have higher numbers.

    A table may hold hundreds of thousands, so the garbage collector does not track them.
    """

    number: int
    amount: int
    area: str
    manner: str


@dataclass(slots=True)
class Bet:
    """A player's chips on a spot, placement by placement."""

    total: int = 0
    placements: list[Placement] = field(default_factory=list)


Bets = dict[str, dict[str, Bet]]
"""Bets by spot and player."""


@dataclass(slots=True)
class Round:
    """A round from its first step to its settlement."""

    number: int
    done: set[StepName] = field(default_factory=set)
    bets: Bets = field(default_factory=dict)
    totals: dict[Spot, int] = field(default_factory=dict)
    times_tumbled: int = 0
    known: list[int] = field(default_factory=list)
    called: tuple[int, int, int] | None = None
    keys: list[int] = field(default_factory=list)
    result: tuple[int, int, int] | None = None
    nets: dict[PlayerId, int] = field(default_factory=dict)
    moved: dict[tuple[PlayerId, Spot, Spot], int] = field(default_factory=dict)

    @property
    def is_confirmed(self) -> bool:
        """True if all three dice were confirmed after an interruption."""
        return len(self.known) == 3

    @property
    def is_established(self) -> bool:
        """True if the dice are established: called or confirmed."""
        return self.called is not None or self.is_confirmed

    @property
    def final_result(self) -> tuple[int, int, int]:
        """The result by which the round is settled."""
        if self.result is None:
            raise InvariantBroken("the round has no result")
        return self.result


@dataclass(slots=True)
class Shooter:
    """The player with the dice, their locked bet and the number of throws won."""

    player: PlayerId
    dice: list[int] = field(default_factory=list)
    stake: int = 0
    throws: int = 0
    absent: bool = False


@dataclass(slots=True)
class TableState:
    """All that a table needs to decide the next command.

    `drop` is the cash put into the drop box since the table was opened, by buy-ins and repaid
    debts: the house counts it at the close. Money from accounts is not part of it, although the
    drop in the figures of a shift, all money changed into chips, includes it.
    """

    open: bool = False
    table: str = ""
    game_hash: str = ""
    currency: str = ""
    mode: LimitMode = "refuse"
    chips: list[int] = field(default_factory=list)
    limits: TableLimits | None = None
    next_limits: TableLimits | None = None
    checks: set[str] = field(default_factory=set)
    locked: str = ""
    float_amount: int = 0
    drop: int = 0
    seats: dict[PlayerId, TableSeat] = field(default_factory=dict)
    owing: dict[PlayerId, int] = field(default_factory=dict)
    rounds: int = 0
    placements: int = 0
    round: Round | None = None
    standing: tuple[Bets, dict[Spot, int]] | None = None
    settled: dict[int, dict[PlayerId, int]] = field(default_factory=dict)
    reversed: set[int] = field(default_factory=set)
    shooter: Shooter | None = None

    @property
    def current(self) -> Round:
        """The round being played."""
        if self.round is None:
            raise InvariantBroken("no round is being played")
        return self.round
