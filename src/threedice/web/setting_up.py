"""The tables of a house file on the floor: set up once, and kept as people have left them since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from threedice.errors import KeyReused, OperatingFailure
from threedice.floor.commands import EstablishTable
from threedice.people.names import CONSOLE
from threedice.table.commands import Actor, OpenTable
from threedice.web.house_file import check_table, limits_of

if TYPE_CHECKING:
    from threedice.floor.floor import Floor
    from threedice.floor.folds import Tended
    from threedice.rulebook import Game
    from threedice.web.house_file import HouseFile, Table

AT_THE_CONSOLE: Final = Actor(id=CONSOLE, role="supervisor")


async def set_up_tables(floor: Floor, house: HouseFile) -> list[str]:
    """Set up and open the tables that were never there; return what people should know of others.

    A table that exists keeps its state and its settings, also where the file says otherwise now:
    those are changed at the table, by people who may.
    """
    notices = []
    for name, table in house.tables.items():
        game = check_table(table)
        tended = await floor.tended(name)
        if not tended.id:
            await _establish(floor, name, table)
        if not tended.table.currency:
            await _open(floor, name, house.currency, table, game)
        tended = await floor.tended(name)
        notices += [f"table {name} {each}" for each in _differences(tended, house, table, game)]
    return notices


async def _establish(floor: Floor, name: str, table: Table) -> None:
    command = EstablishTable(
        by=AT_THE_CONSOLE,
        game=table.game,
        readings=table.readings,
        dealt_by_house=table.dealt_by_house,
    )
    key = f"house file: establish {name}"
    try:
        await floor.handle(command, table=name, account=CONSOLE, key=key)
    except KeyReused:
        raise OperatingFailure(
            f"table {name} was set up otherwise at the same time; start all servers of a house "
            "with the same house file"
        ) from None


async def _open(floor: Floor, name: str, currency: str, table: Table, game: Game) -> None:
    command = OpenTable(
        by=AT_THE_CONSOLE,
        table=name,
        currency=currency,
        mode=table.mode,
        chips=table.chips,
        float_amount=table.float,
        limits=limits_of(table, game),
    )
    key = f"house file: open {name}"
    await floor.handle(command, table=name, account=CONSOLE, key=key)


def _differences(tended: Tended, house: HouseFile, table: Table, game: Game) -> list[str]:
    """Return how a table differs from what the file says of it, and what it waits for."""
    state, differences = tended.table, []
    if tended.game_hash != game.hash:
        differences.append(f"is set up for {tended.game}, by the readings of then")
    if tended.dealt_by_house != table.dealt_by_house:
        differences.append(f"is dealt by {_dealt_by(tended, table)}")
    if state.currency != house.currency:
        differences.append(f"plays in {state.currency}")
    if (state.mode, state.chips) != (table.mode, table.chips):
        differences.append("keeps its mode and its chips")
    if limits_of(table, game) not in (state.limits, state.next_limits):
        differences.append("keeps the limits that its people have set")
    told = [f"{each}, not as the house file says now" for each in differences]
    if not state.open:
        told.append("is closed; its people open it")
    elif missing := [check for check in game.facts.opening if check not in state.checks]:
        told.append(f"waits for its opening checks: {', '.join(missing)}")
    return told


def _dealt_by(tended: Tended, table: Table) -> str:
    if tended.dealt_by_house is None:
        return "people"
    return "the house at other times" if table.dealt_by_house else "the house"
