"""Handle commands: decide them on streams in memory, write them, return the result once durable.

`handle` gets the streams from `streams`, decides, queues the decision for the writer, and waits. A
command completes even if its caller stops waiting. With several servers on one database each
decides on its own copy of a stream; on a conflict the command is decided again on the new entries.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import msgspec

from threedice.account.commands import PlayerAccountCommand
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
from threedice.house.command_results import (
    CommandResult,
    ResultCache,
    ResultWaiters,
    require_same_command,
    result_of,
)
from threedice.house.commands import AnyStreamCommand, EstablishTable
from threedice.house.events import AnyStreamEvent
from threedice.house.recovery import Suspension
from threedice.house.stream_state import HouseTable, account_stream, table_stream
from threedice.house.streams import LiveStreams
from threedice.log.store import Acceptance, DuplicateKey
from threedice.runtime import SYSTEM_RUNTIME

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from threedice.account import PlayerAccount
    from threedice.house.decisions import Decision
    from threedice.house.recovery import RecoveryHook
    from threedice.house.streams import LiveStream, PendingCommand
    from threedice.log.entry import Entry
    from threedice.log.store import Store, StoredAnswer
    from threedice.log.writer import WriteResult
    from threedice.rulebook import Game
    from threedice.runtime import Runtime

MAX_DECISION_ATTEMPTS = 200
"""The limit on decisions of one command when other servers' appends conflict with it."""

MAX_CACHED_RESULTS = 2_000
"""How many of the latest results are kept in memory for repeated commands."""


