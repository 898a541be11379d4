"""How much memory a job takes, and a clear word where there is less."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from threedice.errors import InvalidInput

if TYPE_CHECKING:
    from threedice.sim.jobs import Job


def needed(job: Job, hands: int) -> int:
    """Return how many bytes the counts of a job take: each hand's two pieces, and the whole."""
    room = sum(int(each.size) * 8 for each in job.blank().counts.values())
    return room * (2 * hands + 2)


def available() -> int | None:
    """Return how many bytes of memory are free, where the system says so."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def check_memory(job: Job, hands: int | None = None, free: int | None = None) -> None:
    """Refuse a job whose counts take more memory than there is."""
    there = available() if free is None else free
    wanted = needed(job, hands or os.cpu_count() or 1)
    if there is not None and wanted > there:
        raise InvalidInput(
            f"this would take {wanted / 2**30:.1f} GiB of memory, and {there / 2**30:.1f} GiB are "
            "free; use fewer threads, or simulate fewer players or rounds"
        )
