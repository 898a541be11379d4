"""Keep statements up to date with the log, and report results, shifts and exposure from them.

Keeping the projections up with the log, and making them again.

Lines are added up to the last moment at which nothing of a round had been settled, so that whoever
goes on from there need know only which round it is: what happens beside the bets, such as a notice
or chips that are bought, is told at once, and not when the round ends.

What people ask afterwards: results, exposure, the shift, a player's statement.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from math import ceil, floor, sqrt
from typing import TYPE_CHECKING, Final, cast

import msgspec

from threedice.dice import ROLLS
from threedice.errors import TamperedData
from threedice.house.codec import decode
from threedice.house.events import TableEstablished
from threedice.house.recovery import isolate_failures
from threedice.house.reports.projection import (
    FORMER_VIEWS,
    VIEW,
    StatementProjector,
    StatementRow,
    player_subject,
)
from threedice.house.stream_state import GameRegistry, HouseTable, fold_of, table_stream
from threedice.house.streams import LiveStream, load_stream
from threedice.log.entry import EMPTY_HEAD
from threedice.log.store import ProjectionLine
from threedice.table import events
from threedice.table.limits import box_of
from threedice.tags import tag_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from threedice.dice import Roll
    from threedice.log.entry import Entry
    from threedice.log.store import Store
    from threedice.rulebook import Game
    from threedice.table import TableState


MAX_ROWS_PER_UPDATE = 2_000
"""How many lines are added at a time, at most but for one round's."""


LOOKBACK_ENTRIES = 100
"""How many entries are read at a time to find the round being played."""


_KINDS_BETWEEN_ROUNDS: Final = frozenset(
    tag_of(kind)
    for kind in (
        TableEstablished,
        events.TableOpened,
        events.WinnersPaid,
        events.RoundVoided,
        events.TableClosed,
    )
)
"""Kinds of entries after which no round is being played."""


def update_statements(store: Store, stream: str, game_of: Callable[[str], Game]) -> int:
    """Add the lines of a stream that are missing; return up to which version they go."""
    projector, reached = StatementProjector(stream, game_of), store.projected_version(VIEW, stream)
    if started := _find_round_at(store, stream, reached):
        projector.resume_round(started)
    after, waiting, lines = reached, reached, list[ProjectionLine]()
    for entry in store.scan(stream, reached):
        lines += projector.project(entry, decode(entry))
        if projector.is_between_rounds or (lines and projector.is_resumable):
            waiting = entry.version
            if len(lines) >= MAX_ROWS_PER_UPDATE:
                if not store.project(VIEW, stream, after, waiting, lines):
                    return after  # another server was quicker
                after, lines = waiting, []
    ready = [line for line in lines if line.version <= waiting]
    if waiting > after and store.project(VIEW, stream, after, waiting, ready):
        after = waiting
    return after


def _find_round_at(store: Store, stream: str, version: int) -> events.RoundStarted | None:
    """Return how the round began that was being played at a version, if one was."""
    while version > 0 and fold_of(stream).state_type is HouseTable:
        before = max(version - LOOKBACK_ENTRIES, 0)
        for entry in reversed(store.read(stream, before, version - before)):
            if entry.kind == tag_of(events.RoundStarted):
                return cast("events.RoundStarted", decode(entry))
            if entry.kind in _KINDS_BETWEEN_ROUNDS:
                return None
        version = before
    return None


def delete_former_views(store: Store) -> None:
    """Delete lines of forms before; those of this one are made from the log."""
    for view in FORMER_VIEWS:
        store.delete_view(view)


def rebuild(
    store: Store, progress: Callable[[int, int], None] | None = None
) -> tuple[int, dict[str, str]]:
    """Make all that follows from the log again; return of how many streams, and what stopped it.

    A stream that is damaged keeps what it has, and is named with the reason: what follows from a
    stream is deleted only once all of it could be made.
    """
    games, streams = GameRegistry(store), store.streams()
    damaged: dict[str, str] = {}
    for stream in streams:
        with isolate_failures(stream, damaged):
            _dry_run(store, stream, games.load_pinned)
    sound = [stream for stream in streams if stream not in damaged]
    if not damaged:
        store.delete_derived_data()  # also what belongs to no stream
    for done, stream in enumerate(sound, 1):
        store.delete_derived_data(stream)
        update_statements(store, stream, games.load_pinned)
        store.save_snapshot(load_stream(store, stream).take_snapshot())
        if progress:
            progress(done, len(sound))
    return len(sound), damaged


