"""Limits on clients: rates of requests and bytes, concurrent slow work.

Commands are limited with token buckets, one per account and one per address; a bucket holds two
seconds' worth, which allows bursts of bets.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from anyio import to_thread

from threedice.errors import QueueFull

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio import CapacityLimiter

ADDRESS_RATE_FACTOR: Final = 50
"""Rate limit of an address in multiples of an account's: a whole gaming hall may share one."""

BURST_SECONDS: Final = 2.0

MAX_RATE_LIMITED_KEYS: Final = 50_000

MAX_WAITING: Final = 100
"""Maximum number of calls that wait in `run_limited` for the same limiter."""

P = ParamSpec("P")
T = TypeVar("T")


class RateLimiter:
    """Token buckets by key, all of the same size and refilled at the same rate."""

    def __init__(
        self, per_second: float, clock: Callable[[], float], burst: float | None = None
    ) -> None:
        self._rate, self._capacity = per_second, burst or max(per_second * BURST_SECONDS, 1.0)
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}
        """Tokens left in each bucket, and when they were counted."""

    def take(self, key: str = "", count: int = 1) -> float:
        """Take tokens and return 0, or return the seconds until they are available.

        >>> limiter = RateLimiter(1, clock=lambda: 0.0)
        >>> [limiter.take("ann") for _ in range(3)], limiter.take("bob")
        ([0.0, 0.0, 1.0], 0.0)
        """
        now = self._clock()
        tokens, counted_at = self._buckets.get(key, (self._capacity, now))
        tokens = min(self._capacity, tokens + (now - counted_at) * self._rate)
        if tokens < count:
            return (count - tokens) / self._rate
        if len(self._buckets) >= MAX_RATE_LIMITED_KEYS:
            self._drop_full_buckets(now)
        self._buckets[key] = (tokens - count, now)
        return 0.0

    def _drop_full_buckets(self, now: float) -> None:
        """Drop the buckets that are full again; if there are none, drop all."""
        capacity, rate = self._capacity, self._rate
        self._buckets = {
            key: (tokens, counted_at)
            for key, (tokens, counted_at) in self._buckets.items()
            if tokens + (now - counted_at) * rate < capacity
        }
        if len(self._buckets) >= MAX_RATE_LIMITED_KEYS:
            self._buckets.clear()


async def run_in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a blocking function in a thread, so that it does not block the event loop."""
    return await to_thread.run_sync(partial(function, *args, **kwargs))


async def run_limited(
    limiter: CapacityLimiter, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Run a slow function in a thread, within a limiter; raise `QueueFull` if too many wait."""
    if limiter.statistics().tasks_waiting >= MAX_WAITING:
        raise QueueFull("too many requests are waiting; try again later")
    async with limiter:
        return await run_in_thread(function, *args, **kwargs)
