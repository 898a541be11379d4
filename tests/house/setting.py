"""A house to try things in: a clock moved by hand, people, a table, and a disk that fails."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from threedice import load
from threedice.cases.language import CaseContext
from threedice.cases.phrases import parse_line
from threedice.errors import StoreFailed
from threedice.house.commands import EstablishTable
from threedice.house.events import Timing
from threedice.log.stores.memory import MemoryStore
from threedice.runtime import Runtime
from threedice.table import commands
from threedice.table.commands import Actor
from threedice.table.limits import uniform_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from threedice.house import CommandHandler, CommandResult
    from threedice.house.commands import AnyStreamCommand
    from threedice.house.house import House
    from threedice.house.stream_state import HouseTable
    from threedice.house.streams import PendingCommand
    from threedice.log.records import Proposal, ProposalOutcome

SUPERVISOR = Actor(id="supervisor", role="supervisor")
DEALER = Actor(id="dealer", role="dealer")
MANAGER = Actor(id="manager", role="shift-manager")
QUICK = Timing(betting_seconds=20, closing_seconds=2, showing_seconds=5)


class HandClock(Runtime):
    """A clock that stands still until it is moved, and wakes whoever waited so long."""

    def __init__(self) -> None:
        self.time = 1_800_000_000_000_000
        self.ahead = 0.0
        self._waiting: list[tuple[int, asyncio.Event]] = []

    def now(self) -> int:
        self.time += 1
        return self.time + int(self.ahead * 1e6)

    def monotonic(self) -> float:
        return self.time / 1e6

    async def wait(self, seconds: float, wake: asyncio.Event) -> None:
        self._waiting.append((self.time + int(seconds * 1e6), wake))
        await wake.wait()

    def move(self, seconds: float) -> None:
        """Let time pass."""
        self.time += int(seconds * 1e6)
        due = [wake for until, wake in self._waiting if until <= self.time]
        self._waiting = [each for each in self._waiting if each[0] > self.time]
        for wake in due:
            wake.set()


class WatchedClock(HandClock):
    """A clock that knows when the dealer has looked at the table and waits again."""

    def __init__(self) -> None:
        super().__init__()
        self._rested = asyncio.Event()

    async def wait(self, seconds: float, wake: asyncio.Event) -> None:
        if not wake.is_set():
            self._rested.set()
        await super().wait(seconds, wake)
        self._rested.clear()

    async def let_pass(self, seconds: float) -> None:
        """Let time pass, and the dealer do what there is to do."""
        await self.rest()
        waiting = len(self._waiting)
        self.move(seconds)
        if len(self._waiting) < waiting:
            self._rested.clear()
            await self.rest()

    async def rest(self) -> None:
        """Return when the dealer has nothing to do."""
        async with asyncio.timeout(20):
            await self._rested.wait()


def player(name: str) -> Actor:
    return Actor(id=name, role="player")


class People:
    """The people who send commands to a handler, each command under a key of its own."""

    _keys = count(1)

    def __init__(self, handler: CommandHandler, table: str = "1") -> None:
        self.handler, self.table = handler, table

    async def ask(
        self, command: AnyStreamCommand, key: str = "", account: str = ""
    ) -> CommandResult:
        by: Any = getattr(command, "by", None)
        who = account or getattr(by, "id", by) or "somebody"
        key = key or f"k{next(self._keys)}"
        return await self.handler.handle(command, table=self.table, account=who, key=key)

    async def open(
        self,
        game: str = "sg-rws-tai-sai-v6/a",
        *,
        timing: Timing | None = None,
        stacks: dict[str, int] | None = None,
        float_amount: int = 1_000_000,
    ) -> None:
        """Set a table up, open it, check it, and have players buy in."""
        await self.ask(EstablishTable(by=SUPERVISOR, game=game, dealt_by_house=timing))
        loaded = load(game)
        await self.ask(
            commands.OpenTable(
                by=SUPERVISOR,
                table=self.table,
                currency="SGD",
                mode="record",
                chips=[5, 25, 100],
                float_amount=float_amount,
                limits=uniform_limits(loaded, 5, 10_000, 10_000),
            )
        )
        for check in loaded.facts.opening:
            await self.ask(commands.PassCheck(by=SUPERVISOR, check=check))
        for name, amount in (stacks or {"ann": 1000, "bob": 1000}).items():
            await self.ask(
                commands.BuyIn(by=player(name), player=name, amount=amount, age_years=30)
            )

    async def play(self, *lines: str) -> None:
        """Play lines of a case."""
        for line in lines:
            house_table = await self.handler.table(self.table)
            game = self.handler.game(house_table)
            assert game is not None
            for command in parse_line(line, CaseContext(game, house_table.table)):
                await self.ask(command)

    async def bet(self, name: str, amount: int, box: str, key: str = "") -> CommandResult:
        command = commands.PlaceBet(by=player(name), player=name, box=box, amount=amount)
        return await self.ask(command, key)

    async def stack(self, name: str) -> int:
        seat = (await self.handler.table(self.table)).table.seats.get(name)
        return seat.stack if seat else 0


class Watch:
    """Lets a test wait until a table has come to something, without asking again and again."""

    def __init__(self, house: House) -> None:
        self._house, self._news = house, asyncio.Event()
        written = house.command_handler.streams.on_written

        def hear(pending: PendingCommand) -> None:
            written(pending)
            self._news.set()

        house.command_handler.streams.on_written = hear

    async def until(self, table: str, holds: Callable[[HouseTable], bool]) -> HouseTable:
        """Return a table as soon as something holds of it."""
        async with asyncio.timeout(60):
            while not holds(house_table := await self._house.command_handler.table(table)):
                await self._news.wait()
                self._news.clear()
        return house_table


class Failing(MemoryStore):
    """A store whose disk can be made to fail."""

    fails = False

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        if self.fails:
            raise StoreFailed("the disk is full")
        return super().write(proposals)

    def suspend(self, reason: str) -> None:
        if self.fails:
            raise StoreFailed("the disk is full")
        super().suspend(reason)


def is_open(number: int, house_table: HouseTable) -> bool:
    """Return whether bets may be placed in a round."""
    current = house_table.table.round
    return current is not None and current.number == number and "open-betting" in current.done


async def begun(
    house: House, clock: HandClock, game: str = "sg-rws-tai-sai-v6/a"
) -> tuple[People, Watch]:
    """Return a table dealt by the house, with betting open and Ann's hundred on the first box."""
    people, watch = People(house.command_handler), Watch(house)
    await people.open(game, timing=QUICK)
    clock.move(QUICK.closing_seconds)
    house_table = await watch.until("1", partial(is_open, 1))
    game_now = house.command_handler.game(house_table)
    assert game_now is not None
    await people.bet("ann", 100, next(iter(game_now.boxes)))
    return people, watch
