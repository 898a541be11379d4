"""Drive a house: a manual clock, people who send commands, a failing store, stored statements."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.waiting import TIMEOUT_SECONDS
from threedice import load
from threedice.cases.language import CaseContext
from threedice.cases.phrases import parse_line
from threedice.errors import StoreFailed
from threedice.house import CommandHandler
from threedice.house.commands import EstablishTable
from threedice.house.events import Timing
from threedice.house.reports import figures
from threedice.house.reports.projection import player_subject
from threedice.house.reports.statements import StatementReader, update_statements
from threedice.house.stream_state import table_stream
from threedice.log.proof.head_macs import KEY_BYTES, LOG_KEY_FILE
from threedice.log.proof.keys import KEYS_FOLDER, PRIVATE_KEY_FILE, write_secret
from threedice.log.stores.memory import MemoryStore
from threedice.runtime import Runtime
from threedice.table import commands
from threedice.table.commands import Actor
from threedice.table.limits import uniform_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from threedice.house import CommandResult
    from threedice.house.commands import AnyStreamCommand
    from threedice.house.house import House
    from threedice.house.reports.figures import ShiftFigures
    from threedice.house.reports.statements import DatedStatementRow
    from threedice.house.stream_state import HouseTable
    from threedice.house.streams import PendingCommand
    from threedice.log.records import Proposal, ProposalOutcome
    from threedice.log.store import Store

SUPERVISOR = Actor(id="supervisor", role="supervisor")
DEALER = Actor(id="dealer", role="dealer")
MANAGER = Actor(id="manager", role="shift-manager")
SIGNING_KEY = Ed25519PrivateKey.from_private_bytes(bytes(32)).private_bytes(
    Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
)
ROUND = ("open betting", "ann bets 100 on big", "bob bets 50 on small", "dice 6 5 4")
QUICK = Timing(betting_seconds=20, closing_seconds=2, showing_seconds=5)


class ManualClock(Runtime):
    """A clock that stands still until it is moved, and then wakes the tasks that are due."""

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
        """Advance the time."""
        self.time += int(seconds * 1e6)
        due = [wake for until, wake in self._waiting if until <= self.time]
        self._waiting = [each for each in self._waiting if each[0] > self.time]
        for wake in due:
            wake.set()


class DealerClock(ManualClock):
    """A manual clock that knows when the dealer of a table is idle."""

    def __init__(self) -> None:
        super().__init__()
        self._idle = asyncio.Event()

    async def wait(self, seconds: float, wake: asyncio.Event) -> None:
        if not wake.is_set():
            self._idle.set()
        await super().wait(seconds, wake)
        self._idle.clear()

    async def advance(self, seconds: float) -> None:
        """Advance the time and wait until the dealer is idle again."""
        await self.wait_until_idle()
        waiting = len(self._waiting)
        self.move(seconds)
        if len(self._waiting) < waiting:
            self._idle.clear()
            await self.wait_until_idle()

    async def wait_until_idle(self) -> None:
        """Wait until the dealer is idle."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await self._idle.wait()


def player(name: str) -> Actor:
    return Actor(id=name, role="player")


def server_state(folder: Path, name: str) -> Path:
    """Return the state directory of a server; all servers in a folder have the same keys."""
    keys = folder / name / KEYS_FOLDER
    if not keys.exists():
        keys.mkdir(mode=0o700, parents=True)
        write_secret(keys / LOG_KEY_FILE, bytes(KEY_BYTES))
        write_secret(keys / PRIVATE_KEY_FILE, SIGNING_KEY)
    return folder / name


