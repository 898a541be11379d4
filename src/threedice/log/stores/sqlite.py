"""The log in an SQLite file, served by one process.

Other processes may read the file and make small changes meanwhile. Only `execute`, `executemany`
and `close` of a driver's connection are used, so that the same class also runs on a simulated disk
that loses power.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec

from threedice.db.sqlite import (
    SELECT_TABLE_NAMES,
    SYNCHRONOUS_FULL,
    SYNCHRONOUS_NORMAL,
    SqliteConnection,
    is_locked,
    result_code,
    run_transaction,
)
from threedice.errors import (
    InvalidInput,
    StoreFailed,
    StoreUnavailable,
    StoreUnusable,
    TamperedData,
    ThreediceError,
)
from threedice.log.batch import collect_accepted_rows
from threedice.log.conflicts import ACCEPTED, check_proposal, resolve_proposals
from threedice.log.entry import Entry, Head
from threedice.log.store import Proposal, ProposalOutcome, StoredAnswer, StoredRow, decode_spans
from threedice.log.stores.files import (
    SQLITE_CONSTRAINT,
    SQLITE_CORRUPT,
    SQLITE_NOTADB,
    SqliteConnector,
    acquire_serving_lock,
    configure_connection,
    connect_sqlite,
    drop_cached_pages,
    is_served,
    is_undecodable,
    release_serving_lock,
)
from threedice.log.stores.schema import prepare_schema
from threedice.log.stores.sql import ANSWER_COLUMNS, ENTRY_COLUMNS, SqlStore

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from threedice.db import Result, SqlRunner

WAL_CHECKPOINT_EVERY, WAL_TRANSACTION_WEIGHT = 2_000, 4
"""Proposals between two checkpoints of the write-ahead log; a transaction counts as four more."""

NEW_FILE_MAX_BYTES: Final = 64 * 1024
"""Maximum size of a database file into which nothing has been checkpointed yet."""


class SqliteStore(SqlStore):
    """A store in an SQLite file; with `single_connection`, reads share the writing connection."""

    CLOCK_SQL: ClassVar[str] = "((julianday('now') - 2440587.5) * 86400.0)"

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        connect: SqliteConnector = connect_sqlite,
        serving: bool = False,
        single_connection: bool = False,
        wal_checkpoint_every: int = WAL_CHECKPOINT_EVERY,
    ) -> None:
        self.path = Path(path)
        self._connect, self._single_connection = connect, single_connection
        self._wal_checkpoint_every, self._since_wal_checkpoint = wal_checkpoint_every, 0
        self._failed = ""
        # SQLite alone would let concurrent writers of this process poll until its busy timeout.
        self._write_lock = RLock()
        self._closed = False
        self._writers: list[SqliteConnection] = []
        self._readers: list[SqliteConnection] = []
        self._serving_lock = acquire_serving_lock(self.path) if serving else None
        try:
            if self.is_sole_server():
                self._drop_cached_pages()
            self._writers.append(self._open(SYNCHRONOUS_FULL))
            if not single_connection:
                self._writers.append(self._open(SYNCHRONOUS_NORMAL))
            self._prepare()
        except BaseException:
            self.close()
            raise

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        """Write a batch in one durable transaction; each proposal completely or not at all."""
        for proposal in proposals:
            check_proposal(proposal)
        self._since_wal_checkpoint += len(proposals)
        try:
            return self._transact(lambda run: _write_new(run, self._execute_many, proposals))
        except _KeyMayExist:
            return self._transact(
                lambda run: _write(
                    run, self._execute_many, proposals, _read_answers(run, proposals)
                )
            )

    def read(self, stream: str, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Return up to `limit` entries of a stream in order, from the version after `after`."""
        try:
            return super().read(stream, after, limit)
        except TamperedData:
            for previous in range(after, after + limit):  # find the damaged entry, to name it
                self._read_one(stream, previous)
            raise

    def erase_person(self, player: str) -> bool:
        """Erase the personal data of a player, also from free pages and the write-ahead log."""
        erased = super().erase_person(player)
        self._truncate_wal()
        return erased

    @contextmanager
    def recovery_lock(self) -> Iterator[bool]:
        """Yield whether this store serves the file: then no other server does."""
        yield self._serving_lock is not None

    def is_sole_server(self) -> bool:
        """Return whether no other process serves this file."""
        return self._serving_lock is not None or not is_served(self.path)

    def close(self) -> None:
        """Close all connections and release the serving lock."""
        with self._write_lock:
            self._closed = True
            self._close_readers()
            while self._writers:
                self._writers.pop().close()
            if self._serving_lock is not None:
                release_serving_lock(self._serving_lock)
                self._serving_lock = None

    # --- running statements

    def _execute_many(self, sql: str, rows: Sequence[StoredRow]) -> None:
        self._writers[0].executemany(sql, rows)

    def _transact(
        self,
        work: Callable[[SqlRunner], Result],
        *,
        durable: bool = True,
        even_if_failed: bool = False,
    ) -> Result:
        with self._write_lock:
            self._refuse_if_closed()
            if self._failed and not even_if_failed:
                raise StoreFailed(self._failed)
            self._checkpoint_wal_if_due()
            try:
                return run_transaction(self._writers[0 if durable else -1], work)
            except ThreediceError:
                raise
            except (UnicodeEncodeError, OverflowError) as error:
                raise InvalidInput(f"{self.path} cannot hold this: {error}") from error
            except Exception as error:
                raise self._failure("written", error) from error

    def _query(self, sql: str, params: Sequence[Any] = ()) -> list[StoredRow]:
        with self._read_connection() as connection:
            try:
                return list(connection.execute(sql, params))
            except (UnicodeEncodeError, OverflowError) as error:
                raise InvalidInput(f"{self.path} cannot hold this: {error}") from error
            except Exception as error:
                if _is_damage(error):
                    raise TamperedData(str(self.path), f"cannot be read: {error}") from error
                raise self._failure("read", error) from error

    @contextmanager
    def _read_connection(self) -> Iterator[SqliteConnection]:
        self._refuse_if_closed()
        if self._single_connection:
            with self._write_lock:
                yield self._writers[0]
            return
        try:
            connection = self._readers.pop()
        except IndexError:
            connection = self._open(SYNCHRONOUS_NORMAL)
        is_usable = False
        try:
            yield connection
            is_usable = True
        finally:
            if is_usable:
                self._readers.append(connection)
            else:
                connection.close()
            if self._closed:  # closed meanwhile: close() did not see this connection
                self._close_readers()

    def _close_readers(self) -> None:
        with suppress(IndexError):  # other threads may be closing readers too
            while True:
                self._readers.pop().close()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise StoreUnavailable(f"{self.path} has been closed")

    def _read_one(self, stream: str, previous: int) -> None:
        try:
            super().read(stream, previous, 1)
        except TamperedData as damage:
            raise TamperedData(f"{stream} after version {previous}", damage.problem) from damage

    def _failure(self, operation: str, error: Exception) -> StoreUnavailable | StoreFailed:
        if is_locked(error):
            return StoreUnavailable(f"{self.path} is locked by another process; try again: {error}")
        # After a failed fsync, reads may not match the disk, so nothing is written any more.
        self._failed = self._failed or (
            f"{self.path} could not be {operation} ({error}); check the disk, then restart"
        )
        return StoreFailed(self._failed)

    # --- opening the file

    def _drop_cached_pages(self) -> None:
        """Make sure that the write-ahead log, and the header of a new file, are read from the disk.

        The rest of the file was synced before the log it came from was truncated.
        """
        file = self.path.resolve()
        drop_cached_pages(file.with_name(f"{file.name}-wal"))
        if file.exists() and file.stat().st_size <= NEW_FILE_MAX_BYTES:
            drop_cached_pages(file)

    def _open(self, synchronous: int) -> SqliteConnection:
        try:
            connection = self._connect(str(self.path))
        except Exception as error:
            raise StoreUnusable(
                f"{self.path} cannot be opened: {error}; does its directory exist?"
            ) from error
        try:
            configure_connection(connection, synchronous)
        except Exception as error:
            connection.close()
            if isinstance(error, StoreUnusable):
                raise StoreUnusable(f"{self.path}: {error}") from None
            if result_code(error) == SQLITE_NOTADB:
                raise StoreUnusable(
                    f"{self.path} is not an SQLite database; use another file"
                ) from error
            raise self._failure("opened", error) from error
        return connection

    def _prepare(self) -> None:
        def work(run: SqlRunner) -> None:
            tables = [name for (name,) in run(SELECT_TABLE_NAMES)]
            prepare_schema(run, tables, dialect="sqlite", database=str(self.path))
            if self._serving_lock is not None and run("SELECT 1 FROM leases LIMIT 1"):
                # Their holders are gone; if the clock was set back, the leases would not expire.
                run("DELETE FROM leases")

        self._transact(work)
        if self._serving_lock is not None:
            self._truncate_wal()

    def _checkpoint_wal_if_due(self) -> None:
        """Checkpoint the write-ahead log if enough has been written since the last time.

        SQLite's automatic checkpoint runs after a commit and does not report errors: a failed fsync
        would go unnoticed, and later acknowledged commits could be lost.
        """
        self._since_wal_checkpoint += WAL_TRANSACTION_WEIGHT
        if self._since_wal_checkpoint < self._wal_checkpoint_every:
            return
        try:
            list(self._writers[0].execute("PRAGMA wal_checkpoint(PASSIVE)"))
        except Exception as error:
            raise self._failure("written", error) from error
        self._since_wal_checkpoint = 0

    def _truncate_wal(self) -> None:
        """Checkpoint the write-ahead log and truncate it, as far as readers allow."""
        with self._write_lock:
            try:
                list(self._writers[0].execute("PRAGMA wal_checkpoint(TRUNCATE)"))
            except Exception as error:
                raise self._failure("written", error) from error


