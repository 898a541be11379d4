"""Tables as they are: the lobby, one table, what it stands to lose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec

from threedice.dice import ROLLS
from threedice.errors import ThreediceError
from threedice.floor.dealing import closing_time
from threedice.floor.reports import exposure
from threedice.web.answering import Operation, Visit, in_thread, operation
from threedice.web.authorisation import audience_of
from threedice.web.knowing import known_tables, need_table, table_and_game
from threedice.web.problems import Turned
from threedice.web.results import ResultLine, last_results
from threedice.web.views import TableView, view_of

if TYPE_CHECKING:
    from threedice.floor.folds import Tended
    from threedice.rulebook import Game
    from threedice.web.context import Context

Phase = Literal["closed", "interrupted", "locked", "waiting", "betting", "closing", "settling"]
"""Closed; waiting for people; locked; between rounds; bets; no more bets; being paid."""

IN_THE_LOBBY: Final = 20
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


class Most(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How many of the last are asked for."""

    most: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 200


@operation("list-tables", "GET", "/api/tables", answer=list[TableLine], problems=(503,))
async def list_tables(visit: Visit) -> list[TableLine]:
    """List the tables with what is going on at each."""
    context = visit.context
    tables = await known_tables(context)
    store = context.house.floor.store
    last = await in_thread(
        lambda: {each: last_results(store, each, IN_THE_LOBBY) for each in tables}
    )
    lines = [await _line(context, each, last[each]) for each in tables]
    return [line for line in lines if line is not None]


@operation("show-table", "GET", "/api/tables/{table}", answer=TableView, problems=(404, 503))
async def show_table(visit: Visit) -> TableView:
    """Show a table as whoever asks sees it."""
    table = visit.path["table"]
    audience = audience_of(visit.who, table)
    if audience is None:
        raise Turned(403, "door/role")
    await need_table(visit.context, table)
    return await view_of(visit.context.house.floor, table, *audience)


@operation(
    "list-results",
    "GET",
    "/api/tables/{table}/results",
    query=Most,
    answer=list[ResultLine],
    problems=(404, 503),
)
async def list_results(visit: Visit) -> list[ResultLine]:
    """List the last results of a table, void rounds among them, the oldest first."""
    table, store = visit.path["table"], visit.context.house.floor.store
    await need_table(visit.context, table)
    return await in_thread(last_results, store, table, visit.query.most)


@operation(
    "show-exposure", "GET", "/api/tables/{table}/exposure", answer=Exposure, problems=(404, 503)
)
async def show_exposure(visit: Visit) -> Exposure:
    """Show what the house would win or lose on each of the 216 rolls."""
    need_staff_at(visit, visit.path["table"])
    tended, game = await table_and_game(visit.context, visit.path["table"])
    by_roll = exposure(game, tended.table)
    nets = [by_roll[roll] for roll in ROLLS]
    return Exposure(nets, min(nets), max(nets))


def need_staff_at(visit: Visit, table: str) -> None:
    """Turn away whoever does not see all of a table."""
    audience = audience_of(visit.who, table)
    if audience is None or audience[0] != "staff":
        raise Turned(403, "door/role")


async def _line(context: Context, table: str, last: list[ResultLine]) -> TableLine | None:
    try:
        tended = await context.house.floor.tended(table)
        game = context.house.floor.game(tended)
    except ThreediceError:
        return TableLine(table, damaged=True)
    if game is None:
        return None
    return _described(tended, game, last)


def _described(tended: Tended, game: Game, last: list[ResultLine]) -> TableLine:
    state, phase = tended.table, phase_of(tended)
    ranges = [*state.limits.families.values(), *state.limits.boxes.values()] if state.limits else []
    timed = phase == "betting" and tended.dealt_by_house is not None
    return TableLine(
        table=tended.id,
        game=tended.game,
        title=game.title,
        phase=phase,
        currency=state.currency,
        minimum=min((each.minimum for each in ranges), default=0),
        maximum=max((each.maximum for each in ranges), default=0),
        round=state.round.number if state.round else state.rounds,
        dealt_by_house=tended.dealt_by_house is not None,
        betting_closes=closing_time(tended) if timed else 0,
        last=last,
    )


def phase_of(tended: Tended) -> Phase:
    """Return what is going on at a table, in a word."""
    state, current = tended.table, tended.table.round
    if not state.open:
        return "closed"
    if tended.interrupted:
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
