"""Results of commands: shared by repeated requests, and cached.

A repeated command (same account, key and content) runs once, and every caller gets the same result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from threedice.errors import KeyReused

if TYPE_CHECKING:
    import asyncio

    from threedice.house.events import AnyStreamEvent
    from threedice.house.streams import PendingCommand
    from threedice.log.entry import Entry


class CommandResult(NamedTuple):
    """The durable entries and events of an accepted command."""

    entries: tuple[Entry, ...]
    events: tuple[AnyStreamEvent, ...]

    def version(self, stream: str) -> int:
        """Return the version that the command brought a stream to."""
        return max(entry.version for entry in self.entries if entry.stream == stream)


def result_of(pending: PendingCommand) -> CommandResult:
    """Build the result of a command that has been written."""
    if len(pending.appends) == 1:
        return CommandResult(pending.appends[0].entries, tuple(pending.events[0]))
    entries = tuple(entry for append in pending.appends for entry in append.entries)
    return CommandResult(entries, tuple(event for events in pending.events for event in events))


class ResultWaiters:
    """The callers awaiting one command's result; each can cancel without affecting the others."""

    __slots__ = ("_futures", "_loop", "command_hash")

    def __init__(self, command_hash: bytes, loop: asyncio.AbstractEventLoop) -> None:
        self.command_hash, self._loop = command_hash, loop
        self._futures: list[asyncio.Future[CommandResult]] = []

    def add(self) -> asyncio.Future[CommandResult]:
        """Register a caller and return a future of the result."""
        future: asyncio.Future[CommandResult] = self._loop.create_future()
        self._futures.append(future)
        return future

    def resolve(self, outcome: CommandResult | BaseException) -> None:
        """Pass the result or the error to every caller still waiting."""
        for future in self._futures:
            if future.done():
                continue
            if isinstance(outcome, CommandResult):
                future.set_result(outcome)
            else:
                future.set_exception(outcome)


class ResultCache:
    """A bounded cache of the most recent results, by account and key.

    Two generations: when the newer one is full, it replaces the older one.
    """

    def __init__(self, max_results: int) -> None:
        self._half = max_results // 2
        self._newer: dict[tuple[str, str], tuple[bytes, CommandResult]] = {}
        self._older: dict[tuple[str, str], tuple[bytes, CommandResult]] = {}

    def get(self, account_key: tuple[str, str]) -> tuple[bytes, CommandResult] | None:
        """Return a cached result with the hash of its command."""
        return self._newer.get(account_key) or self._older.get(account_key)

    def put(self, account_key: tuple[str, str], result: tuple[bytes, CommandResult]) -> None:
        """Cache a result with the hash of its command."""
        self._newer[account_key] = result
        if len(self._newer) > self._half:
            self._newer, self._older = {}, self._newer


def require_same_command(known_hash: bytes, command_hash: bytes, key: str) -> None:
    """Raise `KeyReused` if a key was already used for a different command."""
    if known_hash != command_hash:
        raise KeyReused(f"the key {key!r} was already used for another command; use a new one")
