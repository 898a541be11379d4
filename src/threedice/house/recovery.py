"""Recover interrupted tables after an outage, and release a suspended house.

Coming back: what becomes of rounds that were being played when the house went away.

A table that the house deals is resolved by its dealer (`dealer`). A table of people's comes back
interrupted, and waits for its people to say which dice are known. Where another server played
all the time, nothing was interrupted. A shooter's series goes on between his throws.

A house whose writing has failed stands still, and goes on when a person has looked.

The halt itself is the writer's, and outlasts a restart. Here it is ended: the database is opened
anew, who released it is written down, the house does what it owes its tables, and only then may
anybody play.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from threedice.errors import (
    InvalidInput,
    OperatingFailure,
    Refusal,
    StoreFailed,
    StreamConflict,
    ThreediceError,
)
from threedice.house.commands import InterruptTable
from threedice.house.events import WritingReleased
from threedice.house.stream_state import HOUSE_STREAM, table_stream
from threedice.log.store import Acceptance

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from threedice.house.command_handler import CommandHandler
    from threedice.house.streams import LiveStreams, PendingCommand
    from threedice.log.store import Store
    from threedice.log.writer import WriteResult

    RecoveryHook = Callable[[], Awaitable[None]]


async def interrupt_tables(handler: CommandHandler) -> list[str]:
    """Mark every table of people's that was in the middle of a round; return which."""
    interrupted = []
    for table in await list_tables(handler):
        damage: dict[str, str] = {}
        with isolate_failures(table, damage):
            house_table = await handler.table(table)
        if damage:
            continue  # it cannot be played at all; whoever starts it is told
        unfinished = house_table.table.round is not None and not house_table.interrupted
        if unfinished and house_table.dealt_by_house is None:
            (running,) = await handler.streams.get([table_stream(table)])
            key = f"{table} {running.head.version} interrupted"
            try:
                await handler.handle_for_house(InterruptTable(), table=table, key=key)
            except Refusal:
                continue  # it has been seen to meanwhile
            except StreamConflict:
                continue  # its end is missing, so that nothing can be added to it
            interrupted.append(table)
    return interrupted


async def list_tables(handler: CommandHandler) -> list[str]:
    """Return the tables that have ever been set up."""
    streams = await asyncio.to_thread(handler.store.streams)
    return [name.removeprefix("table/") for name in streams if name.startswith("table/")]


MAX_RELEASE_ATTEMPTS: Final = 200
"""How often a release is written again because others were quicker."""


class Suspension:
    """Lets a house that stands still write again."""

    def __init__(self, streams: LiveStreams, reopen_store: Callable[[], Store] | None) -> None:
        self._streams, self._reopen_store = streams, reopen_store
        self.recovery_cause = ""
        """Why nobody may play although the house itself can write again: it is coming back."""

    @property
    def cause(self) -> str:
        """Why nothing can be written, or nothing."""
        return self._streams.writer.halt_reason or self.recovery_cause

    async def release(self, by: str, reason: str, recover: RecoveryHook | None) -> None:
        """Let the house write again, for whoever has looked at what failed.

        The halt is over when `then` is done, what the house owes its tables; if anything fails
        before that, or the process dies, it stays noted, and a person has to release it again.
        """
        cause = self.cause
        if not cause:
            raise OperatingFailure("the house is not suspended; there is nothing to release")
        if not reason.strip():
            raise InvalidInput("give the reason for which the house may write again")
        with self._hold_play(cause):
            if self._reopen_store:
                self._streams.store.close()
                self._streams.restart(await asyncio.to_thread(self._reopen_store))
            else:
                self._streams.restart(self._streams.store)
            await self._record_release(cause, by, reason)
            if recover:
                await recover()
            self._require_no_new_halt()
            await asyncio.to_thread(self._streams.writer.release)

    async def resume(self, recover: RecoveryHook) -> None:
        """Write again, now that a person has released the database at another server."""
        with self._hold_play(self.cause):
            former = self._streams.store
            if self._reopen_store:
                self._streams.restart(await asyncio.to_thread(self._reopen_store))
                await asyncio.to_thread(former.close)
            else:
                self._streams.restart(former)
            await recover()
            self._require_no_new_halt()
            self._streams.writer.clear_halt_markers()

    @contextmanager
    def _hold_play(self, cause: str) -> Iterator[None]:
        """Let nobody play while the house comes back, nor if it could not."""
        self.recovery_cause = cause
        try:
            yield
        except BaseException:
            self._streams.writer.suspend(cause)
            raise
        finally:
            self.recovery_cause = ""

    def _require_no_new_halt(self) -> None:
        if halted := self._streams.writer.halt_reason:
            raise StoreFailed(halted)

    async def _record_release(self, cause: str, by: str, reason: str) -> None:
        """Write down who has let the house write again, after whoever does so at the same time."""
        event, loop = WritingReleased(cause=cause, reason=reason, by=by), asyncio.get_running_loop()
        for _ in range(MAX_RELEASE_ATTEMPTS):
            (running,) = streams = await self._streams.get([HOUSE_STREAM])
            key = f"release {running.head.version}"
            command_hash = sha256(f"{key} {cause} {reason}".encode()).digest()
            written: asyncio.Future[WriteResult] = loop.create_future()
            then = partial(_set_result, written)
            self._streams.propose([(event,)], streams, by, key, command_hash, on_result=then)
            result = await written
            if isinstance(result, ThreediceError):
                raise result
            if isinstance(result, Acceptance):
                return
        raise StreamConflict(
            "others release the house again and again; look whether it still is halted"
        )


def _set_result(
    written: asyncio.Future[WriteResult], _pending: PendingCommand, result: WriteResult
) -> None:
    if not written.done():
        written.set_result(result)


@contextmanager
def isolate_failures(stream: str, failures: dict[str, str]) -> Iterator[None]:
    """Note what is wrong with one stream by its name, so that others need not wait for it.

    What is wrong with the store, or with the machine, they meet as well: that is raised.
    """
    try:
        yield
    except (OperatingFailure, OSError):
        raise
    except Exception as damage:  # of whatever kind: what is stored may have been changed anyhow
        words = str(damage) or type(damage).__name__
        failures[stream] = words if words.startswith(stream) else f"{stream}: {words}"
