"""How Python itself is set while a house serves: garbage collected seldom, turns taken often.

Tables, bets and answers stay for hours and hold nothing that holds them. Looking through all of
them every few hundred bets, as Python does by itself, costs a fifth of the bets a server takes. And
the thread that writes needs Python only for a moment for each batch: made to wait for the usual
turn, it would leave the disk idle that long.
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


class _Serving:
    """How many houses serve in this process, and how Python was set before the first."""

    lock = Lock()
    houses = 0
    threshold: tuple[int, int, int]
    turn: float


@contextmanager
def set_for_service() -> Iterator[None]:
    """Have Python serve many at once until the last of those that serve has ended."""
    gc.collect()
    gc.freeze()
    with _Serving.lock:
        if not _Serving.houses:
            _Serving.threshold, _Serving.turn = gc.get_threshold(), sys.getswitchinterval()
            gc.set_threshold(*COLLECT_AFTER)
            sys.setswitchinterval(TURN_SECONDS)
        _Serving.houses += 1
    try:
        yield
    finally:
        with _Serving.lock:
            _Serving.houses -= 1
            if not _Serving.houses:
                sys.setswitchinterval(_Serving.turn)
                gc.set_threshold(*_Serving.threshold)
                gc.unfreeze()
