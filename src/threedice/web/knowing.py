"""Which tables there are, without taking into memory what is only guessed at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.errors import UnknownName
from threedice.floor.folds import cage_stream, table_stream
from threedice.web.answering import in_thread

if TYPE_CHECKING:
    from threedice.cage import Account
    from threedice.floor.folds import Tended
    from threedice.rulebook import Game
    from threedice.web.context import Context


async def known_tables(context: Context) -> list[str]:
    """Return the ids of all tables."""
    streams = await in_thread(context.house.floor.store.streams)
    tables = [name.partition("/")[2] for name in streams if name.startswith("table/")]
    context.tables.update(tables)
    return tables


async def need_table(context: Context, table: str) -> None:
    """Say that there is no such table, if there is none."""
    if table in context.tables:
        return
    head = await in_thread(context.house.floor.store.head, table_stream(table))
    if not head.version:
        raise UnknownName("table", table, sorted(context.tables))
    context.tables.add(table)


async def table_and_game(context: Context, table: str) -> tuple[Tended, Game]:
    """Return a table as it is durably, and the game that it is set up for."""
    await need_table(context, table)
    tended = await context.house.floor.tended(table)
    game = context.house.floor.game(tended)
    if game is None:
        raise UnknownName("table", table, sorted(context.tables))
    return tended, game


async def account_of(context: Context, player: str) -> Account:
    """Return a player's account with the house, where he has one."""
    head = await in_thread(context.house.floor.store.head, cage_stream(player))
    if not head.version:
        raise UnknownName("account of player", player, [])
    return await context.house.floor.account(player)
