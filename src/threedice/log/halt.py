"""The note of a halted writer that outlives its process, kept outside the database.

A disk that is full or failing may take no new row and no new file, but it lets go of a file. So it
is the absence of `healthy` that says a writer was halted here: it is made before anything is
written and unlinked on a halt, while `served`, which stays, tells a halt from a first start. A
killed process unlinks nothing and comes back writing.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from threedice.log.disk import sync_directory

if TYPE_CHECKING:
    from pathlib import Path

HEALTHY = "healthy"
SERVED = "served"


def noted(state: Path) -> bool:
    """Tell whether a writer was halted here and nobody has released it."""
    return (state / SERVED).exists() and not (state / HEALTHY).exists()


def note(state: Path) -> None:
    """Note a halt, as far as the disk still lets us."""
    with suppress(OSError):
        (state / HEALTHY).unlink(missing_ok=True)
        sync_directory(state)


def clear(state: Path) -> None:
    """Note that a writer may write here."""
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in (HEALTHY, SERVED):  # in this order, or a crash between them would read as a halt
        if not (state / name).exists():
            (state / name).touch()
            sync_directory(state)
