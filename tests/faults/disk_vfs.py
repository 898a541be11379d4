"""The simulated disk below SQLite: a VFS whose files are those of a disk.

SQLite finds the disk by the first part of a path, as in `/disk-1/house.db`. There is no shared
memory, so a write-ahead log needs `PRAGMA locking_mode=EXCLUSIVE` before the database is read.
"""
# ruff: noqa: N802 (SQLite names the methods of a VFS)

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, ParamSpec, TypeVar
from weakref import WeakValueDictionary

import apsw

from tests.faults.disk import Call, Disk, DiskFailed, Fault

if TYPE_CHECKING:
    from collections.abc import Callable

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


def mounted(disk: Disk) -> str:
    """Make a disk known to SQLite, and return the path under which its files are found."""
    root = f"/disk-{next(_numbers)}"
    _disks[root] = disk
    return root


class OpenFile:
    """A file as SQLite has it open; locks are for naught, since there is one connection."""

    def __init__(self, disk: Disk, name: str) -> None:
        self._disk = disk
        self._file = _tried(disk.open, name)

    def xRead(self, amount: int, offset: int) -> bytes:
        return _tried(self._disk.read, self._file, offset, amount)

    def xWrite(self, data: bytes, offset: int) -> None:
        _tried(self._disk.write, self._file, offset, data)

    def xTruncate(self, size: int) -> None:
        _tried(self._disk.truncate, self._file, size)

    def xSync(self, flags: int) -> None:  # noqa: ARG002
        _tried(self._disk.sync, self._file)

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
    """All disks that are mounted, to SQLite one file system."""

    def __init__(self) -> None:
        super().__init__(NAME, base="")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> OpenFile:  # type: ignore[override]
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        assert path is not None, "temporary files are kept in memory"
        disk, within = _found(path)
        if within not in disk.names and not flags[0] & apsw.SQLITE_OPEN_CREATE:
            raise apsw.exception_for(apsw.SQLITE_CANTOPEN)
        flags[1] = flags[0]
        return OpenFile(disk, within)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        disk, within = _found(filename)
        if within not in disk.names:
            raise apsw.exception_for(apsw.SQLITE_IOERR_DELETE_NOENT)
        _tried(disk.delete, within, durably=bool(syncdir))

    def xAccess(self, pathname: str, flags: int) -> bool:  # noqa: ARG002
        disk, within = _found(pathname)
        return within in disk.names

    def xFullPathname(self, name: str) -> str:
        return name


def _found(path: str) -> tuple[Disk, str]:
    _, root, within = path.split("/", 2)
    return _disks[f"/{root}"], within


def _tried(action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do something on a disk, with its failure as SQLite knows failures."""
    try:
        return action(*args, **kwargs)
    except DiskFailed as failure:
        full = failure.fault is Fault.FULL and failure.call is Call.WRITE
        raise apsw.exception_for(apsw.SQLITE_FULL if full else _CODES[failure.call]) from failure


_vfs = SimulatedDisks()
