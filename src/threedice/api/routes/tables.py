"""Tables: the lobby, one table, its last results and its exposure.

Lookups check the store before they load a stream, so that guessed ids do not fill the memory.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal, get_args

import msgspec
from litestar import get

from threedice.api.auth.authorisation import TableAudience, audience_of
from threedice.api.context import Context, CurrentCaller
from threedice.api.http.problems import HttpProblem
from threedice.api.http.requests import LineCount, TableId
from threedice.api.views import (
    DurableTable,
    TableView,
    betting_closes,
    build_view,
    load_durable_table,
    load_table_view,
)
from threedice.dice import ROLLS
from threedice.errors import ThreediceError, UnknownName
from threedice.house import recovery
from threedice.house.reports.figures import exposure
from threedice.house.stream_state import table_stream
from threedice.rulebook.effective import is_in_force
from threedice.table.limits import TableLimits

if TYPE_CHECKING:
    from threedice.house.reports.statements import StatementReader
    from threedice.house.stream_state import HouseTable
    from threedice.rulebook import Game

ResultKind = Literal["result", "void", "reversed", "seed lost"]
RESULT_KINDS: Final[tuple[ResultKind, ...]] = get_args(ResultKind)

Phase = Literal["closed", "interrupted", "locked", "waiting", "betting", "closing", "settling"]
"""The phase of a table in the lobby; see `table_phase`."""

LOBBY_RESULTS: Final = 20
"""Number of results per table in the lobby."""


class ResultLine(msgspec.Struct, frozen=True):
    """The result of a round: its dice, or that it is void; `note` has the cause."""

    round: int
    what: ResultKind
    at: int
    dice: tuple[int, int, int] | None = None
    note: str = ""


class TableLine(msgspec.Struct, frozen=True):
    """A table in the lobby; a damaged table has stopped, and has only its id.

    `in_force` says whether a table may open under its rulebook now: from `effective` on, or always
    if that is empty. `consolidated` is the date of a consolidated text.
    """

    table: str
    game: str = ""
    title: str = ""
    in_force: bool = True
    effective: str = ""
    consolidated: str = ""
    phase: Phase = "closed"
    currency: str = ""
    minimum: int = 0
    maximum: int = 0
    limits: TableLimits | None = None
    round: int = 0
    dealt_by_house: bool = False
    betting_closes: int = 0
    last: list[ResultLine] = []
    damaged: bool = False


class Exposure(msgspec.Struct, frozen=True):
    """The house's net win on each of the 216 rolls with the current bets.

    `nets` is in the order 1-1-1, 1-1-2, 1-1-3 up to 6-6-6; a loss is negative.
    """

    nets: list[int]
    worst: int
    best: int


@get("/api/tables", name="list-tables")
async def list_tables(context: Context, caller: CurrentCaller) -> list[TableLine]:
    """List the tables with their phase and last results."""
    tables = await recovery.list_tables(context.house.command_handler)
    context.table_ids.update(tables)
    statements = await context.house.command_handler.streams.statements()
    results = await context.queries.run(
        caller.account.id,
        lambda: {table: last_results(statements, table, LOBBY_RESULTS) for table in tables},
    )
    lines = [await _describe_table(context, table, results[table]) for table in tables]
    return [line for line in lines if line is not None]


@get("/api/tables/{table:str}", name="show-table")
async def show_table(context: Context, caller: CurrentCaller, table: TableId) -> TableView:
    """Show a table as the caller may see it."""
    audience = require_audience(caller, table)
    await require_table(context, table)
    return await load_table_view(context.house.command_handler, table, *audience)


@get("/api/tables/{table:str}/results", name="list-results")
async def list_results(
    context: Context, caller: CurrentCaller, table: TableId, most: LineCount = 200
) -> list[ResultLine]:
    """List the last results of a table, including void rounds, the oldest first."""
    await require_table(context, table)
    statements = await context.house.command_handler.streams.statements()
    return await context.queries.run(caller.account.id, last_results, statements, table, most)


@get("/api/tables/{table:str}/exposure", name="show-exposure")
async def show_exposure(context: Context, caller: CurrentCaller, table: TableId) -> Exposure:
    """Show the house's win or loss on each of the 216 rolls with the current bets."""
    require_table_staff(caller, table)
    house_table, game, _ = await load_table(context, table)
    by_roll = exposure(game, house_table.table)
    nets = [by_roll[roll] for roll in ROLLS]
    return Exposure(nets, min(nets), max(nets))


