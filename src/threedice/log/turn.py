"""Whose turn it is to write a file: threads wait for it, and so does one who must not block."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from threading import RLock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import TracebackType

PAUSE_SECONDS: Final = 0.0005


class Turn:
    """A lock that threads take with `with`, and a coroutine with `async with ... .soon()`."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._waiting: deque[None] = deque()
        self._awaited = False  # by a coroutine: to others of its thread the lock would be open

    def __enter__(self) -> None:
        self._waiting.append(None)
        try:
            self._lock.acquire()
        finally:
            self._waiting.pop()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()

    @asynccontextmanager
    async def soon(self) -> AsyncIterator[None]:
        """Have the turn once nobody is waiting: whoever writes batch after batch lets others in."""
        while self._waiting or self._awaited or not self._lock.acquire(blocking=False):
            await asyncio.sleep(PAUSE_SECONDS)
        self._awaited = True
        try:
            yield
        finally:
            self._awaited = False
            self._lock.release()
