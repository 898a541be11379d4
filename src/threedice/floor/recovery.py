"""Coming back: what becomes of rounds that were being played when the house went away.

A table that the house deals is resolved by its dealer (`dealer`). A table of people's comes back
interrupted, and waits for its people to say which dice are known. Where another server played
all the time, nothing was interrupted. A shooter's series goes on between his throws.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from threedice.errors import Conflicted, Refusal
from threedice.floor.bookkeeping import apart
from threedice.floor.commands import InterruptTable
from threedice.floor.folds import table_stream

if TYPE_CHECKING:
    from threedice.floor.floor import Floor


async def interrupt_tables(floor: Floor) -> list[str]:
    """Mark every table of people's that was in the middle of a round; return which."""
    interrupted = []
    for table in await tables_of(floor):
        damage: dict[str, str] = {}
        with apart(table, damage):
            tended = await floor.tended(table)
        if damage:
            continue  # it cannot be played at all; whoever starts it is told
        unfinished = tended.table.round is not None and not tended.interrupted
        if unfinished and tended.dealt_by_house is None:
            (running,) = await floor.streams.ready([table_stream(table)])
            key = f"{table} {running.head.version} interrupted"
            try:
                await floor.handle_for_house(InterruptTable(), table=table, key=key)
            except Refusal:
                continue  # it has been seen to meanwhile
            except Conflicted:
                continue  # its end is missing, so that nothing can be added to it
            interrupted.append(table)
    return interrupted


async def tables_of(floor: Floor) -> list[str]:
    """Return the tables that have ever been set up."""
    streams = await asyncio.to_thread(floor.store.streams)
    return [name.removeprefix("table/") for name in streams if name.startswith("table/")]
