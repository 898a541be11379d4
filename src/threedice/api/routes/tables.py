"""Tables: the lobby, one table, its last results and its exposure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec

from threedice.api.auth.authorisation import audience_of
from threedice.api.context import list_table_ids, require_table, require_table_and_game
from threedice.api.http.limits import run_in_thread
from threedice.api.http.operations import Operation, RequestContext, operation
from threedice.api.http.problems import HttpProblem
from threedice.api.views import TableView, load_table_view
from threedice.dice import ROLLS
from threedice.errors import ThreediceError
from threedice.house.dealer.sealed_dice import closing_time
from threedice.house.reports.figures import exposure
from threedice.house.stream_state import table_stream

if TYPE_CHECKING:
    from threedice.api.context import ServerContext
    from threedice.house.reports.statements import DatedStatementRow, StatementReader
    from threedice.house.stream_state import HouseTable
    from threedice.rulebook import Game

ResultKind = Literal["result", "void", "reversed", "seed lost"]

RESULT_KINDS: Final[tuple[ResultKind, ...]] = ("result", "void", "reversed", "seed lost")

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
    """A table in the lobby; a damaged table has stopped, and has only its id."""

    table: str
    game: str = ""
    title: str = ""
    phase: Phase = "closed"
    currency: str = ""
    minimum: int = 0
    maximum: int = 0
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


class ResultsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The last `most` results."""

    most: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 200


@operation("list-tables", "GET", "/api/tables", response=list[TableLine], problems=(503,))
async def list_tables(request: RequestContext) -> list[TableLine]:
    """List the tables with their phase and last results."""
    context = request.context
    tables = await list_table_ids(context)
    statements = await context.house.command_handler.streams.statements()
    results = await run_in_thread(
        lambda: {table: last_results(statements, table, LOBBY_RESULTS) for table in tables}
    )
    lines = [await _describe_table(context, table, results[table]) for table in tables]
    return [line for line in lines if line is not None]


@operation("show-table", "GET", "/api/tables/{table}", response=TableView, problems=(404, 503))
async def show_table(request: RequestContext) -> TableView:
    """Show a table as the caller may see it."""
    table = request.path_params["table"]
    audience = audience_of(request.caller, table)
    if audience is None:
        raise HttpProblem(403, "door/role")
    await require_table(request.context, table)
    return await load_table_view(request.context.house.command_handler, table, *audience)


@operation(
    "list-results",
    "GET",
    "/api/tables/{table}/results",
    query=ResultsQuery,
    response=list[ResultLine],
    problems=(404, 503),
)
async def list_results(request: RequestContext) -> list[ResultLine]:
    """List the last results of a table, including void rounds, the oldest first."""
    table = request.path_params["table"]
    await require_table(request.context, table)
    statements = await request.context.house.command_handler.streams.statements()
    return await run_in_thread(last_results, statements, table, request.query.most)


@operation(
    "show-exposure", "GET", "/api/tables/{table}/exposure", response=Exposure, problems=(404, 503)
)
async def show_exposure(request: RequestContext) -> Exposure:
    """Show the house's win or loss on each of the 216 rolls with the current bets."""
    require_table_staff(request, request.path_params["table"])
    house_table, game = await require_table_and_game(request.context, request.path_params["table"])
    by_roll = exposure(game, house_table.table)
    nets = [by_roll[roll] for roll in ROLLS]
    return Exposure(nets, min(nets), max(nets))


def require_table_staff(request: RequestContext, table: str) -> None:
    """Reject callers who are not staff of a table."""
    audience = audience_of(request.caller, table)
    if audience is None or audience[0] != "staff":
        raise HttpProblem(403, "door/role")


async def _describe_table(
    context: ServerContext, table: str, results: list[ResultLine]
) -> TableLine | None:
    try:
        house_table = await context.house.command_handler.table(table)
        game = context.house.command_handler.game(house_table)
    except ThreediceError:
        return TableLine(table, damaged=True)
    if game is None:
        return None
    return _table_line(house_table, game, results)


def _table_line(house_table: HouseTable, game: Game, results: list[ResultLine]) -> TableLine:
    state, phase = house_table.table, table_phase(house_table)
    ranges = [*state.limits.families.values(), *state.limits.boxes.values()] if state.limits else []
    is_timed = phase == "betting" and house_table.dealt_by_house is not None
    return TableLine(
        table=house_table.id,
        game=house_table.game,
        title=game.title,
        phase=phase,
        currency=state.currency,
        minimum=min((each.minimum for each in ranges), default=0),
        maximum=max((each.maximum for each in ranges), default=0),
        round=state.round.number if state.round else state.rounds,
        dealt_by_house=house_table.dealt_by_house is not None,
        betting_closes=closing_time(house_table) if is_timed else 0,
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
        results = [result for dated in rows if (result := _parse_result(dated))]
        if len(results) >= count or len(rows) < limit:
            return results[-count:]
        limit *= 4


def _parse_result(dated: DatedStatementRow) -> ResultLine | None:
    row = dated.row
    if row.what not in RESULT_KINDS:
        return None
    return ResultLine(row.round, row.what, dated.at, row.dice, row.note)


TABLE_OPERATIONS: Final[tuple[Operation, ...]] = (
    list_tables,
    show_table,
    list_results,
    show_exposure,
)
