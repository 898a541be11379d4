"""The version of the program, and the build: a hash of the installed files.

Programs of one version number may differ, and an operator has to tell them apart. The hash is
computed when it is asked for, so that a wheel holds no stamp and is the same whenever it is built.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from threedice import __version__

PACKAGE: Final = Path(__file__).parent
BUILD_DIGITS: Final = 12
"""48 bits: no two programs that somebody compares have the same by chance."""

_SUFFIXES: Final = frozenset({".py", ".toml", ".json", ".sql"})
"""The files that decide what the program does; the manifest of the screens names their files."""


@cache
def build_id(package: Path = PACKAGE) -> str:
    """Return the hash of the files of a package, the same on every machine.

    It is computed once: a server that computes it as it starts keeps it when files are replaced.
    """
    digest = sha256()
    files = {
        file.relative_to(package).as_posix(): file
        for file in package.rglob("*")
        if file.suffix in _SUFFIXES
    }
    for name in sorted(files):
        content = files[name].read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:BUILD_DIGITS]


def describe_version() -> str:
    """Return version and build, as in `0.1.0 (build 1a2b3c4d5e6f)`."""
    return f"{__version__} (build {build_id()})"
