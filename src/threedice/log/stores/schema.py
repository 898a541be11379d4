"""The tables of the log: their columns and keys, in the order in which rows are read.

`threedice/db/migrations` creates them. A test compares the two.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Table(NamedTuple):
    """A table: its columns in order, and the columns of its primary key."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]

    @property
    def column_list(self) -> str:
        """The columns, as they stand in a statement."""
        return ", ".join(self.columns)


def _table(name: str, columns: str, key: str) -> Table:
    return Table(name, tuple(columns.split()), tuple(key.split()))


streams = _table("streams", "stream version hash", "stream")
entries = _table("entries", "stream version at kind schema data cause hash", "stream version")
answers = _table("answers", "account key command_hash spans", "account key")
games = _table("games", "hash canonical", "hash")
snapshots = _table("snapshots", "stream name form version hash data", "stream name")
lines = _table("lines", "view subject stream version place at data", "view stream version place")
views = _table("views", "view stream version", "view stream")
checkpoints = _table("checkpoints", "number body key_id signature", "number")
leases = _table("leases", "name holder until", "name")
people = _table("people", "player data", "player")
meta = _table("meta", "name value", "name")

TABLES: Final = (
    streams, entries, answers, games, snapshots, lines, views, checkpoints, leases, people, meta,
)  # fmt: skip

ENTRY_COLUMNS: Final = entries.column_list
ANSWER_COLUMNS: Final = answers.column_list

LINE_INDEXES: Final = ("lines_by_stream", "lines_by_subject", "lines_by_time")
