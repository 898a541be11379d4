"""Limits on clients: rates of requests and bytes, concurrent slow work.

Commands and queries are limited with token buckets, one per account and one per address. A bucket
holds two seconds' worth of commands, which allows bursts of bets, and four seconds' worth of
queries, which allows a person to open several pages at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple

from threedice.house.interpreter import begin_quick_switching, end_quick_switching

if TYPE_CHECKING:
    from collections.abc import Callable

ADDRESS_RATE_FACTOR: Final = 50
"""Rate limit of an address in multiples of an account's: a whole gaming hall may share one."""

STRANGER_RATE_FACTOR: Final = 10
"""Rate limit of all callers of an address who are not signed in, in multiples of an account's."""

BURST_SECONDS: Final = 2.0
QUERY_BURST_SECONDS: Final = 4.0

MAX_RATE_LIMITED_KEYS: Final = 50_000

QUERIES_PER_ITERATION: Final = 1
"""Number of requests other than commands that begin in one iteration of the event loop."""

CROWDED_SECONDS: Final = 0.2
"""How long threads are switched more often after a request had to wait for its iteration."""


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

    def allowance(self, key: str) -> RateAllowance:
        """Return the size of a bucket, the whole tokens left, and the seconds until it is full."""
        tokens, counted_at = self._buckets.get(key, (self._capacity, 0.0))
        tokens = min(self._capacity, tokens + (self._clock() - counted_at) * self._rate)
        return RateAllowance(
            int(self._capacity), int(tokens), ceil((self._capacity - tokens) / self._rate)
        )

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


class RateAllowance(NamedTuple):
    """A caller's allowance of requests, as the `RateLimit` headers state it."""

    limit: int
    remaining: int
    reset_seconds: int


class QueryLimits:
    """Rate limits of queries: of an account, of strangers at an address, and of an address."""

    def __init__(self, per_second: float, clock: Callable[[], float]) -> None:
        def limiter(factor: int) -> RateLimiter:
            return RateLimiter(
                factor * per_second, clock, burst=factor * per_second * QUERY_BURST_SECONDS
            )

        self._accounts, self._addresses = limiter(1), limiter(ADDRESS_RATE_FACTOR)
        self._strangers = limiter(STRANGER_RATE_FACTOR)

    def take_address(self, address: str) -> tuple[float, RateAllowance | None]:
        """Count a query of an address; return the seconds to wait, and what is left if none is."""
        seconds = self._addresses.take(address)
        return seconds, self._addresses.allowance(address) if seconds else None

    def take(self, account: str | None, address: str) -> tuple[float, RateAllowance]:
        """Count a query of an account, or of a stranger at an address."""
        limiter, key = (self._strangers, address) if account is None else (self._accounts, account)
        return limiter.take(key), limiter.allowance(key)


class Turnstile:
    """Admits a few requests in each iteration of the event loop, in the order of their arrival.

    Without it, a bet would wait in each of its steps for all queries that arrived meanwhile. While
    requests wait here, and a moment longer, threads are switched more often.
    """

    def __init__(self, per_iteration: int = QUERIES_PER_ITERATION) -> None:
        self._per_iteration, self._admitted, self._crowded_until = per_iteration, 0, 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Return at once or in a later iteration of the event loop."""
        loop = asyncio.get_running_loop()
        if not self._admitted:
            loop.call_soon(self._next_iteration, loop)
        if self._admitted < self._per_iteration:
            self._admitted += 1
            return
        if not self._crowded_until:
            begin_quick_switching()
            loop.call_later(CROWDED_SECONDS, self._relax, loop)
        self._crowded_until = loop.time() + CROWDED_SECONDS
        future = loop.create_future()
        self._waiting.append(future)
        await future

    def _next_iteration(self, loop: asyncio.AbstractEventLoop) -> None:
        self._admitted = 0
        while self._waiting and self._admitted < self._per_iteration:
            future = self._waiting.popleft()
            if not future.done():  # cancelled, if the client has gone
                future.set_result(None)
                self._admitted += 1
        if self._admitted:
            loop.call_soon(self._next_iteration, loop)

    def _relax(self, loop: asyncio.AbstractEventLoop) -> None:
        """Switch threads less often again, if no request had to wait for some time."""
        if loop.time() < self._crowded_until:
            loop.call_at(self._crowded_until, self._relax, loop)
        else:
            self._crowded_until = 0.0
            end_quick_switching()
