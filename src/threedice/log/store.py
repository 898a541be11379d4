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

from threedice.errors import EntriesMissing, StoreFailed, StreamConflict
from threedice.log.conflicts import (
    check_projection_lines,
    check_proposals,
    concerned_streams,
)
from threedice.log.entry import EMPTY_HEAD, Entry, Head
from threedice.log.record_chain import transact_recorded
from threedice.log.records import (
    Acceptance,
    Checkpoint,
    HeadConflict,
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
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from threedice.db import Database, Result, SqlRunner
    from threedice.log.proof.head_macs import HeadMacs
    from threedice.log.record_chain import RecordedTransaction
    from threedice.log.records import Proposal, ProposalOutcome
    from threedice.log.stores.sql_rows import LogRows

_HEAD_COLUMNS: Final = schema.streams.column_list
_CHECKPOINT_COLUMNS: Final = schema.checkpoints.column_list
_LINE_COLUMNS: Final = schema.lines.column_list
_SNAPSHOT_COLUMNS: Final = schema.snapshots.column_list

SELECT_SUSPENSION: Final = "SELECT value FROM meta WHERE name = 'suspended'"

CHECKPOINTS_PER_PAGE: Final = 100

LINES_PER_INSERT: Final = 256
"""Lines inserted by one statement: each call of a driver has to wait for the GIL afterwards."""


class Store(ABC):
    """A database that holds the log.

    All methods are thread-safe, except that only one thread at a time may call `write`.
    """

    CLOCK_SQL: ClassVar[str]
    """SQL expression for the clock that leases expire by, in seconds."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._query, self._transact = database.query, database.transact
        self.head_macs: HeadMacs | None = None
        """Computes the MAC that is written with each head; without it, MACs are empty."""
        self.known_heads: dict[str, Head] = {}
        """The newest head of each stream that was signed, or that this store wrote or read.

        A stored head that does not extend it shows that entries are missing. To compare the two,
        read this one first: the other may move in between.
        """

    # --- streams, answers and games

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        """Write a batch in one durable transaction; each proposal completely or not at all.

        A stream with entries after its head, which another program must have written, cannot be
        extended: proposals for it are conflicts, and the others are written.
        """
        check_proposals(proposals)
        outcomes = self._write_sound(proposals)
        for proposal, outcome in zip(proposals, outcomes, strict=True):
            if isinstance(outcome, Acceptance):
                for append in proposal.appends:
                    if append.entries:
                        last = append.entries[-1]
                        self.known_heads[append.stream] = Head(last.version, last.hash)
        return outcomes

    def _write_sound(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        """Write a batch, except proposals for streams with entries after their heads."""
        try:
            return self._write(proposals)
        except StoreFailed:
            if self.database.failure:
                raise
            overgrown = self._find_overgrown(concerned_streams(proposals))
            if not overgrown:
                raise
        conflicts = [
            next((overgrown[name] for name in concerned_streams([each]) & overgrown.keys()), None)
            for each in proposals
        ]
        others = [
            proposal
            for proposal, conflict in zip(proposals, conflicts, strict=True)
            if conflict is None
        ]
        outcomes = iter(self._write(others) if others else ())
        return [conflict or next(outcomes) for conflict in conflicts]

    @abstractmethod
    def _write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        """Write a batch of valid proposals."""

    def _find_overgrown(self, streams: Iterable[str]) -> dict[str, HeadConflict]:
        """Return a conflict for each stream with entries after its head."""
        heads = {stream: self.head(stream) for stream in streams}
        return {
            stream: HeadConflict(stream, head)
            for stream, head in heads.items()
            if self.read(stream, head.version, 1)
        }

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

    def head_with_mac(self, stream: str) -> tuple[Head, bytes]:
        """Return the head of a stream with its MAC; the empty head has none."""
        for _, version, digest, mac in self._query(
            f"SELECT {_HEAD_COLUMNS} FROM streams WHERE stream = ?", (stream,)
        ):
            return Head(version, digest), mac
        return EMPTY_HEAD, b""

    def own_head(self, stream: str) -> Head:
        """Return the head of a stream; raise `ForeignEntries` unless the house has written it.

        Raises `EntriesMissing` if it does not extend the known head of the stream.
        """
        if self.head_macs is None:
            return self.head(stream)
        known = self.known_heads.get(stream, EMPTY_HEAD)
        head, mac = self.head_with_mac(stream)
        self.require_own(stream, head, mac, known)
        return head

    def require_own(self, stream: str, head: Head, mac: bytes, known: Head) -> None:
        """Raise `ForeignEntries` unless the house has written a head, which extends a known one."""
        self.require_extension(stream, head, known)
        if self.head_macs is not None:
            self.head_macs.require_valid(stream, head, mac)
            if head != known:
                self.know_head(stream, head)

    def require_extension(self, stream: str, head: Head, known: Head) -> None:
        """Raise `EntriesMissing` unless a head is a known one, or follows its entry."""
        if head == known or not known.version:
            return
        if head.version <= known.version:
            problem = f"ends at version {head.version}, but had version {known.version}"
        else:
            found = self.read(stream, known.version - 1, 1)
            if found and Head(found[0].version, found[0].hash) == known:
                return
            problem = f"has another version {known.version} than before"
        raise EntriesMissing(
            stream,
            f"{problem}: another program has removed entries; see what threedice log verify"
            " reports, and restore a backup (threedice restore records what is given up)",
        )

    def know_head(self, stream: str, head: Head) -> None:
        """Record a head that a stream is certain to have had."""
        if head.version > self.known_heads.get(stream, EMPTY_HEAD).version:
            self.known_heads[stream] = head

    def heads(self) -> dict[str, Head]:
        """Return the heads of all streams, read from one snapshot."""
        return decode_heads(
            self._query("SELECT stream, version, hash FROM streams WHERE version > 0")
        )

    def heads_with_macs(self) -> dict[str, tuple[Head, bytes]]:
        """Return the heads of all streams with their MACs, read from one snapshot."""
        rows = self._query(f"SELECT {_HEAD_COLUMNS} FROM streams WHERE version > 0")
        return {stream: (Head(version, digest), mac) for stream, version, digest, mac in rows}

    def _head_rows(self, heads: Mapping[str, Head]) -> list[StoredRow]:
        """Return the rows of new heads, with their MACs."""
        if self.head_macs is None:
            return [(stream, head.version, head.hash, b"") for stream, head in heads.items()]
        compute = self.head_macs.compute
        return [
            (stream, head.version, head.hash, compute(stream, head))
            for stream, head in heads.items()
        ]

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
        """Return the latest snapshot of a stream under a name, or None.

        With the key, a snapshot that the house did not write counts as none.
        """
        sql = f"SELECT {_SNAPSHOT_COLUMNS} FROM snapshots WHERE stream = ? AND name = ?"
        for _, _, stored_form, version, digest, data in self._query(sql, (stream, name)):
            form, mac = split_form(stored_form)
            snapshot = Snapshot(stream, name, form, Head(version, digest), data)
            if self.head_macs is None or self.head_macs.compute_for_snapshot(snapshot) == mac:
                return snapshot
        return None

    def save_snapshot(self, snapshot: Snapshot) -> None:
        """Save a snapshot, replacing the previous one of the same stream and name."""
        stream, name, form, head, data = msgspec.structs.astuple(snapshot)
        if self.head_macs is not None:
            form += f" {self.head_macs.compute_for_snapshot(snapshot)}"
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

    def add_checkpoint(self, checkpoint: Checkpoint, *, after: int | None = None) -> None:
        """Store a checkpoint; a conflict unless the last stored one has the number `after`.

        By default that is the number before.
        """
        row = msgspec.structs.astuple(checkpoint)
        after = checkpoint.number - 1 if after is None else after

        def work(run: SqlRunner) -> None:
            run(
                f"INSERT INTO checkpoints ({_CHECKPOINT_COLUMNS}) SELECT ?, ?, ?, ?"
                " WHERE (SELECT coalesce(max(number), 0) FROM checkpoints) = ?"
                " ON CONFLICT DO NOTHING",
                (*row, after),
            )
            stored = run(f"SELECT {_CHECKPOINT_COLUMNS} FROM checkpoints WHERE number = ?", row[:1])
            if stored != [row]:
                raise StreamConflict(
                    f"checkpoint {checkpoint.number} does not directly follow the last one"
                )

        self._transact(work)

    def checkpoints(
        self, after: int = 0, *, up_to: int | None = None, limit: int | None = None
    ) -> list[Checkpoint]:
        """Return stored checkpoints after a number, ordered by number."""
        bounds, params = "WHERE number > ?", [after]
        if up_to is not None:
            bounds, params = bounds + " AND number <= ?", [*params, up_to]
        bounds += " ORDER BY number"
        if limit is not None:
            bounds, params = bounds + " LIMIT ?", [*params, limit]
        rows = self._query(f"SELECT {_CHECKPOINT_COLUMNS} FROM checkpoints {bounds}", params)
        return [Checkpoint(*row) for row in rows]

    def scan_checkpoints(self, after: int = 0) -> Iterator[Checkpoint]:
        """Yield stored checkpoints after a number in order, reading a page at a time."""
        while page := self.checkpoints(after, limit=CHECKPOINTS_PER_PAGE):
            yield from page
            after = page[-1].number

    def scan_checkpoints_back(self, up_to: int | None = None) -> Iterator[Checkpoint]:
        """Yield stored checkpoints from the last one back, or from the last up to a number."""
        limit = 1  # often the last one suffices
        while True:
            bound, params = (
                ("", [limit]) if up_to is None else ("WHERE number <= ?", [up_to, limit])
            )
            rows = self._query(
                f"SELECT {_CHECKPOINT_COLUMNS} FROM checkpoints {bound}"
                " ORDER BY number DESC LIMIT ?",
                params,
            )
            if not rows:
                return
            yield from (Checkpoint(*row) for row in rows)
            limit, up_to = CHECKPOINTS_PER_PAGE, rows[-1][0] - 1

    def delete_checkpoints(self, up_to: int) -> None:
        """Delete the checkpoints up to a number, which a later one rolls up."""
        self._transact(lambda run: run("DELETE FROM checkpoints WHERE number <= ?", (up_to,)))

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

    def check_storage(self) -> None:
        """Raise `StoreFailed` if what is written would be lost, as far as this can be seen."""
        self.database.check_storage()

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

    # --- personal data, outside the hash chain so that it can be erased; the chain has a hash of it

    def set_person(self, player: str, data: bytes) -> None:
        """Store or replace the personal data of a player."""
        row = {"player": player, "data": data}
        self._transact_recorded(lambda run: run.insert(schema.people, row, updating=["data"]))

    def person(self, player: str) -> bytes | None:
        """Return the personal data of a player, or None."""
        rows = self._query("SELECT data FROM people WHERE player = ?", (player,))
        return next((data for (data,) in rows), None)

    def people(self, players: Sequence[str] | None = None) -> dict[str, bytes]:
        """Return the personal data of these players, or of everybody, as far as there is any."""
        if players is None:
            return dict(self._query("SELECT player, data FROM people"))
        marks = ", ".join("?" * len(players))
        sql = f"SELECT player, data FROM people WHERE player IN ({marks})"
        return dict(self._query(sql, tuple(players))) if players else {}

    def erase_person(self, player: str) -> bool:
        """Erase the personal data of a player, and return whether there was any."""
        return bool(self._transact_recorded(lambda run: run.delete(schema.people, player=player)))

    def _transact_recorded(self, work: Callable[[RecordedTransaction], Result]) -> Result:
        return transact_recorded(self.database, work, head_macs=self.head_macs)


def split_form(stored: str) -> tuple[str, str]:
    """Return the form of a stored snapshot, and its MAC if the house wrote it with the key.

    >>> split_form("table-1 00ff"), split_form("table-1")
    (('table-1', '00ff'), ('table-1', ''))
    """
    form, _, mac = stored.partition(" ")
    return form, mac
