"""Files and locks beneath the stores: serving lock, write lock, SQLite connections, fsync, halt markers.

One serving process for a database file: a lock beside it, which ends with the process.

The lock lies beside the file itself, whatever links lead there. A file with several names has no
such place: it is not served.

Whose turn it is to write a file: threads wait for it, and so does one who must not block.

What the operating system is asked about files themselves: to keep their names, to forget.

The note of a halted writer that outlives its process, kept outside the database.

A disk that is full or failing may take no new row and no new file, but it lets go of a file. So it
is the absence of `healthy` that says a writer was halted here: it is made before anything is
written and unlinked on a halt, while `served`, which stays, tells a halt from a first start. A
killed process unlinks nothing and comes back writing.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from threading import RLock
from time import sleep
from typing import TYPE_CHECKING, Any, Final, Protocol

from threedice.errors import StoreUnusable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import TracebackType

    from threedice.log.store import StoredRow
    from threedice.log.stores.sql import StatementRunner, WorkResult


SERVING_LOCK_ATTEMPTS: Final = 20


SERVING_LOCK_PAUSE_SECONDS: Final = 0.01


def acquire_serving_lock(database: Path) -> int:
    """Become the process that serves a database; returns what `release_serving_lock` takes."""
    _refuse_hard_links(database)
    try:
        lock = os.open(_serving_lock_path(database), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StoreUnusable(f"{database} cannot be served: {error}") from error
    # somebody who only asks whether the file is served holds the lock for a moment
    for _ in range(SERVING_LOCK_ATTEMPTS):
        if _try_flock(lock, fcntl.LOCK_EX):
            os.ftruncate(lock, 0)
            os.pwrite(lock, b"%d\n" % os.getpid(), 0)
            return lock
        sleep(SERVING_LOCK_PAUSE_SECONDS)
    holder = os.pread(lock, 20, 0).decode("ascii", "replace").strip() or "of unknown number"
    os.close(lock)
    raise StoreUnusable(
        f"{database} is served by process {holder} already; stop that one, "
        "or use PostgreSQL for several servers"
    )


def release_serving_lock(lock: int) -> None:
    """Serve a database no longer."""
    os.close(lock)


def is_served(database: Path) -> bool:
    """Tell whether some process serves a database."""
    try:
        lock = os.open(_serving_lock_path(database), os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not _try_flock(lock, fcntl.LOCK_SH)
    finally:
        os.close(lock)


def _serving_lock_path(database: Path) -> Path:
    itself = database.resolve()
    return itself.with_name(itself.name + ".serving")


def _refuse_hard_links(database: Path) -> None:
    with suppress(OSError):  # there is none yet, or whoever opens it says what is the matter
        if (names := database.stat().st_nlink) > 1 and database.is_file():
            raise StoreUnusable(
                f"{database} is one of {names} names of the same file (hard links), each of which "
                "another process could serve; remove the others, or copy it with threedice backup"
            )


def _try_flock(lock: int, kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


WRITE_LOCK_POLL_SECONDS: Final = 0.0005


class WriteLock:
    """A lock that threads take with `with`, and a coroutine with `async with ... .soon()`."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._waiting: deque[None] = deque()
        self._held_by_coroutine = (
            False  # by a coroutine: to others of its thread the lock would be open
        )

    def __enter__(self) -> None:
        self._waiting.append(None)
        try:
            self._lock.acquire()
        finally:
            self._waiting.pop()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()

    @asynccontextmanager
    async def acquire_async(self) -> AsyncIterator[None]:
        """Have the turn once nobody is waiting: whoever writes batch after batch lets others in."""
        while self._waiting or self._held_by_coroutine or not self._lock.acquire(blocking=False):
            await asyncio.sleep(WRITE_LOCK_POLL_SECONDS)
        self._held_by_coroutine = True
        try:
            yield
        finally:
            self._held_by_coroutine = False
            self._lock.release()


