"""Tables: the lobby, one table, its last results and its exposure.

The last results of a table, out of the books.

Tables as they are: the lobby, one table, what it stands to lose.
"""

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
from threedice.house.reports.projection import VIEW, StatementRow
from threedice.house.reports.statements import exposure
from threedice.house.stream_state import table_stream

if TYPE_CHECKING:
    from threedice.api.context import ServerContext
    from threedice.house.stream_state import HouseTable
    from threedice.log.store import ProjectionLine, Store
    from threedice.rulebook import Game


ResultKind = Literal["result", "void", "reversed", "seed lost"]


RESULT_KINDS: Final[tuple[ResultKind, ...]] = ("result", "void", "reversed", "seed lost")


_ROW_DECODER: Final = msgspec.json.Decoder(StatementRow)


class ResultLine(msgspec.Struct, frozen=True):
    """What became of a round: its dice, or why it is void; `at` is when, `note` the cause."""

    round: int
    what: ResultKind
    at: int
    dice: tuple[int, int, int] | None = None
    note: str = ""


def last_results(store: Store, table: str, count: int) -> list[ResultLine]:
    """Return the last results of a table, the oldest first."""
    limit = 2 * count + 10  # other lines stand between them
    while True:
        lines = store.lines(VIEW, subject=table_stream(table), limit=limit)
        found = [result for line in lines if (result := _parse_result(line))]
        if len(found) >= count or len(lines) < limit:
            return found[-count:]
        limit *= 4


def _parse_result(line: ProjectionLine) -> ResultLine | None:
    said = _ROW_DECODER.decode(line.data)
    if said.what not in RESULT_KINDS:
        return None
    return ResultLine(said.round, said.what, line.at, said.dice, said.note)


Phase = Literal["closed", "interrupted", "locked", "waiting", "betting", "closing", "settling"]
"""Closed; waiting for people; locked; between rounds; bets; no more bets; being paid."""


LOBBY_RESULTS: Final = 20
"""How many results of each table the lobby shows."""


class TableLine(msgspec.Struct, frozen=True):
    """A table in the lobby; of a damaged one no more than that it stands still."""

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
    """What the house would win on each of the 216 rolls by the bets that are down now.

    `nets` is in the order 1-1-1, 1-1-2, 1-1-3 up to 6-6-6.
    """

    nets: list[int]
    worst: int
    best: int


class ResultsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How many of the last are asked for."""

    most: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 200


@operation("list-tables", "GET", "/api/tables", response=list[TableLine], problems=(503,))
async def list_tables(request: RequestContext) -> list[TableLine]:
    """List the tables with what is going on at each."""
    context = request.context
    tables = await list_table_ids(context)
    store = context.house.command_handler.store
    last = await run_in_thread(
        lambda: {each: last_results(store, each, LOBBY_RESULTS) for each in tables}
    )
    lines = [await _describe_table(context, each, last[each]) for each in tables]
    return [line for line in lines if line is not None]


@operation("show-table", "GET", "/api/tables/{table}", response=TableView, problems=(404, 503))
async def show_table(request: RequestContext) -> TableView:
    """Show a table as whoever asks sees it."""
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
    """List the last results of a table, void rounds among them, the oldest first."""
    table, store = request.path_params["table"], request.context.house.command_handler.store
    await require_table(request.context, table)
    return await run_in_thread(last_results, store, table, request.query.most)


@operation(
    "show-exposure", "GET", "/api/tables/{table}/exposure", response=Exposure, problems=(404, 503)
)
async def show_exposure(request: RequestContext) -> Exposure:
    """Show what the house would win or lose on each of the 216 rolls."""
    require_table_staff(request, request.path_params["table"])
    house_table, game = await require_table_and_game(request.context, request.path_params["table"])
    by_roll = exposure(game, house_table.table)
    nets = [by_roll[roll] for roll in ROLLS]
    return Exposure(nets, min(nets), max(nets))


def require_table_staff(request: RequestContext, table: str) -> None:
    """Turn away whoever does not see all of a table."""
    audience = audience_of(request.caller, table)
    if audience is None or audience[0] != "staff":
        raise HttpProblem(403, "door/role")


async def _describe_table(
    context: ServerContext, table: str, last: list[ResultLine]
) -> TableLine | None:
    try:
        house_table = await context.house.command_handler.table(table)
        game = context.house.command_handler.game(house_table)
    except ThreediceError:
        return TableLine(table, damaged=True)
    if game is None:
        return None
    return _table_line(house_table, game, last)


def _table_line(house_table: HouseTable, game: Game, last: list[ResultLine]) -> TableLine:
    state, phase = house_table.table, table_phase(house_table)
    ranges = [*state.limits.families.values(), *state.limits.boxes.values()] if state.limits else []
    timed = phase == "betting" and house_table.dealt_by_house is not None
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
        betting_closes=closing_time(house_table) if timed else 0,
        last=last,
    )


def table_phase(house_table: HouseTable) -> Phase:
    """Return what is going on at a table, in a word."""
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


TABLE_OPERATIONS: Final[tuple[Operation, ...]] = (
    list_tables,
    show_table,
    list_results,
    show_exposure,
)
