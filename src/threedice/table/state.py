"""The state of one table: players' chips, limits in force and the current round.

A table holds its players' chips, so that a bet needs no data outside the table. Only `evolve`
changes a state. Snapshots encode it by its annotations, so its types are imported at run time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import msgspec

from threedice.errors import InvariantBroken
from threedice.rulebook.conduct import IrregularityName, StepName
from threedice.table.chip_counts.counts import ChipCounts
from threedice.table.commands import Actor, Die
from threedice.table.events import TestedDisplay
from threedice.table.limits import LimitMode, PlayerId, Spot, TableLimits


@dataclass(slots=True)
class TableSeat:
    """A player's chips at the table: in the stack, and at risk on the layout.

    `number` is the number of the seat, which the player keeps until they leave.
    """

    stack: int = 0
    at_risk: int = 0
    colour: str = ""
    colour_value: int = 0
    number: int = 0


class Placement(msgspec.Struct, gc=False):
    """Chips put on a spot at one time; later placements have higher numbers.

    `origin` is the spot on which they were placed, if they lie on another now. A table may hold
    hundreds of thousands, so the garbage collector does not track them.
    """

    number: int
    amount: int
    area: str
    manner: str
    origin: Spot = ""


@dataclass(slots=True)
class Bet:
    """A player's chips on a spot that play, placement by placement.

    `excess` lies with them and does not play: it was rejected, or exceeds the bet's share.
    """

    total: int = 0
    placements: list[Placement] = field(default_factory=list)
    excess: int = 0

    @property
    def lying(self) -> int:
        """All that lies on the spot."""
        return self.total + self.excess

    def excess_with(self, amount: int) -> int:
        """Return the excess that goes with an amount taken off: all of it with the whole bet."""
        return self.excess if amount == self.total else 0


Bets = dict[str, dict[str, Bet]]
"""Bets by spot and player."""


class RoundStop(msgspec.Struct, frozen=True):
    """A report by one person that the round is void, on which a second person decides."""

    cause: IrregularityName
    by: Actor


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
    skipped: list[StepName] = field(default_factory=list)
    """The steps that this round leaves out; they count as done."""
    shooter: Shooter | None = None
    """The shooter as they were before the result of this throw."""
    paid: list[Spot] = field(default_factory=list)
    """The spots whose winners have been paid before the others; their bets are gone."""
    unnamed: list[IrregularityName] = field(default_factory=list)
    """The irregularities of this round of which a report named no piece of equipment."""
    stopped: RoundStop | None = None

    @property
    def is_confirmed(self) -> bool:
        """True if all three dice were confirmed after an interruption."""
        return len(self.known) == 3

    @property
    def is_established(self) -> bool:
        """True if the dice are established: called, confirmed or being settled by."""
        return self.called is not None or self.is_confirmed or "collect-losers" in self.done

    @property
    def final_result(self) -> tuple[int, int, int]:
        """The dice by which the round is settled: as called, or entered if nothing is called."""
        dice = self.called or self.result
        if dice is None:
            raise InvariantBroken("the round has no result")
        return dice


@dataclass(slots=True)
class Shooter:
    """The player with the dice, their locked bet and the number of throws won."""

    player: PlayerId
    dice: list[int] = field(default_factory=list)
    stake: int = 0
    throws: int = 0
    absent: bool = False


@dataclass(slots=True)
class SettledRound:
    """The last settled round, until the dice are tumbled or thrown again."""

    number: int
    shooter: Shooter | None = None


PieceCondition = Literal["in-order", "faulty", "out-of-use", "destroyed"]
"""The condition of a piece of equipment; only sets of dice are destroyed."""


@dataclass(slots=True)
class Piece:
    """A piece of equipment, or a set of dice; `fault` is the malfunction that was reported."""

    kind: str
    serial: str = ""
    seal: str = ""
    condition: PieceCondition = "in-order"
    fault: IrregularityName | None = None
    dice: list[Die] = field(default_factory=list)
    installed: bool = True
    """False for a set of dice that is not in play."""

    @property
    def in_use(self) -> bool:
        """True if rounds are played with it."""
        return self.installed and self.condition != "out-of-use"


@dataclass(frozen=True, slots=True)
class TrialFinding:
    """The lamps and displays that the last trial of a result showed wrong."""

    dark: frozenset[str] = frozenset()
    stray: frozenset[str] = frozenset()
    wrong: frozenset[TestedDisplay] = frozenset()


@dataclass(slots=True)
class EquipmentState:
    """The table's register of equipment, and the findings of its tests; the log has the history.

    A table without a register is played as if everything were in order.
    """

    pieces: dict[str, Piece] = field(default_factory=dict)
    omitted: set[str] = field(default_factory=set)
    """The kinds of equipment that the table is set up without."""
    failed: dict[str, str] = field(default_factory=dict)
    """The opening checks that failed, and the pieces by which they did."""
    test: int = 0
    """The number of the test that is being run, or 0."""
    tests: int = 0
    tried: set[tuple[int, ...]] = field(default_factory=set)
    """The results that were entered in the test that is being run, each with its dice sorted."""
    findings: dict[str, TrialFinding] = field(default_factory=dict)
    """The results whose last trial showed something wrong, and what."""
    proved: set[str] = field(default_factory=set)
    """The lamps that tests have seen lit, until the check for which they are run is passed."""

    @property
    def dark(self) -> set[str]:
        """The lamps that stayed dark in the last trial of some result that has to light them."""
        return {lamp for each in self.findings.values() for lamp in each.dark}

    @property
    def stray(self) -> set[str]:
        """The lamps that were lit in the last trial of some result that has to leave them dark."""
        return {lamp for each in self.findings.values() for lamp in each.stray}

    @property
    def wrong(self) -> set[TestedDisplay]:
        """The displays that showed something wrong in the last trial of some result."""
        return {display for each in self.findings.values() for display in each.wrong}

    def in_use(self, kind: str) -> list[str]:
        """Return the pieces of a kind that rounds are played with."""
        return [name for name, piece in self.pieces.items() if piece.kind == kind and piece.in_use]

    def is_faulty(self, piece: Piece) -> bool:
        """Return whether a piece is faulty, by a report or check, or as lights by a test."""
        shows_wrong = piece.kind == "lights" and piece.in_use and bool(self.dark or self.stray)
        return piece.condition == "faulty" or shows_wrong

    def lacks(self, kind: str) -> bool:
        """Return whether the table is set up without a kind, or has all of it out of use."""
        known = kind in self.omitted or any(each.kind == kind for each in self.pieces.values())
        return known and not self.in_use(kind)


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
    locked: list[IrregularityName] = field(default_factory=list)
    """The causes for which the table is locked, in order."""
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
    set_off: dict[int, dict[PlayerId, int]] = field(default_factory=dict)
    """Winnings that reduced debts, by round and player: a reversal makes them owed again.

    Debts that corrections of the round made are negative: a reversal cancels them.
    """
    last_settled: SettledRound | None = None
    shooter: Shooter | None = None
    equipment: EquipmentState = field(default_factory=EquipmentState)
    holders: dict[str, ChipCounts] | None = None
    """The chips of each holder since the opening; None at a table that deals in amounts."""
    colours_owed: int | None = None
    """The debt of the house for coloured chips in play, by the events since the opening.

    None at a table without an account for it: in amounts, or opened by an older version.
    """
    slips: int = 0
    """The number of the last slip: of an opener, a fill, a credit, a count or a closer."""
    last_closer: ChipCounts | None = None
    """The rack as it was counted at the last close."""
    closings: int = 0
    uncounted_drops: dict[int, int] = field(default_factory=dict)
    """The cash in the drop boxes of closings that nobody has counted yet, by closing."""

    @property
    def current(self) -> Round:
        """The round being played."""
        if self.round is None:
            raise InvariantBroken("no round is being played")
        return self.round
