"""The last results of a table, out of the books."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import msgspec

from threedice.floor.folds import table_stream
from threedice.floor.projections import VIEW, Said

if TYPE_CHECKING:
    from threedice.log.store import Line, Store

What = Literal["result", "void", "reversed", "seed lost"]
WHATS: Final[tuple[What, ...]] = ("result", "void", "reversed", "seed lost")

_SAID: Final = msgspec.json.Decoder(Said)


class ResultLine(msgspec.Struct, frozen=True):
    """What became of a round: its dice, or why it is void; `at` is when, `note` the cause."""

    round: int
    what: What
    at: int
    dice: tuple[int, int, int] | None = None
    note: str = ""


def last_results(store: Store, table: str, most: int) -> list[ResultLine]:
    """Return the last results of a table, the oldest first."""
    asked = 2 * most + 10  # other lines stand between them
    while True:
        lines = store.lines(VIEW, subject=table_stream(table), most=asked)
        found = [result for line in lines if (result := _result(line))]
        if len(found) >= most or len(lines) < asked:
            return found[-most:]
        asked *= 4


def _result(line: Line) -> ResultLine | None:
    said = _SAID.decode(line.data)
    if said.what not in WHATS:
        return None
    return ResultLine(said.round, said.what, line.at, said.dice, said.note)
