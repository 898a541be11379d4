"""The log in an SQLite file: one process serves it, others may look and do small things beside.

Only what every SQLite driver offers is used (`execute` and `close` of a connection), so that the
same class runs on a simulated disk that loses power.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

import msgspec

from threedice.errors import (
    InvalidInput,
    StoreAway,
    StoreFailed,
    StoreUnfit,
    Tampered,
    ThreediceError,
)
from threedice.log import serving as served
from threedice.log.batch import ANSWER, ENTRY, accepted, decode_spans
from threedice.log.disk import forget_cached, sync_directory
from threedice.log.entry import Entry, Head
from threedice.log.judging import ACCEPTED, check_proposal, judge
from threedice.log.schema import prepare
from threedice.log.scribe import Place, Scribe
from threedice.log.sql import Result, Row, Run, SqlStore
from threedice.log.store import Answer, Outcome, Proposal
from threedice.log.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Iterator

OLDEST: Final = (3, 37, 0)
"""The first SQLite with tables that keep to their types."""

BUSY_SECONDS: Final = 5.0
FOLD_EVERY, TRANSACTION = 2_000, 4
"""How much is written before it is moved into the file itself: proposals, and so many for each
transaction."""

JUST_MADE: Final = 64 * 1024
"""How many bytes a file may have into which nothing was moved yet."""

CACHE_KIBIBYTES: Final = 32 * 1024
"""How much of the file a connection may keep: the ends of all streams, and where keys go."""

FULL, NORMAL = 2, 1
"""Whether a commit waits for the disk, or leaves that to the next that does."""

BUSY, LOCKED, CORRUPT, CONSTRAINT, NOT_A_DATABASE = 5, 6, 11, 19, 26
"""The result codes of SQLite that are not simply failures."""


class Connection(Protocol):
    """What is used of a driver's connection; statements take effect as they stand, one by one."""

    def execute(self, sql: str, params: Sequence[Any] = ..., /) -> Iterable[Row]:
        """Run a statement and return its rows."""

    def executemany(self, sql: str, rows: Sequence[Row], /) -> object:
        """Run a statement for every row of parameters."""

    def close(self) -> None:
        """Let go of the file."""


Connect = Callable[[str], Connection]


