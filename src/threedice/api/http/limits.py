"""Limits on clients: size and arrival time of request heads, request rates, concurrent expensive work.

Requests as they arrive: no larger a head, and no longer on its way, than one needs to be.

uvicorn's protocol reads whatever is sent for as long as somebody sends it. Here whoever has not
signed in yet can neither fill the memory with headers nor hold connections that say nothing.

How often somebody may ask: a bucket of allowances for each account and each address.

A bucket fills at a steady rate and holds two seconds' worth, so that a burst of chips is no flood.
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
"""How many bytes the address and the headers of a request may have."""


MAX_HEADERS: Final = 100


HEAD_TIMEOUT_SECONDS: Final = 10.0
"""For how long a head may be on its way, and what is left of a request after its answer."""


_HEAD_TOO_LARGE_TEXT: Final = b"The head of this request is too large.\n"


class HeadTooLarge(Exception):
    """The head of a request is larger than may be."""


class LimitedHttpProtocol(HttpToolsProtocol):
    """An HTTP connection of uvicorn's that ends with whoever sends too much, or nothing."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._in_head = self._in_request = False
        self._head_bytes = 0
        self._deadline: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Take a connection, on which something is to be asked."""
        super().connection_made(transport)
        self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._cancel_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; a head that comes in parts is given so much time and room."""
        was_in_body = self._in_request and not self._in_head
        super().data_received(data)
        if not self._in_head or self.transport.is_closing():
            return
        self._start_deadline()
        if not was_in_body:
            self._head_bytes += len(data)  # of one long header, nothing is told before its end
        if self._head_bytes > MAX_HEAD_BYTES:
            self._send_431()

    def on_message_begin(self) -> None:
        """Begin to read a request."""
        super().on_message_begin()
        self._in_head = self._in_request = True
        self._head_bytes = 0

    def on_headers_complete(self) -> None:
        """Have the request answered; how long its body may take is for whoever reads it."""
        self._in_head = False
        if self._deadline is not None:
            self._cancel_deadline()
        if self._is_too_large():
            raise HeadTooLarge
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that all of a request has arrived."""
        self._in_request = False
        if self._deadline is not None:
            self._cancel_deadline()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on to the next request, once what is left of this one has arrived."""
        super().on_response_complete()
        if self._in_request:
            self._start_deadline()

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be read."""
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
        """Give what has to come so much time, and not again when a little of it has come."""
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_TIMEOUT_SECONDS, self._abort_connection)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _abort_connection(self) -> None:
        self._deadline = None
        self.transport.abort()


ADDRESS_RATE_FACTOR: Final = 50
"""How many accounts' worth may come from one address: a whole hall may share it."""


BURST_SECONDS: Final = 2.0


MAX_RATE_LIMITED_KEYS: Final = 50_000


class RateLimiter:
    """Allowances by name, each refilled at the same rate."""

    def __init__(self, per_second: float, clock: Callable[[], float] = monotonic) -> None:
        self._rate, self._most = per_second, max(per_second * BURST_SECONDS, 1.0)
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, key: str) -> float:
        """Use an allowance up and return 0, or return after how many seconds there is one.

        >>> buckets = RateLimiter(1, clock=lambda: 0.0)
        >>> [buckets.take("ann") for _ in range(3)], buckets.take("bob")
        ([0.0, 0.0, 1.0], 0.0)
        """
        now = self._clock()
        left, at = self._left.get(key, (self._most, now))
        left = min(self._most, left + (now - at) * self._rate)
        if left < 1.0:
            return (1.0 - left) / self._rate
        if len(self._left) >= MAX_RATE_LIMITED_KEYS:
            self._drop_full_buckets(now)
        self._left[key] = (left - 1.0, now)
        return 0.0

    def _drop_full_buckets(self, now: float) -> None:
        """Forget those who have all their allowances again; where that is nobody, everybody."""
        most, rate = self._most, self._rate
        self._left = {
            name: (left, at)
            for name, (left, at) in self._left.items()
            if left + (now - at) * rate < most
        }
        if len(self._left) >= MAX_RATE_LIMITED_KEYS:
            self._left.clear()


class ByteRateLimiter:
    """How much may come of something that streams: refilled at a steady rate, up to a most."""

    def __init__(
        self, per_second: float, burst: float, clock: Callable[[], float] = monotonic
    ) -> None:
        self._rate, self._most, self._clock = per_second, burst, clock
        self._left, self._at = burst, clock()

    def take(self, wanted: int) -> int:
        """Use up as much of what is wanted as there is, and return how much that is.

        >>> meter = ByteRateLimiter(1, burst=10, clock=lambda: 0.0)
        >>> meter.take(6), meter.take(6), meter.take(6)
        (6, 4, 0)
        """
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._at) * self._rate)
        self._at = now
        taken = min(wanted, int(self._left))
        self._left -= taken
        return taken


class ConcurrencyLimiter(asyncio.Semaphore):
    """Turns at something that costs much; who waits for one kind keeps nobody from another."""

    def __init__(self, max_concurrent: int) -> None:
        super().__init__(max_concurrent)
        self.waiting = 0


class CommandRateLimits:
    """What commands are held to: an account's own rate, and an address's."""

    def __init__(self, per_second: float) -> None:
        self.accounts = RateLimiter(per_second)
        self.addresses = RateLimiter(per_second * ADDRESS_RATE_FACTOR)

    def retry_after_seconds(self, account: str, address: str) -> float:
        """Return after how many seconds a command may be sent; 0 for now."""
        return self.accounts.take(account) or self.addresses.take(address)


P = ParamSpec("P")


T = TypeVar("T")


MAX_WAITING: Final = 100
"""How many may wait for what costs much."""


async def run_in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do in a thread what waits for a database, so that nobody else waits for it."""
    return await to_thread.run_sync(partial(function, *args, **kwargs))


async def run_limited(
    limiter: ConcurrencyLimiter,
    function: Callable[P, T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Do in a thread what costs much: a few at a time, and no more waiting than may."""
    if limiter.locked() and limiter.waiting >= MAX_WAITING:
        raise QueueFull("too much is waiting; ask again later")
    limiter.waiting += 1
    try:
        async with limiter:
            return await run_in_thread(function, *args, **kwargs)
    finally:
        limiter.waiting -= 1
