"""Limits on clients: rates of requests and bytes, concurrent slow work.

Commands are limited with token buckets, one per account and one per address; a bucket holds two
seconds' worth, which allows bursts of bets.
"""

from __future__ import annotations

import asyncio
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from anyio import to_thread

from threedice.errors import QueueFull

if TYPE_CHECKING:
    from collections.abc import Callable


ADDRESS_RATE_FACTOR: Final = 50
"""Rate limit of an address in multiples of an account's: a whole gaming hall may share one."""

BURST_SECONDS: Final = 2.0

MAX_RATE_LIMITED_KEYS: Final = 50_000

MAX_WAITING: Final = 100
"""Maximum number of calls that wait for a `ConcurrencyLimiter`."""

P = ParamSpec("P")
T = TypeVar("T")


class RateLimiter:
    """Token buckets by key, all refilled at the same rate."""

    def __init__(self, per_second: float, clock: Callable[[], float] = monotonic) -> None:
        self._rate, self._capacity = per_second, max(per_second * BURST_SECONDS, 1.0)
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}
        """Tokens left in each bucket, and when they were counted."""

    def take(self, key: str) -> float:
        """Take a token and return 0, or return the seconds until one is available.

        >>> limiter = RateLimiter(1, clock=lambda: 0.0)
        >>> [limiter.take("ann") for _ in range(3)], limiter.take("bob")
        ([0.0, 0.0, 1.0], 0.0)
        """
        now = self._clock()
        tokens, counted_at = self._buckets.get(key, (self._capacity, now))
        tokens = min(self._capacity, tokens + (now - counted_at) * self._rate)
        if tokens < 1.0:
            return (1.0 - tokens) / self._rate
        if len(self._buckets) >= MAX_RATE_LIMITED_KEYS:
            self._drop_full_buckets(now)
        self._buckets[key] = (tokens - 1.0, now)
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


class ByteRateLimiter:
    """A token bucket for the bytes of a stream."""

    def __init__(
        self, per_second: float, burst: float, clock: Callable[[], float] = monotonic
    ) -> None:
        self._rate, self._capacity, self._clock = per_second, burst, clock
        self._available, self._counted_at = burst, clock()

    def take(self, wanted: int) -> int:
        """Take up to `wanted` bytes and return how many were available.

        >>> limiter = ByteRateLimiter(1, burst=10, clock=lambda: 0.0)
        >>> limiter.take(6), limiter.take(6), limiter.take(6)
        (6, 4, 0)
        """
        now = self._clock()
        refilled = self._available + (now - self._counted_at) * self._rate
        self._available = min(self._capacity, refilled)
        self._counted_at = now
        taken = min(wanted, int(self._available))
        self._available -= taken
        return taken


class ConcurrencyLimiter(asyncio.Semaphore):
    """A semaphore for one kind of slow work, which counts the calls that wait for it."""

    def __init__(self, max_concurrent: int) -> None:
        super().__init__(max_concurrent)
        self.waiting = 0


class CommandRateLimits:
    """Rate limits of commands, per account and per address."""

    def __init__(self, per_second: float) -> None:
        self.accounts = RateLimiter(per_second)
        self.addresses = RateLimiter(per_second * ADDRESS_RATE_FACTOR)

    def retry_after_seconds(self, account: str, address: str) -> float:
        """Count a command and return 0, or return the seconds until one may be sent."""
        return self.accounts.take(account) or self.addresses.take(address)


async def run_in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a blocking function in a thread, so that it does not block the event loop."""
    return await to_thread.run_sync(partial(function, *args, **kwargs))


async def run_limited(
    limiter: ConcurrencyLimiter,
    function: Callable[P, T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Run a slow function in a thread, within a limiter; raise `QueueFull` if too many wait."""
    if limiter.locked() and limiter.waiting >= MAX_WAITING:
        raise QueueFull("too many requests are waiting; try again later")
    limiter.waiting += 1
    try:
        async with limiter:
            return await run_in_thread(function, *args, **kwargs)
    finally:
        limiter.waiting -= 1
