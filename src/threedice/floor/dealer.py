"""The automatic dealer of a table: holds its lease, its seed, and does what `dealing` says is next.

One server deals a table at a time. A seed is never written down before it is revealed, so a round
whose dealer is gone has lost its dice: whoever takes the lease over voids it.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from threedice.errors import (
    Conflicted,
    InvariantBroken,
    KeyReused,
    QueueFull,
    Refusal,
    StoreAway,
)
from threedice.floor.commands import RecoverRound
from threedice.floor.dealing import Act, Draw, Wait, next_act
from threedice.floor.deciding import HOUSE, HOUSE_DEALER
from threedice.floor.events import SeedCommitted, SeedRevealed
from threedice.floor.folds import Tended, table_stream
from threedice.floor.sealing import commitment, drawn, new_seed
from threedice.table.commands import CallResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.floor.commands import AnyTableCommand
    from threedice.floor.events import AnyStreamEvent
    from threedice.floor.floor import Floor

LEASE_SECONDS = 10.0
_LATER = (Conflicted, KeyReused, QueueFull, StoreAway)
"""What passes by itself: another server was quicker, or the store is busy or away."""


class Clock(Protocol):
    """Where the time comes from, and how it passes."""

    def now(self) -> int:
        """Return the time in microseconds of UTC since 1970."""

    async def wait(self, seconds: float, wake: asyncio.Event) -> None:
        """Wait until a time has passed or an event is set."""


class SystemClock:
    """The time of this machine."""

    def now(self) -> int:
        """Return the time in microseconds of UTC since 1970."""
        return time.time_ns() // 1000

    async def wait(self, seconds: float, wake: asyncio.Event) -> None:
        """Wait until a time has passed or an event is set."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await wake.wait()


class Dealer:
    """Deals one table for as long as this server holds its lease."""

    def __init__(self, floor: Floor, table: str, holder: str, clock: Clock) -> None:
        self.floor, self.table, self.holder, self.clock = floor, table, holder, clock
        self.wake = asyncio.Event()
        self.stuck = ""
        self._lease = f"dealer/{table}"
        self._leased_until = 0
        self._seed: tuple[int, bytes] | None = None
        self._closed = False

    async def run(self) -> None:
        """Deal until closed."""
        try:
            while not self._closed:
                self.wake.clear()
                await self.clock.wait(await self._once(), self.wake)
        finally:
            await asyncio.to_thread(self.floor.store.drop_lease, self._lease, self.holder)

    def close(self) -> None:
        """Stop after what is being done."""
        self._closed = True
        self.wake.set()

    async def _once(self) -> float:
        """Do what is next; return how long there is nothing more to do."""
        try:
            if not await self._holds_lease():
                self._seed = None
                return LEASE_SECONDS / 2
            while not self._closed:
                seconds = await self._act()
                if seconds is not None:
                    return min(seconds, self._renewal())
        except _LATER:
            return 0.1
        return 0.0

    async def _holds_lease(self) -> bool:
        now = self.clock.now()
        if now < self._leased_until - LEASE_SECONDS / 2 * 1e6:
            return True
        store = self.floor.store
        held = await asyncio.to_thread(store.take_lease, self._lease, self.holder, LEASE_SECONDS)
        self._leased_until = now + int(LEASE_SECONDS * 1e6) if held else 0
        return held

    def _renewal(self) -> float:
        """Return in how many seconds the lease is to be renewed."""
        left = (self._leased_until - self.clock.now()) / 1e6
        return max(left - LEASE_SECONDS / 2, 0.1)

    async def _act(self) -> float | None:
        """Do one thing, or return for how long there is none."""
        if self.floor.suspended:
            return LEASE_SECONDS
        tended = await self.floor.tended(self.table)
        game = self.floor.game(tended)
        if game is None:
            return LEASE_SECONDS
        current = tended.table.round
        if current and not self._is_ours(tended):
            await self._ask(RecoverRound())
            self._seed = (current.number, b"")
            return None
        act = next_act(game, tended, self.clock.now())
        if isinstance(act, Wait):
            return LEASE_SECONDS if act.seconds is None else act.seconds
        return await self._do(tended, act)

    def _is_ours(self, tended: Tended) -> bool:
        """Tell whether the round being played is one that this dealer began or has recovered."""
        if self._seed is None or self._seed[0] != tended.table.current.number:
            return False
        return not self._seed[1] or commitment(self._seed[1]) == tended.commitment

    async def _do(self, tended: Tended, act: Act | Draw) -> float | None:
        try:
            if isinstance(act, Draw):
                await self._draw(tended)
            elif act.starts_round:
                await self._begin(tended, act)
            else:
                await self._ask(act.command)
        except Refusal as refusal:
            # Something people have to see to, such as a float that is too short to pay.
            self.stuck = str(refusal)
            return LEASE_SECONDS
        self.stuck = ""
        return None

    async def _begin(self, tended: Tended, act: Act) -> None:
        """Commit to a fresh seed in the same append that begins a round."""
        seed, number = new_seed(), tended.table.rounds + 1
        self._seed = (number, seed)
        sealed = SeedCommitted(round=number, commitment=commitment(seed))
        await self._ask(act.command, [sealed])

    async def _draw(self, tended: Tended) -> None:
        """Draw the dice from the seed and the head of the chain at the close, and reveal it."""
        if self._seed is None or not self._seed[1]:
            raise InvariantBroken(f"table {self.table} has dice to draw and no seed for them")
        number, seed = self._seed
        stream, version = table_stream(self.table), tended.closed_version
        (closed,) = await asyncio.to_thread(self.floor.store.read, stream, version - 1, 1)
        revealed = SeedRevealed(round=number, seed=seed.hex())
        command = CallResult(by=HOUSE_DEALER, dice=drawn(seed, closed.hash))
        await self._ask(command, [revealed])

    async def _ask(self, command: AnyTableCommand, before: Sequence[AnyStreamEvent] = ()) -> None:
        """Ask the floor in the house's name; the key says who asks, and at which version."""
        (running,) = await self.floor.streams.ready([table_stream(self.table)])
        key = f"{self.holder} {self.table} {running.durable_head.version} {type(command).__name__}"
        await self.floor.handle(command, table=self.table, account=HOUSE, key=key, before=before)
