"""The non-deterministic parts of a running house: time, randomness and threads.

`house`, `log` and `api` use these only through a `Runtime`, so that a subclass can run a house on a
virtual clock, with a seeded generator and without threads. Timers of asyncio follow the clock of
the event loop, which the caller chooses as well. Stores that talk to a database keep to the
machine's own time, because the database does.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Runtime:
    """The clock, the random generator and the threads of this machine."""

    def now(self) -> int:
        """Return the time in microseconds of UTC since 1970."""
        return time.time_ns() // 1000

    def monotonic(self) -> float:
        """Return seconds that never go back, even if the clock is set."""
        return time.monotonic()

    async def wait(self, seconds: float, wake: asyncio.Event) -> None:
        """Wait until a time has passed or an event is set."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await wake.wait()

    def random_bytes(self, count: int) -> bytes:
        """Return random bytes that nobody can predict."""
        return secrets.token_bytes(count)

    async def run_blocking(
        self,
        function: Callable[Parameters, Result],
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Result:
        """Run a function that blocks, such as a database query, without blocking the event loop."""
        return await asyncio.to_thread(function, *args, **kwargs)

    async def run_request(
        self,
        function: Callable[Parameters, Result],
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Result:
        """Run the blocking part of a request in a thread that the house itself does not use.

        Requests that wait for a database thus leave the house its threads. Cancelling a request
        does not stop its thread.
        """
        from anyio import to_thread  # noqa: PLC0415 -- of the extra `house`

        return await to_thread.run_sync(partial(function, *args, **kwargs))

    def start_thread(self, target: Callable[[], None], name: str) -> Thread:
        """Start a thread that runs until its target returns."""
        thread = Thread(target=target, name=name)
        thread.start()
        return thread


SYSTEM_RUNTIME: Final = Runtime()
