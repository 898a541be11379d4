"""Wait for a condition that nothing announces: by polling, with a pause and a generous limit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

TIMEOUT_SECONDS: Final = 60.0
"""How long anything may take on a busy machine; only a failing test waits this long."""

PAUSE_SECONDS: Final = 0.05
"""Between two polls, so that they do not load the program that they wait for."""


def wait_until(condition: Callable[[], bool], failure: Callable[[], str]) -> None:
    """Wait until a condition holds; fail with a message if it never does."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, failure()
        time.sleep(PAUSE_SECONDS)
