"""Files and locks below the stores: serving lock, fsync, halt markers, connections.

The serving lock keeps a second process from serving an SQLite file and ends with its process. The
halt markers record outside the database that a writer was halted, and survive its process.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Any, Final

from threedice.db.sqlite import (
    SYNCHRONOUS_FULL,
    SqliteConnection,
    connect_file,
    create_file,
    set_common_pragmas,
)
from threedice.errors import StoreUnusable

# --- serving lock -------------------------------------------------------------------------------

SERVING_LOCK_ATTEMPTS: Final = 20
SERVING_LOCK_PAUSE_SECONDS: Final = 0.01


def acquire_serving_lock(database: Path) -> int:
    """Take the lock of the process that serves a database, and return its file descriptor.

    The lock file lies next to the database file itself, whatever symbolic links lead there. A file
    with several hard links would have several lock files, so it is refused.
    """
    _refuse_hard_links(database)
    try:
        lock = os.open(_serving_lock_path(database), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StoreUnusable(f"{database} cannot be served: {error}") from error
    # is_served holds a shared lock for a moment, so one failed attempt proves nothing
    for _ in range(SERVING_LOCK_ATTEMPTS):
        if _try_flock(lock, fcntl.LOCK_EX):
            os.ftruncate(lock, 0)
            os.pwrite(lock, b"%d\n" % os.getpid(), 0)
            return lock
        sleep(SERVING_LOCK_PAUSE_SECONDS)
    holder = os.pread(lock, 20, 0).decode("ascii", "replace").strip() or "(unknown pid)"
    os.close(lock)
    raise StoreUnusable(
        f"{database} is served by process {holder} already; stop that process, "
        "or use PostgreSQL for several servers"
    )


def release_serving_lock(lock: int) -> None:
    """Release the serving lock."""
    os.close(lock)


def is_served(database: Path) -> bool:
    """Return whether some process serves a database."""
    try:
        lock = os.open(_serving_lock_path(database), os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not _try_flock(lock, fcntl.LOCK_SH)
    finally:
        os.close(lock)


def _serving_lock_path(database: Path) -> Path:
    file = database.resolve()
    return file.with_name(file.name + ".serving")


def _refuse_hard_links(database: Path) -> None:
    with suppress(OSError):  # the file does not exist yet, or opening it reports the problem
        if (links := database.stat().st_nlink) > 1 and database.is_file():
            raise StoreUnusable(
                f"{database} is one of {links} names of the same file (hard links); "
                "each could be served by another process: remove the others, or copy it with "
                "threedice backup"
            )


def _try_flock(lock: int, kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


# --- directory sync and page cache --------------------------------------------------------------


def sync_directory(directory: Path) -> None:
    """Fsync a directory, so that files created or removed in it survive a power cut."""
    if os.name == "nt":
        return  # Windows cannot open a directory
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def drop_cached_pages(file: Path) -> None:
    """Drop a file's pages from the page cache, so that it is read from the disk again.

    The file must not be open anywhere. After a failed fsync the kernel may treat pages as clean
    that never reached the disk. A process restarted on the same machine would read such a
    write-ahead log and checkpoint it into the database; a power cut during that checkpoint would
    leave a half-written database and no log to repair it from. The log as it is on the disk ends
    with a complete commit and contains everything that was acknowledged.
    """
    if not hasattr(os, "posix_fadvise"):
        return  # without it, only a reboot drops the pages
    with suppress(FileNotFoundError):
        descriptor = os.open(file, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


# --- halt marker --------------------------------------------------------------------------------
#
# A full or failing disk may refuse a new row or a new file, but it can still unlink a file. So a
# halt is recorded by removing `healthy`, which is created before the first write. `served` is never
# removed and tells a halt from a first start. A killed process unlinks nothing and may write again
# after its restart.

HEALTHY_MARKER = "healthy"
SERVED_MARKER = "served"


def is_halted(state_dir: Path) -> bool:
    """Return whether a writer was halted here and not released since."""
    return (state_dir / SERVED_MARKER).exists() and not (state_dir / HEALTHY_MARKER).exists()


def mark_halted(state_dir: Path) -> None:
    """Record a halt, as far as the disk still allows."""
    with suppress(OSError):
        (state_dir / HEALTHY_MARKER).unlink(missing_ok=True)
        sync_directory(state_dir)


def clear_halt(state_dir: Path) -> None:
    """Record that a writer may write here."""
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    # In this order: a crash between the two must not look like a halt.
    for name in (HEALTHY_MARKER, SERVED_MARKER):
        if not (state_dir / name).exists():
            (state_dir / name).touch()
            sync_directory(state_dir)


# --- SQLite connection --------------------------------------------------------------------------

MIN_SQLITE_VERSION: Final = (3, 37, 0)
"""First SQLite version with STRICT tables."""

CACHE_SIZE_KIBIBYTES: Final = 32 * 1024
"""Page cache of a connection: holds the ends of all streams and the upper levels of the indexes."""

SQLITE_CORRUPT, SQLITE_CONSTRAINT, SQLITE_NOTADB = 11, 19, 26
"""SQLite result codes that are handled differently from other failures."""

SqliteConnector = Callable[[str], SqliteConnection]


def connect_sqlite(path: str) -> SqliteConnection:
    """Open a database file with the standard driver; a new file is readable by its owner only."""
    if create_file(path):
        sync_directory(Path(path).parent)
    return connect_file(path)


def configure_connection(connection: SqliteConnection, synchronous: int) -> None:
    """Set the pragmas that make commits durable, and check that they took effect."""

    def execute(sql: str) -> Any:
        return next((row[0] for row in list(connection.execute(sql))), None)

    if tuple(map(int, execute("SELECT sqlite_version()").split("."))) < MIN_SQLITE_VERSION:
        raise StoreUnusable(f"SQLite {'.'.join(map(str, MIN_SQLITE_VERSION))} or later is needed")
    set_common_pragmas(connection)
    execute(f"PRAGMA cache_size = {-CACHE_SIZE_KIBIBYTES}")
    # Overwrite deleted personal data. The NORMAL connection writes only derived data, without any.
    execute(f"PRAGMA secure_delete = {int(synchronous == SYNCHRONOUS_FULL)}")
    if (mode := execute("PRAGMA journal_mode = WAL")) != "wal":
        raise StoreUnusable(
            f"its journal is {mode!r}, not a write-ahead log; use a local file system"
        )
    execute(
        "PRAGMA wal_autocheckpoint = 0"
    )  # the store checkpoints itself, to notice when that fails
    execute(f"PRAGMA synchronous = {synchronous}")
    if (level := execute("PRAGMA synchronous")) != synchronous:
        raise StoreUnusable(
            f"synchronous is {level}, not {synchronous}; use an SQLite build that obeys it"
        )


def is_undecodable(error: Exception) -> bool:
    """Return whether an error of either driver means that stored text is not valid UTF-8."""
    return isinstance(error, UnicodeDecodeError) or "decode to UTF-8" in str(error)
