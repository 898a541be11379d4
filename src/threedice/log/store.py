"""A store: the log in an SQL database.

`SqliteStore` and `PostgresStore` add how a batch is written and which servers are active. The SQL
here is understood by both databases; parameters are written `?`. `threedice.db` runs the statements
and translates their errors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec

from threedice.errors import StreamConflict
from threedice.log.conflicts import check_projection_lines
from threedice.log.entry import EMPTY_HEAD, Entry, Head
from threedice.log.records import (
    Checkpoint,
    ProjectionLine,
    Snapshot,
    StoredAnswer,
    StoredRow,
    decode_answer,
    decode_heads,
)
from threedice.log.stores import schema
from threedice.log.stores.schema import ANSWER_COLUMNS, ENTRY_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from threedice.db import Database, SqlRunner
    from threedice.log.records import Proposal, ProposalOutcome
    from threedice.log.stores.sql_rows import LogRows

_CHECKPOINT_COLUMNS: Final = schema.checkpoints.column_list
_LINE_COLUMNS: Final = schema.lines.column_list
_SNAPSHOT_COLUMNS: Final = schema.snapshots.column_list

SELECT_SUSPENSION: Final = "SELECT value FROM meta WHERE name = 'suspended'"

LINES_PER_INSERT: Final = 256
"""Lines inserted by one statement: each call of a driver has to wait for the GIL afterwards."""


class Store(ABC):
    """A database that holds the log.

    All methods are thread-safe, except that only one thread at a time may call `write`.
    """

    CLOCK_SQL: ClassVar[str]
    """SQL expression for the clock that leases expire by, in seconds."""

    def __init__(self, database: Database) -> None:
        self._query, self._transact = database.query, database.transact

    # --- streams, answers and games

    @abstractmethod
    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        """Write a batch in one durable transaction; each proposal completely or not at all."""

    def read(self, stream: str, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Return up to `limit` entries of a stream in order, from the version after `after`."""
        rows = self._query(
            f"SELECT {ENTRY_COLUMNS} FROM entries WHERE stream = ? AND version > ?"
            " ORDER BY version LIMIT ?",
            (stream, after, limit),
        )
        return [Entry(*row) for row in rows]

    def scan(self, stream: str, after: int = 0) -> Iterator[Entry]:
        """Yield all entries of a stream in version order, reading a page at a time."""
        while page := self.read(stream, after):
            yield from page
            after = page[-1].version

    def head(self, stream: str) -> Head:
        """Return the head of a stream, or the empty head if it has no entries."""
        for row in self._query("SELECT version, hash FROM streams WHERE stream = ?", (stream,)):
            return Head(*row)
        return EMPTY_HEAD

    def heads(self) -> dict[str, Head]:
        """Return the heads of all streams, read from one snapshot."""
        return decode_heads(
            self._query("SELECT stream, version, hash FROM streams WHERE version > 0")
        )

    def streams(self) -> list[str]:
        """Return the sorted names of all streams that have entries or a head."""
        # A loose index scan: one index step per stream, instead of reading all its entries.
        return [
            stream
            for (stream,) in self._query(
                "WITH RECURSIVE names(stream) AS (SELECT min(stream) FROM entries UNION ALL"
                " SELECT (SELECT min(stream) FROM entries WHERE stream > names.stream)"
                " FROM names WHERE names.stream IS NOT NULL)"
                " SELECT stream FROM names WHERE stream IS NOT NULL"
                " UNION SELECT stream FROM streams WHERE version > 0 ORDER BY 1"
            )
        ]

    def answer(self, account: str, key: str) -> StoredAnswer | None:
        """Return the stored answer of an accepted command, or None."""
        sql = f"SELECT {ANSWER_COLUMNS} FROM answers WHERE account = ? AND key = ?"
        return next((decode_answer(row) for row in self._query(sql, (account, key))), None)

    def game(self, game_hash: str) -> bytes | None:
        """Return the canonical bytes of a game pinned by some round, or None."""
        rows = self._query("SELECT canonical FROM games WHERE hash = ?", (game_hash,))
        return next((canonical for (canonical,) in rows), None)

    # --- snapshots and projections, all of which can be rebuilt from the streams

    def snapshot(self, stream: str, name: str) -> Snapshot | None:
        """Return the latest snapshot of a stream under a name, or None."""
        sql = f"SELECT {_SNAPSHOT_COLUMNS} FROM snapshots WHERE stream = ? AND name = ?"
        return next((_decode_snapshot(row) for row in self._query(sql, (stream, name))), None)

    def save_snapshot(self, snapshot: Snapshot) -> None:
        """Save a snapshot, replacing the previous one of the same stream and name."""
        stream, name, form, head, data = msgspec.structs.astuple(snapshot)
        sql = (
            f"INSERT INTO snapshots ({_SNAPSHOT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (stream, name) DO UPDATE SET form = excluded.form,"
            " version = excluded.version, hash = excluded.hash, data = excluded.data"
        )
        row = (stream, name, form, head.version, head.hash, data)
        self._transact(lambda run: run(sql, row), durable=False)

    def project(
        self, view: str, stream: str, after: int, up_to: int, lines: Sequence[ProjectionLine]
    ) -> bool:
        """Add the projection lines of the entries from after `after` up to `up_to`.

        Return False, and add nothing, if the view is not at version `after`.
        """
        check_projection_lines(view, stream, after, up_to, lines)
        rows = [msgspec.structs.astuple(line) for line in lines]

        def work(run: SqlRunner) -> bool:
            advanced = run(
                "UPDATE views SET version = ? WHERE view = ? AND stream = ? AND version = ?"
                " RETURNING version",
                (up_to, view, stream, after),
            )
            if not advanced and after == 0:
                advanced = run(
                    "INSERT INTO views (view, stream, version) VALUES (?, ?, ?)"
                    " ON CONFLICT DO NOTHING RETURNING version",
                    (view, stream, up_to),
                )
            if not advanced:
                return False
            for start in range(0, len(rows), LINES_PER_INSERT):
                chunk = rows[start : start + LINES_PER_INSERT]
                places = ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * len(chunk))
                sql = f"INSERT INTO lines ({_LINE_COLUMNS}) VALUES {places}"
                run(sql, tuple(chain.from_iterable(chunk)))
            return True

        return self._transact(work, durable=False)

    def projected_version(self, view: str, stream: str) -> int:
        """Return the version of a stream up to which a view is projected."""
        sql = "SELECT version FROM views WHERE view = ? AND stream = ?"
        return next((version for (version,) in self._query(sql, (view, stream))), 0)

    def lines(
        self,
        view: str,
        *,
        subject: str | None = None,
        stream: str | None = None,
        since: int | None = None,
        until: int | None = None,
        limit: int | None = None,
    ) -> list[ProjectionLine]:
        """Return lines of a view, ordered by time, stream, version and place.

        `since` and `until` bound the time (`until` excluded); `limit` keeps the last lines.
        """
        conditions = {
            "view = ?": view,
            "subject = ?": subject,
            "stream = ?": stream,
            "at >= ?": since,
            "at < ?": until,
        }
        used = {test: value for test, value in conditions.items() if value is not None}
        sql = f"SELECT {_LINE_COLUMNS} FROM lines WHERE {' AND '.join(used)} ORDER BY "
        if limit is None:
            rows = self._query(sql + "at, stream, version, place", tuple(used.values()))
        else:
            sql += "at DESC, stream DESC, version DESC, place DESC LIMIT ?"
            rows = self._query(sql, (*used.values(), limit))[::-1]
        return [ProjectionLine(*row) for row in rows]

    def delete_view(self, view: str) -> None:
        """Delete the lines of a view and its progress."""

        def work(run: SqlRunner) -> None:
            for table in ("lines", "views"):
                run(f"DELETE FROM {table} WHERE view = ?", (view,))

        self._transact(work, durable=False)

    def delete_derived_data(self, stream: str | None = None) -> None:
        """Delete snapshots, projection lines and view progress, of one stream or of all."""
        where, params = ("", ()) if stream is None else (" WHERE stream = ?", (stream,))

        def work(run: SqlRunner) -> None:
            for table in ("snapshots", "lines", "views"):
                run(f"DELETE FROM {table}{where}", params)

        self._transact(work)

    # --- checkpoints

    def add_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Store a checkpoint for ever; a different one with the same number is a conflict."""
        row = msgspec.structs.astuple(checkpoint)

        def work(run: SqlRunner) -> None:
            run(
                f"INSERT INTO checkpoints ({_CHECKPOINT_COLUMNS}) VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                row,
            )
            stored = run(f"SELECT {_CHECKPOINT_COLUMNS} FROM checkpoints WHERE number = ?", row[:1])
            if stored != [row]:
                raise StreamConflict(f"there is another checkpoint {checkpoint.number} already")

        self._transact(work)

    def checkpoints(self) -> list[Checkpoint]:
        """Return all checkpoints, ordered by number."""
        rows = self._query(f"SELECT {_CHECKPOINT_COLUMNS} FROM checkpoints ORDER BY number")
        return [Checkpoint(*row) for row in rows]

    # --- servers, leases and suspension

    @abstractmethod
    def recovery_lock(self) -> AbstractContextManager[bool]:
        """Let one server at a time recover; on exit, this server counts as active.

        Yields whether no server is active, in which case unfinished rounds were interrupted. A
        server that dies while it recovers does not count as active, so the next one recovers
        again.
        """

    @abstractmethod
    def is_sole_server(self) -> bool:
        """Return whether no other server has this store open."""

    @abstractmethod
    def open_rows(self) -> AbstractContextManager[LogRows]:
        """Open a snapshot of all rows, to be read exactly as they are stored."""

    @abstractmethod
    def close(self) -> None:
        """Close the database."""

    def acquire_lease(self, name: str, holder: str, seconds: float) -> bool:
        """Acquire or renew a lease unless another holder has it, by the database's clock."""
        sql = (
            f"INSERT INTO leases (name, holder, until) VALUES (?, ?, {self.CLOCK_SQL} + ?)"
            " ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until"
            f" WHERE leases.holder = excluded.holder OR leases.until <= {self.CLOCK_SQL}"
            " RETURNING holder"
        )
        return bool(self._transact(lambda run: run(sql, (name, holder, float(seconds)))))

    def release_lease(self, name: str, holder: str) -> None:
        """Release a lease, if this holder has it."""
        sql = "DELETE FROM leases WHERE name = ? AND holder = ?"
        self._transact(lambda run: run(sql, (name, holder)))

    def suspension_reason(self) -> str:
        """Return why writing is suspended, or an empty string."""
        rows = self._query(SELECT_SUSPENSION)
        return next((reason for (reason,) in rows), "")

    def suspend(self, reason: str) -> None:
        """Record durably that writing is suspended until a person releases it, and why."""
        sql = (
            "INSERT INTO meta (name, value) VALUES ('suspended', ?)"
            " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        )
        # A NUL or a lone surrogate, which no text column takes, must not prevent the suspension.
        text = reason.replace("\0", "").encode(errors="replace").decode()
        self._transact(lambda run: run(sql, (text,)), even_if_failed=True)

    def release(self) -> None:
        """End the suspension."""
        self._transact(
            lambda run: run("DELETE FROM meta WHERE name = 'suspended'"), even_if_failed=True
        )

    # --- personal data, outside the hash chain so that it can be erased

    def set_person(self, player: str, data: bytes) -> None:
        """Store or replace the personal data of a player."""
        sql = (
            "INSERT INTO people (player, data) VALUES (?, ?)"
            " ON CONFLICT (player) DO UPDATE SET data = excluded.data"
        )
        self._transact(lambda run: run(sql, (player, data)))

    def person(self, player: str) -> bytes | None:
        """Return the personal data of a player, or None."""
        rows = self._query("SELECT data FROM people WHERE player = ?", (player,))
        return next((data for (data,) in rows), None)

    def erase_person(self, player: str) -> bool:
        """Erase the personal data of a player, and return whether there was any."""
        sql = "DELETE FROM people WHERE player = ? RETURNING player"
        return bool(self._transact(lambda run: run(sql, (player,))))


def _decode_snapshot(row: StoredRow) -> Snapshot:
    stream, name, form, version, digest, data = row
    return Snapshot(stream, name, form, Head(version, digest), data)
