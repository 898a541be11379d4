"""Shift figures and exposure of a table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor, sqrt
from typing import TYPE_CHECKING, NamedTuple

from threedice.dice import ROLLS
from threedice.house.stream_state import table_stream
from threedice.money import Amount
from threedice.table.limits import box_of
from threedice.table.settlement import playing_stakes

if TYPE_CHECKING:
    from threedice.dice import Roll
    from threedice.house.reports.projection import StatementRow
    from threedice.house.reports.statements import StatementReader
    from threedice.rulebook import Game
    from threedice.table import TableState

BAND_DEVIATIONS = 1.96
"""Standard deviations to either side that contain 95 % of a normal distribution."""


class VoidedBy(NamedTuple):
    """The people who voided rounds, by their ids, and the cause; one person has no approver."""

    by: str
    approved_by: str
    cause: str


@dataclass(slots=True)
class ShiftFigures:
    """A table's figures over a period; `win` is the house's.

    `drop` is everything changed into chips, from cash and from accounts, because both are staked
    alike and `hold` is the win as a share of it. (The drop of a table's state is the cash in its
    drop box only.) `voided` counts the void rounds by people and cause: a count of tumbles that is
    keyed after the dice were seen cannot be told from an honest one, but a habit can be seen.
    """

    fills: int = 0
    credits: int = 0
    drop: int = 0
    rounds: int = 0
    void: int = 0
    seeds_lost: int = 0
    turnover: int = 0
    win: int = 0
    theoretical_win: Fraction = field(default_factory=Fraction)
    variance: Fraction = field(default_factory=Fraction)
    voided: Counter[VoidedBy] = field(default_factory=Counter)

    @property
    def sd(self) -> float:
        """The standard deviation of the win around the theoretical win."""
        return sqrt(self.variance)

    @property
    def band(self) -> tuple[int, int]:
        """The interval that contains the win with 95 % probability if the dice are fair."""
        width, theory = BAND_DEVIATIONS * self.sd, float(self.theoretical_win)
        return floor(theory - width), ceil(theory + width)

    @property
    def hold(self) -> Fraction | None:
        """The win as a share of the drop; None without a drop."""
        return Fraction(self.win, self.drop) if self.drop else None


def shift_figures(
    statements: StatementReader,
    table: str,
    since: int | None = None,
    until: int | None = None,
    versions: range | None = None,
) -> ShiftFigures:
    """Return a table's figures over a period.

    `versions` bounds the entries besides the time, because several entries may have one time. A
    reversed round, with its corrections, counts against the shift in which it is reversed.
    """
    figures, stream = ShiftFigures(), table_stream(table)
    rows = _table_rows(statements, stream, since, until, versions)
    for row in rows:
        if row.what == "result":
            _add_result(figures, row, 1, variance_sign=1)
        else:
            _add_movement(figures, row)
    settled = {row.round for row in rows if row.what == "result"}
    reversed_rounds = {row.round for row in rows if row.what == "reversed"}
    if not reversed_rounds <= settled:  # corrections follow results, so both may be earlier
        earlier = None if versions is None else range(versions.stop)
        rows = _table_rows(statements, stream, None, until, earlier)
    for row in rows:
        if row.round in reversed_rounds:
            _take_back(figures, row, is_settled_in_shift=row.round in settled)
    return figures


def _table_rows(
    statements: StatementReader,
    stream: str,
    since: int | None,
    until: int | None,
    versions: range | None,
) -> list[StatementRow]:
    rows = statements.rows(stream, since=since, until=until)
    return [dated.row for dated in rows if versions is None or dated.version in versions]


def _add_movement(figures: ShiftFigures, row: StatementRow) -> None:
    """Add a row that is not a result."""
    match row.what:
        case "void":
            figures.void += 1
            figures.voided[VoidedBy(row.by, row.approved_by, row.note)] += 1
        case "corrected" | "ruling":
            figures.win += row.amount
        case "fill":
            figures.fills += row.amount
        case "credit":
            figures.credits += row.amount
        case "drop":
            figures.drop += row.amount
        case "seed lost":
            figures.seeds_lost += 1
        case _:
            pass


def _take_back(figures: ShiftFigures, row: StatementRow, *, is_settled_in_shift: bool) -> None:
    """Subtract a row of a reversed round: its result or one of its corrections.

    These are the nets that a reversal returns; rulings belong to no round and stand. A round that
    was reversed during its settlement has neither, and was never counted. The variance of a round
    reversed in its own shift is removed. Reversing a round of an earlier shift adds its variance to
    this shift.
    """
    match row.what:
        case "result":
            _add_result(figures, row, -1, variance_sign=-1 if is_settled_in_shift else 1)
        case "corrected":
            figures.win -= row.amount
        case _:
            pass


def _add_result(figures: ShiftFigures, row: StatementRow, sign: int, *, variance_sign: int) -> None:
    """Add a result, or subtract it with a sign of -1."""
    figures.rounds += sign
    figures.turnover += sign * row.turnover
    figures.win += sign * row.amount
    figures.theoretical_win += sign * Fraction(*row.theory)
    figures.variance += variance_sign * Fraction(*row.variance)


def exposure(game: Game, state: TableState) -> dict[Roll, int]:
    """Return the house's win on each of the 216 rolls if the round went on with the present bets.

    Excess that will be rejected or apportioned is left out; the shooter's bet counts on the rolls
    that would end it.
    """
    unit = game.unit
    nets = [0] * len(ROLLS)
    for spot, stakes in playing_stakes(game, state).items():
        total, payoffs = sum(stakes.values()), game.payoffs[box_of(spot)]
        nets = [net - total * payoff for net, payoff in zip(nets, payoffs, strict=True)]
    by_roll = {roll: net // unit for roll, net in zip(ROLLS, nets, strict=True)}
    rule = game.facts.shooter
    shooter = (state.shooter or state.round.shooter) if state.round else None  # or who just lost
    if rule and shooter:
        box = game.boxes[rule.box]
        is_last = shooter.throws + 1 == box.throws
        for roll in ROLLS:
            odds = box.odds_on(roll)
            if odds is None:
                by_roll[roll] += shooter.stake
            elif is_last:
                by_roll[roll] -= odds.winnings(Amount(shooter.stake))
    return by_roll
