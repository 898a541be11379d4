"""A house whose writing has failed stands still, and goes on when a person has looked.

The halt itself is the writer's, and outlasts a restart. Here it is ended: the database is opened
anew, who released it is written down, the house does what it owes its tables, and only then may
anybody play.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from threedice.errors import (
    Conflicted,
    InvalidInput,
    OperatingFailure,
    StoreFailed,
    ThreediceError,
)
from threedice.floor.events import WritingReleased
from threedice.floor.folds import HOUSE_STREAM
from threedice.log.store import Accepted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from threedice.floor.streams import Asked, Streams
    from threedice.log.store import Store
    from threedice.log.writer import Result

    Recovery = Callable[[], Awaitable[None]]

TRIES: Final = 200
"""How often a release is written again because others were quicker."""


class Releasing:
    """Lets a house that stands still write again."""

    def __init__(self, streams: Streams, open_again: Callable[[], Store] | None) -> None:
        self._streams, self._open_again = streams, open_again
        self.held = ""
        """Why nobody may play although the house itself can write again: it is coming back."""

    @property
    def cause(self) -> str:
        """Why nothing can be written, or nothing."""
        return self._streams.writer.halted or self.held

    async def release(self, by: str, reason: str, then: Recovery | None) -> None:
        """Let the house write again, for whoever has looked at what failed.

        The halt is over when `then` is done, what the house owes its tables; if anything fails
        before that, or the process dies, it stays noted, and a person has to release it again.
        """
        cause = self.cause
        if not cause:
            raise OperatingFailure("the house is not suspended; there is nothing to release")
        if not reason.strip():
            raise InvalidInput("give the reason for which the house may write again")
        with self._standing_still(cause):
            if self._open_again:
                self._streams.store.close()
                self._streams.start_over(await asyncio.to_thread(self._open_again))
            else:
                self._streams.start_over(self._streams.store)
            await self._record(cause, by, reason)
            if then:
                await then()
            self._need_no_other_halt()
            await asyncio.to_thread(self._streams.writer.release)

    async def go_on(self, then: Recovery) -> None:
        """Write again, now that a person has released the database at another server."""
        with self._standing_still(self.cause):
            former = self._streams.store
            if self._open_again:
                self._streams.start_over(await asyncio.to_thread(self._open_again))
                await asyncio.to_thread(former.close)
            else:
                self._streams.start_over(former)
            await then()
            self._need_no_other_halt()
            self._streams.writer.forget()

    @contextmanager
    def _standing_still(self, cause: str) -> Iterator[None]:
        """Let nobody play while the house comes back, nor if it could not."""
        self.held = cause
        try:
            yield
        except BaseException:
            self._streams.writer.hold(cause)
            raise
        finally:
            self.held = ""

    def _need_no_other_halt(self) -> None:
        if halted := self._streams.writer.halted:
            raise StoreFailed(halted)

    async def _record(self, cause: str, by: str, reason: str) -> None:
        """Write down who has let the house write again, after whoever does so at the same time."""
        event, loop = WritingReleased(cause=cause, reason=reason, by=by), asyncio.get_running_loop()
        for _ in range(TRIES):
            (running,) = streams = await self._streams.ready([HOUSE_STREAM])
            key = f"release {running.head.version}"
            command_hash = sha256(f"{key} {cause} {reason}".encode()).digest()
            written: asyncio.Future[Result] = loop.create_future()
            then = partial(_resolve, written)
            self._streams.propose([(event,)], streams, by, key, command_hash, then=then)
            result = await written
            if isinstance(result, ThreediceError):
                raise result
            if isinstance(result, Accepted):
                return
        raise Conflicted(
            "others release the house again and again; look whether it still is halted"
        )


def _resolve(written: asyncio.Future[Result], _asked: Asked, result: Result) -> None:
    if not written.done():
        written.set_result(result)
