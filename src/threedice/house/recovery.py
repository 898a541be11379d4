"""Recover interrupted tables after an outage, and release a suspended house.

Outage: a staffed table in mid-round is marked interrupted, and waits for its staff to state which
dice are known. A table that the house deals is resolved by its dealer (`dealer`). If another server
was serving all the time, no table is marked. A shooter's series between two throws simply goes on.

Suspension: after a failed write the writer halts, also across restarts, until a person releases it.
A release reopens the database, records who released it, recovers the tables, and only then allows
play.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
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
from threedice.house.events import EntriesAccepted, WritingReleased
from threedice.house.stream_state import HOUSE_STREAM, table_stream
from threedice.log.records import Acceptance, HeadConflict

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from threedice.house.command_handler import CommandHandler
    from threedice.house.streams import LiveStreams
    from threedice.log.entry import Head
    from threedice.log.store import Store

    RecoveryHook = Callable[[], Awaitable[None]]


async def interrupt_tables(handler: CommandHandler) -> list[str]:
    """Mark every staffed table in mid-round as interrupted; return their ids."""
    interrupted = []
    for table in await list_tables(handler):
        failures: dict[str, str] = {}
        with isolate_failures(table, failures):
            house_table = await handler.table(table)
        if failures:
            continue  # the table cannot be played; the house reports it when it starts the dealers
        unfinished = house_table.table.round is not None and not house_table.interrupted
        if unfinished and house_table.dealt_by_house is None:
            (stream,) = await handler.streams.get([table_stream(table)])
            key = f"{table} {stream.head.version} interrupted"
            try:
                await handler.handle_for_house(InterruptTable(), table=table, key=key)
            except Refusal:
                continue  # resolved in the meantime
            except StreamConflict:
                continue  # the last entries are missing, so nothing can be appended
            interrupted.append(table)
    return interrupted


def build_acceptance(
    stream: str, base: Head, head: Head, *, by: str, reason: str
) -> EntriesAccepted:
    """Build the event by which a person accepts the entries of a stream after a head."""
    return EntriesAccepted(
        stream=stream,
        first=min(base.version + 1, head.version),
        version=head.version,
        hash=head.hash.hex(),
        reason=reason,
        by=by,
    )


async def list_tables(handler: CommandHandler) -> list[str]:
    """Return the ids of all tables ever set up."""
    streams = await handler.runtime.run_blocking(handler.store.streams)
    return [name.removeprefix("table/") for name in streams if name.startswith("table/")]


MAX_RELEASE_ATTEMPTS: Final = 200
"""The limit on retries of recording a release after conflicts with other servers."""


class Suspension:
    """The suspension of a house whose writing failed, and its release."""

    def __init__(self, streams: LiveStreams, reopen_store: Callable[[], Store] | None) -> None:
        self._streams, self._reopen_store = streams, reopen_store
        self.recovery_cause = ""
        """Why play is blocked while the house recovers; empty otherwise."""

    @property
    def cause(self) -> str:
        """Why nothing can be written; empty if the house is not suspended."""
        return self._streams.writer.halt_reason or self.recovery_cause

    async def release(self, by: str, reason: str, *, recover: RecoveryHook | None = None) -> None:
        """Let the house write again after a person has inspected the failure.

        The halt ends after `recover` has restored the tables. If anything fails before, or the
        process dies, the house stays suspended and a person must release it again.
        """
        cause = self.cause
        if not cause:
            raise OperatingFailure("the house is not suspended; there is nothing to release")
        if not reason.strip():
            raise InvalidInput("give the reason why the house may write again")
        with self._hold_play(cause):
            if self._reopen_store:
                with suppress(StoreFailed):  # what failed is checked when it is opened again
                    self._streams.store.close()
                self._streams.restart(await self._streams.runtime.run_blocking(self._reopen_store))
            else:
                self._streams.restart(self._streams.store)
            await self._record_release(cause, by, reason)
            if recover:
                await recover()
            self._require_no_new_halt()
            await self._streams.runtime.run_blocking(self._streams.writer.release)

    async def resume(self, recover: RecoveryHook) -> None:
        """Write again after a person released the database on another server."""
        with self._hold_play(self.cause):
            former = self._streams.store
            if self._reopen_store:
                self._streams.restart(await self._streams.runtime.run_blocking(self._reopen_store))
                await self._streams.runtime.run_blocking(former.close)
            else:
                self._streams.restart(former)
            await recover()
            self._require_no_new_halt()
            self._streams.writer.clear_halt_markers()

    @contextmanager
    def _hold_play(self, cause: str) -> Iterator[None]:
        """Block play during recovery, and suspend the house again if recovery fails."""
        self.recovery_cause = cause
        try:
            yield
        except BaseException:
            self._streams.writer.suspend(cause)
            raise
        finally:
            self.recovery_cause = ""

    def _require_no_new_halt(self) -> None:
        if halt_reason := self._streams.writer.halt_reason:
            raise StoreFailed(halt_reason)

    async def _record_release(self, cause: str, by: str, reason: str) -> None:
        event = WritingReleased(cause=cause, reason=reason, by=by)
        await record_release(self._streams, event, f"{cause} {reason}")


async def record_release(
    streams: LiveStreams,
    event: WritingReleased | EntriesAccepted,
    subject: str,
    accepted: Mapping[str, Head] | None = None,
) -> None:
    """Append a release to the house's stream; retry if another server appends first.

    The same transaction writes valid MACs for the accepted heads.
    """
    for _ in range(MAX_RELEASE_ATTEMPTS):
        (house,) = await streams.get([HOUSE_STREAM])
        key = f"release {house.head.version}"
        command_hash = sha256(f"{key} {subject}".encode()).digest()
        pending = streams.propose(
            [(event,)], [house], event.by, key, command_hash, accepted=accepted or {}
        )
        result = await pending.written
        if isinstance(result, ThreediceError):
            raise result
        if isinstance(result, Acceptance):
            return
        if isinstance(result, HeadConflict) and result.stream != HOUSE_STREAM:
            raise StreamConflict(f"{result.stream} has changed again; inspect it once more")
    raise StreamConflict("other servers kept releasing; check whether a release is still needed")


@contextmanager
def isolate_failures(stream: str, failures: dict[str, str]) -> Iterator[None]:
    """Record the failure of one stream under its name, so that the others can go on.

    Failures of the store or of the machine affect all streams and are raised.
    """
    try:
        yield
    except (OperatingFailure, OSError):
        raise
    except Exception as error:  # any type: changed bytes can make any code fail
        problem = str(error) or type(error).__name__
        failures[stream] = problem if problem.startswith(stream) else f"{stream}: {problem}"
