"""Refuse files that are too large for the repository: `python tools/file_sizes.py FILE...`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAXIMUM_BYTES = 500_000


def too_large(files: Iterable[Path]) -> list[str]:
    """Return a complaint about each file that is larger than allowed."""
    sizes = {file: file.stat().st_size for file in files}
    return [
        f"{file} has {size:,} bytes, more than {MAXIMUM_BYTES:,}: compress it or leave it out"
        for file, size in sizes.items()
        if size > MAXIMUM_BYTES
    ]


if __name__ == "__main__":
    complaints = too_large(map(Path, sys.argv[1:]))
    print("\n".join(complaints), end="\n" if complaints else "")
    sys.exit(bool(complaints))