async def require_table(context: Context, table: str) -> None:
    """Raise `UnknownName` unless a table exists."""
    if table in context.table_ids:
        return
    head = await context.run_blocking(context.house.command_handler.store.head, table_stream(table))
    if not head.version:
        raise UnknownName("table", table, sorted(context.table_ids))
    context.table_ids.add(table)


async def load_table(context: Context, table: str) -> DurableTable:
    """Return the durable state of a table, its game and its version; raise if it is unknown."""
    await require_table(context, table)
    return await load_durable_table(context.house.command_handler, table)


def require_audience(caller: CurrentCaller, table: str) -> TableAudience:
    """Return the audience of a table that a caller belongs to; reject one who may not see it."""
    audience = audience_of(caller, table)
    if audience is None:
        raise HttpProblem(403, "door/role")
    return audience


def require_table_staff(caller: CurrentCaller, table: str) -> None:
    """Reject callers who are not staff of a table."""
    if require_audience(caller, table)[0] != "staff":
        raise HttpProblem(403, "door/role")


async def _describe_table(
    context: Context, table: str, results: list[ResultLine]
) -> TableLine | None:
    handler = context.house.command_handler
    try:
        house_table = await handler.table(table)
        game = handler.game(house_table)
    except ThreediceError:
        return TableLine(table, damaged=True)
    now = datetime.fromtimestamp(context.house.runtime.now() / 1_000_000, UTC)
    return _table_line(house_table, game, results, now) if game else None


def _table_line(
    house_table: HouseTable, game: Game, results: list[ResultLine], now: datetime
) -> TableLine:
    state, phase = house_table.table, table_phase(house_table)
    ranges = [*state.limits.families.values(), *state.limits.boxes.values()] if state.limits else []
    return TableLine(
        table=house_table.id,
        game=house_table.game,
        title=game.title,
        in_force=is_in_force(game.facts.effective, now),
        effective=game.facts.effective,
        consolidated=game.consolidated,
        phase=phase,
        currency=state.currency,
        minimum=min((each.minimum for each in ranges), default=0),
        maximum=max((each.maximum for each in ranges), default=0),
        limits=state.limits,
        round=state.round.number if state.round else state.rounds,
        dealt_by_house=house_table.dealt_by_house is not None,
        betting_closes=betting_closes(house_table) if phase == "betting" else 0,
        last=results,
    )


def table_phase(house_table: HouseTable) -> Phase:
    """Return the phase of a table.

    `waiting` is before and between rounds, `betting` while bets are accepted, `closing` from the
    end of betting until the result, `settling` afterwards. A table is `locked` between rounds only.
    """
    state, current = house_table.table, house_table.table.round
    if not state.open:
        return "closed"
    if house_table.interrupted:
        return "interrupted"
    if current is None:
        return "locked" if state.locked else "waiting"
    if "collect-losers" in current.done or current.result is not None:
        return "settling"
    if "close-betting" in current.done:
        return "closing"
    return "betting" if "open-betting" in current.done else "waiting"


def last_results(statements: StatementReader, table: str, count: int) -> list[ResultLine]:
    """Return the last results of a table, the oldest first."""
    limit = 2 * count + 10  # the view has lines of other kinds as well
    while True:
        rows = statements.rows(table_stream(table), limit=limit)
        results = [
            build_view(ResultLine, dated.row, at=dated.at)
            for dated in rows
            if dated.row.what in RESULT_KINDS
        ]
        if len(results) >= count or len(rows) < limit:
            return results[-count:]
        limit *= 4
