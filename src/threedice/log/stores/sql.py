"""The part of a store that SQLite and PostgreSQL share, in SQL that both understand.

What both databases do alike: everything but `write`, said in SQL that both understand.

Parameters are written `?`. How statements are run, and what becomes of their failures, is for
`sqlite` and `postgres`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any, ClassVar, Final, TypeVar

import msgspec

from threedice.errors import StreamConflict, TamperedData
from threedice.log.conflicts import check_projection_lines
from threedice.log.entry import EMPTY_HEAD, Entry, Head
from threedice.log.store import (
    Checkpoint,
    ProjectionLine,
    Snapshot,
    StoredAnswer,
    StoredRow,
    decode_spans,
)

StatementRunner = Callable[[str, Sequence[Any]], list[StoredRow]]
"""Runs a statement with its parameters in the transaction at hand, and returns its rows."""


WorkResult = TypeVar("WorkResult")


_CHECKPOINT_COLUMNS = "number, body, key_id, signature"


_LINE_COLUMNS = "view, subject, stream, version, place, at, data"


_SNAPSHOT_COLUMNS = "stream, name, form, version, hash, data"


SELECT_SUSPENSION: Final = "SELECT value FROM meta WHERE name = 'suspended'"


class SqlStore(ABC):
    """A store in a database; which one, and how it is spoken to, its two kinds know."""

    CLOCK_SQL: ClassVar[str]
    """The seconds since 1970 by the database's clock, in its SQL."""

    @abstractmethod
    def _query(self, sql: str, params: Sequence[Any] = ()) -> list[StoredRow]:
        """Read; from any thread, beside whatever is being written."""

    @abstractmethod
    def _transact(
        self,
        work: Callable[[StatementRunner], WorkResult],
        *,
        durable: bool = True,
        even_if_failed: bool = False,
    ) -> WorkResult:
        """Do some work in one transaction, `always` even where writing has failed before.

        Unless it is to be lasting, a power cut may undo it.
        """

    # the log itself

    def read(self, stream: str, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Return entries of a stream in order, from the version after the one given."""
        found = self._query(
            f"SELECT {ENTRY_COLUMNS} FROM entries WHERE stream = ? AND version > ?"
            " ORDER BY version LIMIT ?",
            (stream, after, limit),
        )
        return [Entry(*row) for row in found]

    def scan(self, stream: str, after: int = 0) -> Iterator[Entry]:
        """Yield all entries of a stream in the order of their versions, without holding many."""
        while page := self.read(stream, after):
            yield from page
            after = page[-1].version

    def head(self, stream: str) -> Head:
        """Return the head of a stream, that of an empty one where there is none."""
        for row in self._query("SELECT version, hash FROM streams WHERE stream = ?", (stream,)):
            return Head(*row)
        return EMPTY_HEAD

    def heads(self) -> dict[str, Head]:
        """Return the heads of all streams, as one moment saw them."""
        found = self._query("SELECT stream, version, hash FROM streams WHERE version > 0")
        return {stream: Head(version, digest) for stream, version, digest in found}

    def streams(self) -> list[str]:
        """Return the names of all streams for which there are entries or a head, sorted."""
        # one step in the index for each stream, instead of reading all its entries
        return [
            stream
            for (stream,) in self._query(
                "WITH RECURSIVE named(stream) AS (SELECT min(stream) FROM entries UNION ALL"
                " SELECT (SELECT min(stream) FROM entries WHERE stream > named.stream)"
                " FROM named WHERE named.stream IS NOT NULL)"
                " SELECT stream FROM named WHERE stream IS NOT NULL"
                " UNION SELECT stream FROM streams WHERE version > 0 ORDER BY 1"
            )
        ]

    def answer(self, account: str, key: str) -> StoredAnswer | None:
        """Return what became of a command, or nothing where it was never accepted."""
        sql = f"SELECT {ANSWER_COLUMNS} FROM answers WHERE account = ? AND key = ?"
        return next((_decode_answer(row) for row in self._query(sql, (account, key))), None)

    def answers(self) -> Iterator[StoredAnswer]:
        """Yield every answer, by account and key."""
        sql = f"SELECT {ANSWER_COLUMNS} FROM answers"
        page = self._query(f"{sql} ORDER BY account, key LIMIT 1000")
        while page:
            yield from map(_decode_answer, page)
            page = self._query(
                f"{sql} WHERE (account, key) > (?, ?) ORDER BY account, key LIMIT 1000",
                page[-1][:2],
            )

    def game(self, game_hash: str) -> bytes | None:
        """Return the canonical bytes of a game that some round pins."""
        found = self._query("SELECT canonical FROM games WHERE hash = ?", (game_hash,))
        return next((canonical for (canonical,) in found), None)

    def games(self) -> dict[str, bytes]:
        """Return the canonical bytes of all games, by their hash."""
        return dict(self._query("SELECT hash, canonical FROM games"))

    # folds over it, all of which can be made again

    def snapshot(self, stream: str, name: str) -> Snapshot | None:
        """Return the latest snapshot of a fold over a stream."""
        sql = f"SELECT {_SNAPSHOT_COLUMNS} FROM snapshots WHERE stream = ? AND name = ?"
        return next((_decode_snapshot(row) for row in self._query(sql, (stream, name))), None)

    def snapshots(self) -> Iterator[Snapshot]:
        """Yield every snapshot, by stream and name."""
        for stream, name in self._query("SELECT stream, name FROM snapshots ORDER BY stream, name"):
            if (snapshot := self.snapshot(stream, name)) is not None:
                yield snapshot

    def save_snapshot(self, snapshot: Snapshot) -> None:
        """Keep a snapshot instead of the one of that stream and name before it."""
        stream, name, form, head, data = msgspec.structs.astuple(snapshot)
        sql = (
            f"INSERT INTO snapshots ({_SNAPSHOT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (stream, name) DO UPDATE SET form = excluded.form,"
            " version = excluded.version, hash = excluded.hash, data = excluded.data"
        )
        row = (stream, name, form, head.version, head.hash, data)
        self._transact(lambda run: run(sql, row), durable=False)

    def project(
        self, view: str, stream: str, after: int, upto: int, lines: Sequence[ProjectionLine]
    ) -> bool:
        """Add the lines that follow from entries after one version up to another."""
        check_projection_lines(view, stream, after, upto, lines)
        rows = [msgspec.structs.astuple(line) for line in lines]

        def work(run: StatementRunner) -> bool:
            moved = run(
                "UPDATE views SET version = ? WHERE view = ? AND stream = ? AND version = ?"
                " RETURNING version",
                (upto, view, stream, after),
            )
            if not moved and after == 0:
                moved = run(
                    "INSERT INTO views (view, stream, version) VALUES (?, ?, ?)"
                    " ON CONFLICT DO NOTHING RETURNING version",
                    (view, stream, upto),
                )
            if not moved:
                return False
            for sql, params in insert_statements("lines", _LINE_COLUMNS, rows):
                run(sql, params)
            return True

        return self._transact(work, durable=False)

    def projected_version(self, view: str, stream: str) -> int:
        """Return up to which version of a stream a view has come."""
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
        """Return lines of a view in the order of time, stream, version and place."""
        asked = {
            "view = ?": view,
            "subject = ?": subject,
            "stream = ?": stream,
            "at >= ?": since,
            "at < ?": until,
        }
        given = {test: value for test, value in asked.items() if value is not None}
        sql = f"SELECT {_LINE_COLUMNS} FROM lines WHERE {' AND '.join(given)} ORDER BY "
        if limit is None:
            found = self._query(sql + "at, stream, version, place", tuple(given.values()))
        else:
            sql += "at DESC, stream DESC, version DESC, place DESC LIMIT ?"
            found = self._query(sql, (*given.values(), limit))[::-1]
        return [ProjectionLine(*row) for row in found]

    def delete_view(self, view: str) -> None:
        """Delete the lines of a view, and how far it has come."""

        def work(run: StatementRunner) -> None:
            for table in ("lines", "views"):
                run(f"DELETE FROM {table} WHERE view = ?", (view,))

        self._transact(work, durable=False)

    def delete_derived_data(self, stream: str | None = None) -> None:
        """Delete snapshots, lines and how far views have come, of all streams or of one."""
        which, given = ("", ()) if stream is None else (" WHERE stream = ?", (stream,))

        def work(run: StatementRunner) -> None:
            for table in ("snapshots", "lines", "views"):
                run(f"DELETE FROM {table}{which}", given)

        self._transact(work)

    # what proves it

    def add_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint for ever; another of its number is a conflict."""
        row = msgspec.structs.astuple(checkpoint)

        def work(run: StatementRunner) -> None:
            run(
                f"INSERT INTO checkpoints ({_CHECKPOINT_COLUMNS}) VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                row,
            )
            kept = run(f"SELECT {_CHECKPOINT_COLUMNS} FROM checkpoints WHERE number = ?", row[:1])
            if kept != [row]:
                raise StreamConflict(f"there is another checkpoint {checkpoint.number} already")

        self._transact(work)

    def checkpoints(self) -> list[Checkpoint]:
        """Return all checkpoints by number."""
        found = self._query(f"SELECT {_CHECKPOINT_COLUMNS} FROM checkpoints ORDER BY number")
        return [Checkpoint(*row) for row in found]

    # who is at work

    def acquire_lease(self, name: str, holder: str, seconds: float) -> bool:
        """Take or renew a lease, unless another holds it still; by the database's clock."""
        sql = (
            f"INSERT INTO leases (name, holder, until) VALUES (?, ?, {self.CLOCK_SQL} + ?)"
            " ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until"
            f" WHERE leases.holder = excluded.holder OR leases.until <= {self.CLOCK_SQL}"
            " RETURNING holder"
        )
        return bool(self._transact(lambda run: run(sql, (name, holder, float(seconds)))))

    def release_lease(self, name: str, holder: str) -> None:
        """Give a lease up."""
        sql = "DELETE FROM leases WHERE name = ? AND holder = ?"
        self._transact(lambda run: run(sql, (name, holder)))

    def suspension_reason(self) -> str:
        """Return why nothing may be written, or nothing."""
        found = self._query(SELECT_SUSPENSION)
        return next((cause for (cause,) in found), "")

    def suspend(self, reason: str) -> None:
        """Note durably that nothing may be written until a person has looked, and why."""
        sql = (
            "INSERT INTO meta (name, value) VALUES ('suspended', ?)"
            " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        )
        words = reason.replace("\0", "").encode(errors="replace").decode()  # whatever it says
        self._transact(lambda run: run(sql, (words,)), even_if_failed=True)

    def release(self) -> None:
        """Let writing go on after a person has looked."""
        self._transact(
            lambda run: run("DELETE FROM meta WHERE name = 'suspended'", ()), even_if_failed=True
        )

    # personal data, outside the chain so that it can be erased

    def set_person(self, player: str, data: bytes) -> None:
        """Keep or replace what is known of a person."""
        sql = (
            "INSERT INTO people (player, data) VALUES (?, ?)"
            " ON CONFLICT (player) DO UPDATE SET data = excluded.data"
        )
        self._transact(lambda run: run(sql, (player, data)))

    def person(self, player: str) -> bytes | None:
        """Return what is known of a person."""
        found = self._query("SELECT data FROM people WHERE player = ?", (player,))
        return next((data for (data,) in found), None)

    def erase_person(self, player: str) -> bool:
        """Forget a person; tells whether there was anything to forget."""
        sql = "DELETE FROM people WHERE player = ? RETURNING player"
        return bool(self._transact(lambda run: run(sql, (player,))))


def _decode_answer(row: StoredRow) -> StoredAnswer:
    account, key, command_hash, spans = row
    try:
        return StoredAnswer(account, key, command_hash, decode_spans(spans))
    except msgspec.DecodeError as error:
        raise TamperedData(
            f"answer to {key} of {account}", f"no spans of entries: {error}"
        ) from error


def _decode_snapshot(row: StoredRow) -> Snapshot:
    stream, name, form, version, digest, data = row
    return Snapshot(stream, name, form, Head(version, digest), data)


ENTRY_COLUMNS: Final = "stream, version, at, kind, schema, data, cause, hash"


ANSWER_COLUMNS: Final = "account, key, command_hash, spans"


INSERT_SIZES: Final = (256, 64, 16, 4, 1)
"""How many rows an INSERT has: few sizes, so that each is prepared once."""


def insert_statements(
    table: str, columns: str, rows: Sequence[StoredRow], suffix: str = ""
) -> Iterator[tuple[str, StoredRow]]:
    """Yield statements that insert many rows, as few as there can be, each with its parameters."""
    # Each call of a driver lets other threads run and then waits for its turn: many rows at once
    # are faster by far than one by one when another thread is busy.
    at = 0
    for size in INSERT_SIZES:
        while len(rows) - at >= size:
            params = tuple(chain.from_iterable(rows[at : at + size]))
            yield f"{_insert_sql(table, columns, size)} {suffix}", params
            at += size


@cache
def _insert_sql(table: str, columns: str, size: int) -> str:
    one = f"({', '.join('?' * (columns.count(',') + 1))})"
    return f"INSERT INTO {table} ({columns}) VALUES {', '.join([one] * size)}"
