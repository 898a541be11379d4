"""The stored statement rows of a house, as tests look at them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.house.reports import figures
from threedice.house.reports.projection import player_subject
from threedice.house.reports.statements import StatementReader
from threedice.house.stream_state import table_stream

if TYPE_CHECKING:
    from threedice.house.reports.figures import ShiftFigures
    from threedice.house.reports.statements import DatedStatementRow
    from threedice.log.store import Store

RESULT_KINDS = ("result", "void", "reversed", "seed lost")


def results(store: Store, table: str) -> list[DatedStatementRow]:
    """Return a table's results, including void and reversed rounds, the oldest first."""
    rows = StatementReader(store).rows(table_stream(table))
    return [dated for dated in rows if dated.row.what in RESULT_KINDS]


def statement(
    store: Store, player: str, since: int | None = None, until: int | None = None
) -> list[DatedStatementRow]:
    """Return a player's wins, losses, transfers and notices over a period."""
    return StatementReader(store).rows(player_subject(player), since=since, until=until)


def shift_figures(
    store: Store, table: str, since: int | None = None, until: int | None = None
) -> ShiftFigures:
    """Return a table's figures over a period."""
    return figures.shift_figures(StatementReader(store), table, since, until)
