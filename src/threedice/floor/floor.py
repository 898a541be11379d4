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

from threedice.cage.commands import Deposit, OpenAccount, Withdraw
from threedice.errors import (
    Conflicted,
    InvalidInput,
    OperatingFailure,
    Refusal,
    RulebookError,
    StoreAway,
    StoreFailed,
    ThreediceError,
    UnknownName,
)
from threedice.floor import deciding
from threedice.floor.answers import Answer, Remembered, Waiting, answer_of, need_same
from threedice.floor.commands import AnyFloorCommand, EstablishTable
from threedice.floor.encoding import decode, read_command
from threedice.floor.events import AnyStreamEvent
from threedice.floor.folds import Tended, cage_stream, table_stream
from threedice.floor.releasing import Releasing
from threedice.floor.streams import Streams
from threedice.log.store import Accepted, Known

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from threedice.cage import Account
    from threedice.floor.deciding import Decided
    from threedice.floor.releasing import Recovery
    from threedice.floor.running import Running
    from threedice.floor.streams import Asked
    from threedice.log.entry import Entry
    from threedice.log.store import Answer as Kept
    from threedice.log.store import Store
    from threedice.log.writer import Result
    from threedice.rulebook import Game

TRIES = 200
"""How often a command is decided again because others were quicker."""

_HALVES = re.compile("[\ud800-\udfff]")

REMEMBERED = 2_000
"""How many of the last commands are answered again without asking the store."""


class Order(msgspec.Struct, frozen=True, gc=False):
    """A command as it is asked: of which table, in whose name, under which key.

    `before` is what the house itself has to say at the table in the same append, such as the seed
    of the dice; `at` is when, where that is not simply now; `meant_for` tells of a table whether
    it still is one that the command was meant for.
    """

    command: AnyFloorCommand
    table: str
    account: str
    key: str
    command_hash: bytes
    before: Sequence[AnyStreamEvent] = ()
    at: int | None = None
    meant_for: Callable[[Tended], bool] | None = None


