"""Limits on clients: size and timeout of request heads, request rates, concurrent slow work.

uvicorn's own protocol accepts headers of any size for any time, so that clients could fill the
memory or hold idle connections before they sign in. Rates are limited with token buckets, one per
account and one per address; a bucket holds two seconds' worth, which allows bursts of bets.
"""

from __future__ import annotations

import asyncio
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from anyio import to_thread
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from threedice.errors import QueueFull

if TYPE_CHECKING:
    from asyncio import TimerHandle, Transport
    from collections.abc import Callable


MAX_HEAD_BYTES: Final = 32 * 1024
"""Maximum size of a request's URL and headers."""

MAX_HEADERS: Final = 100

HEAD_TIMEOUT_SECONDS: Final = 10.0
"""Time for a request head to arrive, and for the rest of a body once the response was sent."""

ADDRESS_RATE_FACTOR: Final = 50
"""Rate limit of an address in multiples of an account's: a whole gaming hall may share one."""

BURST_SECONDS: Final = 2.0

MAX_RATE_LIMITED_KEYS: Final = 50_000

MAX_WAITING: Final = 100
"""Maximum number of calls that wait for a `ConcurrencyLimiter`."""

P = ParamSpec("P")
T = TypeVar("T")

_HEAD_TOO_LARGE_TEXT: Final = b"The head of this request is too large.\n"


class HeadTooLarge(Exception):
    """The head of a request exceeds `MAX_HEAD_BYTES` or `MAX_HEADERS`."""


class LimitedHttpProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol with limits on the size and the arrival time of request heads."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._in_head = self._in_request = False
        self._head_bytes = 0
        self._deadline: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Accept a connection; its first request must begin before the deadline."""
        super().connection_made(transport)
        self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up after a connection."""
        self._cancel_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse data; limit the time and the size of a head that arrives in parts."""
        was_in_body = self._in_request and not self._in_head
        super().data_received(data)
        if not self._in_head or self.transport.is_closing():
            return
        self._start_deadline()
        if not was_in_body:
            self._head_bytes += len(data)  # the parser reports a header only once it is complete
        if self._head_bytes > MAX_HEAD_BYTES:
            self._send_431()

    def on_message_begin(self) -> None:
        """Start reading a request head."""
        super().on_message_begin()
        self._in_head = self._in_request = True
        self._head_bytes = 0

    def on_headers_complete(self) -> None:
        """Start handling the request; the handler that reads the body limits its time."""
        self._in_head = False
        if self._deadline is not None:
            self._cancel_deadline()
        if self._is_too_large():
            raise HeadTooLarge
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Cancel the deadline, as the whole request has arrived."""
        self._in_request = False
        if self._deadline is not None:
            self._cancel_deadline()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Set a deadline for the rest of the body, if the response was sent before its end."""
        super().on_response_complete()
        if self._in_request:
            self._start_deadline()

    def send_400_response(self, msg: str) -> None:
        """Reject a malformed request, with status 431 if its head is too large."""
        if self.headers and self._is_too_large():
            self._send_431()
        else:
            super().send_400_response(msg)

    def _is_too_large(self) -> bool:
        headers = self.headers
        if len(headers) > MAX_HEADERS:
            return True
        return (
            len(self.url) + sum(len(name) + len(value) for name, value in headers) > MAX_HEAD_BYTES
        )

    def _send_431(self) -> None:
        length = str(len(_HEAD_TOO_LARGE_TEXT)).encode()
        self.transport.write(
            STATUS_LINE[431] + b"content-type: text/plain\r\nx-content-type-options: nosniff\r\n"
            b"connection: close\r\ncontent-length: " + length + b"\r\n\r\n" + _HEAD_TOO_LARGE_TEXT
        )
        self.transport.close()

    def _start_deadline(self) -> None:
        """Start the deadline unless it is running: partial data does not extend it."""
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_TIMEOUT_SECONDS, self._abort_connection)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _abort_connection(self) -> None:
        self._deadline = None
        self.transport.abort()


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
