"""Long counting with somebody waiting: is there memory for it, how far is it, may it stop."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from threedice.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MEMORY = Path("/proc/meminfo")


def check_memory(needed: int, what: str, remedy: str) -> None:
    """Refuse work that needs more memory than there is, before it begins."""
    available = available_memory()
    if available is not None and needed > available:
        raise InvalidInput(
            f"{what} needs about {needed / 1e9:.1f} GB of memory, and {available / 1e9:.1f} GB "
            f"are free; {remedy}"
        )


def available_memory() -> int | None:
    """Return how many bytes can still be had, where the system tells."""
    try:
        lines = _MEMORY.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    told = dict(line.split(":", 1) for line in lines if ":" in line)
    amount = told.get("MemAvailable", "").split()
    return int(amount[0]) * 1024 if amount else None


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show how far long work has come, its rate and the time left, where somebody is looking."""
    if not sys.stderr.isatty():
        yield lambda done: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    rate = TextColumn("{task.fields[rate]}")
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, rate="")

        def shown(done: int) -> None:
            speed = bar.tasks[0].speed
            bar.update(task, completed=done, rate=f"{speed:,.1f}/s" if speed else "")

        yield shown


@contextmanager
def stoppable() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C ask work to stop between two of its steps, instead of in the middle of one."""
    asked = False

    def ask(*_: object) -> None:
        nonlocal asked
        asked = True

    usual = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, usual)


def stopped(text: str) -> None:
    """Say that work was stopped on request, and what there is of it."""
    beside(f"stopped: {text}")


def beside(text: str) -> None:
    """Say something on standard error, beside the answer."""
    sys.stderr.write(f"threedice: {text}\n")
