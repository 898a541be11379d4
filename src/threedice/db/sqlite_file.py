"""An SQLite file on the disk: its identity (inode and size), and the lock of all its writers.

All databases that a process opens on one file share a `SqliteFile`. A connection holds its lock
while it writes, checkpoints the write-ahead log or closes: within the process and, by a lock file
next to the database, across processes. SQLite's own locks allow a checkpoint during a write, which
some of its versions get wrong (a race when the write-ahead log is reset).
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from threading import Lock, RLock
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final, NoReturn

from threedice.errors import StoreFailed, StoreUnavailable, StoreUnusable

if TYPE_CHECKING:
    from pathlib import Path

LOCK_TIMEOUT_SECONDS: Final = 5.0
LOCK_PAUSE_SECONDS: Final = 0.005

LOCK_SUFFIX: Final = ".lock"

FileIdentity = tuple[int, int]
"""Device and inode of a file."""


class SqliteFile:
    """One file, shared by all databases that this process has opened on it.

    As a context manager, it holds the lock of writers. `failure` says why nothing may be written to
    it any more; `failures` says it for single ones of the databases, by their `id`.
    """

    def __init__(self, name: str, real_path: Path | None) -> None:
        self.name, self.real_path = name, real_path
        self.failure, self.failures = "", dict[int, str]()
        self.users = 0
        self.lock, self._depth = RLock(), 0
        self._lock_file = -1
        self._identities: dict[Path, FileIdentity] = {}
        self._index: dict[Path, FileIdentity] = {}
        self._size = 0

    # --- which file this is ---------------------------------------------------------------------

    def watch(self, path: Path) -> None:
        """Note which file a path names, to be compared by `check` from now on."""
        with self.lock:
            if path not in self._identities:
                self._identities = {**self._identities, path: _identify(path)}

    def is_watched(self, path: Path) -> bool:
        """Return whether a path named this file when it was opened."""
        return path in self._identities

    def check(self) -> None:
        """Raise `StoreFailed` if the file or its log was removed or replaced, or the file cut off.

        SQLite would not notice it, and would write on into a file that has no name any more. It is
        called after every commit. `check_all` also looks at the index of the log, without which
        other processes can neither read nor lock correctly.
        """
        self._compare(self._identities)

    def check_all(self) -> None:
        """Check also the files that are not checked after every commit."""
        self._compare(self._identities | self._index)
        self._renew_lock_file()

    def _compare(self, identities: dict[Path, FileIdentity]) -> None:
        known_size = self._size  # before the file is looked at, as another thread may let it grow
        for path, identity in identities.items():
            try:
                status = os.stat(path)  # noqa: PTH116 -- after every commit, so the fastest
            except OSError as error:
                self._fail(path, error.strerror or "cannot be found")
            if (status.st_dev, status.st_ino) != identity:
                self._fail(path, "another file has its name")
            if path == self.real_path:
                self._compare_size(path, known_size, status.st_size)

    def _compare_size(self, path: Path, known: int, size: int) -> None:
        """Raise `StoreFailed` if the file is smaller than before: nothing here makes it smaller."""
        if size < known:
            self.failure = self.failure or (
                f"{path} was cut from {known} to {size} bytes while the house had it open; stop the"
                " house, keep a copy of the file and its -wal, and restore a backup"
            )
            raise StoreFailed(self.failure)
        self._size = size

    def watch_companions(self) -> None:
        """Note which write-ahead log and index a connection has opened, which is open still."""
        if self.real_path:
            with suppress(OSError):  # a simulated disk has none
                self.watch(_beside(self.real_path, "-wal"))
                index = _beside(self.real_path, "-shm")
                self._index = self._index or {index: _identify(index)}

    def _fail(self, path: Path, problem: str) -> NoReturn:
        self.failure = self.failure or (
            f"{path} was removed or replaced while the house had it open ({problem}); process"
            f" {os.getpid()} still has the old file: stop nothing, and save that file first, as"
            " docs/running-a-house.md says"
        )
        raise StoreFailed(self.failure)

    # --- the lock of writers --------------------------------------------------------------------

    def __enter__(self) -> None:
        """Take the lock of writers, in this process and across processes; it is reentrant."""
        if not self.lock.acquire(timeout=LOCK_TIMEOUT_SECONDS):
            raise StoreUnavailable(f"{self.name} is being written by another thread; try again")
        try:
            if not self._depth and self.real_path:
                self._acquire_lock_file(self.real_path)
        except BaseException:
            self.lock.release()
            raise
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth and self._lock_file >= 0:
            fcntl.flock(self._lock_file, fcntl.LOCK_UN)
        self.lock.release()

    def _acquire_lock_file(self, database: Path) -> None:
        if self._lock_file < 0:
            self.check()
            self._lock_file = _open_lock_file(database)
        until = monotonic() + LOCK_TIMEOUT_SECONDS
        while not _try_lock(self._lock_file):
            if monotonic() >= until:
                raise StoreUnavailable(f"{self.name} is locked by another process; try again")
            sleep(LOCK_PAUSE_SECONDS)

    def _renew_lock_file(self) -> None:
        """Open the lock file again if it was removed, as others would lock a new one."""
        if not self.lock.acquire(blocking=False):
            return  # a writer has it, perhaps on a disk that hangs
        try:
            if self.real_path and self._lock_file >= 0 and not self._depth:
                status = os.fstat(self._lock_file)
                lock_file = _beside(self.real_path, LOCK_SUFFIX)
                if not lock_file.exists() or not os.path.samestat(status, lock_file.stat()):
                    self._close_lock_file()
        finally:
            self.lock.release()

    def _close_lock_file(self) -> None:
        if self._lock_file >= 0:
            os.close(self._lock_file)
            self._lock_file = -1

    def close(self) -> None:
        """Return the file; the last user closes the lock file."""
        with _registry_lock:
            self.users -= 1
            if not self.users and self.real_path:
                _registry.pop(self.real_path, None)
                self._close_lock_file()


_registry: dict[Path, SqliteFile] = {}
_registry_lock = Lock()


def open_sqlite_file(path: Path, *, create: bool) -> SqliteFile:
    """Return the shared file at a path; with `create`, create it if it is missing.

    A new file is readable by its owner only.
    """
    real_path = path.resolve()
    with _registry_lock:
        for file in _registry.values():
            if file.real_path != real_path and file.is_watched(path):
                raise StoreUnusable(
                    f"{path} names another file than before; stop the house and start it again"
                )
        is_new = real_path not in _registry
        if create and is_new:
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
                sync_directory(path.parent)
        file = SqliteFile(str(path), real_path) if is_new else _registry[real_path]
        file.watch(path)
        file.watch(real_path)
        file.check()
        file.users += 1
        _registry[real_path] = file
    return file


def _identify(path: Path) -> FileIdentity:
    status = path.stat()
    return status.st_dev, status.st_ino


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _open_lock_file(database: Path) -> int:
    """Open the lock file of a database, for every user who may write to the database."""
    path = _beside(database, LOCK_SUFFIX)
    try:
        owner = database.stat()
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, owner.st_mode & 0o666)
        if os.geteuid() == 0:  # else the user that runs the house could not open it
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
    except OSError as error:
        raise StoreUnusable(f"{path} cannot be opened: {error.strerror}") from error
    return descriptor


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sync_directory(directory: Path) -> None:
    """Fsync a directory, so that files created or removed in it survive a power cut."""
    if os.name == "nt":
        return  # Windows cannot open a directory
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
