"""Back up a log up to its last checkpoint while it is being written, and restore it.

A backup of either database is one SQLite file with the tables of the log, so it can be verified in
place and restored into either. It ends at the last checkpoint, since nothing proves that later
entries are genuine. It holds no private keys, leases or halt markers, and personal data only on
request.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import psycopg

from threedice.db.postgres import connect_postgres
from threedice.db.schema import (
    IDENTITY_TABLE_PREFIX,
    VERSION_TABLE,
    load_migrations,
    log_version,
)
from threedice.db.sqlite import sync_directory
from threedice.errors import (
    InvalidInput,
    StoreFailed,
    StoreUnavailable,
    StoreUnusable,
    TamperedData,
)
from threedice.log.proof import describe_versions
from threedice.log.proof.answers import MALFORMED_ANSWER_ERRORS, decode_canonical_spans
from threedice.log.proof.checkpoints import signed_heads
from threedice.log.proof.verification import verify_log
from threedice.log.records import Checkpoint, decode_heads
from threedice.log.stores import schema
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.postgres import PostgresStore
from threedice.log.stores.rows import READ_TIMEOUT_SECONDS, PostgresRows, open_rows
from threedice.log.stores.sqlite import SqliteStore
from threedice.log.stores.sqlite_rows import SqliteRows, open_sqlite_rows
from threedice.log.stores.urls import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from threedice.db.postgres import PostgresConnection
    from threedice.log.entry import Head
    from threedice.log.proof import VerificationReport
    from threedice.log.proof.keys import PublicKey
    from threedice.log.records import StoredRow
    from threedice.log.store import Store
    from threedice.log.stores.rows import LogRows
    from threedice.log.stores.schema import Table

    TableFiller = Callable[[Table, list[StoredRow]], None]

BACKUP_TABLES = (schema.streams, schema.entries, schema.answers, schema.games, schema.checkpoints)
"""The tables that nothing can rebuild; derived data is rebuilt after a restore."""

DERIVED_TABLES = (schema.snapshots, schema.lines, schema.views)


def create_backup(store: Store, file: Path, *, people: bool = True) -> dict[str, int]:
    """Copy a store up to its last checkpoint into a new file; return row counts by table.

    To include all entries, sign a checkpoint first (`CheckpointSigner.create_checkpoint`). Without
    `people`, the backup holds no personal data.
    """
    if isinstance(store, MemoryStore):
        raise InvalidInput("a store in memory cannot be backed up")
    part = _create_part_file(file)
    try:
        with open_rows(store) as rows, _translate_errors():
            signed = _SignedRows(rows)
            counts = _copy_into(
                part, signed, (*BACKUP_TABLES, schema.people) if people else BACKUP_TABLES
            )
            with part.open("rb") as opened:
                os.fsync(opened.fileno())
            part.rename(file)
            sync_directory(file.parent)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return counts


def restore_backup(
    file: Path,
    url: str,
    *,
    public_keys: Mapping[str, PublicKey],
    against: Sequence[Checkpoint] = (),
    progress: Callable[[int, int], None] | None = None,
    verify: Callable[..., VerificationReport] = verify_log,
) -> VerificationReport:
    """Restore a backup into an empty database, if all of it can be proved.

    Its streams must pass through every signed head and end at those of its last checkpoint. The
    file is verified before anything is copied, with `verify` so that a caller can check more than
    the log knows, and the copy is verified before it is committed. Snapshots and projections are
    not restored.
    """
    with open_sqlite_rows(file) as backup_rows:
        backup_rows.require_readable_schema(str(file))
    report = verify(file, public_keys=public_keys, against=against, progress=progress)
    _refuse_unsound(report, str(file))
    with _translate_errors(), open_sqlite_rows(file) as backup_rows:
        _refuse_unsigned(backup_rows, str(file))
        with _open_empty(url) as (rows, fill):
            for table in (*BACKUP_TABLES, schema.people):
                for chunk in backup_rows.chunks(table):
                    fill(table, chunk)
            report = verify_log(rows, public_keys=public_keys, against=against, progress=progress)
            _refuse_unsound(report, "the copy")
            _refuse_unsigned(rows, "the copy")
    return report


# --- creating a backup --------------------------------------------------------------------------


def _create_part_file(file: Path) -> Path:
    """Create the temporary file that becomes the backup once it is complete."""
    part = file.with_name(file.name + ".part")
    if file.exists() or part.exists():
        existing = file if file.exists() else part
        raise InvalidInput(f"{existing} already exists; choose a new file for the backup")
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise InvalidInput(
            f"{part} cannot be created: {error.strerror}; choose another file"
        ) from error
    return part


class _SignedRows:
    """The rows of a log up to its last checkpoint; later additions are left out."""

    def __init__(self, rows: LogRows) -> None:
        self._rows = rows
        checkpoints = _read_checkpoints(rows)
        if not checkpoints:
            raise StoreUnusable(
                "the log holds no checkpoint, so a backup of it could never be restored; create it"
                " where the house's signing key is, so that a checkpoint is signed first"
            )
        self._heads, stored_heads = signed_heads(checkpoints), _read_heads(rows)
        for stream, head in self._heads.items():
            if stream not in stored_heads or stored_heads[stream].version < head.version:
                raise TamperedData(
                    f"head of {stream}", f"was signed at version {head.version}; verify the log"
                )

    def chunks(self, table: Table) -> Iterator[list[StoredRow]]:
        """Yield the rows of a table up to the last checkpoint."""
        match table.name:
            case "streams":
                yield [(name, head.version, head.hash) for name, head in self._heads.items()]
            case "entries":
                for chunk in self._rows.chunks(table):
                    yield [row for row in chunk if not self._is_after(row[0], row[1])]
            case "answers":
                for chunk in self._rows.chunks(table):
                    yield [row for row in chunk if not self._is_answer_after(row[3])]
            case _:
                yield from self._rows.chunks(table)

    def _is_after(self, stream: str, version: object) -> bool:
        """Return whether an entry came later; verification reports malformed versions."""
        head = self._heads.get(stream)
        return head is None or (isinstance(version, int) and version > head.version)

    def _is_answer_after(self, spans: bytes) -> bool:
        try:
            return any(
                self._is_after(span.stream, span.last) for span in decode_canonical_spans(spans)
            )
        except MALFORMED_ANSWER_ERRORS:
            return False


def _copy_into(part: Path, rows: _SignedRows, tables: Sequence[Table]) -> dict[str, int]:
    counts = dict.fromkeys((table.name for table in tables), 0)
    with closing(sqlite3.connect(part, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")  # the whole file is synced at the end
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        _create_tables(connection)
        for table in tables:
            for chunk in rows.chunks(table):
                _insert(connection, table, chunk)
                counts[table.name] += len(chunk)
        connection.execute("COMMIT")
    return counts


def _create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables of the log, without those of identity; `meta` holds their version."""
    migrations = load_migrations("sqlite")
    for statement in chain.from_iterable(migrations.values()):
        if IDENTITY_TABLE_PREFIX not in statement and VERSION_TABLE not in statement:
            connection.execute(statement)
    version = str(log_version(migrations))
    connection.execute("UPDATE meta SET value = ? WHERE name = 'schema'", (version,))


