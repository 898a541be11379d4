"""The floor: every command comes in here, and is answered when what it did is durable.

`handle`: get the streams (kept in memory by `streams`), decide, hand to the writer, wait, answer.
A command goes its way whether or not whoever asked still waits. With several servers on one
database each decides on its own copy, and an append that finds the stream changed is decided again
on what has changed.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import msgspec

from threedice.account.commands import Deposit, OpenAccount, Withdraw
from threedice.errors import (
    InvalidInput,
    OperatingFailure,
    Refusal,
    RulebookError,
    StoreFailed,
    StoreUnavailable,
    StreamConflict,
    ThreediceError,
    UnknownName,
)
from threedice.house import decisions
from threedice.house.codec import decode, normalise_command
from threedice.house.commands import (
    AnyStreamCommand,
    CommandResult,
    EstablishTable,
    ResultCache,
    ResultWaiters,
    require_same_command,
    result_of,
)
from threedice.house.events import AnyStreamEvent
from threedice.house.recovery import Suspension
from threedice.house.stream_state import HouseTable, account_stream, table_stream
from threedice.house.streams import LiveStreams
from threedice.log.store import Acceptance, DuplicateKey

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from threedice.account import PlayerAccount
    from threedice.house.decisions import Decision
    from threedice.house.recovery import RecoveryHook
    from threedice.house.streams import LiveStream, PendingCommand
    from threedice.log.entry import Entry
    from threedice.log.store import Store
    from threedice.log.store import StoredAnswer as Kept
    from threedice.log.writer import WriteResult
    from threedice.rulebook import Game

MAX_DECISION_ATTEMPTS = 200
"""How often a command is decided again because others were quicker."""

_SURROGATES = re.compile("[\ud800-\udfff]")

MAX_CACHED_RESULTS = 2_000
"""How many of the last commands are answered again without asking the store."""


class CommandEnvelope(msgspec.Struct, frozen=True, gc=False):
    """A command as it is asked: of which table, in whose name, under which key.

    `before` is what the house itself has to say at the table in the same append, such as the seed
    of the dice; `at` is when, where that is not simply now; `precondition` tells of a table whether
    it still is one that the command was meant for.
    """

    command: AnyStreamCommand
    table: str
    account: str
    key: str
    command_hash: bytes
    preceding_events: Sequence[AnyStreamEvent] = ()
    at: int | None = None
    precondition: Callable[[HouseTable], bool] | None = None


class CommandHandler:
    """A house's tables and accounts, running on a store."""

    def __init__(
        self,
        store: Store,
        *,
        state_dir: Path | None = None,
        now: Callable[[], int] = lambda: time.time_ns() // 1000,
        max_queued: int = 10_000,
        reopen_store: Callable[[], Store] | None = None,
    ) -> None:
        self.streams = LiveStreams(store, state_dir=state_dir, now=now, max_queued=max_queued)
        self._suspension = Suspension(self.streams, reopen_store)
        self._loop = asyncio.get_running_loop()
        self._in_flight: dict[tuple[str, str], ResultWaiters] = {}
        self._results = ResultCache(MAX_CACHED_RESULTS)
        self._tasks: set[asyncio.Task[CommandResult]] = set()

    @property
    def store(self) -> Store:
        """Where everything is written."""
        return self.streams.store

    # --- what people ask ------------------------------------------------------------------------

    async def handle(
        self, command: AnyStreamCommand, *, table: str = "", account: str, key: str
    ) -> CommandResult:
        """Decide a command and return what it made happen, once that is durable.

        The same key and command again: the same answer again.
        """
        if account == decisions.HOUSE_ACCOUNT:
            raise InvalidInput("nobody asks in the name of the house but the house itself")
        if self._suspension.recovery_cause:
            raise StoreFailed(self._suspension.recovery_cause)
        return await self._submit(command, table, account, key)

    async def handle_for_house(
        self,
        command: AnyStreamCommand,
        *,
        table: str,
        key: str,
        preceding_events: Sequence[AnyStreamEvent] = (),
        at: int | None = None,
        precondition: Callable[[HouseTable], bool] | None = None,
    ) -> CommandResult:
        """Decide a command of the house's own: its dealer's, or its recovery's."""
        return await self._submit(
            command, table, decisions.HOUSE_ACCOUNT, key, preceding_events, at, precondition
        )

    async def find_result(self, account: str, key: str) -> CommandResult | None:
        """Return what became of a command, by its key; nothing if it was never accepted."""
        known = await asyncio.to_thread(self.store.answer, account, key)
        return await self._read_result(known, known.command_hash) if known else None

    async def table(self, table: str) -> HouseTable:
        """Return a table as it is durably; it changes as commands are written."""
        (running,) = await self.streams.get([table_stream(table)])
        house_table: HouseTable = running.durable
        return house_table

    async def account(self, player: str) -> PlayerAccount:
        """Return a player's account as it is durably."""
        (running,) = await self.streams.get([account_stream(player)])
        account: PlayerAccount = running.durable
        return account

    def game(self, house_table: HouseTable) -> Game | None:
        """Return the game that a table is set up for."""
        return (
            self.streams.games.load_pinned(house_table.game_hash) if house_table.game_hash else None
        )

    # --- when the disk fails --------------------------------------------------------------------

    @property
    def suspension_reason(self) -> str:
        """Why nothing can be written, so that every table is suspended; or nothing."""
        return self._suspension.cause

    async def release(self, by: str, reason: str, *, recover: RecoveryHook | None = None) -> None:
        """Let the house write again, now that a person has looked at what failed.

        The halt is over when `then` is done, what the house owes its tables; see `releasing`.
        """
        await self._suspension.release(by, reason, recover)

    async def resume(self, recover: RecoveryHook) -> None:
        """Write again, now that a person has released the database at another server."""
        await self._suspension.resume(recover)

    async def close(self) -> None:
        """Write what is waiting, and stop; the store stays open."""
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self.streams.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    # --- deciding -------------------------------------------------------------------------------

    def _submit(
        self,
        command: AnyStreamCommand,
        table: str,
        account: str,
        key: str,
        preceding_events: Sequence[AnyStreamEvent] = (),
        at: int | None = None,
        precondition: Callable[[HouseTable], bool] | None = None,
    ) -> asyncio.Future[CommandResult]:
        """Have a command decided, unless it is already; returns the answer to come."""
        if not account or not key:
            raise InvalidInput("a command needs the account that asks and a key of its own")
        if not _is_encodable(account) or not _is_encodable(key):
            raise InvalidInput("the account that asks and the key must be text that can be kept")
        command, command_hash = normalise_command(table, command)
        whose = (account, key)
        if waiting := self._in_flight.get(whose):
            require_same_command(waiting.command_hash, command_hash, key)
            return waiting.add()
        if known := self._results.get(whose):
            require_same_command(known[0], command_hash, key)
            answered = self._loop.create_future()
            answered.set_result(known[1])
            return answered
        self._in_flight[whose] = waiting = ResultWaiters(command_hash, self._loop)
        mine = waiting.add()
        order = CommandEnvelope(
            command, table, account, key, command_hash, preceding_events, at, precondition
        )
        self._decide_at_once(order, waiting)
        return mine

    def _decide_at_once(self, envelope: CommandEnvelope, waiters: ResultWaiters) -> None:
        """Decide a command at once if that can be; what cannot goes the longer way."""
        names = decisions.affected_streams(envelope.table, envelope.command)
        streams = self.streams.get_if_ready(names)
        if streams is None:
            self._complete_in_task(envelope, waiters)
            return
        try:
            self._propose(envelope, streams, partial(self._on_result, envelope, waiters))
        except (Refusal, StreamConflict):
            self._complete_in_task(envelope, waiters)
        except Exception as failure:  # whoever waits must hear of it
            self._finish(envelope, waiters, failure)

    def _propose(
        self,
        envelope: CommandEnvelope,
        streams: list[LiveStream[Any]],
        on_result: Callable[[PendingCommand, WriteResult], None],
    ) -> None:
        decided, games = self._decide(envelope, streams)
        self.streams.propose(
            decided,
            streams,
            envelope.account,
            envelope.key,
            envelope.command_hash,
            games=games,
            at=envelope.at,
            on_result=on_result,
        )

    def _on_result(
        self,
        envelope: CommandEnvelope,
        waiters: ResultWaiters,
        pending: PendingCommand,
        result: WriteResult,
    ) -> None:
        """Hear what became of a command that was decided at once."""
        if isinstance(result, Acceptance):
            self._finish(envelope, waiters, result_of(pending))
        else:
            self._complete_in_task(envelope, waiters, result)

    def _complete_in_task(
        self, envelope: CommandEnvelope, waiters: ResultWaiters, result: WriteResult | None = None
    ) -> None:
        """See a command through that could not simply be decided and written."""
        task = self._loop.create_task(self._retry_until_accepted(envelope, result))
        self._tasks.add(task)

        def done(task: asyncio.Task[CommandResult]) -> None:
            self._tasks.discard(task)
            if task.cancelled():
                self._finish(envelope, waiters, OperatingFailure("the house is closing"))
            else:
                self._finish(envelope, waiters, task.exception() or task.result())

        task.add_done_callback(done)

    def _finish(
        self,
        envelope: CommandEnvelope,
        waiters: ResultWaiters,
        outcome: CommandResult | BaseException,
    ) -> None:
        """Tell everybody who waits, and remember what was answered."""
        whose = (envelope.account, envelope.key)
        self._in_flight.pop(whose, None)
        if isinstance(outcome, CommandResult):
            self._results.put(whose, (envelope.command_hash, outcome))
        waiters.resolve(outcome)

    async def _retry_until_accepted(
        self, envelope: CommandEnvelope, result: WriteResult | None
    ) -> CommandResult:
        """Decide and write a command, again and again while others are quicker."""
        names = decisions.affected_streams(envelope.table, envelope.command)
        away = 0
        for _ in range(MAX_DECISION_ATTEMPTS):
            if isinstance(result, DuplicateKey):
                return await self._read_result(result.answer, envelope.command_hash)
            away += isinstance(result, StoreUnavailable)
            if isinstance(result, ThreediceError) and away != 1:
                raise result
            streams = await self.streams.get(names)
            written: asyncio.Future[tuple[PendingCommand, WriteResult]] = self._loop.create_future()
            try:
                self._propose(envelope, streams, partial(_set_result, written))
            except (Refusal, StreamConflict):
                if found := await self._recheck_before_refusal(envelope, streams):
                    return found
                if any(each.is_stale for each in streams):
                    result = None
                    continue
                raise
            asked, result = await written
            if isinstance(result, Acceptance):
                return result_of(asked)
        raise StreamConflict(
            f"others changed {', '.join(names)} first, {MAX_DECISION_ATTEMPTS} times; ask again"
        )

    def _decide(
        self, envelope: CommandEnvelope, streams: list[LiveStream[Any]]
    ) -> tuple[Decision, dict[str, bytes]]:
        """Return what a command makes happen, and the game that it pins for the first time."""
        command, state = envelope.command, streams[0].state
        if envelope.precondition and not envelope.precondition(state):
            raise StreamConflict(f"table {envelope.table} has gone on; look at it again")
        if isinstance(command, _ACCOUNT_COMMANDS):
            return decisions.decide_for_account(state, command), {}
        if isinstance(command, EstablishTable):
            if not envelope.table:
                raise InvalidInput("name the table that is to be set up")
            try:
                game = self.streams.games.load_installed(command.game, command.readings)
            except (UnknownName, InvalidInput, RulebookError) as error:
                raise decisions.unknown_game_refusal(error) from None
            decided = decisions.establish_table(envelope.table, game, state, command)
            return decided, {game.hash: game.canonical}
        account = streams[1].state if len(streams) > 1 else None
        pinned = self.streams.games.get(state.game_hash) or self.game(state)
        decided = decisions.decide_at_table(
            envelope.table, pinned, state, command, account, envelope.account
        )
        if envelope.preceding_events:
            decided[0] = (*envelope.preceding_events, *decided[0])
        return decided, {}

    async def _recheck_before_refusal(
        self, envelope: CommandEnvelope, streams: list[LiveStream[Any]]
    ) -> CommandResult | None:
        """Look again before refusing: was it accepted before? Has another server gone further?"""

        def look() -> tuple[Kept | None, dict[str, int]]:
            heads = {each.name: self.store.head(each.name).version for each in streams}
            return self.store.answer(envelope.account, envelope.key), heads

        known, heads = await asyncio.to_thread(look)
        if known:
            return await self._read_result(known, envelope.command_hash)
        for stream, version in heads.items():
            self.streams.mark_changed(stream, version)
        return None

    async def _read_result(self, known: Kept, command_hash: bytes) -> CommandResult:
        require_same_command(known.command_hash, command_hash, known.key)

        def read() -> list[Entry]:
            return [
                entry
                for each in known.spans
                for entry in self.store.read(
                    each.stream, each.first - 1, each.last - each.first + 1
                )
            ]

        entries = tuple(await asyncio.to_thread(read))
        return CommandResult(entries, tuple(map(decode, entries)))


_ACCOUNT_COMMANDS = (OpenAccount, Deposit, Withdraw)


def _is_encodable(text: str) -> bool:
    """Tell whether text can be written: half a character cannot."""
    return text.isascii() or not _SURROGATES.search(text)


def _set_result(
    written: asyncio.Future[tuple[PendingCommand, WriteResult]],
    pending: PendingCommand,
    result: WriteResult,
) -> None:
    if not written.done():
        written.set_result((pending, result))
