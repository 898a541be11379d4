"""The equipment of a table: its register, the life of a piece, and what served a round.

The register is part of the table's state; the histories read the log, in the queue for history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from litestar import get
from litestar.params import QueryParameter

from threedice.api.context import Context, CurrentCaller
from threedice.api.http.requests import PieceName, RoundNumber, TableId
from threedice.api.routes.history import EntryView
from threedice.api.routes.tables import require_table, require_table_staff
from threedice.api.views import build_view, load_durable_table
from threedice.errors import UnknownName
from threedice.house.reports.equipment import read_equipment_history, read_piece_history
from threedice.rulebook import Game
from threedice.rulebook.conduct import IrregularityName
from threedice.table.commands import Actor, Die
from threedice.table.equipment.history import RoundEquipment, affected_rounds, equipment_of_round
from threedice.table.equipment.prose import describe_equipment_event
from threedice.table.events import TestedDisplay
from threedice.table.state import EquipmentState, PieceCondition, TableState

if TYPE_CHECKING:
    from collections.abc import Iterator

DieNumber = Annotated[int | None, QueryParameter(ge=1, le=20)]


class PieceView(msgspec.Struct, frozen=True):
    """A piece of equipment, or a set of dice; `fault` is the malfunction that was reported."""

    piece: str
    kind: str
    serial: str
    seal: str
    condition: PieceCondition
    fault: IrregularityName | None
    dice: list[Die]
    in_use: bool


class CheckView(msgspec.Struct, frozen=True):
    """An opening check; `piece` is the one by which it failed, `test` whether a test belongs to it.

    A check that was released under a substitute procedure counts as passed.
    """

    check: str
    status: Literal["missing", "passed", "failed"]
    piece: str
    test: bool
    seal: bool


class EquipmentView(msgspec.Struct, frozen=True):
    """The register of a table, its checks, and the findings of tests.

    `omitted` are the kinds that the table is set up without. `test` is the number of the test being
    run, or 0, and `tried` are its results. `dark` and `stray` are lamps that did not show what they
    had to, `wrong` displays, and `untested` the lamps not seen lit since the check that needs it
    was last passed.
    """

    pieces: list[PieceView]
    omitted: list[str]
    checks: list[CheckView]
    test: int
    tried: list[tuple[int, ...]]
    lamps: int
    untested: list[str]
    dark: list[str]
    stray: list[str]
    wrong: list[TestedDisplay]


class PieceHistory(msgspec.Struct, frozen=True):
    """The life of a piece of equipment: who did what with it, and when.

    `names` are the sign-in names of those people, by id.
    """

    piece: str
    events: list[EntryView]
    prose: list[str]
    names: dict[str, str]


class AffectedRounds(msgspec.Struct, frozen=True):
    """The rounds that damage to a set of dice affects; a person confirms them by a report."""

    piece: str
    damaged: int | None
    rounds: list[int]


@get("/api/tables/{table:str}/equipment", name="show-equipment")
async def show_equipment(context: Context, caller: CurrentCaller, table: TableId) -> EquipmentView:
    """Show the register of a table's equipment, its opening checks and the findings of tests."""
    require_table_staff(caller, table)
    await require_table(context, table)
    durable = await load_durable_table(context.house.command_handler, table)
    return equipment_view(durable.game, durable.house_table.table)


@get("/api/tables/{table:str}/equipment/{piece:str}", name="tell-piece")
async def show_piece(
    context: Context, caller: CurrentCaller, table: TableId, piece: PieceName
) -> PieceHistory:
    """Show the life of a piece of equipment or a set of dice, event by event."""
    require_table_staff(caller, table)
    await require_table(context, table)
    game = (await load_durable_table(context.house.command_handler, table)).game
    return await context.history.run(caller.account.id, _load_piece, context, game, table, piece)


