"""Handle commands: decide them on streams in memory, write them, return the result once durable.

`handle` gets the streams from `streams`, decides, queues the decision for the writer, and waits. A
command completes even if its caller stops waiting. A repeated command (same account, key and
content) is decided once, and every caller gets the same result or refusal. With several servers on
one database each decides on its own copy of a stream; on a conflict the command is decided again on
the new entries. A refusal is written like an acceptance, so that it is final on every server too
(ADR 40).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import msgspec

from threedice.account.commands import PlayerAccountCommand
from threedice.errors import (
    InvalidInput,
    KeyReused,
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
from threedice.house.codec import decode, decode_refusal, normalise_command
from threedice.house.commands import AnyStreamCommand, EstablishTable
from threedice.house.events import AnyStreamEvent
from threedice.house.recovery import Suspension
from threedice.house.stream_state import HouseTable, account_stream, table_stream
from threedice.house.streams import LiveStreams
from threedice.log.records import Acceptance, DuplicateKey
from threedice.runtime import SYSTEM_RUNTIME
from threedice.table.commands import OpenTable

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.account import PlayerAccount
    from threedice.house.decisions import Decision
    from threedice.house.live_stream import LiveStream
    from threedice.house.streams import PendingCommand
    from threedice.log.entry import Entry
    from threedice.log.records import StoredAnswer
    from threedice.log.store import Store
    from threedice.rulebook import Game
    from threedice.runtime import Runtime

MAX_DECISION_ATTEMPTS = 200
"""The limit on decisions of one command when other servers' appends conflict with it."""

MAX_CACHED_RESULTS = 2_000
"""How many of the latest results are kept in memory for repeated commands."""


class CommandResult(NamedTuple):
    """The durable entries and events of an accepted command."""

    entries: tuple[Entry, ...]
    events: tuple[AnyStreamEvent, ...]

    def version(self, stream: str) -> int:
        """Return the version that the command brought a stream to."""
        return max(entry.version for entry in self.entries if entry.stream == stream)


class CommandEnvelope(msgspec.Struct, frozen=True, gc=False):
    """A command with its table, account and idempotency key.

    `preceding_events` are the house's own events in the same append, such as the seed of the dice.
    `at` is the time of the entries if it is not the current time. `precondition` is checked on the
    table or account before each decision; the command is not decided if it fails. `final` says that
    a refusal is written under the key, which then never executes anything.
    """

    command: AnyStreamCommand
    command_hash: bytes
    table: str
    account: str
    key: str
    preceding_events: Sequence[AnyStreamEvent] = ()
    at: int | None = None
    precondition: Callable[[Any], bool] | None = None
    final: bool = False


