"""Read an SQLite file without leaving a trace, also on read-only media.

A connection to a write-ahead log creates files next to the database. A process that only reads must
not: the house could not open them if it runs as another user, and on read-only media nobody can.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from threedice.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.db.sqlite import SqliteConnection, SqliteConnector

IMMUTABLE: Final = "immutable=1"
"""How to open a file that nobody changes: SQLite neither locks it nor looks for a log."""

READ_ONLY: Final = "mode=ro"
"""How to open a file that others may have open."""

FileState = tuple[tuple[int, int, int] | None, ...]
"""Inode, size and time of a database and of its write-ahead log."""


@contextmanager
def readable_file(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the path of a file and how to open it; nothing is created next to it.

    A file that no process has open is opened as immutable. If a killed process has left a log, but
    not its index, which SQLite would create, both are copied to a temporary directory. Raises
    `StoreUnavailable` in the end if a house began to use the file meanwhile.
    """
    path = path.resolve()  # -wal and -shm lie next to the file itself, not to a link
    if (state := _unused_state(path)) is None:
        yield path, READ_ONLY
        return
    if state[1] is None or not state[1][1]:
        yield path, IMMUTABLE
    else:
        with TemporaryDirectory(prefix="threedice-") as folder:
            for suffix in ("", "-wal"):
                shutil.copyfile(_beside(path, suffix), _beside(Path(folder, path.name), suffix))
            _refuse_used(path, state)
            yield Path(folder, path.name), READ_ONLY
    _refuse_used(path, state)


def _refuse_used(path: Path, state: FileState) -> None:
    if _unused_state(path) != state:
        raise StoreUnavailable(f"a house began to use {path} while it was being read; try again")


def _unused_state(path: Path) -> FileState | None:
    """Return the state of a file that no process has open, or None if one may have."""
    if not path.is_file() or any(_beside(path, each).exists() for each in ("-shm", "-journal")):
        return None
    return _describe(path), _describe(_beside(path, "-wal"))


def _describe(path: Path) -> tuple[int, int, int] | None:
    if not path.exists():
        return None
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def sqlite_uri(path: Path, mode: str) -> str:
    """Return the URI that opens a file in a mode."""
    return f"{path.absolute().as_uri()}?{mode}"


def read_only_connector(mode: str) -> SqliteConnector:
    """Return a function that connects to a file in a mode, for use by any thread."""

    def connect(path: str) -> SqliteConnection:
        return sqlite3.connect(
            sqlite_uri(Path(path), mode), uri=True, isolation_level=None, check_same_thread=False
        )

    return connect