class CommandEnvelope(msgspec.Struct, frozen=True, gc=False):
    """A command with its table, account and idempotency key.

    `preceding_events` are the house's own events in the same append, such as the seed of the dice.
    `at` is the time of the entries if it is not the current time. `precondition` is checked on the
    table before each decision; the command is not decided if it fails.
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
    """Handle the commands of a house's tables and accounts on a store."""

    def __init__(
        self,
        store: Store,
        *,
        state_dir: Path | None = None,
        runtime: Runtime = SYSTEM_RUNTIME,
        max_queued: int = 10_000,
        reopen_store: Callable[[], Store] | None = None,
    ) -> None:
        self.streams = LiveStreams(
            store, state_dir=state_dir, runtime=runtime, max_queued=max_queued
        )
        self._suspension = Suspension(self.streams, reopen_store)
        self._loop = asyncio.get_running_loop()
        self._in_flight: dict[tuple[str, str], ResultWaiters] = {}
        self._results = ResultCache(MAX_CACHED_RESULTS)
        self._tasks: set[asyncio.Task[CommandResult]] = set()

    @property
    def store(self) -> Store:
        """The store that commands are written to."""
        return self.streams.store

    @property
    def runtime(self) -> Runtime:
        """The clock, randomness and threads of the house."""
        return self.streams.runtime

    # --- commands and queries -------------------------------------------------------------------

    async def handle(
        self, command: AnyStreamCommand, *, table: str = "", account: str, key: str
    ) -> CommandResult:
        """Decide a command and return its result once that is durable.

        A repeated command with the same account and key returns the first result; another command
        with the same account and key raises `KeyReused`.
        """
        if account == decisions.HOUSE_ACCOUNT:
            raise InvalidInput(
                "the account of the house is reserved; send commands under another account"
            )
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
        """Decide a command of the house itself, from its dealer or its recovery."""
        return await self._submit(
            command, table, decisions.HOUSE_ACCOUNT, key, preceding_events, at, precondition
        )

    async def find_result(self, account: str, key: str) -> CommandResult | None:
        """Return the result of a command by its key; None if it was never accepted.

        A command in flight is waited for.
        """
        if waiters := self._in_flight.get((account, key)):
            with suppress(ThreediceError):
                return await waiters.add()
        answer = await self.runtime.run_blocking(self.store.answer, account, key)
        return await self._read_result(answer, answer.command_hash) if answer else None

    async def table(self, table: str) -> HouseTable:
        """Return the durable state of a table; it changes as commands are written."""
        (stream,) = await self.streams.get([table_stream(table)])
        house_table: HouseTable = stream.durable
        return house_table

    async def account(self, player: str) -> PlayerAccount:
        """Return the durable state of a player's account."""
        (stream,) = await self.streams.get([account_stream(player)])
        account: PlayerAccount = stream.durable
        return account

    def game(self, house_table: HouseTable) -> Game | None:
        """Return the game that a table is set up for."""
        if not house_table.game_hash:
            return None
        return self.streams.games.load_pinned(house_table.game_hash)

    # --- suspension -----------------------------------------------------------------------------

    @property
    def suspension_reason(self) -> str:
        """Why nothing can be written and every table is suspended; empty if not suspended."""
        return self._suspension.cause

    async def release(self, by: str, reason: str, *, recover: RecoveryHook | None = None) -> None:
        """Let the house write again after a person has inspected the failure.

        The halt ends after `recover` has restored the tables; see `recovery.Suspension`.
        """
        await self._suspension.release(by, reason, recover)

    async def resume(self, recover: RecoveryHook) -> None:
        """Write again after a person released the database on another server."""
        await self._suspension.resume(recover)

    async def close(self) -> None:
        """Write the queued commands and stop; the store stays open."""
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

    # --- decisions ------------------------------------------------------------------------------

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
        """Start a command, or join the same one in flight or completed; return a future result."""
        if not account or not key:
            raise InvalidInput("a command needs an account and an idempotency key")
        if not _is_encodable(account) or not _is_encodable(key):
            raise InvalidInput("account and key must be text that can be encoded as UTF-8")
        command, command_hash = normalise_command(table, command)
        account_key = (account, key)
        if waiters := self._in_flight.get(account_key):
            require_same_command(waiters.command_hash, command_hash, key)
            return waiters.add()
        if cached := self._results.get(account_key):
            require_same_command(cached[0], command_hash, key)
            completed = self._loop.create_future()
            completed.set_result(cached[1])
            return completed
        self._in_flight[account_key] = waiters = ResultWaiters(command_hash, self._loop)
        future = waiters.add()
        envelope = CommandEnvelope(
            command, table, account, key, command_hash, preceding_events, at, precondition
        )
        self._decide_now(envelope, waiters)
        return future

    def _decide_now(self, envelope: CommandEnvelope, waiters: ResultWaiters) -> None:
        """Decide a command without a task if its streams are ready; else start a task."""
        names = decisions.affected_streams(envelope.table, envelope.command)
        streams = self.streams.get_if_ready(names)
        if streams is None:
            self._complete_in_task(envelope, waiters)
            return
        try:
            self._propose(envelope, streams, partial(self._on_result, envelope, waiters))
        except (Refusal, StreamConflict):
            self._complete_in_task(envelope, waiters)
        except Exception as error:  # passed on to every caller
            self._finish(envelope, waiters, error)

    def _propose(
        self,
        envelope: CommandEnvelope,
        streams: list[LiveStream[Any]],
        on_result: Callable[[PendingCommand, WriteResult], None],
    ) -> None:
        decision, games = self._decide(envelope, streams)
        self.streams.propose(
            decision,
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
        """Process the write result of a command that was decided without a task."""
        if isinstance(result, Acceptance):
            self._finish(envelope, waiters, result_of(pending))
        else:
            self._complete_in_task(envelope, waiters, result)

    def _complete_in_task(
        self, envelope: CommandEnvelope, waiters: ResultWaiters, result: WriteResult | None = None
    ) -> None:
        """Complete a command in a task: load streams, retry after conflicts, recheck refusals."""
        task = self._loop.create_task(self._retry_until_accepted(envelope, result))
        self._tasks.add(task)

        def on_done(task: asyncio.Task[CommandResult]) -> None:
            self._tasks.discard(task)
            if task.cancelled():
                self._finish(envelope, waiters, OperatingFailure("the house is closing"))
            else:
                self._finish(envelope, waiters, task.exception() or task.result())

        task.add_done_callback(on_done)

    def _finish(
        self,
        envelope: CommandEnvelope,
        waiters: ResultWaiters,
        outcome: CommandResult | BaseException,
    ) -> None:
        """Pass the outcome to all waiting callers, and cache a result."""
        account_key = (envelope.account, envelope.key)
        self._in_flight.pop(account_key, None)
        if isinstance(outcome, CommandResult):
            self._results.put(account_key, (envelope.command_hash, outcome))
        waiters.resolve(outcome)

    async def _retry_until_accepted(
        self, envelope: CommandEnvelope, result: WriteResult | None
    ) -> CommandResult:
        """Decide and write a command until it is accepted, retrying after conflicts.

        An unavailable store is tolerated once; any other error of the writer is raised.
        """
        names = decisions.affected_streams(envelope.table, envelope.command)
        unavailable_count = 0
        for _ in range(MAX_DECISION_ATTEMPTS):
            if isinstance(result, DuplicateKey):
                return await self._read_result(result.answer, envelope.command_hash)
            unavailable_count += isinstance(result, StoreUnavailable)
            if isinstance(result, ThreediceError) and unavailable_count != 1:
                raise result
            streams = await self.streams.get(names)
            written: asyncio.Future[tuple[PendingCommand, WriteResult]] = self._loop.create_future()
            try:
                self._propose(envelope, streams, partial(_set_result, written))
            except (Refusal, StreamConflict):
                if earlier_result := await self._recheck_before_refusal(envelope, streams):
                    return earlier_result
                if any(stream.is_stale for stream in streams):
                    result = None
                    continue
                raise
            pending, result = await written
            if isinstance(result, Acceptance):
                return result_of(pending)
        raise StreamConflict(
            f"other servers changed {', '.join(names)} first, {MAX_DECISION_ATTEMPTS} times; retry"
        )

    def _decide(
        self, envelope: CommandEnvelope, streams: list[LiveStream[Any]]
    ) -> tuple[Decision, dict[str, bytes]]:
        """Return a command's decision, and the game to store if the command pins one."""
        command, state = envelope.command, streams[0].state
        if envelope.precondition and not envelope.precondition(state):
            raise StreamConflict(f"table {envelope.table} has changed; read it again and retry")
        if isinstance(command, PlayerAccountCommand):
            return decisions.decide_for_account(state, command), {}
        if isinstance(command, EstablishTable):
            if not envelope.table:
                raise InvalidInput("name the table to set up")
            try:
                game = self.streams.games.load_installed(command.game, command.readings)
            except (UnknownName, InvalidInput, RulebookError) as error:
                raise decisions.unknown_game_refusal(error) from None
            decision = decisions.establish_table(envelope.table, game, state, command)
            return decision, {game.hash: game.canonical}
        account = streams[1].state if len(streams) > 1 else None
        pinned_game = self.streams.games.get(state.game_hash) or self.game(state)
        decision = decisions.decide_at_table(
            envelope.table, pinned_game, state, command, account, envelope.account
        )
        if envelope.preceding_events:
            decision[0] = (*envelope.preceding_events, *decision[0])
        return decision, {}

    async def _recheck_before_refusal(
        self, envelope: CommandEnvelope, streams: list[LiveStream[Any]]
    ) -> CommandResult | None:
        """Check the store before refusing a command.

        Returns the result if the command was accepted before, and marks streams stale that another
        server has extended.
        """

        def read_store() -> tuple[StoredAnswer | None, dict[str, int]]:
            heads = {stream.name: self.store.head(stream.name).version for stream in streams}
            return self.store.answer(envelope.account, envelope.key), heads

        answer, heads = await self.runtime.run_blocking(read_store)
        if answer:
            return await self._read_result(answer, envelope.command_hash)
        for name, version in heads.items():
            self.streams.mark_changed(name, version)
        return None

    async def _read_result(self, answer: StoredAnswer, command_hash: bytes) -> CommandResult:
        require_same_command(answer.command_hash, command_hash, answer.key)

        def read() -> list[Entry]:
            return [
                entry
                for span in answer.spans
                for entry in self.store.read(
                    span.stream, span.first - 1, span.last - span.first + 1
                )
            ]

        entries = tuple(await self.runtime.run_blocking(read))
        return CommandResult(entries, tuple(map(decode, entries)))


_SURROGATES = re.compile("[\ud800-\udfff]")


def _is_encodable(text: str) -> bool:
    """Return whether text can be encoded as UTF-8: it has no unpaired surrogates."""
    return text.isascii() or not _SURROGATES.search(text)


def _set_result(
    written: asyncio.Future[tuple[PendingCommand, WriteResult]],
    pending: PendingCommand,
    result: WriteResult,
) -> None:
    if not written.done():
        written.set_result((pending, result))
