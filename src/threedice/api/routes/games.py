"""Rulebooks, games, odds sheets, readings and mixes of stakes."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from litestar import Response, get, post
from litestar.params import JSONBody

from threedice.api.context import Context, CurrentCaller
from threedice.api.http.answer_cache import REVALIDATED, Answer, revalidated_response
from threedice.api.http.requests import HouseRequest, RulebookName, TableId
from threedice.api.routes.commands import json_response
from threedice.api.routes.tables import load_table
from threedice.api.views import build_view
from threedice.dice import ROLLS
from threedice.errors import RulebookError, ThreediceError, UnknownName
from threedice.money import MAX_AMOUNT
from threedice.odds import Mix, odds_sheet
from threedice.odds.comparison import readings_in_force
from threedice.rulebook import load, load_rulebook
from threedice.rulebook.conduct import Conduct
from threedice.rulebook.felt import Felt
from threedice.rulebook.schema import ClauseStatus
from threedice.rulebook.source import shipped_ids
from threedice.rulebook.traceability import facts_of_clause

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from threedice.odds import Figures
    from threedice.odds.comparison import AlternativeReading
    from threedice.rulebook import Box, Game
    from threedice.rulebook.source import RulebookSource


class RulebookLine(msgspec.Struct, frozen=True):
    """A rulebook: its source and its games."""

    id: str
    title: str
    version: str
    effective: str
    consolidated: str
    jurisdiction: str
    authority: str
    operator: str
    source: str
    games: list[str]


class ClauseView(msgspec.Struct, frozen=True):
    """A clause of a rulebook: a summary, how the system treats it, and why.

    `facts` has the keys of the rulebook that state a declared clause, each as 'key: value'.
    """

    status: ClauseStatus
    summary: str
    reason: str
    facts: list[str]


class LineView(msgspec.Struct, frozen=True):
    """One payout of a box: odds "a to b", and the number of the 216 rolls that win it.

    `rolls` has a digit for each of 1-1-1, 1-1-2 up to 6-6-6, `1` if that roll wins.
    """

    odds: str
    ways: int
    rolls: str


class BoxView(msgspec.Struct, frozen=True):
    """A box; its stakes are multiples of `unit` smallest chips."""

    id: str
    family: str
    name: str
    meaning: str
    selection: tuple[str, ...]
    unit: int
    throws: int
    lines: list[LineView]
    rule: tuple[str, ...]
    pays: tuple[str, ...]
    ends: tuple[str, ...]


class GameView(msgspec.Struct, frozen=True):
    """A game: boxes, felt, conduct, and the clauses that they rest on.

    `calls` has the dealer's call for each roll, in the order of `LineView.rolls`; `working_order`
    has the boxes in the order in which the dealer works the layout.
    """

    id: str
    hash: str
    title: str
    unit: int
    faces: list[str]
    readings: dict[str, str]
    conduct: Conduct
    boxes: list[BoxView]
    working_order: tuple[str, ...]
    calls: list[str]
    felt: Felt | None
    clauses: dict[str, ClauseView]


class FiguresView(msgspec.Struct, frozen=True):
    """The figures of a bet: exact ones as fractions in strings, the others as display values."""

    ways: int
    of: int
    hit: str
    edge: str
    edge_percent: float
    returned: str
    variance: str
    sd: float
    volatility: float
    stakes_to_lead: int | None


class BoxFigures(msgspec.Struct, frozen=True):
    """A box with its figures."""

    box: str
    figures: FiguresView


class SheetView(msgspec.Struct, frozen=True):
    """The odds sheet of a game, and the edge of a bet of one unit on every box."""

    game: str
    layout_edge: str
    boxes: list[BoxFigures]


class AlternativeView(msgspec.Struct, frozen=True):
    """An alternative reading, and the boxes whose edge it changes: current edge, changed edge."""

    name: str
    says: str
    edges: dict[str, tuple[str | None, str | None]]


class ReadingView(msgspec.Struct, frozen=True):
    """A question that a rule document leaves open, the reading in force, and its alternatives."""

    name: str
    clause: tuple[str, ...]
    question: str
    choice: str
    says: str
    alternatives: list[AlternativeView]


class Stakes(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Stakes by box."""

    stakes: Annotated[
        dict[
            Annotated[str, msgspec.Meta(max_length=100)],
            Annotated[int, msgspec.Meta(ge=1, le=MAX_AMOUNT)],
        ],
        msgspec.Meta(min_length=1, max_length=500),
    ]


class MixView(msgspec.Struct, frozen=True):
    """A mix of stakes: its figures, and the players' net in 1/`unit` on each of the 216 rolls."""

    total: int
    unit: int
    figures: FiguresView
    nets: list[int]


@get("/api/rulebooks", name="list-rulebooks")
async def list_rulebooks(context: Context, caller: CurrentCaller) -> Response[list[RulebookLine]]:
    """List the shipped rulebooks and their games."""
    return json_response((await _answer(context, caller, (), _rulebook_lines)).body)


@get("/api/rulebooks/{book:str}/{layout:str}", name="show-rulebook")
async def show_rulebook(
    context: Context, caller: CurrentCaller, book: RulebookName, layout: RulebookName
) -> Response[GameView]:
    """Show a game of a rulebook with its default readings."""

    def build() -> GameView:
        return game_view(_load_shipped_game(book, layout), book)

    return json_response((await _answer(context, caller, (book, layout), build)).body)


