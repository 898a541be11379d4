"""Tune the Python interpreter while a house serves or is audited.

Garbage collection: tables, bets and results live for hours and contain no reference cycles.
Python's default thresholds scan them every few hundred bets, which costs a fifth of a server's
throughput and as much of an audit's, so the thresholds are raised. The first is not raised further,
because connections do leave cycles: collecting 200,000 new objects at once stops the server for a
fifth of a second.

Thread switching: the writer thread needs the GIL for a moment before and after each statement, and
waits for the switch interval each time that the event loop or a query is busy. Python's five
milliseconds are right for bets alone: one millisecond costs 6 % of the bets per second. While there
are many queries or slow ones, the interval is a fiftieth of that, because a bet would wait up to
0.2 seconds behind them (benchmarks/query_flood.py, benchmarks/over_http.py).
"""

from __future__ import annotations

import gc
import sys
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

GC_THRESHOLDS = (20_000, 10, 1_000)
QUERY_SWITCH_INTERVAL_SECONDS = 0.0001


class _SavedSettings:
    """Users of each setting in this process; the first applies it, the last restores it."""

    lock = Lock()
    serving_count = reduced_gc_count = query_count = 0
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
        _SavedSettings.serving_count += 1
    try:
        with reduced_gc():
            yield
    finally:
        with _SavedSettings.lock:
            _SavedSettings.serving_count -= 1
            if not _SavedSettings.serving_count:
                sys.setswitchinterval(_SavedSettings.switch_interval)
                _SavedSettings.query_count = 0  # a closed event loop may have left some


@contextmanager
def quick_switching() -> Iterator[None]:
    """Switch threads more often until the last user leaves, in a process that serves."""
    begin_quick_switching()
    try:
        yield
    finally:
        end_quick_switching()


def begin_quick_switching() -> None:
    """Switch threads more often, until `end_quick_switching` is called as often as this."""
    with _SavedSettings.lock:
        _SavedSettings.query_count += 1
        if _SavedSettings.serving_count:
            sys.setswitchinterval(QUERY_SWITCH_INTERVAL_SECONDS)


def end_quick_switching() -> None:
    """Take back one call of `begin_quick_switching`."""
    with _SavedSettings.lock:
        _SavedSettings.query_count = max(_SavedSettings.query_count - 1, 0)
        if _SavedSettings.serving_count and not _SavedSettings.query_count:
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