class _CommandInFlight(NamedTuple):
    """A command that is being decided or written, and the futures of those who wait for it."""

    command_hash: bytes
    task: asyncio.Task[CommandResult | Refusal]
    callers: list[asyncio.Future[CommandResult]]


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
        self.suspension = Suspension(self.streams, reopen_store)
        self._loop = asyncio.get_running_loop()
        self._in_flight: dict[tuple[str, str], _CommandInFlight] = {}
        self._completed = OrderedDict[tuple[str, str], tuple[bytes, CommandResult | Refusal]]()

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
        self,
        command: AnyStreamCommand,
        *,
        table: str = "",
        account: str,
        key: str,
        precondition: Callable[[Any], bool] | None = None,
        may_retry: bool = False,
    ) -> CommandResult:
        """Decide a command and return its result, or raise its refusal, once that is durable.

        A repeated command with the same account and key has the same outcome; another command with
        the same account and key raises `KeyReused`. A precondition may also raise a refusal. With
        `may_retry` a refusal leaves the key unused.
        """
        if account == decisions.HOUSE_ACCOUNT:
            raise InvalidInput(
                "the account of the house is reserved; send commands under another account"
            )
        if self.suspension.recovery_cause:
            raise StoreFailed(self.suspension.recovery_cause)
        return await self._submit(
            command,
            table,
            account,
            key,
            precondition=precondition,
            final=not may_retry,
        )

    async def check(
        self, command: AnyStreamCommand, *, table: str = "", account: str, key: str
    ) -> Decision:
        """Return the events of a command or raise the refusal of it, as of now; write nothing."""
        command, command_hash = normalise_command(table, command)
        envelope = CommandEnvelope(command, command_hash, table, account, key)
        for _ in range(MAX_DECISION_ATTEMPTS):
            streams = await self.streams.get(decisions.affected_streams(table, command))
            try:
                return self._decide(envelope, streams)[0]
            except Refusal:
                await self._recheck_before_refusal(envelope, streams)
                if not any(stream.is_stale for stream in streams):
                    raise
        raise StreamConflict("the streams of this command keep changing; try again")

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
        account = decisions.HOUSE_ACCOUNT
        return await self._submit(
            command,
            table,
            account,
            key,
            preceding_events=preceding_events,
            at=at,
            precondition=precondition,
        )

    async def find_outcome(self, account: str, key: str) -> CommandResult | Refusal | None:
        """Return the result or the final refusal of a command by its key; None if it has neither.

        A command in flight is waited for.
        """
        if in_flight := self._in_flight.get((account, key)):
            future: asyncio.Future[CommandResult] = self._loop.create_future()
            in_flight.callers.append(future)
            with suppress(ThreediceError):
                return await future
        answer = await self.runtime.run_blocking(self.store.answer, account, key)
        return await self._read_outcome(answer, answer.command_hash) if answer else None

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

    @property
    def suspension_reason(self) -> str:
        """Why nothing can be written and every table is suspended; empty if not suspended."""
        return self.suspension.cause

    async def close(self) -> None:
        """Write the queued commands and stop; the store stays open."""
        if self._in_flight:
            await asyncio.wait([each.task for each in self._in_flight.values()])
        await self.streams.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
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
        precondition: Callable[[Any], bool] | None = None,
        final: bool = False,
    ) -> asyncio.Future[CommandResult]:
        """Start a command, or join the same one in flight or completed; return a future result.

        Cancelling the future cancels neither the command nor the futures of other callers.
        """
        account_key = account, key
        if not account or not key:
            raise InvalidInput("a command needs an account and an idempotency key")
        try:
            f"{account}{key}".encode()
        except UnicodeEncodeError:
            raise InvalidInput(
                "account and key must be text that can be encoded as UTF-8"
            ) from None
        command, command_hash = normalise_command(table, command)
        future: asyncio.Future[CommandResult] = self._loop.create_future()
        if completed := self._completed.get(account_key):
            _require_same_command(completed[0], command_hash, key)
            _settle(future, completed[1])
        elif in_flight := self._in_flight.get(account_key):
            _require_same_command(in_flight.command_hash, command_hash, key)
            in_flight.callers.append(future)
        else:
            envelope = CommandEnvelope(
                command,
                command_hash,
                table,
                account,
                key,
                preceding_events,
                at,
                precondition,
                final,
            )
            task = self._loop.create_task(self._write_until_durable(envelope))
            self._in_flight[account_key] = _CommandInFlight(command_hash, task, [future])
            task.add_done_callback(partial(self._finish, account_key))
        return future

    def _finish(
        self, account_key: tuple[str, str], task: asyncio.Task[CommandResult | Refusal]
    ) -> None:
        """Pass the outcome of a command to all waiting callers, and cache it if it is durable."""
        command_hash, _, callers = self._in_flight.pop(account_key)
        error = OperatingFailure("the house is closing") if task.cancelled() else task.exception()
        outcome = error or task.result()
        for caller in callers:
            _settle(caller, outcome)
        if not error:
            self._completed[account_key] = command_hash, task.result()
            if len(self._completed) > MAX_CACHED_RESULTS:
                self._completed.popitem(last=False)

    async def _write_until_durable(self, envelope: CommandEnvelope) -> CommandResult | Refusal:
        """Decide a command and write its entries or its refusal, retrying after conflicts.

        A bet stays with the round that it was first decided for. An unavailable store is tolerated
        once; any other error of the writer is raised.
        """
        names = decisions.affected_streams(envelope.table, envelope.command)
        was_unavailable = False
        for _ in range(MAX_DECISION_ATTEMPTS):
            streams = await self.streams.get(names)
            command = decisions.bind_to_round(envelope.command, streams[0].state)
            envelope = msgspec.structs.replace(envelope, command=command)
            try:
                pending = self._propose(envelope, streams)
            except (Refusal, StreamConflict):
                if earlier_outcome := await self._recheck_before_refusal(envelope, streams):
                    return earlier_outcome
                if any(stream.is_stale for stream in streams):
                    continue
                raise
            result = await pending.written
            if isinstance(result, Acceptance):
                return pending.refusal or _result_of(pending)
            if isinstance(result, DuplicateKey):
                return await self._read_outcome(result.answer, envelope.command_hash)
            if isinstance(result, StoreUnavailable) and not was_unavailable:
                was_unavailable = True
            elif isinstance(result, ThreediceError):
                raise result
        raise StreamConflict(
            f"other servers changed {', '.join(names)} first, {MAX_DECISION_ATTEMPTS} times; retry"
        )

    def _propose(self, envelope: CommandEnvelope, streams: list[LiveStream[Any]]) -> PendingCommand:
        """Decide a command, and queue its entries or its final refusal for writing."""
        try:
            decision, games = self._decide(envelope, streams)
        except Refusal as refusal:
            if not envelope.final:
                raise
            return self.streams.propose_refusal(
                refusal, streams, envelope.account, envelope.key, envelope.command_hash
            )
        return self.streams.propose(
            decision,
            streams,
            envelope.account,
            envelope.key,
            envelope.command_hash,
            games=games,
            at=envelope.at,
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
        pinned = self.game(state)
        if isinstance(command, OpenTable):
            at = self.runtime.now() if envelope.at is None else envelope.at
            decisions.require_in_force(pinned, at)
        account = streams[1].state if len(streams) > 1 else None
        decision = decisions.decide_at_table(
            envelope.table, pinned, state, command, account, envelope.account
        )
        if envelope.preceding_events:
            decision[0] = (*envelope.preceding_events, *decision[0])
        return decision, {}

    async def _recheck_before_refusal(
        self, envelope: CommandEnvelope, streams: list[LiveStream[Any]]
    ) -> CommandResult | Refusal | None:
        """Check the store before refusing a command without writing the refusal.

        Returns the outcome if the command has one, and marks streams stale that another server has
        extended.
        """

        def read_store() -> tuple[StoredAnswer | None, dict[str, int]]:
            heads = {stream.name: self.store.head(stream.name).version for stream in streams}
            return self.store.answer(envelope.account, envelope.key), heads

        answer, heads = await self.runtime.run_blocking(read_store)
        if answer:
            return await self._read_outcome(answer, envelope.command_hash)
        for name, version in heads.items():
            self.streams.mark_changed(name, version)
        return None

    async def _read_outcome(
        self, answer: StoredAnswer, command_hash: bytes
    ) -> CommandResult | Refusal:
        _require_same_command(answer.command_hash, command_hash, answer.key)
        if answer.refusal:
            return decode_refusal(answer.account, answer.key, answer.refusal)

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


def _result_of(pending: PendingCommand) -> CommandResult:
    """Return the result of a command that has been written."""
    entries = chain.from_iterable([append.entries for append in pending.appends])
    return CommandResult(tuple(entries), tuple(chain.from_iterable(pending.events)))


def _settle(caller: asyncio.Future[CommandResult], outcome: CommandResult | BaseException) -> None:
    """Pass the outcome of a command to a caller who still waits."""
    if caller.done():
        return
    if isinstance(outcome, Refusal):
        # the frames of earlier callers would pile up on a refusal that is raised again
        outcome = outcome.with_traceback(None)
    if isinstance(outcome, BaseException):
        caller.set_exception(outcome)
    else:
        caller.set_result(outcome)


def _require_same_command(known_hash: bytes, command_hash: bytes, key: str) -> None:
    """Raise `KeyReused` if a key was already used for a different command."""
    if known_hash != command_hash:
        raise KeyReused(f"the key {key!r} was already used for another command; use a new one")