def _dry_run(store: Store, stream: str, game_of: Callable[[str], Game]) -> None:
    """Make everything of a stream from its first entry on, and keep none of it."""
    fold, head, projector = fold_of(stream), store.head(stream), StatementProjector(stream, game_of)
    running = LiveStream(stream, fold, fold.state_type(), EMPTY_HEAD, 0, 0)

    def projected() -> Iterator[Entry]:
        for entry in store.scan(stream):
            list(projector.project(entry, decode(entry)))
            yield entry

    running.catch_up(projected())
    running.take_snapshot()
    if running.durable_head.version < head.version:
        here = running.durable_head.version
        raise TamperedData(
            f"head of {stream}", f"is version {head.version}, its entries end at {here}"
        )


BAND_DEVIATIONS = 1.96
"""How many standard deviations either way hold 95 % of a normal distribution."""


_ROW_DECODER = msgspec.json.Decoder(StatementRow)


@dataclass(frozen=True, slots=True)
class DatedStatementRow:
    """A line of a projection, read."""

    at: int
    stream: str
    version: int
    row: StatementRow


def results(store: Store, table: str, limit: int = 200) -> list[DatedStatementRow]:
    """Return the last results of a table, void and reversed rounds among them, oldest first."""
    stream = table_stream(table)
    lines = [
        each
        for each in _decode_rows(store.lines(VIEW, subject=stream))
        if each.row.what in _RESULT_KINDS
    ]
    return lines[-limit:]


_RESULT_KINDS = ("result", "void", "reversed", "seed lost")


def statement(
    store: Store, player: str, since: int | None = None, until: int | None = None
) -> list[DatedStatementRow]:
    """Return everything that a player was paid, lost, bought and was told, over a time."""
    return _decode_rows(store.lines(VIEW, subject=player_subject(player), since=since, until=until))


@dataclass(slots=True)
class ShiftFigures:
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
        reach, theory = BAND_DEVIATIONS * self.sd, float(self.theoretical_win)
        return floor(theory - reach), ceil(theory + reach)

    @property
    def hold(self) -> Fraction | None:
        """The win as a share of the drop, from cash and accounts, where there was any."""
        return Fraction(self.win, self.drop) if self.drop else None


def shift_figures(
    store: Store, table: str, since: int | None = None, until: int | None = None
) -> ShiftFigures:
    """Return the figures of a table over a time.

    A round that is undone counts against the shift in which it is undone.
    """
    report, stream = ShiftFigures(), table_stream(table)
    told = _decode_rows(store.lines(VIEW, subject=stream, since=since, until=until))
    settled: dict[int, StatementRow] = {}
    for said in (each.row for each in told):
        match said.what:
            case "result":
                settled[said.round] = said
                _add_result(report, said, 1, variance_sign=1)
            case "reversed":
                here = settled.get(said.round)
                undone = here or _find_result(store, stream, said.round)
                _add_result(report, undone, -1, variance_sign=-1 if here else 1)
            case _:
                _add_movement(report, said)
    return report


def _add_movement(report: ShiftFigures, row: StatementRow) -> None:
    """Count what is no result."""
    match row.what:
        case "void":
            report.void += 1
        case "corrected" | "ruling":
            report.win += row.amount
        case "fill":
            report.fills += row.amount
        case "credit":
            report.credits += row.amount
        case "drop":
            report.drop += row.amount
        case "seed lost":
            report.seeds_lost += 1
        case _:
            pass


def _add_result(
    report: ShiftFigures, row: StatementRow | None, sign: int, *, variance_sign: int
) -> None:
    """Count a result, or take it back; `luck` says whether its chance is in the figures or out.

    A round undone in the shift that played it leaves none; one of a shift before brings its own.
    """
    if row is None:  # a round that was being settled when it was undone never counted
        return
    report.rounds += sign
    report.turnover += sign * row.turnover
    report.win += sign * row.amount
    report.theoretical_win += sign * Fraction(*row.theory)
    report.variance += variance_sign * Fraction(*row.variance)


def _find_result(store: Store, stream: str, number: int) -> StatementRow | None:
    """Return the result of a round that was settled before the time that is reported on."""
    for told in _decode_rows(store.lines(VIEW, subject=stream)):
        if told.row.what == "result" and told.row.round == number:
            return told.row
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


def _decode_rows(lines: Iterable[ProjectionLine]) -> list[DatedStatementRow]:
    return [
        DatedStatementRow(each.at, each.stream, each.version, _ROW_DECODER.decode(each.data))
        for each in lines
    ]


def format_time(at: int) -> str:
    """Return a time in words, UTC."""
    return datetime.fromtimestamp(at / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
