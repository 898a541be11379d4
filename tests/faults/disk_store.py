"""The store itself, on a simulated disk: only where its connection comes from is different."""

from __future__ import annotations

from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import apsw

from tests.faults.disk_vfs import NAME, mounted
from threedice.db.sqlite import SqliteDatabase
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tests.faults.disk import Disk

Level = Literal["FULL", "NORMAL", "OFF"]
"""When SQLite syncs: on every commit, on every checkpoint, never."""

DATABASE = "house.db"
LOG = f"{DATABASE}-wal"

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where small files are made quickly, if there is such a place."""


class Connection:
    """A connection to a database on a simulated disk, as the standard driver would behave.

    APSW raises whatever went wrong in the VFS when a connection is closed, where SQLite itself
    passes over it.
    """

    def __init__(self, disk: Disk) -> None:
        self._connection = apsw.Connection(f"{mounted(disk)}/{DATABASE}", vfs=NAME)
        self._connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
        self._connection.execute("PRAGMA temp_store = MEMORY").fetchall()

    def execute(self, sql: str, params: Sequence[Any] = (), /) -> Iterable[tuple[Any, ...]]:
        return self._connection.execute(sql, params)

    def executemany(self, sql: str, rows: Sequence[tuple[Any, ...]], /) -> None:
        self._connection.executemany(sql, rows)

    def close(self) -> None:
        with suppress(apsw.Error):
            self._connection.close()


class Weakened(Connection):
    """A connection that syncs less than it was told to, and denies it when asked."""

    def __init__(self, disk: Disk, level: Level) -> None:
        super().__init__(disk)
        self._level, self._told = level, 0

    def execute(self, sql: str, params: Sequence[Any] = (), /) -> Iterable[tuple[Any, ...]]:
        asked, _, told = sql.partition("=")
        if asked.strip() != "PRAGMA synchronous":
            return super().execute(sql, params)
        if not told:
            return [(self._told,)]
        self._told = int(told)
        return super().execute(f"PRAGMA synchronous = {self._level}")


@contextmanager
def opened(disk: Disk, *, level: Level = "FULL", fold_every: int = 1000) -> Iterator[SqliteStore]:
    """Serve the database on a disk; SQLite syncs, and moves its log into the file, as is said.

    Only the lock of a serving store lies in a real folder.
    """

    def connect(path: str) -> Connection:  # noqa: ARG001
        return Connection(disk) if level == "FULL" else Weakened(disk, level)

    with TemporaryDirectory(prefix="threedice-", dir=MEMORY) as folder:
        path = Path(folder) / DATABASE
        disk.forget(LOG)  # as `forget_cached` has it done to a real file
        store = SqliteStore(
            path,
            serving=True,
            open_database=partial(
                SqliteDatabase,
                connect=connect,
                single_connection=True,
                wal_checkpoint_every=fold_every,
            ),
        )
        with closing(store):
            yield store


def damage(disk: Disk) -> list[str]:
    """Return what SQLite itself finds wrong with the database on a disk."""
    with closing(Connection(disk)) as connection:
        found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
    return [each for each in found if each != "ok"]
