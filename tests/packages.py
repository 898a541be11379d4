"""Debian packages that tests need: installed where they are missing, by one test run at a time."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LOCK = Path("/tmp/threedice-packages.lock")


@contextmanager
def apt_lock() -> Iterator[None]:
    """Keep other test runs from using apt-get meanwhile: it refuses to run twice."""
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install(*alternatives: str, is_there: Callable[[], object]) -> None:
    """Install the first of these packages that there is, unless `is_there` by then.

    Groups of tests that run at the same time wait for each other here.
    """
    if is_there() or not shutil.which("apt-get") or os.getuid() != 0:
        return
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    with apt_lock():
        if is_there():
            return
        subprocess.run(["apt-get", "update", "-qq"], check=False, env=quiet)
        for packages in alternatives:
            command = ["apt-get", "install", "-y", "-qq", *packages.split()]
            if subprocess.run(command, check=False, env=quiet).returncode == 0:
                return
