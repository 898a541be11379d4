"""Rulebooks, games, odds and mixes: what a screen draws the felt and the odds sheet from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from threedice.dice import ROLLS
from threedice.errors import RulebookError, ThreediceError, UnknownName
from threedice.maths import Mix, odds_sheet
from threedice.maths.readings import readings_in_force
from threedice.money import MOST
from threedice.rulebook import load, open_book
from threedice.rulebook.conduct import Conduct
from threedice.rulebook.felt import Felt
from threedice.rulebook.schema import Status
from threedice.rulebook.source import shipped_ids
from threedice.web.answering import Operation, Visit, in_thread, operation
from threedice.web.knowing import table_and_game

if TYPE_CHECKING:
    from threedice.maths import Figures
    from threedice.maths.readings import Alternative
    from threedice.rulebook import Box, Game
    from threedice.web.context import Context


class BookLine(msgspec.Struct, frozen=True):
    """A rulebook: where it comes from, and the games in it."""

    id: str
    title: str
    version: str
    effective: str
    jurisdiction: str
    authority: str
    operator: str
    source: str
    games: list[str]


class ClauseView(msgspec.Struct, frozen=True):
    """A clause in our own words, and what the system makes of it."""

    status: Status
    summary: str
    reason: str


class LineView(msgspec.Struct, frozen=True):
    """One way for a box to win: "a to b", on so many of the 216 rolls.

    `rolls` says on which: a digit for each of 1-1-1, 1-1-2 up to 6-6-6, `1` where it wins.
    """

    odds: str
    ways: int
    rolls: str


class BoxView(msgspec.Struct, frozen=True):
    """A box; `unit` is what a stake must be a multiple of, in the smallest chip."""

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
    """A game: its boxes, its felt, how it is run, and the clauses all of it rests on.

    `calls` is what a dealer says of each roll, in the order of `LineView.rolls`; `working_order`
    the boxes as he works the layout.
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
    """The figures of a bet: exact ones as fractions in words, the others for display."""

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
    """The odds sheet of a game, and the edge on a unit on every box."""

    game: str
    layout_edge: str
    boxes: list[BoxFigures]


class AlternativeView(msgspec.Struct, frozen=True):
    """Another way to read a clause, and the boxes whose edge it would change: now, then."""

    name: str
    says: str
    edges: dict[str, tuple[str | None, str | None]]


class ReadingView(msgspec.Struct, frozen=True):
    """A question a document leaves open, the answer in force, and the other answers."""

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
            Annotated[int, msgspec.Meta(ge=1, le=MOST)],
        ],
        msgspec.Meta(min_length=1, max_length=500),
    ]


class MixView(msgspec.Struct, frozen=True):
    """A mix of stakes: its figures, and the players' net on each of the 216 rolls in 1/`unit`."""

    total: int
    unit: int
    figures: FiguresView
    nets: list[int]


@operation("list-rulebooks", "GET", "/api/rulebooks", answer=list[BookLine])
async def list_rulebooks(_visit: Visit) -> list[BookLine]:
    """List the rulebooks and their games."""
    return await in_thread(lambda: [_book(each) for each in shipped_ids()])


@operation(
    "show-rulebook", "GET", "/api/rulebooks/{book}/{layout}", answer=GameView, problems=(404,)
)
async def show_rulebook(visit: Visit) -> GameView:
    """Show a game of a rulebook as it is read by default."""
    return await in_thread(lambda: game_view(_shipped(visit), visit.path["book"]))


@operation("show-game", "GET", "/api/tables/{table}/game", answer=GameView, problems=(404, 503))
async def show_game(visit: Visit) -> GameView:
    """Show the game that a table is set up for, as its rules are read there."""
    context, table = visit.context, visit.path["table"]
    tended, pinned = await table_and_game(context, table)
    return await in_thread(lambda: _as_installed(context, table, tended.game, pinned))


@operation(
    "show-odds", "GET", "/api/rulebooks/{book}/{layout}/odds", answer=SheetView, problems=(404,)
)
async def show_odds(visit: Visit) -> SheetView:
    """Show the odds sheet of a game."""
    return await in_thread(lambda: _sheet(_shipped(visit)))