_FIND_HEADS: Final = (
    "SELECT stream, version, hash FROM streams WHERE stream IN (SELECT value FROM json_each(?))"
)

_FIND_ANSWERS: Final = (
    "SELECT account, answers.key, command_hash, spans FROM json_each(?) AS used CROSS JOIN answers"
    " ON account = json_extract(used.value, '$[0]')"
    " AND answers.key = json_extract(used.value, '$[1]')"
)

_ADD_ENTRIES: Final = f"INSERT INTO entries ({ENTRY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"

_ADD_ANSWERS: Final = f"INSERT INTO answers ({ANSWER_COLUMNS}) VALUES (?, ?, ?, ?)"

_ADD_GAMES: Final = "INSERT INTO games (hash, canonical) VALUES (?, ?) ON CONFLICT DO NOTHING"

_SET_HEADS: Final = (
    "INSERT INTO streams (stream, version, hash) VALUES (?, ?, ?)"
    " ON CONFLICT (stream) DO UPDATE SET version = excluded.version, hash = excluded.hash"
)

ExecuteMany = Callable[[str, Sequence[StoredRow]], None]
"""Run a statement for every row of parameters in the current transaction."""

_encode = msgspec.json.Encoder().encode


class _KeyMayExist(ThreediceError):
    """Some idempotency key of a batch may have been used before."""


