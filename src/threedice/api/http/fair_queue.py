"""A fair queue for slow work: clients take turns, and only the longest queues are rejected.

Waiting calls are served in rounds. A call is in the round after the previous call of its client, so
that everybody has one turn a round, however many calls others have waiting. Preferred calls have
rounds of their own, and every other turn if both kinds wait.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, TypeVar

from threedice.errors import QueueFull

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from threedice.runtime import Runtime

P = ParamSpec("P")
T = TypeVar("T")


class FairQueue:
    """Let a few calls run at a time; the others wait for their turn.

    Functions wait and run within the context `during`.
    """

    def __init__(
        self,
        runtime: Runtime,
        slots: int,
        max_waiting: int,
        during: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._runtime, self._free_slots, self._during = runtime, slots, during
        self._preferred, self._ordinary = _Lane(max_waiting), _Lane(max_waiting)
        self._last_lane = self._ordinary

    @property
    def waiting(self) -> int:
        """The number of waiting calls."""
        return len(self._preferred.waiting) + len(self._ordinary.waiting)

    async def run(
        self, client: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a slow function in a thread, in the turn of a preferred client."""
        with self._during():
            async with self.turn(client, preferred=True):
                return await self._runtime.run_request(function, *args, **kwargs)

    @asynccontextmanager
    async def turn(self, *clients: str, preferred: bool = False) -> AsyncIterator[None]:
        """Wait for a turn; raise `QueueFull` if too many wait and no client has more waiting.

        A call counts for each of its clients, such as an address and an account.
        """
        if self._free_slots:
            self._free_slots -= 1
        else:
            await self._wait(self._preferred if preferred else self._ordinary, clients)
        try:
            yield
        finally:
            self._pass_turn_on()

    async def _wait(self, lane: _Lane, clients: tuple[str, ...]) -> None:
        turn = asyncio.get_running_loop().create_future()
        lane.add(clients, turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._pass_turn_on()
            raise

    def _pass_turn_on(self) -> None:
        """Give the slot of a finished call to the next waiting one."""
        lanes = [self._preferred, self._ordinary]
        if self._last_lane is self._preferred:
            lanes.reverse()
        for lane in lanes:
            if turn := lane.take_next():
                self._last_lane = lane
                turn.set_result(None)
                return
        self._free_slots += 1


class _WaitingCall(NamedTuple):
    """A waiting call; smaller ones are served first."""

    round: int
    number: int
    clients: tuple[str, ...]
    turn: asyncio.Future[None]


class _Lane:
    """Waiting calls, served in rounds."""

    def __init__(self, max_waiting: int) -> None:
        self._max_waiting = max_waiting
        self.waiting: list[_WaitingCall] = []
        self._round, self._number = 0, 0
        self._last_rounds: dict[str, int] = {}
        """The round of the latest call of each client that has one in this round or later."""

    def add(self, clients: tuple[str, ...], turn: asyncio.Future[None]) -> None:
        """Add a call; if there are too many, reject the last one of the client with the most."""
        round_ = max(self._last_rounds.get(client, self._round) for client in clients) + 1
        self._last_rounds.update(dict.fromkeys(clients, round_))
        self._number += 1
        self.waiting.append(_WaitingCall(round_, self._number, clients, turn))
        if len(self.waiting) > self._max_waiting:
            self._drop_cancelled()
        if len(self.waiting) > self._max_waiting:
            self._reject(max(self.waiting))

    def take_next(self) -> asyncio.Future[None] | None:
        """Return the turn of the next call, or None if none waits."""
        self._drop_cancelled()
        if not self.waiting:
            self._last_rounds.clear()
            return None
        call = min(self.waiting)
        self.waiting.remove(call)
        if call.round > self._round:
            self._round = call.round
            self._last_rounds = {
                client: last for client, last in self._last_rounds.items() if last >= call.round
            }
        return call.turn

    def _reject(self, call: _WaitingCall) -> None:
        self.waiting.remove(call)
        for client in call.clients:
            self._last_rounds[client] = min(self._last_rounds[client], call.round - 1)
        call.turn.set_exception(QueueFull("too many requests are waiting; try again later"))

    def _drop_cancelled(self) -> None:
        self.waiting = [call for call in self.waiting if not call.turn.done()]
