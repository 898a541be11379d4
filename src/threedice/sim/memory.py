"""How much memory a job takes, and a clear word where there is less."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from threedice.errors import InvalidInput

if TYPE_CHECKING:
    from threedice.sim.jobs import Job

_MEMORY: Final = Path("/proc/meminfo")


def needed(job: Job, hands: int) -> int:
    """Return how many bytes the counts of a job take: each hand's two pieces, and the whole."""
    room = sum(int(each.size) * 8 for each in job.blank().counts.values())
    return room * (2 * hands + 2)


def available() -> int | None:
    """Return how many bytes of memory can be had, where the system says so.

    What Linux keeps of files in memory it gives up when asked, so that it counts as free.
    """
    try:
        lines = _MEMORY.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    told = dict(line.split(":", 1) for line in lines if ":" in line)
    amount = told.get("MemAvailable", "").split()
    return int(amount[0]) * 1024 if amount else None


def check_memory(job: Job, hands: int | None = None, free: int | None = None) -> None:
    """Refuse a job whose counts take more memory than there is."""
    there = available() if free is None else free
    wanted = needed(job, hands or os.cpu_count() or 1)
    if there is not None and wanted > there:
        raise InvalidInput(
            f"this would take {wanted / 2**30:.1f} GiB of memory, and {there / 2**30:.1f} GiB are "
            "free; use fewer threads, or simulate fewer players or rounds"
        )
