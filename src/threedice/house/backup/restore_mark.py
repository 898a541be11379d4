"""Mark that a restore is in progress, so that nobody uses what an interrupted one has left.

The mark is a file in the state directory. It is empty while the backup is being verified; before
anything else is written, it names the files that the restore adds to the directory. As long as
nothing was committed to the database, repeating the restore removes these first, so that the backup
may then be that of another house.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Final

import msgspec

from threedice.db.postgres import connect_postgres
from threedice.db.sqlite import sync_directory
from threedice.errors import StoreFailed, StoreUnavailable, StoreUnusable, ThreediceError
from threedice.house.backup.contents import write_file
from threedice.log.halt_causes import classify_halt
from threedice.log.stores.rows import READ_TIMEOUT_SECONDS
from threedice.log.stores.sql_rows import Query
from threedice.log.stores.sqlite_rows import open_sqlite_rows
from threedice.log.stores.table_copies import translate_copy_errors
from threedice.log.stores.urls import RESTORE_MARK, database_exists, sqlite_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_TABLES_OF_A_HOUSE: Final = ("streams", "people_accounts")
"""Of a database that is not empty, one of these has rows."""


@contextmanager
def mark_restore(url: str, state_dir: Path) -> Iterator[None]:
    """Mark a restore from before its first write until it is complete.

    The mark stays if the restore is interrupted or the disk fails. If it is refused before it wrote
    anything, nothing is left.
    """
    mark = state_dir / RESTORE_MARK
    was_marked = mark.exists()
    with _explain_failure(), _lock_restores(state_dir):
        if _is_empty(url):
            if was_marked:
                _undo_interrupted(url, state_dir)
            refuse_leftover_files(url)
            write_file(mark, b"")
        try:
            yield
        except (StoreFailed, StoreUnavailable):
            raise
        except ThreediceError:
            if not was_marked and mark.exists() and not mark.read_bytes():
                _remove_mark(state_dir)
            raise
        else:
            _remove_mark(state_dir)


def mark_added_files(state_dir: Path, paths: Iterable[str]) -> None:
    """Name the files in the mark that a restore is about to add to the state directory."""
    write_file(state_dir / RESTORE_MARK, msgspec.json.encode(sorted(paths)))


def refuse_leftover_files(url: str) -> None:
    """Refuse to create a database where SQLite would apply the log of a former one to it."""
    for leftover in _leftover_files(url):
        raise StoreUnusable(f"{leftover} belongs to a former database; move it away first")


def _leftover_files(url: str) -> list[Path]:
    path = sqlite_path(url)
    if path is None or (path.exists() and path.stat().st_size):
        return []
    file = path.resolve()
    found = [file.with_name(file.name + suffix) for suffix in ("-wal", "-journal")]
    return [each for each in found if each.exists() and each.stat().st_size]


def _undo_interrupted(url: str, state_dir: Path) -> None:
    """Remove what an interrupted restore has written, of which nothing was committed."""
    mark = state_dir / RESTORE_MARK
    added = msgspec.json.decode(mark.read_bytes() or b"[]", type=list[str])
    for file in (*_leftover_files(url), *(state_dir / path for path in added)):
        file.unlink(missing_ok=True)
        if file.parent.exists():
            sync_directory(file.parent)


def _remove_mark(state_dir: Path) -> None:
    (state_dir / RESTORE_MARK).unlink(missing_ok=True)
    sync_directory(state_dir)


@contextmanager
def _lock_restores(state_dir: Path) -> Iterator[None]:
    """Refuse to restore into a state directory while another process does."""
    is_new = not state_dir.exists()
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = state_dir / f"{RESTORE_MARK}.lock"
    lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreUnusable(f"another restore to {state_dir} is in progress") from None
        try:
            yield
        finally:
            file.unlink(missing_ok=True)
            if is_new:
                with suppress(OSError):  # not empty
                    state_dir.rmdir()
    finally:
        os.close(lock)


@contextmanager
def _explain_failure() -> Iterator[None]:
    """Say how to go on after a failure of the disk."""
    try:
        yield
    except (StoreFailed, OSError) as error:
        problem = str(error).partition(";")[0]
        is_full = classify_halt(problem) == "disk-full"
        remedy = "free space" if is_full else "check the disk and its free space"
        raise StoreFailed(
            f"the restore is not complete: {problem}; {remedy}, then run the same command again"
        ) from error


def _is_empty(url: str) -> bool:
    """Return whether a database holds nothing of a house; False if it cannot be read."""
    if (path := sqlite_path(url)) is None:
        with (
            translate_copy_errors(),
            closing(connect_postgres(url, READ_TIMEOUT_SECONDS)) as server,
        ):
            return not any(
                server.execute("SELECT to_regclass(%s)", (name,)).fetchone() != (None,)
                and server.execute(f"SELECT 1 FROM {name} LIMIT 1".encode()).fetchone()
                for name in _TABLES_OF_A_HOUSE
            )
    if not database_exists(url):
        return True
    try:
        with open_sqlite_rows(path) as rows:
            present = rows.table_names()
            return not any(
                name in present and rows.select(Query(name, ["1"], "LIMIT 1"))
                for name in _TABLES_OF_A_HOUSE
            )
    except ThreediceError:
        return False
