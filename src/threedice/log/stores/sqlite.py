"""The log in an SQLite file, served by one process.

Other processes may read the file and make small changes meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec

from threedice.db.sqlite import (
    SQLITE_CONSTRAINT,
    WAL_CHECKPOINT_EVERY,
    SqliteDatabase,
    connect_sqlite,
    result_code,
)
from threedice.errors import TamperedData, ThreediceError
from threedice.log.conflicts import (
    ACCEPTED,
    check_proposal,
    collect_accepted_rows,
    resolve_proposals,
)
from threedice.log.entry import Entry, Head
from threedice.log.records import Proposal, ProposalOutcome, StoredAnswer, StoredRow, decode_spans
from threedice.log.store import ANSWER_COLUMNS, ENTRY_COLUMNS, Store
from threedice.log.stores.files import (
    acquire_serving_lock,
    drop_cached_pages,
    is_served,
    release_serving_lock,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from threedice.db import SqlRunner
    from threedice.db.schema import TablePolicy
    from threedice.db.sqlite import SqliteConnector

NEW_FILE_MAX_BYTES: Final = 64 * 1024
"""Maximum size of a database file into which nothing has been checkpointed yet."""


class SqliteStore(Store):
    """A store in an SQLite file, or without a path in memory.

    With `single_connection`, reads share the writing connection.
    """

    CLOCK_SQL: ClassVar[str] = "((julianday('now') - 2440587.5) * 86400.0)"

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        *,
        connect: SqliteConnector = connect_sqlite,
        serving: bool = False,
        tables: TablePolicy | None = None,
        single_connection: bool = False,
        wal_checkpoint_every: int = WAL_CHECKPOINT_EVERY,
    ) -> None:
        self.path = Path(path or ":memory:")
        self._serving_lock = acquire_serving_lock(self.path) if serving else None
        try:
            if path is not None and self.is_sole_server():
                self._drop_cached_pages()
            self._database = SqliteDatabase(
                path,
                connect=connect,
                single_connection=single_connection,
                wal_checkpoint_every=wal_checkpoint_every,
            )
        except BaseException:
            self._release_serving_lock()
            raise
        super().__init__(self._database)
        try:
            if serving:
                # Before anything is written: the log that a crash left may end within a sector,
                # and a power cut while that sector is written again would tear what is in it.
                self._database.checkpoint_wal("TRUNCATE")
            policy = tables or ("migrate" if serving else "create")
            self._database.prepare_tables(policy, needed="streams")
            if serving and self._query("SELECT 1 FROM leases LIMIT 1"):
                # Their holders are gone; if the clock was set back, the leases would not expire.
                self._transact(lambda run: run("DELETE FROM leases"))
        except BaseException:
            self.close()
            raise

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        """Write a batch in one durable transaction; each proposal completely or not at all."""
        for proposal in proposals:
            check_proposal(proposal)
        self._database.rows_since_checkpoint += len(proposals)
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

    def _read_one(self, stream: str, previous: int) -> None:
        try:
            super().read(stream, previous, 1)
        except TamperedData as damage:
            raise TamperedData(f"{stream} after version {previous}", damage.problem) from damage

    def erase_person(self, player: str) -> bool:
        """Erase the personal data of a player, also from free pages and the write-ahead log."""
        erased = super().erase_person(player)
        self._database.checkpoint_wal("TRUNCATE")
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
        with self._database.write_lock:
            self._database.close()
            self._release_serving_lock()

    def _release_serving_lock(self) -> None:
        if self._serving_lock is not None:
            release_serving_lock(self._serving_lock)
            self._serving_lock = None

    def _execute_many(self, sql: str, rows: Sequence[StoredRow]) -> None:
        self._database.writers[0].executemany(sql, rows)

    def _drop_cached_pages(self) -> None:
        """Make sure that the write-ahead log, and the header of a new file, are read from the disk.

        The rest of the file was synced before the log it came from was truncated.
        """
        file = self.path.resolve()
        drop_cached_pages(file.with_name(f"{file.name}-wal"))
        if file.exists() and file.stat().st_size <= NEW_FILE_MAX_BYTES:
            drop_cached_pages(file)


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
