"""The log in an SQLite file that one process serves.

The log in an SQLite file: one process serves it, others may look and do small things beside.

Only what every SQLite driver offers is used (`execute` and `close` of a connection), so that the
same class runs on a simulated disk that loses power.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec

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
from threedice.log.stores import files as served
from threedice.log.stores.files import (
    SQLITE_BUSY,
    SQLITE_CONSTRAINT,
    SQLITE_CORRUPT,
    SQLITE_LOCKED,
    SQLITE_NOTADB,
    SYNCHRONOUS_FULL,
    SYNCHRONOUS_NORMAL,
    SqliteConnection,
    SqliteConnector,
    WriteLock,
    configure_connection,
    connect_sqlite,
    drop_cached_pages,
    result_code,
    run_transaction,
)
from threedice.log.stores.schema import prepare_schema
from threedice.log.stores.sql import (
    ANSWER_COLUMNS,
    ENTRY_COLUMNS,
    SqlStore,
    StatementRunner,
    WorkResult,
)
from threedice.log.writer_process import WriterProcess, WriterProcessTarget

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator


WAL_CHECKPOINT_EVERY, WAL_TRANSACTION_WEIGHT = 2_000, 4
"""How much is written before it is moved into the file itself: proposals, and so many for each
transaction."""


NEW_FILE_MAX_BYTES: Final = 64 * 1024
"""How many bytes a file may have into which nothing was moved yet."""


class SqliteStore(SqlStore):
    """A store in an SQLite file; `shared`, where it must do with a single connection."""

    CLOCK_SQL: ClassVar[str] = "((julianday('now') - 2440587.5) * 86400.0)"

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        connect: SqliteConnector = connect_sqlite,
        serving: bool = False,
        use_writer_process: bool = False,
        single_connection: bool = False,
        wal_checkpoint_every: int = WAL_CHECKPOINT_EVERY,
    ) -> None:
        self.path = Path(path)
        self._connect, self._single_connection = connect, single_connection
        self._wal_checkpoint_every, self._since_wal_checkpoint = wal_checkpoint_every, 0
        self._failed = ""
        self._write_lock = (
            WriteLock()
        )  # of whoever writes; SQLite itself would have them wait and try again
        self._closed = False
        self._writers: list[SqliteConnection] = []
        self._readers: list[SqliteConnection] = []
        self.writer_process: WriterProcess | None = None
        self._serving_lock = served.acquire_serving_lock(self.path) if serving else None
        try:
            if self.is_sole_server():
                self._drop_cached_pages()
            self._writers.append(self._open(SYNCHRONOUS_FULL))
            if not single_connection:
                self._writers.append(self._open(SYNCHRONOUS_NORMAL))
            self._prepare()
            if use_writer_process:
                # It holds the lock too: nobody serves the file before its last batch is written. It
                # is given no time: only a disk keeps it from answering, and to kill it in a sync
                # would be to kill who alone hears that the disk has failed.
                self.writer_process = WriterProcess(
                    WriterProcessTarget("sqlite", str(self.path)),
                    note_failure=self._note_failure,
                    write_lock=self._write_lock,
                    inherited_fds=() if self._serving_lock is None else (self._serving_lock,),
                )
        except BaseException:
            self.close()
            raise

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        """Write a batch in one durable transaction; each proposal as a whole or not at all."""
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
        """Return entries of a stream in order, from the version after the one given."""
        try:
            return super().read(stream, after, limit)
        except TamperedData:
            for before in range(after, after + limit):
                self._read_one(stream, before)
            raise

    def erase_person(self, player: str) -> bool:
        """Forget a person, also in the file's free space and in what is yet to be moved to it."""
        erased = super().erase_person(player)
        self._truncate_wal()
        return erased

    @contextmanager
    def recovery_lock(self) -> Iterator[bool]:
        """Come back; where this one serves, there is no other."""
        yield self._serving_lock is not None

    def is_sole_server(self) -> bool:
        """Tell whether no other process serves this file."""
        return self._serving_lock is not None or not served.is_served(self.path)

    def close(self) -> None:
        """Let go of the file."""
        with self._write_lock:
            self._closed = True
            if self.writer_process is not None:
                self.writer_process.close()
            self._close_readers()
            while self._writers:
                self._writers.pop().close()
            if self._serving_lock is not None:
                served.release_serving_lock(self._serving_lock)
                self._serving_lock = None

    # how statements are run

    def _execute_many(self, sql: str, rows: Sequence[StoredRow]) -> None:
        self._writers[0].executemany(sql, rows)

    def _transact(
        self,
        work: Callable[[StatementRunner], WorkResult],
        *,
        durable: bool = True,
        even_if_failed: bool = False,
    ) -> WorkResult:
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
        sound = False
        try:
            yield connection
            sound = True
        finally:
            if sound:
                self._readers.append(connection)
            else:
                connection.close()
            if self._closed:  # perhaps only since: whoever closed did not see this one
                self._close_readers()

    def _close_readers(self) -> None:
        with suppress(IndexError):  # several may be at it together
            while True:
                self._readers.pop().close()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise StoreUnavailable(f"{self.path} has been closed")

    def _read_one(self, stream: str, before: int) -> None:
        try:
            super().read(stream, before, 1)
        except TamperedData as damage:
            raise TamperedData(f"{stream} after version {before}", damage.problem) from damage

    def _failure(self, done: str, error: Exception) -> StoreUnavailable | StoreFailed:
        if result_code(error) in (SQLITE_BUSY, SQLITE_LOCKED):
            return StoreUnavailable(f"{self.path} is held by another process; try again: {error}")
        self._note_failure(
            f"{self.path} could not be {done} ({error}); look at the disk, then start again"
        )
        return StoreFailed(self._failed)

    def _note_failure(self, cause: str) -> str:
        """Note a failure, and return the first."""
        # After a failed fsync a file may not be what is read from it: nothing is trusted any more.
        self._failed = self._failed or cause
        return self._failed

    # how the file is opened

    def _drop_cached_pages(self) -> None:
        """Go by what the disk has: by its log, and by the header of a file that was just made.

        All else that is in the file was synced before the log was given up.
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
                f"{self.path} cannot be opened: {error}; is its folder there?"
            ) from error
        try:
            configure_connection(connection, synchronous)
        except Exception as error:
            connection.close()
            if isinstance(error, StoreUnusable):
                raise StoreUnusable(f"{self.path}: {error}") from None
            if result_code(error) == SQLITE_NOTADB:
                raise StoreUnusable(
                    f"{self.path} is no SQLite database; use another file"
                ) from error
            raise self._failure("opened", error) from error
        return connection

    def _prepare(self) -> None:
        def work(run: StatementRunner) -> None:
            named = run("SELECT name FROM sqlite_master WHERE type = 'table'", ())
            prepare_schema(
                lambda sql: run(sql, ()),
                [name for (name,) in named],
                dialect="sqlite",
                database=str(self.path),
            )
            if self._serving_lock is not None and run("SELECT 1 FROM leases LIMIT 1", ()):
                # Whoever held them is gone; by a clock set back they would last and last.
                run("DELETE FROM leases", ())

        self._transact(work)
        if self._serving_lock is not None:
            self._truncate_wal()

    def _checkpoint_wal_if_due(self) -> None:
        """Every so often, move what was committed into the file, before more is written.

        SQLite would do it by itself after a commit, and say nothing if that failed: a failed sync
        would go unnoticed, and what is acknowledged after it could be lost.
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
        """Move what was committed into the file itself and sync it, as far as nobody is reading."""
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
"""Runs a statement for every row of parameters, in the transaction at hand."""