class Floor:
    """A house's tables and accounts, running on a store."""

    def __init__(
        self,
        store: Store,
        *,
        state: Path | None = None,
        now: Callable[[], int] = lambda: time.time_ns() // 1000,
        most_waiting: int = 10_000,
        open_again: Callable[[], Store] | None = None,
    ) -> None:
        self.streams = Streams(store, state=state, now=now, most_waiting=most_waiting)
        self._releasing = Releasing(self.streams, open_again)
        self._loop = asyncio.get_running_loop()
        self._asked: dict[tuple[str, str], Waiting] = {}
        self._answered = Remembered(REMEMBERED)
        self._tasks: set[asyncio.Task[Answer]] = set()

    @property
    def store(self) -> Store:
        """Where everything is written."""
        return self.streams.store

    # --- what people ask ------------------------------------------------------------------------

    async def handle(
        self, command: AnyFloorCommand, *, table: str = "", account: str, key: str
    ) -> Answer:
        """Decide a command and return what it made happen, once that is durable.

        The same key and command again: the same answer again.
        """
        if account == deciding.HOUSE:
            raise InvalidInput("nobody asks in the name of the house but the house itself")
        if self._releasing.held:
            raise StoreFailed(self._releasing.held)
        return await self._ask(command, table, account, key)

    async def handle_for_house(
        self,
        command: AnyFloorCommand,
        *,
        table: str,
        key: str,
        before: Sequence[AnyStreamEvent] = (),
        at: int | None = None,
        meant_for: Callable[[Tended], bool] | None = None,
    ) -> Answer:
        """Decide a command of the house's own: its dealer's, or its recovery's."""
        return await self._ask(command, table, deciding.HOUSE, key, before, at, meant_for)

    async def answer(self, account: str, key: str) -> Answer | None:
        """Return what became of a command, by its key; nothing if it was never accepted."""
        known = await asyncio.to_thread(self.store.answer, account, key)
        return await self._again(known, known.command_hash) if known else None

    async def tended(self, table: str) -> Tended:
        """Return a table as it is durably; it changes as commands are written."""
        (running,) = await self.streams.ready([table_stream(table)])
        tended: Tended = running.durable
        return tended

    async def account(self, player: str) -> Account:
        """Return a player's account as it is durably."""
        (running,) = await self.streams.ready([cage_stream(player)])
        account: Account = running.durable
        return account

    def game(self, tended: Tended) -> Game | None:
        """Return the game that a table is set up for."""
        return self.streams.games.pinned(tended.game_hash) if tended.game_hash else None

    # --- when the disk fails --------------------------------------------------------------------

    @property
    def suspended(self) -> str:
        """Why nothing can be written, so that every table is suspended; or nothing."""
        return self._releasing.cause

    async def release(self, by: str, reason: str, *, then: Recovery | None = None) -> None:
        """Let the house write again, now that a person has looked at what failed.

        The halt is over when `then` is done, what the house owes its tables; see `releasing`.
        """
        await self._releasing.release(by, reason, then)

    async def go_on(self, then: Recovery) -> None:
        """Write again, now that a person has released the database at another server."""
        await self._releasing.go_on(then)

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

    def _ask(
        self,
        command: AnyFloorCommand,
        table: str,
        account: str,
        key: str,
        before: Sequence[AnyStreamEvent] = (),
        at: int | None = None,
        meant_for: Callable[[Tended], bool] | None = None,
    ) -> asyncio.Future[Answer]:
        """Have a command decided, unless it is already; returns the answer to come."""
        if not account or not key:
            raise InvalidInput("a command needs the account that asks and a key of its own")
        if not _is_text(account) or not _is_text(key):
            raise InvalidInput("the account that asks and the key must be text that can be kept")
        command, command_hash = read_command(table, command)
        whose = (account, key)
        if waiting := self._asked.get(whose):
            need_same(waiting.command_hash, command_hash, key)
            return waiting.join()
        if known := self._answered.get(whose):
            need_same(known[0], command_hash, key)
            answered = self._loop.create_future()
            answered.set_result(known[1])
            return answered
        self._asked[whose] = waiting = Waiting(command_hash, self._loop)
        mine = waiting.join()
        order = Order(command, table, account, key, command_hash, before, at, meant_for)
        self._start(order, waiting)
        return mine

    def _start(self, order: Order, waiting: Waiting) -> None:
        """Decide a command at once if that can be; what cannot goes the longer way."""
        names = deciding.streams_of(order.table, order.command)
        streams = self.streams.at_hand(names)
        if streams is None:
            self._go_on(order, waiting)
            return
        try:
            self._propose(order, streams, partial(self._written, order, waiting))
        except (Refusal, Conflicted):
            self._go_on(order, waiting)
        except Exception as failure:  # whoever waits must hear of it
            self._finish(order, waiting, failure)

    def _propose(
        self, order: Order, streams: list[Running[Any]], then: Callable[[Asked, Result], None]
    ) -> None:
        decided, games = self._decide(order, streams)
        self.streams.propose(
            decided,
            streams,
            order.account,
            order.key,
            order.command_hash,
            games=games,
            at=order.at,
            then=then,
        )

    def _written(self, order: Order, waiting: Waiting, asked: Asked, result: Result) -> None:
        """Hear what became of a command that was decided at once."""
        if isinstance(result, Accepted):
            self._finish(order, waiting, answer_of(asked))
        else:
            self._go_on(order, waiting, result)

    def _go_on(self, order: Order, waiting: Waiting, result: Result | None = None) -> None:
        """See a command through that could not simply be decided and written."""
        task = self._loop.create_task(self._accepted(order, result))
        self._tasks.add(task)

        def done(task: asyncio.Task[Answer]) -> None:
            self._tasks.discard(task)
            if task.cancelled():
                self._finish(order, waiting, OperatingFailure("the house is closing"))
            else:
                self._finish(order, waiting, task.exception() or task.result())

        task.add_done_callback(done)

    def _finish(self, order: Order, waiting: Waiting, end: Answer | BaseException) -> None:
        """Tell everybody who waits, and remember what was answered."""
        whose = (order.account, order.key)
        self._asked.pop(whose, None)
        if isinstance(end, Answer):
            self._answered.remember(whose, (order.command_hash, end))
        waiting.tell(end)

    async def _accepted(self, order: Order, result: Result | None) -> Answer:
        """Decide and write a command, again and again while others are quicker."""
        names = deciding.streams_of(order.table, order.command)
        away = 0
        for _ in range(TRIES):
            if isinstance(result, Known):
                return await self._again(result.answer, order.command_hash)
            away += isinstance(result, StoreAway)
            if isinstance(result, ThreediceError) and away != 1:
                raise result
            streams = await self.streams.ready(names)
            written: asyncio.Future[tuple[Asked, Result]] = self._loop.create_future()
            try:
                self._propose(order, streams, partial(_resolve, written))
            except (Refusal, Conflicted):
                if found := await self._reconsidered(order, streams):
                    return found
                if any(each.broken for each in streams):
                    result = None
                    continue
                raise
            asked, result = await written
            if isinstance(result, Accepted):
                return answer_of(asked)
        raise Conflicted(f"others changed {', '.join(names)} first, {TRIES} times; ask again")

    def _decide(
        self, order: Order, streams: list[Running[Any]]
    ) -> tuple[Decided, dict[str, bytes]]:
        """Return what a command makes happen, and the game that it pins for the first time."""
        command, state = order.command, streams[0].state
        if order.meant_for and not order.meant_for(state):
            raise Conflicted(f"table {order.table} has gone on; look at it again")
        if isinstance(command, _OF_ACCOUNTS):
            return deciding.decide_for_account(state, command), {}
        if isinstance(command, EstablishTable):
            if not order.table:
                raise InvalidInput("name the table that is to be set up")
            try:
                game = self.streams.games.installed(command.game, command.readings)
            except (UnknownName, InvalidInput, RulebookError) as error:
                raise deciding.unknown_game(error) from None
            decided = deciding.establish(order.table, game, state, command)
            return decided, {game.hash: game.canonical}
        account = streams[1].state if len(streams) > 1 else None
        pinned = self.streams.games.get(state.game_hash) or self.game(state)
        decided = deciding.decide_at_table(
            order.table, pinned, state, command, account, order.account
        )
        if order.before:
            decided[0] = (*order.before, *decided[0])
        return decided, {}

    async def _reconsidered(self, order: Order, streams: list[Running[Any]]) -> Answer | None:
        """Look again before refusing: was it accepted before? Has another server gone further?"""

        def look() -> tuple[Kept | None, dict[str, int]]:
            heads = {each.name: self.store.head(each.name).version for each in streams}
            return self.store.answer(order.account, order.key), heads

        known, heads = await asyncio.to_thread(look)
        if known:
            return await self._again(known, order.command_hash)
        for stream, version in heads.items():
            self.streams.changed(stream, version)
        return None

    async def _again(self, known: Kept, command_hash: bytes) -> Answer:
        need_same(known.command_hash, command_hash, known.key)

        def read() -> list[Entry]:
            return [
                entry
                for each in known.spans
                for entry in self.store.read(
                    each.stream, each.first - 1, each.last - each.first + 1
                )
            ]

        entries = tuple(await asyncio.to_thread(read))
        return Answer(entries, tuple(map(decode, entries)))


_OF_ACCOUNTS = (OpenAccount, Deposit, Withdraw)


def _is_text(words: str) -> bool:
    """Tell whether text can be written: half a character cannot."""
    return words.isascii() or not _HALVES.search(words)


def _resolve(written: asyncio.Future[tuple[Asked, Result]], asked: Asked, result: Result) -> None:
    if not written.done():
        written.set_result((asked, result))
