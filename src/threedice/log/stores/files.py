"""Files and locks below the stores: serving lock, page cache, halt markers.

The serving lock keeps a second process from serving an SQLite file and ends with its process. The
halt markers record outside the database that a writer was halted, and survive its process.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from stat import S_ISREG
from time import sleep
from typing import Final

from platformdirs import user_state_path

from threedice.db.sqlite import sync_directory
from threedice.errors import StoreFailed, StoreUnusable

# --- serving lock -------------------------------------------------------------------------------

SERVING_LOCK_ATTEMPTS: Final = 20
SERVING_LOCK_PAUSE_SECONDS: Final = 0.01


class ServingLock:
    """The lock of the process that serves a database.

    The lock file lies next to the database file itself, whatever symbolic links lead there. A file
    with several hard links would have several lock files, so it is refused. The state directory is
    locked as well if there is one, for a lock file that somebody removes.
    """

    def __init__(self, database: Path) -> None:
        _refuse_hard_links(database)
        self._database, self._path = database, _serving_lock_path(database)
        self._file = self._directory = -1
        try:
            self._acquire()
        except OSError as error:
            self.close()
            raise StoreUnusable(f"{database} cannot be served: {error}") from error
        except BaseException:
            self.close()
            raise

    def renew(self) -> None:
        """Take the lock again if its file was removed; raise if another process has it now."""
        with suppress(OSError):  # a directory that is gone is reported by the database
            if self._path.exists() and os.path.samestat(os.fstat(self._file), self._path.stat()):
                return
            try:
                self._acquire()
            except StoreUnusable as error:
                raise StoreFailed(
                    f"{self._path} was removed, and another process serves the file now: {error}"
                ) from error

    def close(self) -> None:
        """Release the lock."""
        for descriptor in (self._file, self._directory):
            if descriptor >= 0:
                os.close(descriptor)
        self._file = self._directory = -1

    def _acquire(self) -> None:
        if self._directory < 0 and (state := _state_directory(self._database)).is_dir():
            self._directory = self._lock(os.open(state, os.O_RDONLY))
        file = self._lock(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        if self._file >= 0:
            os.close(self._file)
        self._file = file
        os.ftruncate(file, 0)
        os.pwrite(file, b"%d\n" % os.getpid(), 0)

    def _lock(self, descriptor: int) -> int:
        # is_served holds a shared lock for a moment, so one failed attempt proves nothing
        for _ in range(SERVING_LOCK_ATTEMPTS):
            if _try_flock(descriptor, fcntl.LOCK_EX):
                return descriptor
            sleep(SERVING_LOCK_PAUSE_SECONDS)
        os.close(descriptor)
        number = _read_process(self._path)
        holder = f"process {number}" if number else "another process"
        if not self._database.exists():
            raise StoreUnusable(f"{self._database} does not exist; {removed_file_advice(holder)}")
        raise StoreUnusable(
            f"{self._database} is served by {holder} already; stop that process, or use PostgreSQL"
            " for several servers"
        )


def removed_file_advice(holder: str) -> str:
    """Return what to do about a database file that was removed under the process that serves it."""
    return (
        f"{holder} still has the removed file open, which is lost when that process ends: stop"
        " nothing, and save that file first, as docs/running-a-house.md says"
    )


def is_served(database: Path) -> bool:
    """Return whether some process serves a database."""
    return _is_locked(_serving_lock_path(database)) or _is_locked(_state_directory(database))


def serving_process(database: Path) -> str:
    """Return the id of the process that serves a database, or an empty string."""
    if not is_served(database):
        return ""
    return _read_process(_serving_lock_path(database)) or "unknown"


def _is_locked(path: Path) -> bool:
    try:
        lock = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not _try_flock(lock, fcntl.LOCK_SH)
    finally:
        os.close(lock)


def _read_process(lock: Path) -> str:
    try:
        return lock.read_text("ascii", "replace").strip()
    except OSError:
        return ""


def _state_directory(database: Path) -> Path:
    file = database.resolve()
    return file.with_name(file.name + ".state")


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
#
# `served` also holds an id of the house, and room for the cause of a halt: a full disk lets a file
# be overwritten.
#
# A file system that has turned read-only refuses all this. Then the halt is recorded by a file in
# every other place that can be written, named after the state directory. It holds the id, because
# another house may later have the same path.

HEALTHY_MARKER = "healthy"
SERVED_MARKER = "served"
ID_BYTES: Final = 16
MAX_CAUSE_BYTES: Final = 400


def is_halted(state_dir: Path) -> bool:
    """Return whether a writer was halted here and not released since."""
    has_marker = was_served(state_dir) and not (state_dir / HEALTHY_MARKER).exists()
    return has_marker or bool(_find_markers_elsewhere(state_dir))


def was_served(state_dir: Path) -> bool:
    """Return whether a house was served with this state directory."""
    return (state_dir / SERVED_MARKER).exists()


def read_halt(state_dir: Path) -> str:
    """Return a text with the recorded halt and its first cause, or an empty string."""
    if not is_halted(state_dir):
        return ""
    causes = [_read_served(state_dir)[1]]
    for marker in _find_markers_elsewhere(state_dir):
        with suppress(OSError):
            causes.append(_parse_marker(marker.read_bytes())[1])
    cause = next(filter(None, causes), "")
    return "writing was halted and has not been released" + (f": {cause}" if cause else "")


def mark_halted(state_dir: Path, cause: str = "") -> None:
    """Record a halt and its cause, as far as the disks still allow."""
    try:
        (state_dir / HEALTHY_MARKER).unlink(missing_ok=True)
        sync_directory(state_dir)
        if cause and was_served(state_dir) and not _read_served(state_dir)[1]:
            _write_cause(state_dir, cause)
    except OSError:
        for marker in _markers_elsewhere(state_dir):
            with suppress(OSError):
                _create_marker(marker, state_dir, cause)


def clear_halt(state_dir: Path) -> None:
    """Record that a writer may write here."""
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    # In this order: a crash between the two must not look like a halt.
    for name in (HEALTHY_MARKER, SERVED_MARKER):
        if not (state_dir / name).exists():
            (state_dir / name).touch()
            sync_directory(state_dir)
    house_id, cause = _read_served(state_dir)
    if cause or not house_id:
        with suppress(OSError):  # a full disk has no room for the id
            _write_cause(state_dir, "", house_id or token_hex(ID_BYTES))
    for marker in _find_markers_elsewhere(state_dir, any_house=True):
        marker.unlink()


def _markers_elsewhere(state_dir: Path) -> list[Path]:
    """Return where a halt is recorded if the state directory cannot be changed."""
    name = f"threedice-halted-{sha256(os.fsencode(state_dir.resolve())).hexdigest()[:32]}"
    variables = {"XDG_RUNTIME_DIR": f"/run/user/{os.geteuid()}", "TMPDIR": "/tmp"}
    folders = [os.environ.get(each) or default for each, default in variables.items()]
    return [Path(folder, name) for folder in {*folders, "/var/tmp", str(user_state_path())}]


def _read_served(state_dir: Path) -> tuple[str, str]:
    """Return the id of the house and the cause of its halt; either may be empty."""
    try:
        return _parse_marker((state_dir / SERVED_MARKER).read_bytes())
    except FileNotFoundError:
        return "", ""


def _write_cause(state_dir: Path, cause: str, house_id: str = "") -> None:
    """Overwrite the cause of a halt in place."""
    house_id = house_id or _read_served(state_dir)[0]
    descriptor = os.open(state_dir / SERVED_MARKER, os.O_WRONLY)
    try:
        os.pwrite(descriptor, _format_marker(house_id, cause), 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _format_marker(house_id: str, cause: str) -> bytes:
    """Return the id and the cause in a fixed number of bytes."""
    text = " ".join(cause.split()).encode(errors="replace")[:MAX_CAUSE_BYTES]
    return b"%b\n%b\n" % (house_id.encode().ljust(2 * ID_BYTES), text.ljust(MAX_CAUSE_BYTES))


def _parse_marker(data: bytes) -> tuple[str, str]:
    house_id, _, rest = data.decode(errors="ignore").partition("\n")
    return house_id.strip(), rest.partition("\n")[0].strip()


def _find_markers_elsewhere(state_dir: Path, *, any_house: bool = False) -> list[Path]:
    """Return the recorded halts of this house, or of any that had this path.

    Files of other users do not count, as anybody may create them.
    """
    trusted_owners = {0, os.geteuid()}
    with suppress(OSError):
        trusted_owners.add(state_dir.stat().st_uid)
    found = []
    for marker in _markers_elsewhere(state_dir):
        with suppress(OSError):
            status = marker.lstat()
            if not S_ISREG(status.st_mode) or status.st_uid not in trusted_owners:
                continue
            if any_house or _is_of_house(marker, state_dir):
                found.append(marker)
    return found


def _is_of_house(marker: Path, state_dir: Path) -> bool:
    """Return whether a recorded halt is of the house that has the path now; if unsure, it is."""
    try:
        return was_served(state_dir) and (
            _parse_marker(marker.read_bytes())[0] == _read_served(state_dir)[0]
        )
    except OSError:
        return True


def _create_marker(marker: Path, state_dir: Path, cause: str) -> None:
    marker.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(marker, flags, 0o644), "wb") as file:
        file.write(_format_marker(_read_served(state_dir)[0], cause))
        file.write(b"writing was halted for %b\n" % os.fsencode(state_dir.resolve()))
        file.flush()
        os.fsync(file.fileno())
    sync_directory(marker.parent)