@get("/api/rulebooks/{book:str}/{layout:str}/odds", name="show-odds", opt=REVALIDATED)
async def show_odds(
    request: HouseRequest,
    context: Context,
    caller: CurrentCaller,
    book: RulebookName,
    layout: RulebookName,
) -> Response[SheetView]:
    """Show the odds sheet of a game."""

    def build() -> SheetView:
        sheet = odds_sheet(_load_shipped_game(book, layout))
        boxes = [BoxFigures(each.box.id, _figures_view(each.figures)) for each in sheet.boxes]
        return SheetView(sheet.game.id, str(sheet.layout_edge), boxes)

    answer = await _answer(context, caller, (book, layout, "odds"), build)
    return revalidated_response(request, answer)


@get("/api/rulebooks/{book:str}/{layout:str}/readings", name="show-readings")
async def show_readings(
    context: Context, caller: CurrentCaller, book: RulebookName, layout: RulebookName
) -> Response[list[ReadingView]]:
    """Show the readings in force for a game, and the effect of each alternative."""

    def build() -> list[ReadingView]:
        game = _load_shipped_game(book, layout)
        return [
            build_view(
                ReadingView,
                each,
                clause=each.clauses,
                says=each.text,
                alternatives=[_alternative_view(alternative) for alternative in each.alternatives],
            )
            for each in readings_in_force(load_rulebook(book), game)
        ]

    return json_response((await _answer(context, caller, (book, layout, "readings"), build)).body)


@post("/api/rulebooks/{book:str}/{layout:str}/mix", name="judge-mix", status_code=200)
async def evaluate_mix(
    context: Context,
    caller: CurrentCaller,
    book: RulebookName,
    layout: RulebookName,
    data: JSONBody[Stakes],
) -> Response[MixView]:
    """Calculate the figures of stakes on several boxes together."""

    def build() -> MixView:
        mix = Mix(_load_shipped_game(book, layout), data.stakes)
        return MixView(mix.total, mix.game.unit, _figures_view(mix.figures), list(mix.nets))

    stakes = sha256(msgspec.json.encode(data.stakes, order="deterministic")).digest()
    return json_response((await _answer(context, caller, (book, layout, stakes), build)).body)


@get("/api/tables/{table:str}/game", name="show-game")
async def show_game(context: Context, caller: CurrentCaller, table: TableId) -> Response[GameView]:
    """Show the game of a table with the table's readings."""
    house_table, pinned, _ = await load_table(context, table)

    def build() -> GameView:
        return _installed_game_view(context, table, house_table.game, pinned)

    key = ("table", table, house_table.game, pinned.hash)
    return json_response((await _answer(context, caller, key, build)).body)


async def _answer(
    context: Context, caller: CurrentCaller, key: tuple[Hashable, ...], build: Callable[[], Any]
) -> Answer:
    """Return a cached or a new answer about a game.

    Its name stands for a shipped game, which does not change while the program runs.
    """
    key, answers = ("game", *key), context.answers
    if answer := answers.get(key):
        return answer
    return await context.queries.run(caller.account.id, answers.get_or_build, key, build)


def _rulebook_lines() -> list[RulebookLine]:
    books = [load_rulebook(book_id).book for book_id in shipped_ids()]
    return [
        build_view(RulebookLine, book, games=[f"{book.id}/{layout}" for layout in book.layouts])
        for book in books
    ]


def _load_shipped_game(book: str, layout: str) -> Game:
    """Load the game named in the path; only shipped ones, so that clients cannot open files."""
    if book not in shipped_ids():
        raise UnknownName("rulebook", book, shipped_ids())
    return load(f"{book}/{layout}")


def _installed_game_view(context: Context, table: str, name: str, pinned: Game) -> GameView:
    """Return the view of a table's game, with felt and labels if the same game is installed."""
    table_config = context.config.tables.get(table)
    try:
        game = load(name, table_config.readings if table_config else None)
    except (ThreediceError, RulebookError):
        game = pinned
    book = name.rpartition("/")[0]
    return game_view(game if game.hash == pinned.hash else pinned, book)


def game_view(game: Game, book: str) -> GameView:
    """Return the view of a game; clauses are included if its rulebook is shipped."""
    return build_view(
        GameView,
        game,
        faces=list(game.facts.faces),
        conduct=build_view(Conduct, game.facts),
        boxes=[_box_view(game, each) for each in game.boxes.values()],
        calls=[game.call(roll) for roll in ROLLS],
        clauses=_clause_views(load_rulebook(book)) if book in shipped_ids() else {},
    )


def _clause_views(source: RulebookSource) -> dict[str, ClauseView]:
    return {
        number: build_view(
            ClauseView,
            each,
            facts=facts_of_clause(source, number) if each.status == "declared" else [],
        )
        for number, each in source.book.clauses.items()
    }


def _box_view(game: Game, box: Box) -> BoxView:
    lines = [
        LineView(str(line.odds), line.rolls.bit_count(), f"{line.rolls:0216b}"[::-1])
        for line in box.lines
    ]
    return build_view(BoxView, box, lines=lines, ends=game.ends[box.id])


def _alternative_view(alternative: AlternativeReading) -> AlternativeView:
    edges = {
        box: (None if old is None else str(old), None if new is None else str(new))
        for box, (old, new) in alternative.edge_changes.items()
    }
    return AlternativeView(alternative.name, alternative.text, edges)


def _figures_view(figures: Figures) -> FiguresView:
    return build_view(
        FiguresView,
        figures,
        of=figures.total_ways,
        hit=str(figures.hit),
        edge=str(figures.edge),
        edge_percent=float(figures.edge * 100),
        returned=str(figures.return_to_player),
        variance=str(figures.variance),
    )
