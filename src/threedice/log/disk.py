"""What the operating system is asked about files themselves: to keep their names, to forget."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def sync_directory(directory: Path) -> None:
    """Make durable which files a directory has: without its name, what is in one would be lost."""
    if os.name == "nt":
        return  # a directory cannot be opened there
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def forget_cached(file: Path) -> None:
    """Have a file that nobody has open read from the disk itself, not from memory.

    After a sync that failed, the operating system takes for written what never reached the disk. A
    process that starts on the same machine would go by such a log and move it into the database: a
    power cut meanwhile would leave that half moved, and no log to move it by. What the disk itself
    has of a log ends with a whole commit, and all that was acknowledged is before it.
    """
    if not hasattr(os, "posix_fadvise"):
        return  # then only a restart of the machine does it
    with suppress(FileNotFoundError):
        opened = os.open(file, os.O_RDONLY)
        try:
            os.posix_fadvise(opened, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(opened)
