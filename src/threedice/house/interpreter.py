"""Tune the Python interpreter while a house serves or is audited.

Garbage collection: tables, bets and results live for hours and contain no reference cycles.
Python's default thresholds scan them every few hundred bets, which costs a fifth of a server's
throughput and as much of an audit's, so the thresholds are raised.

Thread switching: the writer thread needs the GIL only for a moment per batch. With the default
switch interval the disk would be idle while the thread waits for the GIL, so a serving process uses
a shorter one.
"""

from __future__ import annotations

import gc
import sys
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

GC_THRESHOLDS = (200_000, 10, 100)
SWITCH_INTERVAL_SECONDS = 0.001


class _SavedSettings:
    """Users of each setting in this process; the first applies it, the last restores it."""

    lock = Lock()
    serving_count = reduced_gc_count = 0
    threshold: tuple[int, int, int]
    switch_interval: float


@contextmanager
def serving_settings() -> Iterator[None]:
    """Apply the settings of a serving process until its last user leaves.

    Objects that exist before, mostly modules and rulebooks, are never collected: they last as long
    as the process.
    """
    gc.collect()
    gc.freeze()
    with _SavedSettings.lock:
        if not _SavedSettings.serving_count:
            _SavedSettings.switch_interval = sys.getswitchinterval()
            sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
        _SavedSettings.serving_count += 1
    try:
        with reduced_gc():
            yield
    finally:
        with _SavedSettings.lock:
            _SavedSettings.serving_count -= 1
            if not _SavedSettings.serving_count:
                sys.setswitchinterval(_SavedSettings.switch_interval)


@contextmanager
def reduced_gc() -> Iterator[None]:
    """Reduce garbage collection until the last user leaves."""
    with _SavedSettings.lock:
        if not _SavedSettings.reduced_gc_count:
            _SavedSettings.threshold = gc.get_threshold()
            gc.set_threshold(*GC_THRESHOLDS)
        _SavedSettings.reduced_gc_count += 1
    try:
        yield
    finally:
        with _SavedSettings.lock:
            _SavedSettings.reduced_gc_count -= 1
            if not _SavedSettings.reduced_gc_count:
                gc.set_threshold(*_SavedSettings.threshold)
