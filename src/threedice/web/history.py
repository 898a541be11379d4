"""What happened, told from the log: a round event by event, a player's bets explained, a shift."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final
from zoneinfo import ZoneInfo

import msgspec

from threedice.errors import InvalidInput, UnknownName
from threedice.floor.encoding import decode
from threedice.floor.events import AnyStreamEvent
from threedice.floor.explaining import bets_explained
from threedice.floor.folds import table_stream
from threedice.floor.prose import tell_stream
from threedice.floor.reports import shift
from threedice.money import written
from threedice.table.events import RoundStarted, TableOpened
from threedice.tags import tag_of
from threedice.web.addresses import PlayerId
from threedice.web.answering import Operation, Visit, in_turn, operation
from threedice.web.authorisation import is_own_or_staffs
from threedice.web.knowing import need_table
from threedice.web.problems import Turned
from threedice.web.table_queries import need_staff_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.floor import Floor
    from threedice.log.entry import Entry
    from threedice.money import Say
    from threedice.web.context import Context

Moment = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""Microseconds of UTC since 1970."""


class EntryView(msgspec.Struct, frozen=True):
    """An event with its place in the table's stream, and when it happened."""

    version: int
    at: int
    event: AnyStreamEvent


class RoundTold(msgspec.Struct, frozen=True):
    """A round from its start to its end, as events and in words."""

    round: int
    events: list[EntryView]
    prose: list[str]


class BetExplained(msgspec.Struct, frozen=True):
    """What became of a bet, line by line, with the clauses."""

    spot: str
    lines: list[str]


class Whose(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whose bets are asked about; a player's own, where nothing is said."""

    player: PlayerId | None = None


class Span(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """From when until before when; without, the gaming day so far."""

    since: Moment | None = None
    until: Moment | None = None


class ShiftReport(msgspec.Struct, frozen=True):
    """A table's figures over a time; `win` is the house's, the theoretical one as a fraction.

    From `band_low` to `band_high` the win lies in 95 of 100 such times by luck alone: the
    theoretical win and 1.96 standard deviations (`sd`, the root of `variance`) either way.
    """

    since: int
    until: int
    fills: int
    credits: int
    drop: int
    rounds: int
    void: int
    seeds_lost: int
    turnover: int
    win: int
    theoretical_win: str
    variance: str
    sd: float
    band_low: int
    band_high: int
    hold_percent: float | None


@operation(
    "tell-round", "GET", "/api/tables/{table}/rounds/{round}", answer=RoundTold, problems=(404, 503)
)
async def tell_round(visit: Visit) -> RoundTold:
    """Tell a round event by event, to be played again."""
    table, number = visit.path["table"], visit.path["round"]
    need_staff_at(visit, table)
    await need_table(visit.context, table)
    return await in_turn(visit.context.reading, _told, visit.context.house.floor, table, number)


@operation(
    "explain-bets",
    "GET",
    "/api/tables/{table}/rounds/{round}/explanation",
    query=Whose,
    answer=list[BetExplained],
    problems=(404, 503),
)
async def explain_bets(visit: Visit) -> list[BetExplained]:
    """Explain what every bet of a player in a round was paid, and why."""
    table, number = visit.path["table"], visit.path["round"]
    player = visit.query.player or visit.account
    if not is_own_or_staffs(visit.who, player):
        raise Turned(403, "door/own")
    if player != visit.account:
        need_staff_at(visit, table)
    await need_table(visit.context, table)
    return await in_turn(
        visit.context.reading,
        _explained,
        visit.context.house.floor,
        table,
        number,
        player,
    )


@operation(
    "report-shift",
    "GET",
    "/api/tables/{table}/shift",
    query=Span,
    answer=ShiftReport,
    problems=(404, 503),
)
async def report_shift(visit: Visit) -> ShiftReport:
    """Report a table's drop, turnover, win and theory over a time."""
    table, store = visit.path["table"], visit.context.house.floor.store
    need_staff_at(visit, table)
    await need_table(visit.context, table)
    now = visit.context.house.clock.now()
    since = gaming_day(visit.context, now) if visit.query.since is None else visit.query.since
    until = now if visit.query.until is None else visit.query.until
    if since > until:
        raise InvalidInput("a shift ends after it has begun")
    report = await in_turn(visit.context.reading, shift, store, table, since, until)
    hold = report.hold
    return ShiftReport(
        since=since,
        until=until,
        fills=report.fills,
        credits=report.credits,
        drop=report.drop,
        rounds=report.rounds,
        void=report.void,
        seeds_lost=report.seeds_lost,
        turnover=report.turnover,
        win=report.win,
        theoretical_win=str(report.theoretical_win),
        variance=str(report.variance),
        sd=report.sd,
        band_low=report.band[0],
        band_high=report.band[1],
        hold_percent=None if hold is None else float(hold * 100),
    )


def gaming_day(context: Context, now: int) -> int:
    """Return when the gaming day began in which a moment lies."""
    zone, starts = ZoneInfo(context.house_file.time_zone), context.house_file.gaming_day_starts
    local = datetime.fromtimestamp(now / 1_000_000, zone)
    began = datetime.combine(local.date(), starts, zone)
    if began > local:
        began = datetime.combine(local.date() - timedelta(days=1), starts, zone)
    return int(began.timestamp()) * 1_000_000


def _told(floor: Floor, table: str, number: int) -> RoundTold:
    events = [
        EntryView(entry.version, entry.at, event) for entry, event in _round(floor, table, number)
    ]
    if not events:
        raise UnknownName(f"round of table {table}", str(number), [])
    told = (each.event for each in events)
    prose = tell_stream(told, floor.streams.games.pinned, _money_at(floor, table))
    return RoundTold(number, events, list(prose))


def _round(floor: Floor, table: str, number: int) -> Iterator[tuple[Entry, AnyStreamEvent]]:
    """Yield the entries of a round: from its start to before the next."""
    within = False
    for entry in floor.store.scan(table_stream(table)):
        if entry.kind == tag_of(RoundStarted):
            event = decode(entry)
            if isinstance(event, RoundStarted) and event.round > number:
                return
            within = isinstance(event, RoundStarted) and event.round == number
        if within:
            yield entry, decode(entry)


def _explained(floor: Floor, table: str, number: int, player: str) -> list[BetExplained]:
    games, say = floor.streams.games, _money_at(floor, table)
    told = bets_explained(floor.store, games.pinned, table, number, player, say)
    if told is None:
        raise UnknownName(f"round of table {table}", str(number), [])
    return [BetExplained(spot, lines) for spot, lines in told.items()]


def _money_at(floor: Floor, table: str) -> Say:
    """Return how amounts at a table are written: people read its currency, not its cents."""
    opened = (
        event.currency
        for event in map(decode, floor.store.scan(table_stream(table)))
        if isinstance(event, TableOpened)
    )
    return partial(written, currency=next(opened, ""))


HISTORY_OPERATIONS: Final[tuple[Operation, ...]] = (tell_round, explain_bets, report_shift)
