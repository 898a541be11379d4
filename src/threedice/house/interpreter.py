"""How Python itself is set while a house serves or is audited: garbage collected seldom.

Tables, bets and answers stay for hours and hold nothing that holds them. Looking through all of
them every few hundred bets, as Python does by itself, costs a fifth of the bets a server takes, and
as much of an audit. While a house serves, turns are taken often besides: the thread that writes
needs Python only for a moment for each batch, and made to wait for the usual turn it would leave
the disk idle that long.
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
    """How many ask for a setting in this process; the first sets it, the last sets it back."""

    lock = Lock()
    serving_count = reduced_gc_count = 0
    threshold: tuple[int, int, int]
    switch_interval: float


@contextmanager
def serving_settings() -> Iterator[None]:
    """Have Python serve many at once until the last of those that serve has ended."""
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
                gc.unfreeze()


@contextmanager
def reduced_gc() -> Iterator[None]:
    """Have Python look for garbage seldom until the last that asked for it has ended."""
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