@get("/api/tables/{table:str}/equipment/{piece:str}/affected-rounds", name="propose-rounds")
async def propose_affected_rounds(
    context: Context,
    caller: CurrentCaller,
    table: TableId,
    piece: PieceName,
    damaged: DieNumber = None,
) -> AffectedRounds:
    """Propose the rounds that damaged dice affect: since the set's last good inspection.

    `damaged` is the number of the damaged die, where a shooter chooses among the dice of the set.
    """
    require_table_staff(caller, table)
    await require_table(context, table)
    return await context.history.run(
        caller.account.id, _propose_rounds, context, table, piece, damaged
    )


@get("/api/tables/{table:str}/rounds/{round:str}/equipment", name="show-round-equipment")
async def show_round_equipment(
    context: Context,
    caller: CurrentCaller,
    table: TableId,
    round: RoundNumber,  # noqa: A002 -- the name in the path
) -> RoundEquipment:
    """Show the equipment that served a round."""
    require_table_staff(caller, table)
    await require_table(context, table)
    return await context.history.run(
        caller.account.id, _load_round_equipment, context, table, round
    )


def equipment_view(game: Game, state: TableState) -> EquipmentView:
    """Return the register of a table as its staff see it."""
    equipment = state.equipment
    has_lights = bool(equipment.in_use("lights"))
    return EquipmentView(
        pieces=[
            build_view(
                PieceView,
                piece,
                piece=name,
                condition="faulty" if equipment.is_faulty(piece) else piece.condition,
            )
            for name, piece in equipment.pieces.items()
        ],
        omitted=sorted(equipment.omitted),
        checks=[_check_view(game, state, name) for name in game.facts.opening],
        test=equipment.test,
        tried=sorted(equipment.tried),
        lamps=len(game.lamps),
        untested=[lamp for lamp in game.lamps if has_lights and lamp not in equipment.proved],
        dark=_in_order(game, equipment.dark),
        stray=_in_order(game, equipment.stray),
        wrong=sorted(equipment.wrong),
    )


def _in_order(game: Game, lamps: set[str]) -> list[str]:
    return [lamp for lamp in game.lamps if lamp in lamps]


def _check_view(game: Game, state: TableState, name: str) -> CheckView:
    equipment: EquipmentState = state.equipment
    status: Literal["missing", "passed", "failed"] = "missing"
    if name in equipment.failed:
        status = "failed"
    elif name in state.checks:
        status = "passed"
    rule = game.facts.opening[name]
    return CheckView(name, status, equipment.failed.get(name, ""), rule.test, rule.seal)


def _load_piece(context: Context, game: Game, table: str, piece: str) -> PieceHistory:
    found = list(read_piece_history(context.house.command_handler.store, table, piece))
    if not found:
        raise UnknownName(f"piece of table {table}", piece, [])
    names = {each.id: each.name for each in context.identity.accounts.all()}
    acted = {person.id for _, event in found for person in _people_of(event)}
    return PieceHistory(
        piece,
        [EntryView(entry.version, entry.at, event) for entry, event in found],
        [describe_equipment_event(game, event).strip() for _, event in found],
        {person: names[person] for person in sorted(acted) if names.get(person)},
    )


def _people_of(event: msgspec.Struct) -> Iterator[Actor]:
    """Return the people who acted, or agreed, in an event."""
    for field in ("by", "approved_by"):
        person = getattr(event, field, None)
        if isinstance(person, Actor):
            yield person


def _propose_rounds(
    context: Context, table: str, piece: str, damaged: int | None
) -> AffectedRounds:
    history = read_equipment_history(context.house.command_handler.store, table)
    numbers = () if damaged is None else (damaged,)
    return AffectedRounds(piece, damaged, affected_rounds(history, piece, numbers))


def _load_round_equipment(context: Context, table: str, number: int) -> RoundEquipment:
    history = read_equipment_history(context.house.command_handler.store, table)
    served = equipment_of_round(history, number)
    if served is None:
        raise UnknownName(f"round of table {table}", str(number), [])
    return served
