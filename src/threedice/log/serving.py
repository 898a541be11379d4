"""One serving process for a database file: a lock beside it, which ends with the process.

The lock lies beside the file itself, whatever links lead there. A file with several names has no
such place: it is not served.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from time import sleep
from typing import TYPE_CHECKING, Final

from threedice.errors import StoreUnfit

if TYPE_CHECKING:
    from pathlib import Path

TRIES: Final = 20
PAUSE_SECONDS: Final = 0.01


def hold(database: Path) -> int:
    """Become the process that serves a database; returns what `let_go` takes."""
    _need_one_name(database)
    try:
        lock = os.open(_beside(database), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StoreUnfit(f"{database} cannot be served: {error}") from error
    # somebody who only asks whether the file is served holds the lock for a moment
    for _ in range(TRIES):
        if _locked(lock, fcntl.LOCK_EX):
            os.ftruncate(lock, 0)
            os.pwrite(lock, b"%d\n" % os.getpid(), 0)
            return lock
        sleep(PAUSE_SECONDS)
    holder = os.pread(lock, 20, 0).decode("ascii", "replace").strip() or "of unknown number"
    os.close(lock)
    raise StoreUnfit(
        f"{database} is served by process {holder} already; stop that one, "
        "or use PostgreSQL for several servers"
    )


def let_go(lock: int) -> None:
    """Serve a database no longer."""
    os.close(lock)


def is_held(database: Path) -> bool:
    """Tell whether some process serves a database."""
    try:
        lock = os.open(_beside(database), os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not _locked(lock, fcntl.LOCK_SH)
    finally:
        os.close(lock)


def _beside(database: Path) -> Path:
    itself = database.resolve()
    return itself.with_name(itself.name + ".serving")


def _need_one_name(database: Path) -> None:
    with suppress(OSError):  # there is none yet, or whoever opens it says what is the matter
        if (names := database.stat().st_nlink) > 1 and database.is_file():
            raise StoreUnfit(
                f"{database} is one of {names} names of the same file (hard links), each of which "
                "another process could serve; remove the others, or copy it with threedice backup"
            )


def _locked(lock: int, kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
