"""Queries over the log: a round's events, explanations of a player's bets, shift reports.

They read long streams, so they run one at a time, in the queue for history.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import msgspec
from litestar import Response, get

from threedice.api.auth.audiences import event_for_player
from threedice.api.context import Context, CurrentCaller
from threedice.api.http.answer_cache import Answer
from threedice.api.http.requests import OptionalPlayer, OptionalTime, RoundNumber, TableId
from threedice.api.routes.accounts import require_own_or_staff
from threedice.api.routes.commands import json_response
from threedice.api.routes.counts import CountPeriodView, read_count_report
from threedice.api.routes.tables import require_audience, require_table, require_table_staff
from threedice.api.views import build_view
from threedice.errors import InvalidInput, UnknownName
from threedice.house.codec import decode
from threedice.house.events import AnyStreamEvent, TableEstablished, Timing
from threedice.house.reports.dice_proof import DiceProof, build_dice_proof
from threedice.house.reports.figures import shift_figures
from threedice.house.reports.narrative import describe_stream, explain_player_bets
from threedice.house.reports.round_index import RoundIndex, RoundSpan
from threedice.house.stream_state import table_stream
from threedice.money import format_currency
from threedice.table.events import TableOpened
from threedice.table.explanation_texts import ExplanationLine, format_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from threedice.house import CommandHandler
    from threedice.money import AmountFormatter

Timestamp = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""Microseconds of UTC since 1970."""


class EntryView(msgspec.Struct, frozen=True):
    """An event with its version in the table's stream and its time."""

    version: int
    at: int
    event: AnyStreamEvent


class RoundHistory(msgspec.Struct, frozen=True):
    """A round from start to end, as events and as prose."""

    round: int
    events: list[EntryView]
    prose: list[str]


class BetExplanation(msgspec.Struct, frozen=True):
    """The outcome of a bet: what played, at which odds it was paid (empty if it was not), the net.

    `lines` explains it in English, `steps` says the same in data, for other languages.
    """

    spot: str
    stake: int
    odds: str
    net: int
    lines: list[str]
    steps: list[ExplanationLine]


class VoidCount(msgspec.Struct, frozen=True):
    """The number of rounds that a person voided for a cause; `approved_by` is empty if alone.

    The names are sign-in names, empty for the house and for people who are no longer known.
    """

    by: str
    name: str
    approved_by: str
    approver: str
    cause: str
    count: int


class ShiftReportView(msgspec.Struct, frozen=True):
    """A table's figures over a period; `win` is the house's, `theoretical_win` a fraction.

    `band_low` to `band_high` is the 95% interval of the win: the theoretical win plus and minus
    1.96 standard deviations (`sd`, the square root of `variance`). `drop` includes money from
    accounts; `expected_drop` is the cash that the drop box should hold since the table opened.
    `counted` are the periods between counts of the rack that ended in this period, each with its
    win by count and by log; a table that deals in amounts has none. `voided` are the void rounds by
    the people who voided them, the most frequent first.
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
    expected_drop: int
    counted: list[CountPeriodView]
    voided: list[VoidCount]


@get("/api/tables/{table:str}/rounds/{round:str}", name="tell-round")
async def show_round(
    context: Context,
    caller: CurrentCaller,
    table: TableId,
    round: RoundNumber,  # noqa: A002 -- the name in the path
) -> RoundHistory:
    """Show a round event by event, for replay."""
    require_table_staff(caller, table)
    await require_table(context, table)
    return await context.history.run(caller.account.id, _load_round, context, table, round)


@get("/api/tables/{table:str}/rounds/{round:str}/explanation", name="explain-bets")
async def explain_bets(
    context: Context,
    caller: CurrentCaller,
    table: TableId,
    round: RoundNumber,  # noqa: A002 -- the name in the path
    player: OptionalPlayer = None,
) -> Response[list[BetExplanation]]:
    """Explain the outcome of each of a player's bets in a round; the caller's by default."""
    player = resolve_player(caller, table, player)
    await require_table(context, table)
    answer = await context.history.run(
        caller.account.id, _explain_bets, context, table, round, player
    )
    return json_response(answer.body)


@get("/api/tables/{table:str}/rounds/{round:str}/dice-proof", name="prove-dice")
async def prove_dice(
    context: Context,
    caller: CurrentCaller,
    table: TableId,
    round: RoundNumber,  # noqa: A002 -- the name in the path
) -> DiceProof:
    """Prove the dice of a round that the house dealt: seed, hash chain up to the close, dice.

    Players see the entries that are public or their own, and the table's staff see all; the rest is
    hashes.
    """
    await require_table(context, table)
    is_visible = visible_events(*require_audience(caller, table))
    account = caller.account.id
    return await context.history.run(account, _prove_dice, context, table, round, is_visible)


def resolve_player(caller: CurrentCaller, table: str, player: str | None) -> str:
    """Return the player whose bets are queried: the caller, or one that the table's staff name."""
    if player is None or player == caller.account.id:
        return caller.account.id
    require_own_or_staff(caller, player)
    require_table_staff(caller, table)
    return player