class People:
    """People who send commands to a handler, each command under a new idempotency key."""

    _keys = count(1)

    def __init__(self, handler: CommandHandler, table: str = "1") -> None:
        self.handler, self.table = handler, table

    async def send(
        self, command: AnyStreamCommand, key: str = "", account: str = ""
    ) -> CommandResult:
        """Send a command, by default under the account of its actor."""
        by: Any = getattr(command, "by", None)
        who = account or getattr(by, "id", by) or "staff"
        key = key or f"k{next(self._keys)}"
        return await self.handler.handle(command, table=self.table, account=who, key=key)

    async def open(
        self,
        game: str = "sg-rws-tai-sai-v6/a",
        *,
        readings: dict[str, str] | None = None,
        timing: Timing | None = None,
        stacks: dict[str, int] | None = None,
        float_amount: int = 1_000_000,
    ) -> None:
        """Establish and open a table, pass its opening checks, and buy players in."""
        chosen = readings or {}
        await self.send(
            EstablishTable(by=SUPERVISOR, game=game, readings=chosen, dealt_by_house=timing)
        )
        loaded = load(game, readings)
        await self.send(
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
            await self.send(commands.PassCheck(by=SUPERVISOR, check=check))
        for name, amount in (stacks or {"ann": 1000, "bob": 1000}).items():
            await self.send(
                commands.BuyIn(by=player(name), player=name, amount=amount, age_years=30)
            )

    async def open_in_chips(self, game: str, rack: dict[str, int]) -> None:
        """Establish a table, and open it with a rack of value chips that two people counted."""
        await self.send(EstablishTable(by=SUPERVISOR, game=game))
        await self.send(
            commands.OpenTable(
                by=SUPERVISOR,
                table=self.table,
                currency="SGD",
                mode="record",
                chips=[int(chip) for chip in rack],
                float_amount=sum(int(chip) * number for chip, number in rack.items()),
                limits=uniform_limits(load(game), 5, 1_000, 1_000),
                approved_by=MANAGER,
                rack=rack,
            )
        )

    async def play(self, *lines: str) -> None:
        """Send the commands of lines in the language of cases."""
        for line in lines:
            house_table = await self.handler.table(self.table)
            game = self.handler.game(house_table)
            assert game is not None
            for command in parse_line(line, CaseContext(game, house_table.table)):
                await self.send(command)

    async def bet(self, name: str, amount: int, box: str, key: str = "") -> CommandResult:
        command = commands.PlaceBet(by=player(name), player=name, box=box, amount=amount)
        return await self.send(command, key)

    async def stack(self, name: str) -> int:
        seat = (await self.handler.table(self.table)).table.seats.get(name)
        return seat.stack if seat else 0


class TableWatch:
    """Waits for a state of a table without polling."""

    def __init__(self, house: House) -> None:
        self._house, self._written = house, asyncio.Event()
        written = house.command_handler.streams.on_written

        def note(pending: PendingCommand) -> None:
            written(pending)
            self._written.set()

        house.command_handler.streams.on_written = note

    async def until(self, table: str, holds: Callable[[HouseTable], bool]) -> HouseTable:
        """Return a table as soon as a condition holds."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while not holds(house_table := await self._house.command_handler.table(table)):
                await self._written.wait()
                self._written.clear()
        return house_table


class FailingStore(MemoryStore):
    """A store whose writes can be made to fail."""

    fails = False

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        if self.fails:
            raise StoreFailed("the disk is full")
        return super().write(proposals)

    def suspend(self, reason: str) -> None:
        if self.fails:
            raise StoreFailed("the disk is full")
        super().suspend(reason)


def is_betting_open(number: int, house_table: HouseTable) -> bool:
    """Return whether bets may be placed in a round."""
    current = house_table.table.round
    return current is not None and current.number == number and "open-betting" in current.done


async def start_round(
    house: House, clock: ManualClock, game: str = "sg-rws-tai-sai-v6/a"
) -> tuple[People, TableWatch]:
    """Open an automatic table and place a bet of 100 by Ann in its first round."""
    people, watch = People(house.command_handler), TableWatch(house)
    await people.open(game, timing=QUICK)
    clock.move(QUICK.closing_seconds)
    house_table = await watch.until("1", partial(is_betting_open, 1))
    game_now = house.command_handler.game(house_table)
    assert game_now is not None
    await people.bet("ann", 100, next(iter(game_now.boxes)))
    return people, watch


RESULT_KINDS = ("result", "void", "reversed", "seed lost")


# --- statements ---------------------------------------------------------------------------------


async def play_lines(*lines: str, game: str = "sg-rws-tai-sai-v6/a") -> MemoryStore:
    """Play lines at table 1 and return the store with its statement rows."""
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.open(game)
        await people.play(*lines)
        store_statements(store, handler)
    return store


def store_statements(store: Store, handler: CommandHandler) -> None:
    """Store the statement rows of every stream."""
    for stream in store.streams():
        update_statements(store, stream, handler.streams.games.load_pinned)


def results(store: Store, table: str) -> list[DatedStatementRow]:
    """Return the stored results of a table, including void and reversed rounds, oldest first."""
    rows = StatementReader(store).rows(table_stream(table))
    return [dated for dated in rows if dated.row.what in RESULT_KINDS]


def statement(
    store: Store, player: str, since: int | None = None, until: int | None = None
) -> list[DatedStatementRow]:
    """Return the stored wins, losses, transfers and notices of a player over a period."""
    return StatementReader(store).rows(player_subject(player), since=since, until=until)


def shift_figures(
    store: Store, table: str, since: int | None = None, until: int | None = None
) -> ShiftFigures:
    """Return a table's figures over a period."""
    return figures.shift_figures(StatementReader(store), table, since, until)
