"""The floor: every command comes in here, and is answered when what it did is durable.

`handle`: get the streams (kept in memory by `streams`), decide, hand to the writer, wait, answer.
With several servers on one database each decides on its own copy, and an append that finds the
stream changed is decided again on what has changed.
"""

from __future__ import annotations

import asyncio
import time
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from threedice.cage.commands import Deposit, OpenAccount, Withdraw
from threedice.errors import (
    Conflicted,
    InvalidInput,
    KeyReused,
    OperatingFailure,
    Refusal,
    StoreAway,
    ThreediceError,
    UnknownName,
)
from threedice.floor import deciding
from threedice.floor.commands import EstablishTable
from threedice.floor.encoding import decode, encode_command
from threedice.floor.events import WritingReleased
from threedice.floor.folds import HOUSE_STREAM, cage_stream, table_stream
from threedice.floor.streams import Streams
from threedice.log.store import Accepted, Known

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import TracebackType

    from threedice.cage import Account
    from threedice.floor.commands import AnyFloorCommand
    from threedice.floor.deciding import Decided
    from threedice.floor.events import AnyStreamEvent
    from threedice.floor.folds import Tended
    from threedice.floor.running import Running
    from threedice.floor.streams import Asked
    from threedice.log.entry import Entry
    from threedice.log.store import Answer as Kept
    from threedice.log.store import Store
    from threedice.rulebook import Game

TRIES = 200
"""How often a command is decided again because others were quicker."""

REMEMBERED = 50_000
"""How many of the last commands are answered again without asking the store."""


class Answer(NamedTuple):
    """What an accepted command has made happen, durably."""

    entries: tuple[Entry, ...]
    events: tuple[AnyStreamEvent, ...]

    def version(self, stream: str) -> int:
        """Return how far a stream had come by it."""
        return max(each.version for each in self.entries if each.stream == stream)


class Order(NamedTuple):
    """A command as it is asked: of which table, in whose name, under which key."""

    command: AnyFloorCommand
    table: str
    account: str
    key: str
    command_hash: bytes
    before: Sequence[AnyStreamEvent] = ()


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
        self._open_again = open_again
        self._asked: dict[tuple[str, str], _Waiting] = {}
        self._answered = _Remembered(REMEMBERED)

    @property
    def store(self) -> Store:
        """Where everything is written."""
        return self.streams.store

    # --- what people ask ------------------------------------------------------------------------

    async def handle(
        self,
        command: AnyFloorCommand,
        *,
        table: str = "",
        account: str,
        key: str,
        before: Sequence[AnyStreamEvent] = (),
    ) -> Answer:
        """Decide a command and return what it made happen, once that is durable.

        The same key and command again: the same answer again. `before` is what the house itself
        has to say at the table in the same append, such as the seed of the dice.
        """
        if not account or not key:
            raise InvalidInput("a command needs the account that asks and a key of its own")
        command_hash = sha256(encode_command(table, command)).digest()
        whose = (account, key)
        if again := self._asked.get(whose):
            _need_same(again.command_hash, command_hash, key)
            return await again.heard()
        if known := self._answered.get(whose):
            _need_same(known[0], command_hash, key)
            return known[1]
        order = Order(command, table, account, key, command_hash, before)
        self._asked[whose] = waiting = _Waiting(command_hash)
        try:
            found = await self._accepted(order)
        except BaseException as failure:
            waiting.fail(failure)
            raise
        finally:
            del self._asked[whose]
        waiting.tell(found)
        self._answered.remember(whose, (command_hash, found))
        return found

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
        return self.streams.writer.halted

    async def release(self, by: str, reason: str) -> None:
        """Let the house write again, now that a person has looked at what failed."""
        cause = self.suspended
        if not cause:
            raise OperatingFailure("the house is not suspended; there is nothing to release")
        if not reason.strip():
            raise InvalidInput("give the reason for which the house may write again")
        store = self.store
        if self._open_again:
            store.close()
            store = await asyncio.to_thread(self._open_again)
        self.streams.start_over(store)
        (running,) = streams = await self.streams.ready([HOUSE_STREAM])
        event = WritingReleased(cause=cause, reason=reason, by=by)
        key = f"release {running.head.version}"
        command_hash = sha256(f"{key} {cause} {reason}".encode()).digest()
        asked = self.streams.propose({HOUSE_STREAM: (event,)}, streams, by, key, command_hash, {})
        result = await asked.done
        if isinstance(result, OperatingFailure):
            raise result

    async def close(self) -> None:
        """Write what is waiting, and stop; the store stays open."""
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

    async def _accepted(self, order: Order) -> Answer:
        """Decide and write a command, again and again while others are quicker."""
        names = deciding.streams_of(order.table, order.command)
        away = 0
        for _ in range(TRIES):
            streams = self.streams.at_hand(names) or await self.streams.ready(names)
            try:
                decided, games = self._decide(order, streams)
            except Refusal:
                if found := await self._reconsidered(order, streams):
                    return found
                if any(each.broken for each in streams):
                    continue
                raise
            asked = self.streams.propose(
                decided, streams, order.account, order.key, order.command_hash, games
            )
            result = await asked.done
            if isinstance(result, Accepted):
                return _answer(asked)
            if isinstance(result, Known):
                return await self._again(result.answer, order.command_hash)
            away += isinstance(result, StoreAway)
            if isinstance(result, ThreediceError) and away != 1:
                raise result
        raise Conflicted(f"others changed {', '.join(names)} first, {TRIES} times; ask again")

    def _decide(
        self, order: Order, streams: list[Running[Any]]
    ) -> tuple[Decided, dict[str, bytes]]:
        """Return what a command makes happen, and the game that it pins for the first time."""
        command, state = order.command, streams[0].state
        if isinstance(command, OpenAccount | Deposit | Withdraw):
            return deciding.decide_for_account(state, command), {}
        if isinstance(command, EstablishTable):
            try:
                game = self.streams.games.installed(command.game, command.readings)
            except (UnknownName, InvalidInput) as error:
                raise deciding.unknown_game(error) from None
            decided = deciding.establish(order.table, game, state, command)
            return decided, {game.hash: game.canonical}
        account = streams[1].state if len(streams) > 1 else None
        decided = deciding.decide_at_table(
            order.table, self.game(state), state, command, account, order.account
        )
        if order.before:
            name = streams[0].name
            decided[name] = (*order.before, *decided[name])
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

    # --- answers given before -------------------------------------------------------------------

    async def _again(self, known: Kept, command_hash: bytes) -> Answer:
        _need_same(known.command_hash, command_hash, known.key)

        def read() -> list[Entry]:
            spans = known.spans
            return [
                entry
                for each in spans
                for entry in self.store.read(
                    each.stream, each.first - 1, each.last - each.first + 1
                )
            ]

        entries = tuple(await asyncio.to_thread(read))
        return Answer(entries, tuple(map(decode, entries)))


