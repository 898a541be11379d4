"""Copy the log up to its last checkpoint into an SQLite file, for those who verify it.

The copy holds no keys, no sign-ins and no personal data, and can be verified in place. It ends at
the last checkpoint, since nothing proves to others that later entries are genuine.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from threedice.db.schema import IDENTITY_TABLE_PREFIX, VERSION_TABLE, load_migrations
from threedice.errors import StoreUnusable, TamperedData
from threedice.log.proof.answers import MALFORMED_ANSWER_ERRORS, decode_canonical_spans
from threedice.log.proof.checkpoints import read_last_checkpoints, signed_heads
from threedice.log.records import decode_heads
from threedice.log.stores import schema
from threedice.log.stores.new_files import create_file
from threedice.log.stores.table_copies import (
    fill_sqlite_file,
    insert_rows,
    read_rows,
    translate_copy_errors,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

    from threedice.log.entry import Head
    from threedice.log.records import StoredRow
    from threedice.log.stores.rows import LogRows
    from threedice.log.stores.schema import DatabaseTable

LOG_COPY_TABLES = (schema.streams, schema.entries, schema.answers, schema.games, schema.checkpoints)


def copy_log(rows: LogRows, file: Path) -> dict[str, int]:
    """Copy a log up to its last checkpoint into a new file; return row counts by table."""
    counts = dict.fromkeys((table.name for table in LOG_COPY_TABLES), 0)
    with create_file(file) as part, translate_copy_errors():
        signed = _SignedRows(rows)
        with fill_sqlite_file(part) as connection:
            _create_log_tables(connection)
            for table in LOG_COPY_TABLES:
                for chunk in signed.chunks(table):
                    insert_rows(connection, table, chunk)
                    counts[table.name] += len(chunk)
    return counts


def _create_log_tables(connection: sqlite3.Connection) -> None:
    """Create the tables of the log, without those of identity; `meta` holds their version."""
    migrations = load_migrations("sqlite")
    for statement in chain.from_iterable(migrations.values()):
        if IDENTITY_TABLE_PREFIX not in statement and VERSION_TABLE not in statement:
            connection.execute(statement)
    version = str(max(migrations))
    connection.execute("UPDATE meta SET value = ? WHERE name = 'schema'", (version,))


class _SignedRows:
    """The rows of a log up to its last checkpoint; later additions are left out."""

    def __init__(self, rows: LogRows) -> None:
        self._rows = rows
        checkpoints = read_last_checkpoints(rows)
        if not checkpoints:
            raise StoreUnusable("the log holds no checkpoint yet, so no part of it can be proved")
        self._heads, stored_heads = signed_heads(checkpoints), read_stored_heads(rows)
        for stream, head in self._heads.items():
            if stream not in stored_heads or stored_heads[stream].version < head.version:
                raise TamperedData(
                    f"head of {stream}", f"was signed at version {head.version}; verify the log"
                )

    def chunks(self, table: DatabaseTable) -> Iterator[list[StoredRow]]:
        """Yield the rows of a table up to the last checkpoint."""
        match table.name:
            case "streams":
                yield [(name, head.version, head.hash, b"") for name, head in self._heads.items()]
            case "entries":
                for chunk in self._rows.chunks(table):
                    yield [row for row in chunk if not self._is_after(row[0], row[1])]
            case "answers":
                for chunk in self._rows.chunks(table):
                    yield [row for row in chunk if not self._is_answer_after(row)]
            case _:
                yield from self._rows.chunks(table)

    def _is_after(self, stream: str, version: object) -> bool:
        """Return whether an entry came later; verification reports malformed versions."""
        head = self._heads.get(stream)
        return head is None or (isinstance(version, int) and version > head.version)

    def _is_answer_after(self, answer: StoredRow) -> bool:
        *_, spans, refusal = answer
        try:
            claimed = decode_canonical_spans(spans, refusal)
            return any(self._is_after(span.stream, span.last) for span in claimed)
        except MALFORMED_ANSWER_ERRORS:
            return False


def read_stored_heads(rows: LogRows) -> dict[str, Head]:
    """Return the heads among the rows of a log."""
    return decode_heads(row[:3] for row in read_rows(rows, schema.streams))
