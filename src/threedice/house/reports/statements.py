"""Keep statements up to date with the log, and report results, shifts and exposure from them.

Rows are added up to the last entry at which no part of the current round was settled. The next
update then needs to know only which round that is, and notices and buy-ins in mid-round appear at
once, not at the end of the round.
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
from threedice.house.codec import decode, tag_of
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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from threedice.dice import Roll
    from threedice.log.entry import Entry
    from threedice.log.store import Store
    from threedice.rulebook import Game
    from threedice.table import TableState


MAX_ROWS_PER_UPDATE = 2_000
"""How many rows one store call adds; the rows of one round are never split."""

LOOKBACK_ENTRIES = 100
"""How many entries one read covers when searching backwards for the current round."""

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
"""Kinds of entries after which no round is in progress."""


def update_statements(store: Store, stream: str, game_of: Callable[[str], Game]) -> int:
    """Add the missing statement rows of a stream; return the version they now reach."""
    projector, stored = StatementProjector(stream, game_of), store.projected_version(VIEW, stream)
    if started := _find_round_at(store, stream, stored):
        projector.resume_round(started)
    resumable, lines = stored, list[ProjectionLine]()
    for entry in store.scan(stream, stored):
        lines += projector.project(entry, decode(entry))
        if projector.is_between_rounds or (lines and projector.is_resumable):
            resumable = entry.version
            if len(lines) >= MAX_ROWS_PER_UPDATE:
                if not store.project(VIEW, stream, stored, resumable, lines):
                    return stored  # another server was faster
                stored, lines = resumable, []
    ready = [line for line in lines if line.version <= resumable]
    if resumable > stored and store.project(VIEW, stream, stored, resumable, ready):
        stored = resumable
    return stored


def _find_round_at(store: Store, stream: str, version: int) -> events.RoundStarted | None:
    """Return the start of the round in progress at a version; None between rounds."""
    while version > 0 and fold_of(stream).state_type is HouseTable:
        after = max(version - LOOKBACK_ENTRIES, 0)
        for entry in reversed(store.read(stream, after, version - after)):
            if entry.kind == tag_of(events.RoundStarted):
                return cast("events.RoundStarted", decode(entry))
            if entry.kind in _KINDS_BETWEEN_ROUNDS:
                return None
        version = after
    return None


def delete_former_views(store: Store) -> None:
    """Delete the rows of earlier forms of the view."""
    for view in FORMER_VIEWS:
        store.delete_view(view)


def rebuild(
    store: Store, progress: Callable[[int, int], None] | None = None
) -> tuple[int, dict[str, str]]:
    """Rebuild statements and snapshots from the log.

    Returns the number of streams rebuilt, and the problem of each damaged stream. Before anything
    is deleted, each stream is projected in a dry run; a damaged stream keeps its existing data.
    """
    games, streams = GameRegistry(store), store.streams()
    damaged: dict[str, str] = {}
    for stream in streams:
        with isolate_failures(stream, damaged):
            _dry_run(store, stream, games.load_pinned)
    sound = [stream for stream in streams if stream not in damaged]
    if not damaged:
        store.delete_derived_data()  # also data of streams that no longer exist
    for done, stream in enumerate(sound, 1):
        store.delete_derived_data(stream)
        update_statements(store, stream, games.load_pinned)
        store.save_snapshot(load_stream(store, stream).take_snapshot())
        if progress:
            progress(done, len(sound))
    return len(sound), damaged


def _dry_run(store: Store, stream: str, game_of: Callable[[str], Game]) -> None:
    """Fold and project all entries of a stream without storing anything; raise if it is damaged."""
    fold, head, projector = fold_of(stream), store.head(stream), StatementProjector(stream, game_of)
    live_stream = LiveStream(stream, fold, fold.state_type(), EMPTY_HEAD, 0, 0)

    def projected_entries() -> Iterator[Entry]:
        for entry in store.scan(stream):
            list(projector.project(entry, decode(entry)))
            yield entry

    live_stream.catch_up(projected_entries())
    live_stream.take_snapshot()
    last_version = live_stream.durable_head.version
    if last_version < head.version:
        raise TamperedData(
            f"head of {stream}", f"is version {head.version}, its entries end at {last_version}"
        )


BAND_DEVIATIONS = 1.96
"""Standard deviations to either side that contain 95 % of a normal distribution."""

_RESULT_KINDS = ("result", "void", "reversed", "seed lost")
_ROW_DECODER = msgspec.json.Decoder(StatementRow)


@dataclass(frozen=True, slots=True)
class DatedStatementRow:
    """A statement row with its time, stream and version."""

    at: int
    stream: str
    version: int
    row: StatementRow


def results(store: Store, table: str, limit: int = 200) -> list[DatedStatementRow]:
    """Return a table's latest results, including void and reversed rounds, oldest first."""
    stream = table_stream(table)
    rows = [
        dated
        for dated in _decode_rows(store.lines(VIEW, subject=stream))
        if dated.row.what in _RESULT_KINDS
    ]
    return rows[-limit:]