def _insert(connection: sqlite3.Connection, table: Table, chunk: list[StoredRow]) -> None:
    placeholders = ", ".join("?" * len(table.columns))
    try:
        connection.executemany(
            f"INSERT INTO {table.name} ({table.column_list}) VALUES ({placeholders})", chunk
        )
    except (sqlite3.IntegrityError, UnicodeEncodeError) as error:
        raise TamperedData(
            f"table {table.name}", f"holds a row that cannot be copied: {error}"
        ) from error


# --- checks before a restore --------------------------------------------------------------------


def _refuse_unsound(report: VerificationReport, name: str) -> None:
    if report.findings:
        first, remaining = report.findings[0], len(report.findings) - 1
        others = f" (and {remaining} more findings)" if remaining else ""
        raise TamperedData(first.where, f"{first.what}{others}; {name} is not restored")
    if not report.checkpoints:
        raise TamperedData(name, "holds no checkpoint, so nothing proves that it is complete")


def _refuse_unsigned(rows: LogRows, name: str) -> None:
    """Refuse streams that continue past the last checkpoint, where nothing is signed."""
    signed, heads = signed_heads(_read_checkpoints(rows)), _read_heads(rows)
    unsigned = {
        stream: (signed[stream].version if stream in signed else 0, head.version)
        for stream, head in sorted(heads.items())
        if signed.get(stream) != head
    }
    if not unsigned:
        return
    count = sum(last - first for first, last in unsigned.values())
    streams = ", ".join(
        describe_versions(stream, first + 1, last) for stream, (first, last) in unsigned.items()
    )
    raise TamperedData(
        name,
        f"no checkpoint signs its last {count} entries ({streams}), so anybody could have added"
        " them; it is not restored. Create the backup again where the house's signing key is"
        " (threedice backup signs before it copies), or use one that was created there",
    )