def _write_new(
    run: SqlRunner, execute_many: ExecuteMany, proposals: Sequence[Proposal]
) -> list[ProposalOutcome]:
    """Write a batch as if all its keys were new, as nearly all are, without looking them up."""
    try:
        outcomes = _write(run, execute_many, proposals, {})
    except Exception as error:
        if result_code(error) == SQLITE_CONSTRAINT:
            raise _KeyMayExist from error
        raise
    if any(outcome is not ACCEPTED for outcome in outcomes):
        raise _KeyMayExist  # the proposal in conflict may itself be stored already
    return outcomes


def _write(
    run: SqlRunner,
    execute_many: ExecuteMany,
    proposals: Sequence[Proposal],
    answers: dict[tuple[str, str], StoredAnswer],
) -> list[ProposalOutcome]:
    """Write a batch, given the stored answers to its keys."""
    heads = _read_heads(run, proposals)
    outcomes = resolve_proposals(proposals, heads, answers)
    batch = collect_accepted_rows(proposals, outcomes, heads, answers)
    execute_many(_ADD_ENTRIES, [msgspec.structs.astuple(entry) for entry in batch.entries])
    execute_many(
        _SET_HEADS, [(stream, head.version, head.hash) for stream, head in batch.heads.items()]
    )
    execute_many(_ADD_ANSWERS, batch.answers)
    if batch.games:
        execute_many(_ADD_GAMES, [*batch.games.items()])
    return outcomes


def _read_heads(run: SqlRunner, proposals: Sequence[Proposal]) -> dict[str, Head]:
    streams = {append.stream for proposal in proposals for append in proposal.appends}
    rows = run(_FIND_HEADS, (_encode(streams).decode(),))
    return {stream: Head(version, digest) for stream, version, digest in rows}


def _read_answers(
    run: SqlRunner, proposals: Sequence[Proposal]
) -> dict[tuple[str, str], StoredAnswer]:
    keys = [(proposal.account, proposal.key) for proposal in proposals]
    return {
        (account, key): StoredAnswer(account, key, command_hash, decode_spans(spans))
        for account, key, command_hash, spans in run(_FIND_ANSWERS, (_encode(keys).decode(),))
    }


def _is_damage(error: Exception) -> bool:
    return is_undecodable(error) or result_code(error) in (SQLITE_CORRUPT, SQLITE_NOTADB)