@operation(
    "show-readings",
    "GET",
    "/api/rulebooks/{book}/{layout}/readings",
    answer=list[ReadingView],
    problems=(404,),
)
async def show_readings(visit: Visit) -> list[ReadingView]:
    """Show the readings of a game in force, and what every other would change."""
    return await in_thread(lambda: _readings(visit.path["book"], _shipped(visit)))


@operation(
    "judge-mix",
    "POST",
    "/api/rulebooks/{book}/{layout}/mix",
    body=Stakes,
    answer=MixView,
    problems=(404,),
)
async def judge_mix(visit: Visit) -> MixView:
    """Judge stakes on several boxes together."""
    return await in_thread(lambda: _mix(_shipped(visit), visit.body.stakes))


def _book(book_id: str) -> BookLine:
    book = open_book(book_id).book
    return BookLine(
        book.id,
        book.title,
        book.version,
        book.effective,
        book.jurisdiction,
        book.authority,
        book.operator,
        book.source,
        [f"{book.id}/{layout}" for layout in book.layouts],
    )


def _shipped(visit: Visit) -> Game:
    """Return a game that comes with the package; no file is opened by a name from outside."""
    book, layout = visit.path["book"], visit.path["layout"]
    if book not in shipped_ids():
        raise UnknownName("rulebook", book, shipped_ids())
    return load(f"{book}/{layout}")


def _as_installed(context: Context, table: str, name: str, pinned: Game) -> GameView:
    """Return a table's game with its felt and labels, where the very same is installed."""
    described = context.house_file.tables.get(table)
    try:
        game = load(name, described.readings if described else None)
    except (ThreediceError, RulebookError):
        game = pinned
    book = name.rpartition("/")[0]
    return game_view(game if game.hash == pinned.hash else pinned, book)


def game_view(game: Game, book: str) -> GameView:
    """Return a game as screens see it."""
    clauses = open_book(book).book.clauses if book in shipped_ids() else {}
    return GameView(
        id=game.id,
        hash=game.hash,
        title=game.title,
        unit=game.unit,
        faces=list(game.facts.faces),
        readings=game.readings,
        conduct=Conduct(**{name: getattr(game.facts, name) for name in Conduct.__struct_fields__}),
        boxes=[_box(game, each) for each in game.boxes.values()],
        working_order=game.working_order,
        calls=[game.call(roll) for roll in ROLLS],
        felt=game.felt,
        clauses={
            number: ClauseView(each.status, each.summary, each.reason)
            for number, each in clauses.items()
        },
    )


def _box(game: Game, box: Box) -> BoxView:
    return BoxView(
        box.id,
        box.family,
        box.name,
        box.meaning,
        box.selection,
        box.unit,
        box.throws,
        [
            LineView(str(line.odds), line.rolls.bit_count(), f"{line.rolls:0216b}"[::-1])
            for line in box.lines
        ],
        box.rule,
        box.pays,
        game.ends[box.id],
    )


def _sheet(game: Game) -> SheetView:
    sheet = odds_sheet(game)
    boxes = [BoxFigures(each.box.id, _figures(each.figures)) for each in sheet.boxes]
    return SheetView(game.id, str(sheet.layout_edge), boxes)


def _readings(book: str, game: Game) -> list[ReadingView]:
    return [
        ReadingView(
            each.name,
            each.clauses,
            each.question,
            each.choice,
            each.says,
            [_alternative(other) for other in each.alternatives],
        )
        for each in readings_in_force(open_book(book), game)
    ]


def _alternative(other: Alternative) -> AlternativeView:
    edges = {
        box: (None if now is None else str(now), None if then is None else str(then))
        for box, (now, then) in other.edges.items()
    }
    return AlternativeView(other.name, other.says, edges)


def _mix(game: Game, stakes: dict[str, int]) -> MixView:
    mix = Mix(game, stakes)
    return MixView(mix.total, game.unit, _figures(mix.figures), list(mix.nets))


def _figures(figures: Figures) -> FiguresView:
    return FiguresView(
        figures.ways,
        figures.of,
        str(figures.hit),
        str(figures.edge),
        float(figures.edge * 100),
        str(figures.returned),
        str(figures.variance),
        figures.sd,
        figures.volatility,
        figures.stakes_to_lead,
    )


GAME_OPERATIONS: Final[tuple[Operation, ...]] = (
    list_rulebooks,
    show_rulebook,
    show_odds,
    show_readings,
    judge_mix,
    show_game,
)
