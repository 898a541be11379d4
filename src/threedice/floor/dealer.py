"""The automatic dealer of a table: holds its lease, its seed, and does what `dealing` says is next.

One server deals a table at a time. A seed is never written down before it is revealed, so a round
whose dealer is gone has lost its dice: whoever takes the lease over voids it.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from threedice.errors import Conflicted, InvariantBroken, KeyReused, QueueFull, ThreediceError
from threedice.floor.commands import RecoverRound
from threedice.floor.dealing import (
    SECOND,
    Act,
    Draw,
    Wait,
    closing_key,
    closing_time,
    next_act,
    place,
)
from threedice.floor.deciding import HOUSE_DEALER
from threedice.floor.events import SeedCommitted, SeedRevealed
from threedice.floor.folds import Tended, table_stream
from threedice.floor.sealing import commitment, drawn, new_seed
from threedice.table.commands import CallResult, CloseBetting
from threedice.tags import tag_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.floor.commands import AnyTableCommand
    from threedice.floor.events import AnyStreamEvent
    from threedice.floor.floor import Floor

LEASE_SECONDS = 10.0


class Clock(Protocol):
    """Where the time comes from, and how it passes."""

    def now(self) -> int:
        """Return the time in microseconds of UTC since 1970."""

    def steady(self) -> float:
        """Return seconds that never go back, whoever sets the clock."""

    async def wait(self, seconds: float, wake: asyncio.Event) -> None:
        """Wait until a time has passed or an event is set."""


class SystemClock:
    """The time of this machine."""

    def now(self) -> int:
        """Return the time in microseconds of UTC since 1970."""
        return time.time_ns() // 1000

    def steady(self) -> float:
        """Return seconds that never go back, whoever sets the clock."""
        return time.monotonic()

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
        self._leased_until = 0.0
        self._seed: tuple[int, bytes] | None = None
        self._step = (-1, 0.0)
        self._closed = False

    async def run(self) -> None:
        """Deal until closed."""
        try:
            while not self._closed:
                self.wake.clear()
                await self.clock.wait(await self._once(), self.wake)
        finally:
            with suppress(ThreediceError):
                await asyncio.to_thread(self.floor.store.drop_lease, self._lease, self.holder)

    def close(self) -> None:
        """Stop after what is being done."""
        self._closed = True
        self.wake.set()

    async def _once(self) -> float:
        """Do what is next; return for how long there is nothing more to do.

        Whatever stands in the way, a store that is away, a float that is too short to pay or a
        defect, is shown and tried again: people, or time, see to it.
        """
        try:
            while not self._closed:
                if not await self._holds_lease():
                    self._seed, self.stuck = None, ""
                    return LEASE_SECONDS / 2
                seconds = await self._act()
                self.stuck = ""
                if seconds is not None:
                    return min(seconds, self._renewal())
        except (Conflicted, KeyReused, QueueFull):
            return 0.1
        except Exception as trouble:
            self.stuck = str(trouble) or type(trouble).__name__
            return LEASE_SECONDS / 5
        return 0.0

    async def _holds_lease(self) -> bool:
        """Renew the lease when half of it is over, and tell whether it is held at this moment.

        Its time is counted from before it was asked for: while this server or the database was
        held up, it may have ended, and another have begun to deal.
        """
        due = self._leased_until - LEASE_SECONDS / 2
        while (now := self.clock.steady()) >= due:
            take = self.floor.store.take_lease
            held = await asyncio.to_thread(take, self._lease, self.holder, LEASE_SECONDS)
            self._leased_until = due = now + LEASE_SECONDS if held else 0.0
            if not held:
                return False
        return True

    def _renewal(self) -> float:
        """Return in how many seconds the lease is to be renewed."""
        return max(self._leased_until - self.clock.steady() - LEASE_SECONDS / 2, 0.1)

    async def _act(self) -> float | None:
        """Do one thing, or return for how long there is none."""
        if self.floor.suspended:
            return LEASE_SECONDS / 5
        tended = await self.floor.tended(self.table)
        game = self.floor.game(tended)
        if game is None or tended.dealt_by_house is None:
            return LEASE_SECONDS
        seen, current = place(tended), tended.table.round
        if current and not self._is_ours(tended):
            await self._ask(seen, RecoverRound())
            self._seed = (current.number, b"")
            return None
        act = next_act(game, tended, self._elapsed(tended))
        if isinstance(act, Wait):
            return LEASE_SECONDS if act.seconds is None else act.seconds
        if isinstance(act, Draw):
            await self._draw(tended)
        elif act.starts_round:
            await self._begin(tended, act)
        elif isinstance(act.command, CloseBetting):
            key = closing_key(self.table, tended.table.rounds)
            await self._ask(seen, act.command, key=key, at=closing_time(tended))
        else:
            await self._ask(seen, act.command)
        return None

    def _elapsed(self, tended: Tended) -> float:
        """Return for how long the table has stood at its last step.

        What passed before this dealer saw the step is by the clock; from then on somebody may set
        the clock, and the table plays on. A step is known by its version: while the clock is behind
        the log, one has the same time as the next.
        """
        now = self.clock.steady()
        if self._step[0] != tended.stepped_version:
            passed = max(self.clock.now() - tended.stepped_at, 0) / SECOND
            self._step = (tended.stepped_version, now - passed)
        return now - self._step[1]

    def _is_ours(self, tended: Tended) -> bool:
        """Tell whether the round being played is one that this dealer began or has recovered."""
        if self._seed is None or self._seed[0] != tended.table.current.number:
            return False
        return not self._seed[1] or commitment(self._seed[1]) == tended.commitment

    async def _begin(self, tended: Tended, act: Act) -> None:
        """Commit to a fresh seed in the same append that begins a round."""
        seed, number = new_seed(), tended.table.rounds + 1
        self._seed = (number, seed)
        sealed = SeedCommitted(round=number, commitment=commitment(seed))
        await self._ask(place(tended), act.command, [sealed])

    async def _draw(self, tended: Tended) -> None:
        """Draw the dice from the seed and the head of the chain at the close, and reveal it."""
        if self._seed is None or not self._seed[1]:
            raise InvariantBroken(f"table {self.table} has dice to draw and no seed for them")
        (number, seed), seen = self._seed, place(tended)
        stream, version = table_stream(self.table), tended.closed_version
        (closed,) = await asyncio.to_thread(self.floor.store.read, stream, version - 1, 1)
        revealed = SeedRevealed(round=number, seed=seed.hex())
        command = CallResult(by=HOUSE_DEALER, dice=drawn(seed, closed.hash))
        await self._ask(seen, command, [revealed])

    async def _ask(
        self,
        seen: tuple[object, ...],
        command: AnyTableCommand,
        before: Sequence[AnyStreamEvent] = (),
        key: str = "",
        at: int | None = None,
    ) -> None:
        """Ask the floor in the house's name; the key says at which version of the table.

        It is meant for the table as it was seen, and for nobody else's round: the floor decides it
        at once, or again after others have written, only while the table stands where it stood.
        """
        (running,) = await self.floor.streams.ready([table_stream(self.table)])
        if not await self._holds_lease():
            raise Conflicted(f"another server deals table {self.table}")
        await self.floor.handle_for_house(
            command,
            table=self.table,
            key=key or f"{self.table} {running.durable_head.version} {tag_of(command)}",
            before=before,
            at=at,
            meant_for=lambda now: place(now) == seen,
        )
