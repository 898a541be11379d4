"""Somebody who follows a table over a socket: where he is, and what waits to be sent to him."""

from __future__ import annotations

import asyncio
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from threedice.web.frames import Message
    from threedice.web.views import Audience
    from threedice.web.visiting import Visitor

MOST_WAITING: Final = 256
"""How many messages may wait for a socket that does not take them."""

MOST_LETTERS: Final = 1 << 20
"""How much they may come to."""


class Subscriber:
    """A socket's place at a table.

    `version` is how far he has been told. What happens is written to his socket at once where the
    server can do that and nothing waits before it; otherwise it waits for his writer. He is `lost`
    when more waits than may: what waits is dropped then, the table goes on, and he is shown the
    table anew once he listens again.
    """

    __slots__ = (
        "_letters", "_news", "_waiting", "_write", "audience", "busy_since", "ended", "lost",
        "player", "table", "token", "version", "visitor",
    )  # fmt: skip

    def __init__(
        self,
        visitor: Visitor,
        token: str,
        table: str,
        audience: Audience,
        player: str,
        write: Callable[[bytes], bool] | None = None,
    ) -> None:
        self.visitor, self.token, self.table = visitor, token, table
        self.audience, self.player = audience, player
        self.version = 0
        self.lost = False
        self.busy_since = 0.0
        self.ended: asyncio.Future[tuple[int, str]] = asyncio.get_running_loop().create_future()
        self._news: asyncio.Future[None] | None = None
        self._write = write
        self._waiting: deque[str] = deque()
        self._letters = 0

    def take(self, version: int, message: Message) -> None:
        """Have something sent that leads to a version, unless too much waits already."""
        if self.lost or version <= self.version:
            return
        if self._write and self._is_idle() and self._write(message.frame):
            self.version = version
            return
        self._letters += len(message.text)
        if len(self._waiting) >= MOST_WAITING or self._letters > MOST_LETTERS:
            self.lost = True
            self._waiting.clear()
        else:
            self._waiting.append(message.text)
            self.version = version
        self._rouse()

    def _is_idle(self) -> bool:
        """Tell whether the writer waits for news, so that nothing comes before them."""
        return self._news is not None and not self._news.done() and not self.ended.done()

    def say(self, text: str) -> None:
        """Have something sent that is no part of the table's history; dropped if much waits."""
        if not self.lost and len(self._waiting) < MOST_WAITING:
            self._letters += len(text)
            self._waiting.append(text)
            self._rouse()

    def start_over(self) -> None:
        """Wait for news again, with nothing left over."""
        self._waiting.clear()
        self._letters, self.lost = 0, False

    async def next(self) -> str | None:
        """Return what is to be sent next, waiting for it; nothing once he is lost."""
        while not self.lost:
            if self._waiting:
                text = self._waiting.popleft()
                self._letters -= len(text)
                return text
            self._news = asyncio.get_running_loop().create_future()
            await self._news
            self._news = None
        return None

    def _rouse(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def end(self, code: int, reason: str) -> None:
        """Have the socket closed."""
        if not self.ended.done():
            self.ended.set_result((code, reason))

    def stuck_seconds(self) -> float:
        """Return for how long he has not taken what is being sent."""
        return monotonic() - self.busy_since if self.busy_since else 0.0