@get("/api/tables/{table:str}/shift", name="report-shift")
async def report_shift(
    context: Context,
    caller: CurrentCaller,
    table: TableId,
    since: OptionalTime = None,
    until: OptionalTime = None,
) -> ShiftReportView:
    """Report a table's drop, turnover, win and theoretical win; by default of the gaming day."""
    require_table_staff(caller, table)
    await require_table(context, table)
    now = context.house.runtime.now()
    since = gaming_day_start(context, now) if since is None else since
    until = now if until is None else until
    if since > until:
        raise InvalidInput("`since` is later than `until`; a shift begins before it ends")
    statements = await context.house.command_handler.streams.statements()
    report = await context.history.run(
        caller.account.id, shift_figures, statements, table, since, until
    )
    counts = await context.history.run(
        caller.account.id, read_count_report, context, statements, table
    )
    names = {each.id: each.name for each in context.identity.accounts.all()}
    low, high = report.band
    return build_view(
        ShiftReportView,
        report,
        counted=[each for each in counts.periods if since <= each.end < until],
        voided=[
            VoidCount(
                each.by,
                names.get(each.by, ""),
                each.approved_by,
                names.get(each.approved_by, ""),
                each.cause,
                count,
            )
            for each, count in report.voided.most_common()
        ],
        since=since,
        until=until,
        theoretical_win=str(report.theoretical_win),
        variance=str(report.variance),
        band_low=low,
        band_high=high,
        hold_percent=None if report.hold is None else float(report.hold * 100),
        expected_drop=(await context.house.command_handler.table(table)).table.drop,
    )


def gaming_day_start(context: Context, now: int) -> int:
    """Return the start of the gaming day that contains a time."""
    zone, start_time = ZoneInfo(context.config.time_zone), context.config.gaming_day_starts
    local = datetime.fromtimestamp(now / 1_000_000, zone)
    start = datetime.combine(local.date(), start_time, zone)
    if start > local:
        start = datetime.combine(local.date() - timedelta(days=1), start_time, zone)
    return int(start.timestamp()) * 1_000_000


def _load_round(context: Context, table: str, number: int) -> RoundHistory:
    handler, span = context.house.command_handler, _find_round(context, table, number)
    count = span.end - span.start + 1
    entries = handler.store.read(table_stream(table), span.start - 1, count)
    events = [EntryView(entry.version, entry.at, decode(entry)) for entry in entries]
    prose = describe_stream(
        (each.event for each in events),
        handler.streams.games.load_pinned,
        _amount_formatter(handler, table),
    )
    return RoundHistory(number, events, list(prose))


def _find_round(context: Context, table: str, number: int) -> RoundSpan:
    index = context.round_indexes.setdefault(table, RoundIndex(table))
    span = index.find(context.house.command_handler.store, number)
    if span is None:
        raise UnknownName(f"round of table {table}", str(number), [])
    return span


def visible_events(audience: str, player: str) -> Callable[[AnyStreamEvent], bool]:
    """Return whether an audience may see an event as it is: staff all, others what is public."""
    return lambda event: audience == "staff" or event_for_player(event, player) is event


def _prove_dice(
    context: Context, table: str, number: int, is_visible: Callable[[AnyStreamEvent], bool]
) -> DiceProof:
    handler, span = context.house.command_handler, _find_round(context, table, number)
    first = max(span.start - 3, 0)  # the commitment is the entry before the start of the round
    entries = handler.store.read(table_stream(table), first, span.end - first)
    return build_dice_proof(number, entries, _betting_seconds(handler, table, span), is_visible)


def _betting_seconds(handler: CommandHandler, table: str, span: RoundSpan) -> float:
    """Return the time for betting that was in force at the start of a round."""
    stream, version = table_stream(table), span.established
    established = decode(handler.store.read(stream, version - 1, 1)[0]) if version else None
    timing = established.dealt_by_house if isinstance(established, TableEstablished) else None
    return (timing or Timing()).betting_seconds


def _explain_bets(context: Context, table: str, number: int, player: str) -> Answer:
    """Explain a player's bets; the answer is cached until an event can have changed it."""
    handler, span = context.house.command_handler, _find_round(context, table, number)

    def build() -> list[BetExplanation]:
        load_game, formatter = handler.streams.games.load_pinned, _amount_formatter(handler, table)
        explained = explain_player_bets(handler.store, load_game, table, number, player)
        if explained is None:
            return []
        game, bets = explained
        return [
            BetExplanation(
                spot=spot,
                stake=bet.stake,
                odds=bet.odds,
                net=bet.net,
                lines=[format_line(game, line, formatter) for line in bet.lines],
                steps=list(bet.lines),
            )
            for spot, bet in bets.items()
        ]

    key = ("explanation", table, number, player, span.changed)
    return context.answers.get_or_build(key, build)


def _amount_formatter(handler: CommandHandler, table: str) -> AmountFormatter:
    """Return a formatter of minor units in the currency of a table.

    The currency is read from the log, because the state of a damaged table cannot be loaded.
    """
    events = map(decode, handler.store.scan(table_stream(table)))
    currencies = (event.currency for event in events if isinstance(event, TableOpened))
    return partial(format_currency, currency=next(currencies, ""))
