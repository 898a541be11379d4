"""Commands that the house handles, and the results it returns and caches for them.

What is asked of the floor: of a table, of a player's account, or of the house.

Answers on their way and answers given: the same question is asked once and answered alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from threedice.account.commands import Deposit, OpenAccount, Withdraw
from threedice.errors import KeyReused
from threedice.house.events import Timing
from threedice.table.commands import Actor, AnyCommand

if TYPE_CHECKING:
    import asyncio

    from threedice.house.events import AnyStreamEvent
    from threedice.house.streams import PendingCommand
    from threedice.log.entry import Entry


class HouseCommand(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Something asked of the floor."""


class EstablishTable(HouseCommand, frozen=True, kw_only=True, tag="EstablishTable"):
    """Set a table up for a game, or for another one while it is closed."""

    by: Actor
    game: str
    readings: dict[str, str] = {}
    dealt_by_house: Timing | None = None


class ResolveInterruption(HouseCommand, frozen=True, kw_only=True, tag="ResolveInterruption"):
    """State which dice of an interrupted round are known; a supervisor confirms it."""

    by: Actor
    confirmed_by: Actor
    known: list[int] = []


class InterruptTable(HouseCommand, frozen=True, kw_only=True, tag="InterruptTable"):
    """Mark a table of people's as interrupted in the middle of a round; the house does it."""


class RecoverRound(HouseCommand, frozen=True, kw_only=True, tag="RecoverRound"):
    """Resolve a round that another server of the house was dealing; the house does it."""


AnyTableCommand = AnyCommand | EstablishTable | ResolveInterruption | InterruptTable | RecoverRound


AnyAccountCommand = OpenAccount | Deposit | Withdraw


AnyStreamCommand = AnyTableCommand | AnyAccountCommand


class CommandResult(NamedTuple):
    """What an accepted command has made happen, durably."""

    entries: tuple[Entry, ...]
    events: tuple[AnyStreamEvent, ...]

    def version(self, stream: str) -> int:
        """Return how far a stream had come by it."""
        return max(each.version for each in self.entries if each.stream == stream)


def result_of(pending: PendingCommand) -> CommandResult:
    """Return what was written of a command."""
    if len(pending.appends) == 1:
        return CommandResult(pending.appends[0].entries, tuple(pending.events[0]))
    entries = tuple(entry for each in pending.appends for entry in each.entries)
    return CommandResult(entries, tuple(event for each in pending.events for event in each))


class ResultWaiters:
    """Those who wait for one command; each may go away without taking the answer along."""

    __slots__ = ("_futures", "_loop", "command_hash")

    def __init__(self, command_hash: bytes, loop: asyncio.AbstractEventLoop) -> None:
        self.command_hash, self._loop = command_hash, loop
        self._futures: list[asyncio.Future[CommandResult]] = []

    def add(self) -> asyncio.Future[CommandResult]:
        """Return the answer to come, for one who waits."""
        future: asyncio.Future[CommandResult] = self._loop.create_future()
        self._futures.append(future)
        return future

    def resolve(self, outcome: CommandResult | BaseException) -> None:
        """Give everybody who still waits the answer, or the failure."""
        for future in self._futures:
            if future.done():
                continue
            if isinstance(outcome, CommandResult):
                future.set_result(outcome)
            else:
                future.set_exception(outcome)


class ResultCache:
    """The last answers that were given, the oldest forgotten by and by."""

    def __init__(self, max_results: int) -> None:
        self._half = max_results // 2
        self._newer: dict[tuple[str, str], tuple[bytes, CommandResult]] = {}
        self._older: dict[tuple[str, str], tuple[bytes, CommandResult]] = {}

    def get(self, account_key: tuple[str, str]) -> tuple[bytes, CommandResult] | None:
        """Return an answer that is remembered, with what was asked."""
        return self._newer.get(account_key) or self._older.get(account_key)

    def put(self, account_key: tuple[str, str], result: tuple[bytes, CommandResult]) -> None:
        """Remember an answer."""
        self._newer[account_key] = result
        if len(self._newer) > self._half:
            self._newer, self._older = {}, self._newer


def require_same_command(known_hash: bytes, command_hash: bytes, key: str) -> None:
    """Stop at a key that stands for another command."""
    if known_hash != command_hash:
        raise KeyReused(f"the key {key!r} stands for another command; use a new one")
