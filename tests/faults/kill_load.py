"""Load on a house: players bet and move money, a dealer deals, a keeper stores statements.

Each request and its result is a message, which a pipe carries out of the process that is killed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from tests.house.house_driver import player
from threedice.account.commands import Deposit
from threedice.cases import CaseContext, parse_line
from threedice.errors import Refusal, StoreUnavailable
from threedice.house.commands import AnyStreamCommand
from threedice.house.reports.statements import update_statements
from threedice.house.stream_state import account_stream, table_stream
from threedice.log.records import EntrySpan
from threedice.table import commands

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from threedice.house import CommandHandler, CommandResult
    from threedice.house.stream_state import HouseTable
    from threedice.log.proof.checkpoints import CheckpointSigner

CommandId = tuple[str, str]
"""The account and the idempotency key of a command."""


class Requested(msgspec.Struct, frozen=True, tag=True):
    """A command is about to be sent."""

    account: str
    key: str
    command: AnyStreamCommand


class Acknowledged(msgspec.Struct, frozen=True, tag=True):
    """A command was accepted, and its sender knows its entries."""

    account: str
    key: str
    spans: tuple[EntrySpan, ...]


class Refused(msgspec.Struct, frozen=True, tag=True):
    """A command was refused; none of its entries may be stored."""

    account: str
    key: str


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The store was unavailable; the outcome is unknown, and the command is sent again."""

    account: str
    key: str
    failure: str


Message = Requested | Acknowledged | Refused | Failed
Report = Callable[[Message], None]

_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(Message)


def encode_message(message: Message) -> bytes:
    """Return a message as a line for the pipe."""
    return _ENCODER.encode(message) + b"\n"


def decode_message(text: bytes) -> Message:
    """Return the message that a line holds."""
    message: Message = _DECODER.decode(text)
    return message


def result_spans(answer: CommandResult) -> tuple[EntrySpan, ...]:
    """Return the spans of the entries of a result."""
    versions: dict[str, list[int]] = {}
    for entry in answer.entries:
        versions.setdefault(entry.stream, []).append(entry.version)
    return tuple(EntrySpan(stream, min(each), max(each)) for stream, each in versions.items())


class Transcript:
    """All messages of a house, by command."""

    def __init__(self) -> None:
        self.requested: dict[CommandId, AnyStreamCommand] = {}
        self.acknowledged: dict[CommandId, tuple[EntrySpan, ...]] = {}
        self.refused: set[CommandId] = set()
        self.failures: list[str] = []

    def add(self, message: Message) -> None:
        """Add a message."""
        command_id = (message.account, message.key)
        match message:
            case Requested():
                self.requested[command_id] = message.command
            case Acknowledged():
                self.acknowledged[command_id] = message.spans
            case Refused():
                self.refused.add(command_id)
            case Failed():
                self.failures.append(message.failure)

    def add_all(self, messages: Iterable[Message]) -> None:
        """Add messages."""
        for message in messages:
            self.add(message)

    @property
    def in_flight(self) -> dict[CommandId, AnyStreamCommand]:
        """Commands without an acknowledgement or a refusal."""
        answered = self.acknowledged.keys() | self.refused
        return {
            command_id: self.requested[command_id]
            for command_id in self.requested
            if command_id not in answered
        }


GAME: Final = "sg-rws-tai-sai-v6/a"
TABLE: Final = "1"
PLAYERS: Final = tuple(f"p{number:02}" for number in range(16))
CUSTOMERS: Final = PLAYERS[::2]
"""Players with an account, who buy in from it in the same append."""

BOXES: Final = ("big", "small", "total:9", "total:12", "single:6")
BETS_PER_ROUND: Final = 40


