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
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

COLLECT_AFTER = (200_000, 10, 100)
TURN_SECONDS = 0.001


@contextmanager
def set_for_service() -> Iterator[None]:
    """Have Python serve many at once for as long as the context lasts."""
    threshold, turn = gc.get_threshold(), sys.getswitchinterval()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    sys.setswitchinterval(TURN_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(turn)
        gc.set_threshold(*threshold)
        gc.unfreeze()
