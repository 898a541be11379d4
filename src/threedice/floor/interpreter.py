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

COLLECT_AFTER = (200_000, 10, 100)
TURN_SECONDS = 0.001


class _Held:
    """How many ask for a setting in this process; the first sets it, the last sets it back."""

    lock = Lock()
    houses = collecting_seldom = 0
    threshold: tuple[int, int, int]
    turn: float


@contextmanager
def set_for_service() -> Iterator[None]:
    """Have Python serve many at once until the last of those that serve has ended."""
    gc.collect()
    gc.freeze()
    with _Held.lock:
        if not _Held.houses:
            _Held.turn = sys.getswitchinterval()
            sys.setswitchinterval(TURN_SECONDS)
        _Held.houses += 1
    try:
        with collecting_seldom():
            yield
    finally:
        with _Held.lock:
            _Held.houses -= 1
            if not _Held.houses:
                sys.setswitchinterval(_Held.turn)
                gc.unfreeze()


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Have Python look for garbage seldom until the last that asked for it has ended."""
    with _Held.lock:
        if not _Held.collecting_seldom:
            _Held.threshold = gc.get_threshold()
            gc.set_threshold(*COLLECT_AFTER)
        _Held.collecting_seldom += 1
    try:
        yield
    finally:
        with _Held.lock:
            _Held.collecting_seldom -= 1
            if not _Held.collecting_seldom:
                gc.set_threshold(*_Held.threshold)