class _Waiting:
    """Those who asked the same while it was on its way; mostly there are none."""

    __slots__ = ("_answer", "command_hash")

    def __init__(self, command_hash: bytes) -> None:
        self.command_hash = command_hash
        self._answer: asyncio.Future[Answer] | None = None

    async def heard(self) -> Answer:
        """Return the answer that the first who asked gets."""
        if self._answer is None:
            self._answer = asyncio.get_running_loop().create_future()
        return await asyncio.shield(self._answer)

    def tell(self, answer: Answer) -> None:
        """Give everybody the answer."""
        if self._answer and not self._answer.done():
            self._answer.set_result(answer)

    def fail(self, failure: BaseException) -> None:
        """Give everybody the same failure."""
        if self._answer and not self._answer.done():
            self._answer.set_exception(failure)
            self._answer.exception()  # they may all have gone


class _Remembered:
    """The last answers that were given, the oldest forgotten by and by."""

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._newer: dict[tuple[str, str], tuple[bytes, Answer]] = {}
        self._older: dict[tuple[str, str], tuple[bytes, Answer]] = {}

    def get(self, whose: tuple[str, str]) -> tuple[bytes, Answer] | None:
        """Return an answer that is remembered."""
        return self._newer.get(whose) or self._older.get(whose)

    def remember(self, whose: tuple[str, str], answer: tuple[bytes, Answer]) -> None:
        """Remember an answer."""
        self._newer[whose] = answer
        if len(self._newer) > self._half:
            self._newer, self._older = {}, self._newer


def _answer(asked: Asked) -> Answer:
    """Return what was written of a command."""
    if len(asked.appends) == 1:
        return Answer(asked.appends[0].entries, tuple(asked.events[0]))
    entries = tuple(entry for each in asked.appends for entry in each.entries)
    return Answer(entries, tuple(event for each in asked.events for event in each))


def _need_same(known: bytes, asked: bytes, key: str) -> None:
    if known != asked:
        raise KeyReused(f"the key {key!r} stands for another command; use a new one")
