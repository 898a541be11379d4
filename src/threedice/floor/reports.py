"""What people ask afterwards: results, exposure, the shift, a player's statement."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from math import ceil, floor, sqrt
from typing import TYPE_CHECKING

import msgspec

from threedice.dice import ROLLS
from threedice.floor.folds import table_stream
from threedice.floor.projections import VIEW, Said, of
from threedice.table.state import box_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.dice import Roll
    from threedice.log.store import Line, Store
    from threedice.rulebook import Game
    from threedice.table import TableState

BAND = 1.96
"""How many standard deviations either way hold 95 % of a normal distribution."""

_SAID = msgspec.json.Decoder(Said)


@dataclass(frozen=True, slots=True)
class Told:
    """A line of a projection, read."""

    at: int
    stream: str
    version: int
    said: Said


def results(store: Store, table: str, most: int = 200) -> list[Told]:
    """Return the last results of a table, void and reversed rounds among them, oldest first."""
    stream = table_stream(table)
    lines = [
        each for each in _told(store.lines(VIEW, subject=stream)) if each.said.what in _RESULTS
    ]
    return lines[-most:]


_RESULTS = ("result", "void", "reversed", "seed lost")


def statement(
    store: Store, player: str, since: int | None = None, until: int | None = None
) -> list[Told]:
    """Return everything that a player was paid, lost, bought and was told, over a time."""
    return _told(store.lines(VIEW, subject=of(player), since=since, until=until))


@dataclass(slots=True)
class Shift:
    """A table's figures over a time; `win` is the house's.

    `drop` is all that was changed into chips, from cash and from accounts, because both are staked
    alike and `hold` is the win as a share of it. A table's own drop is the cash in its drop box.
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

    @property
    def sd(self) -> float:
        """The standard deviation of the win: what luck alone makes of the theory."""
        return sqrt(self.variance)

    @property
    def band(self) -> tuple[int, int]:
        """From where to where the win lies 95 times of 100, where the dice are fair."""
        reach, theory = BAND * self.sd, float(self.theoretical_win)
        return floor(theory - reach), ceil(theory + reach)

    @property
    def hold(self) -> Fraction | None:
        """The win as a share of the drop, from cash and accounts, where there was any."""
        return Fraction(self.win, self.drop) if self.drop else None


def shift(store: Store, table: str, since: int | None = None, until: int | None = None) -> Shift:
    """Return the figures of a table over a time.

    A round that is undone counts against the shift in which it is undone.
    """
    report, stream = Shift(), table_stream(table)
    told = _told(store.lines(VIEW, subject=stream, since=since, until=until))
    settled: dict[int, Said] = {}
    for said in (each.said for each in told):
        match said.what:
            case "result":
                settled[said.round] = said
                _count(report, said, 1, luck=1)
            case "reversed":
                here = settled.get(said.round)
                undone = here or _result_of(store, stream, said.round)
                _count(report, undone, -1, luck=-1 if here else 1)
            case _:
                _move(report, said)
    return report


def _move(report: Shift, said: Said) -> None:
    """Count what is no result."""
    match said.what:
        case "void":
            report.void += 1
        case "corrected" | "ruling":
            report.win += said.amount
        case "fill":
            report.fills += said.amount
        case "credit":
            report.credits += said.amount
        case "drop":
            report.drop += said.amount
        case "seed lost":
            report.seeds_lost += 1
        case _:
            pass


def _count(report: Shift, said: Said | None, sign: int, *, luck: int) -> None:
    """Count a result, or take it back; `luck` says whether its chance is in the figures or out.

    A round undone in the shift that played it leaves none; one of a shift before brings its own.
    """
    if said is None:  # a round that was being settled when it was undone never counted
        return
    report.rounds += sign
    report.turnover += sign * said.turnover
    report.win += sign * said.amount
    report.theoretical_win += sign * Fraction(*said.theory)
    report.variance += luck * Fraction(*said.variance)


def _result_of(store: Store, stream: str, number: int) -> Said | None:
    """Return the result of a round that was settled before the time that is reported on."""
    for told in _told(store.lines(VIEW, subject=stream)):
        if told.said.what == "result" and told.said.round == number:
            return told.said
    return None


def exposure(game: Game, state: TableState) -> dict[Roll, int]:
    """Return what the house would win on each of the 216 rolls by the bets on the layout now.

    The shooter's bet, which is decided over several throws, is not part of it.
    """
    unit, totals = game.unit, state.round.totals if state.round else {}
    nets = [0] * len(ROLLS)
    for spot, total in totals.items():
        row = game.payoffs.get(box_of(spot))
        if row and total:
            nets = [net - total * payoff for net, payoff in zip(nets, row, strict=True)]
    return {roll: net // unit for roll, net in zip(ROLLS, nets, strict=True)}


def _told(lines: Iterable[Line]) -> list[Told]:
    return [Told(each.at, each.stream, each.version, _SAID.decode(each.data)) for each in lines]


def moment(at: int) -> str:
    """Return a time in words, UTC."""
    return datetime.fromtimestamp(at / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
