"""How often somebody may ask: a bucket of allowances for each account and each address.

A bucket fills at a steady rate and holds two seconds' worth, so that a burst of chips is no flood.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

ADDRESS_FACTOR: Final = 50
"""How many accounts' worth may come from one address: a whole hall may share it."""

BURST_SECONDS: Final = 2.0
MOST: Final = 50_000


class Buckets:
    """Allowances by name, each refilled at the same rate."""

    def __init__(self, per_second: float, clock: Callable[[], float] = monotonic) -> None:
        self._rate, self._most = per_second, max(per_second * BURST_SECONDS, 1.0)
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, name: str) -> float:
        """Use an allowance up and return 0, or return after how many seconds there is one.

        >>> buckets = Buckets(1, clock=lambda: 0.0)
        >>> [buckets.take("ann") for _ in range(3)], buckets.take("bob")
        ([0.0, 0.0, 1.0], 0.0)
        """
        now = self._clock()
        left, at = self._left.get(name, (self._most, now))
        left = min(self._most, left + (now - at) * self._rate)
        if left < 1.0:
            return (1.0 - left) / self._rate
        if len(self._left) >= MOST:
            self._forget_full(now)
        self._left[name] = (left - 1.0, now)
        return 0.0

    def _forget_full(self, now: float) -> None:
        """Forget those who have all their allowances again; where that is nobody, everybody."""
        most, rate = self._most, self._rate
        self._left = {
            name: (left, at)
            for name, (left, at) in self._left.items()
            if left + (now - at) * rate < most
        }
        if len(self._left) >= MOST:
            self._left.clear()


class Meter:
    """How much may come of something that streams: refilled at a steady rate, up to a most."""

    def __init__(
        self, per_second: float, most: float, clock: Callable[[], float] = monotonic
    ) -> None:
        self._rate, self._most, self._clock = per_second, most, clock
        self._left, self._at = most, clock()

    def take(self, wanted: int) -> int:
        """Use up as much of what is wanted as there is, and return how much that is.

        >>> meter = Meter(1, most=10, clock=lambda: 0.0)
        >>> meter.take(6), meter.take(6), meter.take(6)
        (6, 4, 0)
        """
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._at) * self._rate)
        self._at = now
        taken = min(wanted, int(self._left))
        self._left -= taken
        return taken


class Turns(asyncio.Semaphore):
    """Turns at something that costs much; who waits for one kind keeps nobody from another."""

    def __init__(self, at_once: int) -> None:
        super().__init__(at_once)
        self.waiting = 0


class Limits:
    """What commands are held to: an account's own rate, and an address's."""

    def __init__(self, per_second: float) -> None:
        self.accounts = Buckets(per_second)
        self.addresses = Buckets(per_second * ADDRESS_FACTOR)

    def wait(self, account: str, address: str) -> float:
        """Return after how many seconds a command may be sent; 0 for now."""
        return self.accounts.take(account) or self.addresses.take(address)