def connect_file(path: str) -> Connection:
    """Open a database file with the standard driver; a new one is for its owner's eyes only."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        sync_directory(Path(path).parent)
    except FileExistsError:
        pass
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False)


class SqliteStore(SqlStore):
    """A store in an SQLite file; `shared`, where it must do with a single connection."""

    CLOCK: ClassVar[str] = "((julianday('now') - 2440587.5) * 86400.0)"

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        connect: Connect = connect_file,
        serving: bool = False,
        scribe: bool = False,
        shared: bool = False,
        fold_every: int = FOLD_EVERY,
    ) -> None:
        self.path = Path(path)
        self._connect, self._shared = connect, shared
        self._fold_every, self._unfolded = fold_every, 0
        self._failed = ""
        self._turn = Turn()  # of whoever writes; SQLite itself would have them wait and try again
        self._closed = False
        self._writers: list[Connection] = []
        self._readers: list[Connection] = []
        self.scribe: Scribe | None = None
        self._serving = served.hold(self.path) if serving else None
        try:
            if self.alone():
                self._forget_cached()
            self._writers.append(self._open(FULL))
            if not shared:
                self._writers.append(self._open(NORMAL))
            self._prepare()
            if scribe:
                # It holds the lock too: nobody serves the file before its last batch is written. It
                # is given no time: only a disk keeps it from answering, and to kill it in a sync
                # would be to kill who alone hears that the disk has failed.
                self.scribe = Scribe(
                    Place("sqlite", str(self.path)),
                    failed=self._note_failure,
                    turn=self._turn,
                    keep_open=() if self._serving is None else (self._serving,),
                )
        except BaseException:
            self.close()
            raise

    def write(self, proposals: Sequence[Proposal]) -> list[Outcome]:
        """Write a batch in one durable transaction; each proposal as a whole or not at all."""
        for proposal in proposals:
            check_proposal(proposal)
        self._unfolded += len(proposals)
        try:
            return self._change(lambda run: _write_new(run, self._many, proposals))
        except _KeyKnown:
            return self._change(
                lambda run: _write(run, self._many, proposals, _answers(run, proposals))
            )

    def read(self, stream: str, after: int = 0, most: int = 1000) -> list[Entry]:
        """Return entries of a stream in order, from the version after the one given."""
        try:
            return super().read(stream, after, most)
        except Tampered:
            for before in range(after, after + most):
                self._read_one(stream, before)
            raise

    def erase_person(self, player: str) -> bool:
        """Forget a person, also in the file's free space and in what is yet to be moved to it."""
        erased = super().erase_person(player)
        self._checkpoint()
        return erased

    @contextmanager
    def coming_back(self) -> Iterator[bool]:
        """Come back; where this one serves, there is no other."""
        yield self._serving is not None

    def alone(self) -> bool:
        """Tell whether no other process serves this file."""
        return self._serving is not None or not served.is_held(self.path)

    def close(self) -> None:
        """Let go of the file."""
        with self._turn:
            self._closed = True
            if self.scribe is not None:
                self.scribe.close()
            self._close_readers()
            while self._writers:
                self._writers.pop().close()
            if self._serving is not None:
                served.let_go(self._serving)
                self._serving = None

    # how statements are run

    def _many(self, sql: str, rows: Sequence[Row]) -> None:
        self._writers[0].executemany(sql, rows)

    def _change(
        self, work: Callable[[Run], Result], *, lasting: bool = True, always: bool = False
    ) -> Result:
        with self._turn:
            self._refuse_if_closed()
            if self._failed and not always:
                raise StoreFailed(self._failed)
            self._fold()
            try:
                return _transaction(self._writers[0 if lasting else -1], work)
            except ThreediceError:
                raise
            except (UnicodeEncodeError, OverflowError) as error:
                raise InvalidInput(f"{self.path} cannot hold this: {error}") from error
            except Exception as error:
                raise self._failure("written", error) from error

    def _rows(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        with self._reading() as connection:
            try:
                return list(connection.execute(sql, params))
            except (UnicodeEncodeError, OverflowError) as error:
                raise InvalidInput(f"{self.path} cannot hold this: {error}") from error
            except Exception as error:
                if _damaged(error):
                    raise Tampered(str(self.path), f"cannot be read: {error}") from error
                raise self._failure("read", error) from error

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        self._refuse_if_closed()
        if self._shared:
            with self._turn:
                yield self._writers[0]
            return
        try:
            connection = self._readers.pop()
        except IndexError:
            connection = self._open(NORMAL)
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
            raise StoreAway(f"{self.path} has been closed")

    def _read_one(self, stream: str, before: int) -> None:
        try:
            super().read(stream, before, 1)
        except Tampered as damage:
            raise Tampered(f"{stream} after version {before}", damage.problem) from damage

    def _failure(self, done: str, error: Exception) -> StoreAway | StoreFailed:
        if code_of(error) in (BUSY, LOCKED):
            return StoreAway(f"{self.path} is held by another process; try again: {error}")
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

    def _forget_cached(self) -> None:
        """Go by what the disk has: by its log, and by the header of a file that was just made.

        All else that is in the file was synced before the log was given up.
        """
        file = self.path.resolve()
        forget_cached(file.with_name(f"{file.name}-wal"))
        if file.exists() and file.stat().st_size <= JUST_MADE:
            forget_cached(file)

    def _open(self, synchronous: int) -> Connection:
        try:
            connection = self._connect(str(self.path))
        except Exception as error:
            raise StoreUnfit(
                f"{self.path} cannot be opened: {error}; is its folder there?"
            ) from error
        try:
            _set_up(connection, synchronous)
        except Exception as error:
            connection.close()
            if isinstance(error, StoreUnfit):
                raise StoreUnfit(f"{self.path}: {error}") from None
            if code_of(error) == NOT_A_DATABASE:
                raise StoreUnfit(f"{self.path} is no SQLite database; use another file") from error
            raise self._failure("opened", error) from error
        return connection

    def _prepare(self) -> None:
        def work(run: Run) -> None:
            named = run("SELECT name FROM sqlite_master WHERE type = 'table'", ())
            prepare(
                lambda sql: run(sql, ()),
                [name for (name,) in named],
                dialect="sqlite",
                where=str(self.path),
            )
            if self._serving is not None and run("SELECT 1 FROM leases LIMIT 1", ()):
                # Whoever held them is gone; by a clock set back they would last and last.
                run("DELETE FROM leases", ())

        self._change(work)
        if self._serving is not None:
            self._checkpoint()

    def _fold(self) -> None:
        """Every so often, move what was committed into the file, before more is written.

        SQLite would do it by itself after a commit, and say nothing if that failed: a failed sync
        would go unnoticed, and what is acknowledged after it could be lost.
        """
        self._unfolded += TRANSACTION
        if self._unfolded < self._fold_every:
            return
        try:
            list(self._writers[0].execute("PRAGMA wal_checkpoint(PASSIVE)"))
        except Exception as error:
            raise self._failure("written", error) from error
        self._unfolded = 0

    def _checkpoint(self) -> None:
        """Move what was committed into the file itself and sync it, as far as nobody is reading."""
        with self._turn:
            try:
                list(self._writers[0].execute("PRAGMA wal_checkpoint(TRUNCATE)"))
            except Exception as error:
                raise self._failure("written", error) from error


def _transaction(connection: Connection, work: Callable[[Run], Result]) -> Result:
    def run(sql: str, params: Sequence[Any] = ()) -> list[Row]:
        return list(connection.execute(sql, params))

    run("BEGIN IMMEDIATE")
    try:
        result = work(run)
        run("COMMIT")
    except BaseException:
        with suppress(Exception):  # SQLite may have rolled back by itself
            run("ROLLBACK")
        raise
    return result


_FIND_HEADS: Final = (
    "SELECT stream, version, hash FROM streams WHERE stream IN (SELECT value FROM json_each(?))"
)
_FIND_ANSWERS: Final = (
    "SELECT account, answers.key, command_hash, spans FROM json_each(?) AS used CROSS JOIN answers"
    " ON account = json_extract(used.value, '$[0]')"
    " AND answers.key = json_extract(used.value, '$[1]')"
)
_ADD_ENTRIES: Final = f"INSERT INTO entries ({ENTRY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_ADD_ANSWERS: Final = f"INSERT INTO answers ({ANSWER}) VALUES (?, ?, ?, ?)"
_ADD_GAMES: Final = "INSERT INTO games (hash, canonical) VALUES (?, ?) ON CONFLICT DO NOTHING"
_SET_HEADS: Final = (
    "INSERT INTO streams (stream, version, hash) VALUES (?, ?, ?)"
    " ON CONFLICT (stream) DO UPDATE SET version = excluded.version, hash = excluded.hash"
)
Many = Callable[[str, Sequence[Row]], None]
"""Runs a statement for every row of parameters, in the transaction at hand."""

_encode = msgspec.json.Encoder().encode


class _KeyKnown(ThreediceError):
    """Some key of a batch may have been used before."""


def _write_new(run: Run, many: Many, proposals: Sequence[Proposal]) -> list[Outcome]:
    """Write a batch of new keys, as nearly all are, without looking for each of them first."""
    try:
        outcomes = _write(run, many, proposals, {})
    except Exception as error:
        if code_of(error) == CONSTRAINT:
            raise _KeyKnown from error
        raise
    if any(outcome is not ACCEPTED for outcome in outcomes):
        raise _KeyKnown  # what conflicts may be here already
    return outcomes


def _write(
    run: Run, many: Many, proposals: Sequence[Proposal], answers: dict[tuple[str, str], Answer]
) -> list[Outcome]:
    """Write a batch, given the answers that there are to its keys."""
    heads = _heads(run, proposals)
    outcomes = judge(proposals, heads, answers)
    batch = accepted(proposals, outcomes, heads, answers)
    many(_ADD_ENTRIES, [msgspec.structs.astuple(entry) for entry in batch.entries])
    many(_SET_HEADS, [(stream, head.version, head.hash) for stream, head in batch.heads.items()])
    many(_ADD_ANSWERS, batch.answers)
    if batch.games:
        many(_ADD_GAMES, [*batch.games.items()])
    return outcomes


def _heads(run: Run, proposals: Sequence[Proposal]) -> dict[str, Head]:
    streams = {append.stream for proposal in proposals for append in proposal.appends}
    found = run(_FIND_HEADS, (_encode(streams).decode(),))
    return {stream: Head(version, digest) for stream, version, digest in found}


def _answers(run: Run, proposals: Sequence[Proposal]) -> dict[tuple[str, str], Answer]:
    used = [(proposal.account, proposal.key) for proposal in proposals]
    return {
        (account, key): Answer(account, key, said, decode_spans(spans))
        for account, key, said, spans in run(_FIND_ANSWERS, (_encode(used).decode(),))
    }


def _set_up(connection: Connection, synchronous: int) -> None:
    """Make a connection durable, and see that it is."""

    def ask(sql: str) -> Any:
        return next((row[0] for row in list(connection.execute(sql))), None)

    if tuple(map(int, ask("SELECT sqlite_version()").split("."))) < OLDEST:
        raise StoreUnfit(f"SQLite {'.'.join(map(str, OLDEST))} or later is needed")
    ask(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
    ask("PRAGMA trusted_schema = OFF")
    ask(f"PRAGMA cache_size = {-CACHE_KIBIBYTES}")
    ask(f"PRAGMA secure_delete = {int(synchronous == FULL)}")  # personal data; folds hold none
    if (mode := ask("PRAGMA journal_mode = WAL")) != "wal":
        raise StoreUnfit(f"its journal is {mode!r}, not a write-ahead log; use a local file system")
    ask("PRAGMA wal_autocheckpoint = 0")  # the store does it, and hears when it fails
    ask(f"PRAGMA synchronous = {synchronous}")
    if (level := ask("PRAGMA synchronous")) != synchronous:
        raise StoreUnfit(f"synchronous is {level}, not {synchronous}; use an SQLite that obeys it")


def code_of(error: Exception) -> int:
    """Return SQLite's result code, by whatever name the driver has for it."""
    code = getattr(error, "sqlite_errorcode", None) or getattr(error, "result", None) or 0
    return int(code) & 0xFF


def _damaged(error: Exception) -> bool:
    undecodable = isinstance(error, UnicodeDecodeError) or "decode to UTF-8" in str(error)
    return undecodable or code_of(error) in (CORRUPT, NOT_A_DATABASE)
