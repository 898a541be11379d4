"""The rows of a log exactly as they are stored, all as one moment saw them.

What proves or copies a log reads it here, beside whatever is being written and without trusting
that a row is what it should be: a wrong type or damaged text comes out as it is, and what the
database itself cannot read is `Tampered`. `sqlite_rows` and `postgres_rows` know how; which of them
reads a store, `open_rows` does.
"""

from __future__ import annotations

from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from threedice.errors import InvalidInput
from threedice.log import schema
from threedice.log.batch import encode_spans
from threedice.log.memory import MemoryStore
from threedice.log.postgres import PostgresStore
from threedice.log.postgres_rows import PostgresRows, open_postgres
from threedice.log.sqlite import SqliteStore
from threedice.log.sqlite_rows import CHUNK, SqliteRows, open_sqlite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Table

    from threedice.log.store import Store

Row = tuple[Any, ...]


class Rows(Protocol):
    """What can be read of a log, as it was at one moment."""

    def damage(self) -> Iterator[str]:
        """Yield what is wrong with the database itself: its files, and what is defined in it."""

    def unread(self, read: int) -> Iterator[str]:
        """Yield what is wrong with the entries if all that could be read are so many."""

    def chunks(self, table: Table, streams: Sequence[str] | None = None) -> Iterator[list[Row]]:
        """Yield the rows of a table by its primary key, all or those of some streams."""

    def in_any_order(self, table: Table) -> Iterator[list[Row]]:
        """Yield the rows of a table as they are quickest to read."""

    def lines_kept(self) -> set[tuple[Any, Any]]:
        """Return of which views and streams there are lines."""

    def lines_of(self, view: str, stream: str) -> Iterator[list[Row]]:
        """Yield the lines of a stream in a view: subject, version, place, time and data."""


@contextmanager
def open_rows(store: Store | Path | Rows) -> Iterator[Rows]:
    """Read the rows of a store or an SQLite file as they are now, whatever is written meanwhile."""
    match store:
        case MemoryRows() | SqliteRows() | PostgresRows():
            yield store
        case Path():
            with open_sqlite(store) as rows:
                yield rows
        case MemoryStore():
            yield MemoryRows(store)
        case SqliteStore():
            with open_sqlite(store.path) as rows:
                yield rows
        case PostgresStore():
            with open_postgres(store.url) as rows:
                yield rows
        case _:
            raise InvalidInput(f"the rows of a {type(store).__name__} cannot be read")


class MemoryRows:
    """The rows that a store in memory would have; it must rest meanwhile."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def damage(self) -> Iterator[str]:
        """Yield nothing: there are no files."""
        yield from ()

    def unread(self, read: int) -> Iterator[str]:  # noqa: ARG002
        """Yield nothing: there is no index."""
        yield from ()

    def chunks(self, table: Table, streams: Sequence[str] | None = None) -> Iterator[list[Row]]:
        """Yield the rows of a table by its primary key, all or those of some streams."""
        named = self._store.streams() if streams is None else sorted(streams)
        match table.name:
            case "entries":
                entries = (each for name in named for each in self._store.scan(name))
                rows: Iterator[Row] = map(msgspec.structs.astuple, entries)
            case "streams":
                heads = self._store.heads()
                rows = (
                    (name, *msgspec.structs.astuple(heads[name])) for name in named if name in heads
                )
            case "answers":
                rows = (
                    (each.account, each.key, each.command_hash, encode_spans(each.spans))
                    for each in self._store.answers()
                )
            case "games":
                rows = iter(sorted(self._store.games().items()))
            case "checkpoints":
                rows = map(msgspec.structs.astuple, self._store.checkpoints())
            case "snapshots":
                rows = (
                    (
                        each.stream,
                        each.name,
                        each.form,
                        each.head.version,
                        each.head.hash,
                        each.data,
                    )
                    for each in self._store.snapshots()
                )
            case "lines":
                rows = map(msgspec.structs.astuple, self._store.every_line())
            case "views":
                rows = iter(self._store.every_view())
            case name:
                raise InvalidInput(f"a store in memory does not give its {name} away")
        while chunk := list(islice(rows, CHUNK)):
            yield chunk

    def in_any_order(self, table: Table) -> Iterator[list[Row]]:
        """Yield the rows of a table as they are quickest to read."""
        return self.chunks(table)

    def lines_kept(self) -> set[tuple[Any, Any]]:
        """Return of which views and streams there are lines."""
        return {(line.view, line.stream) for line in self._store.every_line()}

    def lines_of(self, view: str, stream: str) -> Iterator[list[Row]]:
        """Yield the lines of a stream in a view: subject, version, place, time and data."""
        for chunk in self.chunks(schema.lines):
            yield [
                (subject, version, place, at, data)
                for where, subject, whose, version, place, at, data in chunk
                if (where, whose) == (view, stream)
            ]