class Load:
    """People who send commands to a handler until stopped."""

    def __init__(self, handler: CommandHandler, signer: CheckpointSigner, random: Random) -> None:
        self.handler, self._signer, self._random = handler, signer, random
        self._keys = map(str, count(1))
        self._report: Report
        self._betting, self._enough, self._settled = (asyncio.Event() for _ in range(3))
        self._settled.set()  # rows may be missing from before
        self._bets = 0
        self._stopped = False

    async def run(self, report: Report) -> None:
        """Send commands until stopped, report every message, and wait for the last results."""
        self._report = report
        async with asyncio.TaskGroup() as group:
            for name in PLAYERS:
                group.create_task(self._play(name))
            group.create_task(self._deal())
            group.create_task(self._keep())

    def stop(self) -> None:
        """Stop once all results have arrived."""
        self._stopped = True
        for each in (self._betting, self._enough, self._settled):
            each.set()

    async def send(self, account: str, command: AnyStreamCommand) -> bool:
        """Send a command until it has a definite outcome, and return whether it was accepted."""
        key = next(self._keys)
        self._report(Requested(account, key, command))
        while True:
            try:
                answer = await self.handler.handle(command, table=TABLE, account=account, key=key)
            except Refusal:
                self._report(Refused(account, key))
                return False
            except StoreUnavailable as error:
                self._report(Failed(account, key, str(error)))
            else:
                self._report(Acknowledged(account, key, result_spans(answer)))
                return True

    # --- people ---------------------------------------------------------------------------------

    async def _play(self, name: str) -> None:
        while not self._stopped:
            command = self._next_command(name)
            if isinstance(command, commands.PlaceBet):
                await self._betting.wait()
                accepted = await self.send(name, command)
                self._bets += accepted  # read only now: others have bet meanwhile
                if self._bets >= BETS_PER_ROUND:
                    self._enough.set()
            else:
                await self.send("cashier" if isinstance(command, Deposit) else name, command)

    def _next_command(
        self, name: str
    ) -> commands.PlaceBet | commands.BuyIn | commands.CashOut | Deposit:
        """Return the next command of a player, mostly a bet."""
        actor, amount = player(name), 5 * self._random.randint(1, 10)
        source: Literal["cash", "account"] = "account" if name in CUSTOMERS else "cash"
        to: Literal["outside", "account"] = "account" if name in CUSTOMERS else "outside"
        kind = self._random.random()
        if kind < 0.08:
            return commands.BuyIn(by=actor, player=name, amount=amount, source=source, age_years=30)
        if kind < 0.14:
            return commands.CashOut(by=actor, player=name, amount=amount, to=to)
        if kind < 0.18 and name in CUSTOMERS:
            return Deposit(by="cashier", player=name, amount=amount)
        box = self._random.choice(BOXES)
        return commands.PlaceBet(by=actor, player=name, box=box, amount=amount)

    async def _deal(self) -> None:
        while not self._stopped:
            await self._play_line("open betting")
            self._bets = 0
            self._enough.clear()
            self._betting.set()
            if not self._stopped:
                await self._enough.wait()
            if not self._stopped:
                self._betting.clear()  # bets just sent meet the close
                dice = self._random.choices("123456", k=3)
                await self._play_line(f"dice {' '.join(dice)}")
                self._settled.set()

    async def _play_line(self, line: str) -> None:
        """Send the dealer's commands of a line, if the table is ready for it."""
        house_table = await self._load_table()
        game = self.handler.game(house_table)
        if game is None or (line == "open betting" and house_table.table.round is not None):
            return
        for command in parse_line(line, CaseContext(game, house_table.table)):
            await self.send(command.by.id, command)

    async def _load_table(self) -> HouseTable:
        while True:
            with suppress(StoreUnavailable):
                return await self.handler.table(TABLE)

    async def _keep(self) -> None:
        while not self._stopped:
            await self._settled.wait()
            self._settled.clear()
            with suppress(StoreUnavailable):  # retried next time; the log is complete
                await self._store_derived_data()

    async def _store_derived_data(self) -> None:
        store, names = (
            self.handler.store,
            [table_stream(TABLE), *map(account_stream, CUSTOMERS[:2])],
        )
        for running in await self.handler.streams.get(names):
            snapshot = running.take_snapshot()
            await asyncio.to_thread(store.save_snapshot, snapshot)
            await asyncio.to_thread(
                update_statements, store, running.name, self.handler.streams.games.load_pinned
            )
        await asyncio.to_thread(self._signer.create_checkpoint, self.handler.streams.runtime.now())
