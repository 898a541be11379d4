"""The SQLite store on a simulated disk, through a VFS of APSW.

SQLite finds the disk by the first part of a path, as in `/disk-1/house.db`. There is no shared
memory, so a write-ahead log needs `PRAGMA locking_mode=EXCLUSIVE` before the database is read.
"""
# ruff: noqa: N802 (SQLite names the methods of a VFS)

from __future__ import annotations

from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar
from weakref import WeakValueDictionary

import apsw

from tests.faults.simulated_disk import Call, Disk, DiskFailed, Fault
from threedice.db.sqlite import SqliteDatabase
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tests.faults.simulated_disk import Disk

P = ParamSpec("P")
T = TypeVar("T")

NAME = "simulated-disk"

_CODES = {
    Call.OPEN: apsw.SQLITE_CANTOPEN,
    Call.READ: apsw.SQLITE_IOERR_READ,
    Call.WRITE: apsw.SQLITE_IOERR_WRITE,
    Call.TRUNCATE: apsw.SQLITE_IOERR_TRUNCATE,
    Call.SYNC: apsw.SQLITE_IOERR_FSYNC,
    Call.DELETE: apsw.SQLITE_IOERR_DELETE,
}

_disks: WeakValueDictionary[str, Disk] = WeakValueDictionary()
_numbers = count(1)


def mount(disk: Disk) -> str:
    """Register a disk with the VFS and return the path of its root."""
    root = f"/disk-{next(_numbers)}"
    _disks[root] = disk
    return root


class OpenFile:
    """A file opened by SQLite; locks are not needed, since there is one connection."""

    def __init__(self, disk: Disk, name: str) -> None:
        self._disk = disk
        self._file = _call_disk(disk.open, name)

    def xRead(self, amount: int, offset: int) -> bytes:
        return _call_disk(self._disk.read, self._file, offset, amount)

    def xWrite(self, data: bytes, offset: int) -> None:
        _call_disk(self._disk.write, self._file, offset, data)

    def xTruncate(self, size: int) -> None:
        _call_disk(self._disk.truncate, self._file, size)

    def xSync(self, flags: int) -> None:  # noqa: ARG002
        _call_disk(self._disk.sync, self._file)

    def xFileSize(self) -> int:
        return len(self._file.content)

    def xSectorSize(self) -> int:
        return self._disk.sector

    def xDeviceCharacteristics(self) -> int:
        return apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE if self._disk.powersafe else 0

    def xLock(self, level: int) -> None:
        pass

    def xUnlock(self, level: int) -> None:
        pass

    def xCheckReservedLock(self) -> bool:
        return False

    def xFileControl(self, op: int, ptr: int) -> bool:  # noqa: ARG002
        return False

    def xClose(self) -> None:
        pass


class SimulatedDisks(apsw.VFS):
    """A VFS with all mounted disks."""

    def __init__(self) -> None:
        super().__init__(NAME, base="")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> OpenFile:  # type: ignore[override]
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        assert path is not None, "temporary files are kept in memory"
        disk, within = _resolve_path(path)
        if within not in disk.names and not flags[0] & apsw.SQLITE_OPEN_CREATE:
            raise apsw.exception_for(apsw.SQLITE_CANTOPEN)
        flags[1] = flags[0]
        return OpenFile(disk, within)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        disk, within = _resolve_path(filename)
        if within not in disk.names:
            raise apsw.exception_for(apsw.SQLITE_IOERR_DELETE_NOENT)
        _call_disk(disk.delete, within, durably=bool(syncdir))

    def xAccess(self, pathname: str, flags: int) -> bool:  # noqa: ARG002
        disk, within = _resolve_path(pathname)
        return within in disk.names

    def xFullPathname(self, name: str) -> str:
        return name


def _resolve_path(path: str) -> tuple[Disk, str]:
    _, root, within = path.split("/", 2)
    return _disks[f"/{root}"], within


def _call_disk(action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a disk and raise its failure as an SQLite error."""
    try:
        return action(*args, **kwargs)
    except DiskFailed as failure:
        full = failure.fault is Fault.FULL and failure.call is Call.WRITE
        raise apsw.exception_for(apsw.SQLITE_FULL if full else _CODES[failure.call]) from failure


_vfs = SimulatedDisks()


Level = Literal["FULL", "NORMAL", "OFF"]
"""Whether SQLite syncs on every commit, on every checkpoint, or never."""

DATABASE = "house.db"
LOG = f"{DATABASE}-wal"

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""A folder in memory, if there is one."""


class Connection:
    """A connection to a database on a simulated disk, with the behaviour of the standard driver.

    APSW raises errors of the VFS when a connection is closed; the standard driver ignores them.
    """

    def __init__(self, disk: Disk) -> None:
        self._connection = apsw.Connection(f"{mount(disk)}/{DATABASE}", vfs=NAME)
        self._connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
        self._connection.execute("PRAGMA temp_store = MEMORY").fetchall()

    def execute(self, sql: str, params: Sequence[Any] = (), /) -> Iterable[tuple[Any, ...]]:
        return self._connection.execute(sql, params)

    def executemany(self, sql: str, rows: Sequence[tuple[Any, ...]], /) -> None:
        self._connection.executemany(sql, rows)

    def close(self) -> None:
        with suppress(apsw.Error):
            self._connection.close()


class WeakenedConnection(Connection):
    """A connection that syncs less than requested and reports the requested level."""

    def __init__(self, disk: Disk, level: Level) -> None:
        super().__init__(disk)
        self._level, self._reported = level, 0

    def execute(self, sql: str, params: Sequence[Any] = (), /) -> Iterable[tuple[Any, ...]]:
        pragma, _, requested = sql.partition("=")
        if pragma.strip() != "PRAGMA synchronous":
            return super().execute(sql, params)
        if not requested:
            return [(self._reported,)]
        self._reported = int(requested)
        return super().execute(f"PRAGMA synchronous = {self._level}")


@contextmanager
def open_on_disk(
    disk: Disk, *, level: Level = "FULL", checkpoint_every: int = 1000
) -> Iterator[SqliteStore]:
    """Serve the database on a disk, with a level of syncing and an interval of WAL checkpoints.

    Only the lock file of the serving store is in a real folder.
    """

    def connect(path: str) -> Connection:  # noqa: ARG001
        return Connection(disk) if level == "FULL" else WeakenedConnection(disk, level)

    with TemporaryDirectory(prefix="threedice-", dir=MEMORY) as folder:
        path = Path(folder) / DATABASE
        disk.drop_abandoned(LOG)  # as `forget_cached` does for a real file
        store = SqliteStore(
            path,
            serving=True,
            open_database=partial(
                SqliteDatabase,
                connect=connect,
                single_connection=True,
                wal_checkpoint_every=checkpoint_every,
            ),
        )
        with closing(store):
            yield store


def integrity_errors(disk: Disk) -> list[str]:
    """Return the findings of SQLite's integrity check of the database on a disk."""
    with closing(Connection(disk)) as connection:
        found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
    return [each for each in found if each != "ok"]
