"""What happened, told from the log: a round event by event, a player's bets explained, a shift."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final
from zoneinfo import ZoneInfo

import msgspec

from threedice.api.auth.authorisation import is_own_or_staff
from threedice.api.context import require_table
from threedice.api.http.limits import run_limited
from threedice.api.http.operations import Operation, PlayerId, RequestContext, operation
from threedice.api.http.problems import HttpProblem
from threedice.api.routes.tables import require_table_staff
from threedice.errors import InvalidInput, UnknownName
from threedice.house.codec import decode
from threedice.house.events import AnyStreamEvent
from threedice.house.reports.narrative import describe_stream, explain_player_bets
from threedice.house.reports.statements import shift_figures
from threedice.house.stream_state import table_stream
from threedice.money import format_currency
from threedice.table.events import RoundStarted, TableOpened
from threedice.tags import tag_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.api.context import ServerContext
    from threedice.house import CommandHandler
    from threedice.log.entry import Entry
    from threedice.money import AmountFormatter

Timestamp = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""Microseconds of UTC since 1970."""


class EntryView(msgspec.Struct, frozen=True):
    """An event with its place in the table's stream, and when it happened."""

    version: int
    at: int
    event: AnyStreamEvent


class RoundHistory(msgspec.Struct, frozen=True):
    """A round from its start to its end, as events and in words."""

    round: int
    events: list[EntryView]
    prose: list[str]


class BetExplanation(msgspec.Struct, frozen=True):
    """What became of a bet, line by line, with the clauses."""

    spot: str
    lines: list[str]


class PlayerQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whose bets are asked about; a player's own, where nothing is said."""

    player: PlayerId | None = None


class ShiftQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """From when until before when; without, the gaming day so far."""

    since: Timestamp | None = None
    until: Timestamp | None = None


class ShiftReportView(msgspec.Struct, frozen=True):
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
    "tell-round",
    "GET",
    "/api/tables/{table}/rounds/{round}",
    response=RoundHistory,
    problems=(404, 503),
)
async def show_round(request: RequestContext) -> RoundHistory:
    """Tell a round event by event, to be played again."""
    table, number = request.path_params["table"], request.path_params["round"]
    require_table_staff(request, table)
    await require_table(request.context, table)
    return await run_limited(
        request.context.history_limiter,
        _load_round,
        request.context.house.command_handler,
        table,
        number,
    )


@operation(
    "explain-bets",
    "GET",
    "/api/tables/{table}/rounds/{round}/explanation",
    query=PlayerQuery,
    response=list[BetExplanation],
    problems=(404, 503),
)
async def explain_bets(request: RequestContext) -> list[BetExplanation]:
    """Explain what every bet of a player in a round was paid, and why."""
    table, number = request.path_params["table"], request.path_params["round"]
    player = request.query.player or request.account_id
    if not is_own_or_staff(request.caller, player):
        raise HttpProblem(403, "door/own")
    if player != request.account_id:
        require_table_staff(request, table)
    await require_table(request.context, table)
    return await run_limited(
        request.context.history_limiter,
        _explain_bets,
        request.context.house.command_handler,
        table,
        number,
        player,
    )


@operation(
    "report-shift",
    "GET",
    "/api/tables/{table}/shift",
    query=ShiftQuery,
    response=ShiftReportView,
    problems=(404, 503),
)
async def report_shift(request: RequestContext) -> ShiftReportView:
    """Report a table's drop, turnover, win and theory over a time."""
    table, store = request.path_params["table"], request.context.house.command_handler.store
    require_table_staff(request, table)
    await require_table(request.context, table)
    now = request.context.house.clock.now()
    since = (
        gaming_day_start(request.context, now)
        if request.query.since is None
        else request.query.since
    )
    until = now if request.query.until is None else request.query.until
    if since > until:
        raise InvalidInput("a shift ends after it has begun")
    report = await run_limited(
        request.context.history_limiter, shift_figures, store, table, since, until
    )
    hold = report.hold
    return ShiftReportView(
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


def gaming_day_start(context: ServerContext, now: int) -> int:
    """Return when the gaming day began in which a moment lies."""
    zone, starts = ZoneInfo(context.config.time_zone), context.config.gaming_day_starts
    local = datetime.fromtimestamp(now / 1_000_000, zone)
    began = datetime.combine(local.date(), starts, zone)
    if began > local:
        began = datetime.combine(local.date() - timedelta(days=1), starts, zone)
    return int(began.timestamp()) * 1_000_000


def _load_round(floor: CommandHandler, table: str, number: int) -> RoundHistory:
    events = [
        EntryView(entry.version, entry.at, event)
        for entry, event in _round_entries(floor, table, number)
    ]
    if not events:
        raise UnknownName(f"round of table {table}", str(number), [])
    round_events = (each.event for each in events)
    prose = describe_stream(
        round_events, floor.streams.games.load_pinned, _amount_formatter(floor, table)
    )
    return RoundHistory(number, events, list(prose))


def _round_entries(
    floor: CommandHandler, table: str, number: int
) -> Iterator[tuple[Entry, AnyStreamEvent]]:
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


def _explain_bets(
    floor: CommandHandler, table: str, number: int, player: str
) -> list[BetExplanation]:
    games, say = floor.streams.games, _amount_formatter(floor, table)
    explained = explain_player_bets(floor.store, games.load_pinned, table, number, player, say)
    if explained is None:
        raise UnknownName(f"round of table {table}", str(number), [])
    return [BetExplanation(spot, lines) for spot, lines in explained.items()]


def _amount_formatter(floor: CommandHandler, table: str) -> AmountFormatter:
    """Return how amounts at a table are written: people read its currency, not its cents."""
    opened = (
        event.currency
        for event in map(decode, floor.store.scan(table_stream(table)))
        if isinstance(event, TableOpened)
    )
    return partial(format_currency, currency=next(opened, ""))


HISTORY_OPERATIONS: Final[tuple[Operation, ...]] = (show_round, explain_bets, report_shift)
