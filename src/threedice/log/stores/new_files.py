"""Create a file completely or not at all, and folders for temporary files that hold secrets."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from threedice.db.sqlite import sync_directory
from threedice.errors import InvalidInput
from threedice.runtime import SYSTEM_RUNTIME

if TYPE_CHECKING:
    from collections.abc import Iterator

TEMPORARY_PREFIX: Final = "threedice-temporary-"
_TEMPORARY_NAME: Final = re.compile(rf"{TEMPORARY_PREFIX}[0-9a-f]{{16}}")
_PART_NAME: Final = re.compile(r"\.[0-9a-f]{8}\.part\Z")


@contextmanager
def create_file(file: Path) -> Iterator[Path]:
    """Create a file, readable by its owner only, that appears once it is complete.

    It is written under a unique name, so the remains of an interrupted call never block another
    one. An existing file is not overwritten.
    """
    refuse_existing(file)
    part = file.with_name(f"{file.name}.{SYSTEM_RUNTIME.random_bytes(4).hex()}.part")
    try:
        lock = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InvalidInput(
            f"{file} cannot be created: {error.strerror}; choose another file"
        ) from error
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield part
        with part.open("rb") as opened:
            os.fsync(opened.fileno())
        _publish(part, file)
    finally:
        part.unlink(missing_ok=True)
        os.close(lock)
    sync_directory(file.parent)


def remove_unfinished(folder: Path, beginning: bytes) -> None:
    """Remove the remains of interrupted calls of `create_file` for files that begin like this."""
    for part in folder.glob("*.part"):
        with suppress(OSError):  # in use, or not ours
            if _PART_NAME.search(part.name):
                with part.open("rb") as opened:
                    fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    if opened.read(len(beginning)) in (b"", beginning):
                        part.unlink()


def refuse_existing(file: Path) -> None:
    """Raise InvalidInput if a file to create exists."""
    if os.path.lexists(file):
        raise InvalidInput(f"{file} already exists; name a new file")


def _publish(part: Path, file: Path) -> None:
    """Give a complete file its name, unless the name was taken meanwhile."""
    try:
        os.link(part, file)
    except FileExistsError:
        refuse_existing(file)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        refuse_existing(file)  # a file system without hard links
        part.rename(file)


@contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """Create a folder for this process only, and remove it at the end.

    The folders of processes that were killed are removed first: a running one holds a lock. If the
    parent is on read-only media, the folder is where the system keeps temporary files. A parent
    that had to be created and is empty at the end is removed, too.
    """
    is_new = not parent.exists()
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.access(parent, os.W_OK):
        with TemporaryDirectory(prefix="threedice-") as elsewhere:
            yield Path(elsewhere)
        return
    remove_unused_folders(parent)
    folder, lock = _create_locked(parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)
        if is_new:
            with suppress(OSError):  # not empty
                parent.rmdir()


def remove_unused_folders(parent: Path) -> None:
    """Remove the temporary folders of this user's processes that were killed."""
    for folder in parent.glob(f"{TEMPORARY_PREFIX}*"):
        if _TEMPORARY_NAME.fullmatch(folder.name):
            _remove_unless_used(folder)


def _create_locked(parent: Path) -> tuple[Path, int]:
    while True:
        folder = parent / f"{TEMPORARY_PREFIX}{SYSTEM_RUNTIME.random_bytes(8).hex()}"
        folder.mkdir(mode=0o700)
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            return folder, lock
        os.close(lock)  # another process removed it before it was locked


def _remove_unless_used(folder: Path) -> None:
    with suppress(OSError):  # used by another process, or not a folder
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if os.fstat(lock).st_uid == os.geteuid():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
        finally:
            os.close(lock)
