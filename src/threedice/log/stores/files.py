"""Files and locks below the stores: serving lock, page cache, halt markers.

The serving lock keeps a second process from serving an SQLite file and ends with its process. The
halt markers record outside the database that a writer was halted, and survive its process.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from time import sleep
from typing import TYPE_CHECKING, Final

from threedice.db.sqlite import sync_directory
from threedice.errors import StoreUnusable

if TYPE_CHECKING:
    from pathlib import Path

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


# --- page cache ---------------------------------------------------------------------------------


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