_encode = msgspec.json.Encoder().encode


class _KeyMayExist(ThreediceError):
    """Some key of a batch may have been used before."""


def _write_new(
    run: StatementRunner, many: ExecuteMany, proposals: Sequence[Proposal]
) -> list[ProposalOutcome]:
    """Write a batch of new keys, as nearly all are, without looking for each of them first."""
    try:
        outcomes = _write(run, many, proposals, {})
    except Exception as error:
        if result_code(error) == SQLITE_CONSTRAINT:
            raise _KeyMayExist from error
        raise
    if any(outcome is not ACCEPTED for outcome in outcomes):
        raise _KeyMayExist  # what conflicts may be here already
    return outcomes


def _write(
    run: StatementRunner,
    many: ExecuteMany,
    proposals: Sequence[Proposal],
    answers: dict[tuple[str, str], StoredAnswer],
) -> list[ProposalOutcome]:
    """Write a batch, given the answers that there are to its keys."""
    heads = _read_heads(run, proposals)
    outcomes = resolve_proposals(proposals, heads, answers)
    batch = collect_accepted_rows(proposals, outcomes, heads, answers)
    many(_ADD_ENTRIES, [msgspec.structs.astuple(entry) for entry in batch.entries])
    many(_SET_HEADS, [(stream, head.version, head.hash) for stream, head in batch.heads.items()])
    many(_ADD_ANSWERS, batch.answers)
    if batch.games:
        many(_ADD_GAMES, [*batch.games.items()])
    return outcomes


def _read_heads(run: StatementRunner, proposals: Sequence[Proposal]) -> dict[str, Head]:
    streams = {append.stream for proposal in proposals for append in proposal.appends}
    found = run(_FIND_HEADS, (_encode(streams).decode(),))
    return {stream: Head(version, digest) for stream, version, digest in found}


def _read_answers(
    run: StatementRunner, proposals: Sequence[Proposal]
) -> dict[tuple[str, str], StoredAnswer]:
    used = [(proposal.account, proposal.key) for proposal in proposals]
    return {
        (account, key): StoredAnswer(account, key, said, decode_spans(spans))
        for account, key, said, spans in run(_FIND_ANSWERS, (_encode(used).decode(),))
    }


def _is_damage(error: Exception) -> bool:
    undecodable = isinstance(error, UnicodeDecodeError) or "decode to UTF-8" in str(error)
    return undecodable or result_code(error) in (SQLITE_CORRUPT, SQLITE_NOTADB)
