"""What both databases do alike: everything but `write`, said in SQL that both understand.

Parameters are written `?`. How statements are run, and what becomes of their failures, is for
`sqlite` and `postgres`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Final, TypeVar

import msgspec

from threedice.errors import Conflicted, Tampered
from threedice.log.batch import ANSWER, ENTRY, decode_spans, insert
from threedice.log.entry import EMPTY, Entry, Head
from threedice.log.judging import check_lines
from threedice.log.store import Answer, Checkpoint, Line, Snapshot

Row = tuple[Any, ...]
Run = Callable[[str, Sequence[Any]], list[Row]]
"""Runs a statement with its parameters in the transaction at hand, and returns its rows."""

Result = TypeVar("Result")

_CHECKPOINT = "number, body, key_id, signature"
_LINE = "view, subject, stream, version, place, at, data"
_SNAPSHOT = "stream, name, form, version, hash, data"

FIND_SUSPENDED: Final = "SELECT value FROM meta WHERE name = 'suspended'"


class SqlStore(ABC):
    """A store in a database; which one, and how it is spoken to, its two kinds know."""

    CLOCK: ClassVar[str]
    """The seconds since 1970 by the database's clock, in its SQL."""

    @abstractmethod
    def _rows(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        """Read; from any thread, beside whatever is being written."""

    @abstractmethod
    def _change(
        self, work: Callable[[Run], Result], *, lasting: bool = True, always: bool = False
    ) -> Result:
        """Do some work in one transaction, `always` even where writing has failed before.

        Unless it is to be lasting, a power cut may undo it.
        """

    # the log itself

    def read(self, stream: str, after: int = 0, most: int = 1000) -> list[Entry]:
        """Return entries of a stream in order, from the version after the one given."""
        found = self._rows(
            f"SELECT {ENTRY} FROM entries WHERE stream = ? AND version > ?"
            " ORDER BY version LIMIT ?",
            (stream, after, most),
        )
        return [Entry(*row) for row in found]

    def scan(self, stream: str, after: int = 0) -> Iterator[Entry]:
        """Yield all entries of a stream in the order of their versions, without holding many."""
        while page := self.read(stream, after):
            yield from page
            after = page[-1].version

    def head(self, stream: str) -> Head:
        """Return the head of a stream, that of an empty one where there is none."""
        for row in self._rows("SELECT version, hash FROM streams WHERE stream = ?", (stream,)):
            return Head(*row)
        return EMPTY

    def heads(self) -> dict[str, Head]:
        """Return the heads of all streams, as one moment saw them."""
        found = self._rows("SELECT stream, version, hash FROM streams WHERE version > 0")
        return {stream: Head(version, digest) for stream, version, digest in found}

    def streams(self) -> list[str]:
        """Return the names of all streams for which there are entries or a head, sorted."""
        # one step in the index for each stream, instead of reading all its entries
        return [
            stream
            for (stream,) in self._rows(
                "WITH RECURSIVE named(stream) AS (SELECT min(stream) FROM entries UNION ALL"
                " SELECT (SELECT min(stream) FROM entries WHERE stream > named.stream)"
                " FROM named WHERE named.stream IS NOT NULL)"
                " SELECT stream FROM named WHERE stream IS NOT NULL"
                " UNION SELECT stream FROM streams WHERE version > 0 ORDER BY 1"
            )
        ]

    def answer(self, account: str, key: str) -> Answer | None:
        """Return what became of a command, or nothing where it was never accepted."""
        sql = f"SELECT {ANSWER} FROM answers WHERE account = ? AND key = ?"
        return next((_answer(row) for row in self._rows(sql, (account, key))), None)

    def answers(self) -> Iterator[Answer]:
        """Yield every answer, by account and key."""
        sql = f"SELECT {ANSWER} FROM answers"
        page = self._rows(f"{sql} ORDER BY account, key LIMIT 1000")
        while page:
            yield from map(_answer, page)
            page = self._rows(
                f"{sql} WHERE (account, key) > (?, ?) ORDER BY account, key LIMIT 1000",
                page[-1][:2],
            )

    def game(self, game_hash: str) -> bytes | None:
        """Return the canonical bytes of a game that some round pins."""
        found = self._rows("SELECT canonical FROM games WHERE hash = ?", (game_hash,))
        return next((canonical for (canonical,) in found), None)

    def games(self) -> dict[str, bytes]:
        """Return the canonical bytes of all games, by their hash."""
        return dict(self._rows("SELECT hash, canonical FROM games"))

    # folds over it, all of which can be made again

    def snapshot(self, stream: str, name: str) -> Snapshot | None:
        """Return the latest snapshot of a fold over a stream."""
        sql = f"SELECT {_SNAPSHOT} FROM snapshots WHERE stream = ? AND name = ?"
        return next((_snapshot(row) for row in self._rows(sql, (stream, name))), None)

    def snapshots(self) -> Iterator[Snapshot]:
        """Yield every snapshot, by stream and name."""
        for stream, name in self._rows("SELECT stream, name FROM snapshots ORDER BY stream, name"):
            if (snapshot := self.snapshot(stream, name)) is not None:
                yield snapshot

    def save_snapshot(self, snapshot: Snapshot) -> None:
        """Keep a snapshot instead of the one of that stream and name before it."""
        stream, name, form, head, data = msgspec.structs.astuple(snapshot)
        sql = (
            f"INSERT INTO snapshots ({_SNAPSHOT}) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (stream, name) DO UPDATE SET form = excluded.form,"
            " version = excluded.version, hash = excluded.hash, data = excluded.data"
        )
        row = (stream, name, form, head.version, head.hash, data)
        self._change(lambda run: run(sql, row), lasting=False)

    def project(self, view: str, stream: str, after: int, upto: int, lines: Sequence[Line]) -> bool:
        """Add the lines that follow from entries after one version up to another."""
        check_lines(view, stream, after, upto, lines)
        rows = [msgspec.structs.astuple(line) for line in lines]

        def work(run: Run) -> bool:
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
            for sql, params in insert("lines", _LINE, rows):
                run(sql, params)
            return True

        return self._change(work, lasting=False)

    def projected(self, view: str, stream: str) -> int:
        """Return up to which version of a stream a view has come."""
        sql = "SELECT version FROM views WHERE view = ? AND stream = ?"
        return next((version for (version,) in self._rows(sql, (view, stream))), 0)

    def lines(
        self,
        view: str,
        *,
        subject: str | None = None,
        stream: str | None = None,
        since: int | None = None,
        until: int | None = None,
        most: int | None = None,
    ) -> list[Line]:
        """Return lines of a view in the order of time, stream, version and place."""
        asked = {
            "view = ?": view,
            "subject = ?": subject,
            "stream = ?": stream,
            "at >= ?": since,
            "at < ?": until,
        }
        given = {test: value for test, value in asked.items() if value is not None}
        sql = f"SELECT {_LINE} FROM lines WHERE {' AND '.join(given)} ORDER BY "
        if most is None:
            found = self._rows(sql + "at, stream, version, place", tuple(given.values()))
        else:
            sql += "at DESC, stream DESC, version DESC, place DESC LIMIT ?"
            found = self._rows(sql, (*given.values(), most))[::-1]
        return [Line(*row) for row in found]

    def forget_view(self, view: str) -> None:
        """Delete the lines of a view, and how far it has come."""

        def work(run: Run) -> None:
            for table in ("lines", "views"):
                run(f"DELETE FROM {table} WHERE view = ?", (view,))

        self._change(work, lasting=False)

    def forget_folds(self, stream: str | None = None) -> None:
        """Delete snapshots, lines and how far views have come, of all streams or of one."""
        which, given = ("", ()) if stream is None else (" WHERE stream = ?", (stream,))

        def work(run: Run) -> None:
            for table in ("snapshots", "lines", "views"):
                run(f"DELETE FROM {table}{which}", given)

        self._change(work)

    # what proves it

    def add_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint for ever; another of its number is a conflict."""
        row = msgspec.structs.astuple(checkpoint)

        def work(run: Run) -> None:
            run(
                f"INSERT INTO checkpoints ({_CHECKPOINT}) VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                row,
            )
            kept = run(f"SELECT {_CHECKPOINT} FROM checkpoints WHERE number = ?", row[:1])
            if kept != [row]:
                raise Conflicted(f"there is another checkpoint {checkpoint.number} already")

        self._change(work)

    def checkpoints(self) -> list[Checkpoint]:
        """Return all checkpoints by number."""
        found = self._rows(f"SELECT {_CHECKPOINT} FROM checkpoints ORDER BY number")
        return [Checkpoint(*row) for row in found]

    # who is at work

    def take_lease(self, name: str, holder: str, seconds: float) -> bool:
        """Take or renew a lease, unless another holds it still; by the database's clock."""
        sql = (
            f"INSERT INTO leases (name, holder, until) VALUES (?, ?, {self.CLOCK} + ?)"
            " ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until"
            f" WHERE leases.holder = excluded.holder OR leases.until <= {self.CLOCK}"
            " RETURNING holder"
        )
        return bool(self._change(lambda run: run(sql, (name, holder, float(seconds)))))

    def drop_lease(self, name: str, holder: str) -> None:
        """Give a lease up."""
        sql = "DELETE FROM leases WHERE name = ? AND holder = ?"
        self._change(lambda run: run(sql, (name, holder)))

    def suspended(self) -> str:
        """Return why nothing may be written, or nothing."""
        found = self._rows(FIND_SUSPENDED)
        return next((cause for (cause,) in found), "")

    def suspend(self, cause: str) -> None:
        """Note durably that nothing may be written until a person has looked, and why."""
        sql = (
            "INSERT INTO meta (name, value) VALUES ('suspended', ?)"
            " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        )
        words = cause.replace("\0", "").encode(errors="replace").decode()  # whatever it says
        self._change(lambda run: run(sql, (words,)), always=True)

    def release(self) -> None:
        """Let writing go on after a person has looked."""
        self._change(lambda run: run("DELETE FROM meta WHERE name = 'suspended'", ()), always=True)

    # personal data, outside the chain so that it can be erased

    def set_person(self, player: str, data: bytes) -> None:
        """Keep or replace what is known of a person."""
        sql = (
            "INSERT INTO people (player, data) VALUES (?, ?)"
            " ON CONFLICT (player) DO UPDATE SET data = excluded.data"
        )
        self._change(lambda run: run(sql, (player, data)))

    def person(self, player: str) -> bytes | None:
        """Return what is known of a person."""
        found = self._rows("SELECT data FROM people WHERE player = ?", (player,))
        return next((data for (data,) in found), None)

    def erase_person(self, player: str) -> bool:
        """Forget a person; tells whether there was anything to forget."""
        sql = "DELETE FROM people WHERE player = ? RETURNING player"
        return bool(self._change(lambda run: run(sql, (player,))))


def _answer(row: Row) -> Answer:
    account, key, command_hash, spans = row
    try:
        return Answer(account, key, command_hash, decode_spans(spans))
    except msgspec.DecodeError as error:
        raise Tampered(f"answer to {key} of {account}", f"no spans of entries: {error}") from error


def _snapshot(row: Row) -> Snapshot:
    stream, name, form, version, digest, data = row
    return Snapshot(stream, name, form, Head(version, digest), data)