def sync_directory(directory: Path) -> None:
    """Make durable which files a directory has: without its name, what is in one would be lost."""
    if os.name == "nt":
        return  # a directory cannot be opened there
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def drop_cached_pages(file: Path) -> None:
    """Have a file that nobody has open read from the disk itself, not from memory.

    After a sync that failed, the operating system takes for written what never reached the disk. A
    process that starts on the same machine would go by such a log and move it into the database: a
    power cut meanwhile would leave that half moved, and no log to move it by. What the disk itself
    has of a log ends with a whole commit, and all that was acknowledged is before it.
    """
    if not hasattr(os, "posix_fadvise"):
        return  # then only a restart of the machine does it
    with suppress(FileNotFoundError):
        opened = os.open(file, os.O_RDONLY)
        try:
            os.posix_fadvise(opened, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(opened)


HEALTHY_MARKER = "healthy"


SERVED_MARKER = "served"


def is_halted(state_dir: Path) -> bool:
    """Tell whether a writer was halted here and nobody has released it."""
    return (state_dir / SERVED_MARKER).exists() and not (state_dir / HEALTHY_MARKER).exists()


def mark_halted(state_dir: Path) -> None:
    """Note a halt, as far as the disk still lets us."""
    with suppress(OSError):
        (state_dir / HEALTHY_MARKER).unlink(missing_ok=True)
        sync_directory(state_dir)


def clear_halt(state_dir: Path) -> None:
    """Note that a writer may write here."""
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in (
        HEALTHY_MARKER,
        SERVED_MARKER,
    ):  # in this order, or a crash between them would read as a halt
        if not (state_dir / name).exists():
            (state_dir / name).touch()
            sync_directory(state_dir)


MIN_SQLITE_VERSION: Final = (3, 37, 0)
"""The first SQLite with tables that keep to their types."""


BUSY_TIMEOUT_SECONDS: Final = 5.0


CACHE_SIZE_KIBIBYTES: Final = 32 * 1024
"""How much of the file a connection may keep: the ends of all streams, and where keys go."""


SYNCHRONOUS_FULL, SYNCHRONOUS_NORMAL = 2, 1
"""Whether a commit waits for the disk, or leaves that to the next that does."""


SQLITE_BUSY, SQLITE_LOCKED, SQLITE_CORRUPT, SQLITE_CONSTRAINT, SQLITE_NOTADB = 5, 6, 11, 19, 26
"""The result codes of SQLite that are not simply failures."""


class SqliteConnection(Protocol):
    """What is used of a driver's connection; statements take effect as they stand, one by one."""

    def execute(self, sql: str, params: Sequence[Any] = ..., /) -> Iterable[StoredRow]:
        """Run a statement and return its rows."""

    def executemany(self, sql: str, rows: Sequence[StoredRow], /) -> object:
        """Run a statement for every row of parameters."""

    def close(self) -> None:
        """Let go of the file."""


SqliteConnector = Callable[[str], SqliteConnection]


def connect_sqlite(path: str) -> SqliteConnection:
    """Open a database file with the standard driver; a new one is for its owner's eyes only."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        sync_directory(Path(path).parent)
    except FileExistsError:
        pass
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False)


def configure_connection(connection: SqliteConnection, synchronous: int) -> None:
    """Make a connection durable, and see that it is."""

    def ask(sql: str) -> Any:
        return next((row[0] for row in list(connection.execute(sql))), None)

    if tuple(map(int, ask("SELECT sqlite_version()").split("."))) < MIN_SQLITE_VERSION:
        raise StoreUnusable(f"SQLite {'.'.join(map(str, MIN_SQLITE_VERSION))} or later is needed")
    ask(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_SECONDS * 1000)}")
    ask("PRAGMA trusted_schema = OFF")
    ask(f"PRAGMA cache_size = {-CACHE_SIZE_KIBIBYTES}")
    ask(
        f"PRAGMA secure_delete = {int(synchronous == SYNCHRONOUS_FULL)}"
    )  # personal data; folds hold none
    if (mode := ask("PRAGMA journal_mode = WAL")) != "wal":
        raise StoreUnusable(
            f"its journal is {mode!r}, not a write-ahead log; use a local file system"
        )
    ask("PRAGMA wal_autocheckpoint = 0")  # the store does it, and hears when it fails
    ask(f"PRAGMA synchronous = {synchronous}")
    if (level := ask("PRAGMA synchronous")) != synchronous:
        raise StoreUnusable(
            f"synchronous is {level}, not {synchronous}; use an SQLite that obeys it"
        )


def run_transaction(
    connection: SqliteConnection, work: Callable[[StatementRunner], WorkResult]
) -> WorkResult:
    def run(sql: str, params: Sequence[Any] = ()) -> list[StoredRow]:
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


def result_code(error: Exception) -> int:
    """Return SQLite's result code, by whatever name the driver has for it."""
    code = getattr(error, "sqlite_errorcode", None) or getattr(error, "result", None) or 0
    return int(code) & 0xFF
