"""The log in an SQLite file, served by one process.

Other processes may read the file and make small changes meanwhile.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec
from msgspec.structs import astuple

from threedice.db.sqlite import SqliteDatabase
from threedice.errors import StoreFailed, TamperedData
from threedice.log.conflicts import concerned_streams, resolve_batch
from threedice.log.records import decode_answers, decode_heads
from threedice.log.store import Store
from threedice.log.stores.files import ServingLock, drop_cached_pages, is_served
from threedice.log.stores.schema import ANSWER_COLUMNS, ENTRY_COLUMNS
from threedice.log.stores.sqlite_rows import open_house_file, open_sqlite_rows

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from threedice.db import SqlRunner
    from threedice.db.schema import TablePolicy
    from threedice.log.entry import Entry
    from threedice.log.records import Proposal, ProposalOutcome
    from threedice.log.stores.sql_rows import LogRows

NEW_FILE_MAX_BYTES: Final = 64 * 1024
"""Maximum size of a database file into which nothing has been checkpointed yet."""


class SqliteStore(Store):
    """A store in an SQLite file, or without a path in memory."""

    CLOCK_SQL: ClassVar[str] = "((julianday('now') - 2440587.5) * 86400.0)"

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        *,
        serving: bool = False,
        tables: TablePolicy | None = None,
        read_only: bool = False,
        open_database: Callable[..., SqliteDatabase] = SqliteDatabase,
    ) -> None:
        self.path, self._is_read_only = Path(path or ":memory:"), read_only
        self._serving_lock = ServingLock(self.path) if serving else None
        try:
            if path is not None and not read_only and self.is_sole_server():
                self._drop_cached_pages()
            self._database = open_database(
                path, create=tables not in ("require", "read"), read_only=read_only
            )
        except BaseException:
            self._release_serving_lock()
            raise
        super().__init__(self._database)
        try:
            if serving:
                # Before anything is written: the log that a crash left may end within a sector,
                # and a power cut while that sector is written again would tear what is in it.
                self._database.forget_failure()
            policy = tables or ("migrate" if serving else "read" if read_only else "create")
            self._database.prepare_tables(policy, needed="streams")
            if serving and self._query("SELECT 1 FROM leases LIMIT 1"):
                # Their holders are gone; if the clock was set back, the leases would not expire.
                self._transact(lambda run: run("DELETE FROM leases"))
        except BaseException:
            with suppress(StoreFailed):
                self.close()
            raise

    def _write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        """Write a batch of valid proposals."""
        self._database.rows_since_checkpoint += len(proposals)
        return self._transact(lambda run: self._write_batch(run, proposals))

    def _write_batch(self, run: SqlRunner, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        keys = [(proposal.account, proposal.key) for proposal in proposals]
        heads = run(_FIND_HEADS, (_encode(concerned_streams(proposals)).decode(),))
        answers = run(_FIND_ANSWERS, (_encode(keys).decode(),))
        batch = resolve_batch(proposals, decode_heads(heads), decode_answers(answers))
        insert = self._database.writers[0].executemany
        insert(_ADD_ENTRIES, [astuple(entry) for entry in batch.entries])
        insert(_SET_HEADS, self._head_rows(batch.heads))
        insert(_ADD_ANSWERS, batch.answers)
        if batch.games:
            insert(_ADD_GAMES, [*batch.games.items()])
        return batch.outcomes

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
        self._database.erase_traces()
        return erased

    def open_rows(self) -> AbstractContextManager[LogRows]:
        """Open a snapshot of the rows in the file."""
        return open_house_file(self.path) if self._is_read_only else open_sqlite_rows(self.path)

    @contextmanager
    def recovery_lock(self) -> Iterator[bool]:
        """Yield whether this store serves the file: then no other server does."""
        yield self._serving_lock is not None

    def is_sole_server(self) -> bool:
        """Return whether no other process serves this file."""
        return self._serving_lock is not None or not is_served(self.path)

    def check_storage(self) -> None:
        """Check the database file, and that no other process serves it."""
        if self._serving_lock is not None:
            self._serving_lock.renew()
        super().check_storage()

    def close(self) -> None:
        """Close all connections and release the serving lock."""
        try:
            self._database.close()
        finally:
            self._release_serving_lock()

    def _release_serving_lock(self) -> None:
        if self._serving_lock is not None:
            self._serving_lock.close()
            self._serving_lock = None

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
    "SELECT account, answers.key, command_hash, spans, refusal"
    " FROM json_each(?) AS used CROSS JOIN answers"
    " ON account = json_extract(used.value, '$[0]')"
    " AND answers.key = json_extract(used.value, '$[1]')"
)

_ADD_ENTRIES: Final = f"INSERT INTO entries ({ENTRY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"

_ADD_ANSWERS: Final = f"INSERT INTO answers ({ANSWER_COLUMNS}) VALUES (?, ?, ?, ?, ?)"

_ADD_GAMES: Final = "INSERT INTO games (hash, canonical) VALUES (?, ?) ON CONFLICT DO NOTHING"

_SET_HEADS: Final = (
    "INSERT INTO streams (stream, version, hash, mac) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (stream) DO UPDATE"
    " SET version = excluded.version, hash = excluded.hash, mac = excluded.mac"
)

_encode = msgspec.json.Encoder().encode