def _read_checkpoints(rows: LogRows) -> list[Checkpoint]:
    return [Checkpoint(*row) for row in chain.from_iterable(rows.chunks(schema.checkpoints))]


def _read_heads(rows: LogRows) -> dict[str, Head]:
    return decode_heads(chain.from_iterable(rows.chunks(schema.streams)))


# --- filling an empty database ------------------------------------------------------------------


@contextmanager
def _open_empty(url: str) -> Iterator[tuple[LogRows, TableFiller]]:
    """Fill an empty database in one transaction, committed unless an error is raised."""
    store = open_store(url, serving=True, tables="create")
    with closing(store):
        if not store.is_sole_server():
            raise StoreUnusable("another server has this database open; stop it first")
        match store:
            case MemoryStore():
                raise InvalidInput("a backup can be restored into SQLite or PostgreSQL, not memory")
            case SqliteStore():
                with _open_empty_sqlite(store.path) as target:
                    yield target
            case PostgresStore():
                with _open_empty_postgres(url) as target:
                    yield target


@contextmanager
def _open_empty_sqlite(path: Path) -> Iterator[tuple[LogRows, TableFiller]]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        rows = SqliteRows(connection)
        _refuse_unless_empty(rows)
        yield rows, partial(_insert, connection)  # closing without a commit rolls back
        connection.execute("COMMIT")


@contextmanager
def _open_empty_postgres(url: str) -> Iterator[tuple[LogRows, TableFiller]]:
    with closing(connect_postgres(url, READ_TIMEOUT_SECONDS)) as connection:
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        connection.execute("LOCK TABLE streams IN EXCLUSIVE MODE")
        rows = PostgresRows(connection)
        _refuse_unless_empty(rows)
        yield rows, partial(_copy, connection)
        connection.set_deadline(READ_TIMEOUT_SECONDS)
        connection.execute("COMMIT")


def _copy(connection: PostgresConnection, table: Table, chunk: list[StoredRow]) -> None:
    connection.set_deadline(READ_TIMEOUT_SECONDS)  # for each chunk, not for the whole table
    sql = f"COPY {table.name} ({table.column_list}) FROM STDIN"
    with connection.cursor().copy(sql) as copy:
        for row in chunk:
            copy.write_row(row)


def _refuse_unless_empty(rows: LogRows) -> None:
    for table in (*BACKUP_TABLES, *DERIVED_TABLES, schema.people):
        for _ in rows.chunks(table):
            raise StoreUnusable(
                f"the database is not empty: it has {table.name}; restore into a new one"
            )


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Translate database errors during a copy into store errors."""
    try:
        yield
    except psycopg.OperationalError as error:
        raise StoreUnavailable(f"the database does not respond: {error}; try again") from error
    except (psycopg.Error, sqlite3.Error, OSError) as error:
        raise StoreFailed(
            f"the copy cannot be written: {error}; check the free disk space"
        ) from error