def statement(
    store: Store, player: str, since: int | None = None, until: int | None = None
) -> list[DatedStatementRow]:
    """Return a player's wins, losses, transfers and notices over a period."""
    return _decode_rows(store.lines(VIEW, subject=player_subject(player), since=since, until=until))


@dataclass(slots=True)
class ShiftFigures:
    """A table's figures over a period; `win` is the house's.

    `drop` is everything changed into chips, from cash and from accounts, because both are staked
    alike and `hold` is the win as a share of it. (The drop of a table's state is the cash in its
    drop box only.)
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
    store: Store, table: str, since: int | None = None, until: int | None = None
) -> ShiftFigures:
    """Return a table's figures over a period.

    A reversed round counts against the shift in which it is reversed.
    """
    figures, stream = ShiftFigures(), table_stream(table)
    rows = _decode_rows(store.lines(VIEW, subject=stream, since=since, until=until))
    results_in_shift: dict[int, StatementRow] = {}
    for row in (dated.row for dated in rows):
        match row.what:
            case "result":
                results_in_shift[row.round] = row
                _add_result(figures, row, 1, variance_sign=1)
            case "reversed":
                in_shift = results_in_shift.get(row.round)
                result = in_shift or _find_result(store, stream, row.round)
                _add_result(figures, result, -1, variance_sign=-1 if in_shift else 1)
            case _:
                _add_movement(figures, row)
    return figures


def _add_movement(figures: ShiftFigures, row: StatementRow) -> None:
    """Add a row that is not a result."""
    match row.what:
        case "void":
            figures.void += 1
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


def _add_result(
    figures: ShiftFigures, row: StatementRow | None, sign: int, *, variance_sign: int
) -> None:
    """Add a result, or subtract it with a sign of -1.

    The variance of a round reversed in its own shift is removed. Reversing a round of an earlier
    shift adds its variance to this shift.
    """
    if row is None:  # the round was reversed during its settlement and never counted
        return
    figures.rounds += sign
    figures.turnover += sign * row.turnover
    figures.win += sign * row.amount
    figures.theoretical_win += sign * Fraction(*row.theory)
    figures.variance += variance_sign * Fraction(*row.variance)


def _find_result(store: Store, stream: str, number: int) -> StatementRow | None:
    """Return the result of a round that was settled before the reported period."""
    for dated in _decode_rows(store.lines(VIEW, subject=stream)):
        if dated.row.what == "result" and dated.row.round == number:
            return dated.row
    return None


def exposure(game: Game, state: TableState) -> dict[Roll, int]:
    """Return the house's win on each of the 216 rolls with the current bets on the layout.

    Excludes the shooter's bet, which is decided over several throws.
    """
    unit, totals = game.unit, state.round.totals if state.round else {}
    nets = [0] * len(ROLLS)
    for spot, total in totals.items():
        payoffs = game.payoffs.get(box_of(spot))
        if payoffs and total:
            nets = [net - total * payoff for net, payoff in zip(nets, payoffs, strict=True)]
    return {roll: net // unit for roll, net in zip(ROLLS, nets, strict=True)}


def _decode_rows(lines: Iterable[ProjectionLine]) -> list[DatedStatementRow]:
    return [
        DatedStatementRow(line.at, line.stream, line.version, _ROW_DECODER.decode(line.data))
        for line in lines
    ]


def format_time(at: int) -> str:
    """Format a time in microseconds since 1970 as date and time in UTC."""
    return datetime.fromtimestamp(at / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
