"""Load: everybody at a table at once. Players bet and move money, a dealer deals round after round,
and a keeper signs checkpoints, keeps the books and takes snapshots.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Final, Literal

from tests.faults.kill_words import Asking, Failed, Refused, Told, spans_of
from tests.house.house_driver import player
from threedice.account.commands import Deposit
from threedice.cases import CaseContext, parse_line
from threedice.errors import Refusal, StoreUnavailable
from threedice.house.reports.statements import update_statements
from threedice.house.stream_state import account_stream, table_stream
from threedice.table import commands

if TYPE_CHECKING:
    from random import Random

    from tests.faults.kill_words import Hear
    from threedice.house import CommandHandler
    from threedice.house.commands import AnyStreamCommand
    from threedice.house.stream_state import HouseTable
    from threedice.log.proof.checkpoints import CheckpointSigner

GAME: Final = "sg-rws-tai-sai-v6/a"
TABLE: Final = "1"
PLAYERS: Final = tuple(f"p{number:02}" for number in range(16))
CUSTOMERS: Final = PLAYERS[::2]
"""The players with an account: what they buy in with is taken from it in the same append."""

BOXES: Final = ("big", "small", "total:9", "total:12", "single:6")
BETS_PER_ROUND: Final = 40


class Load:
    """People who ask things of a floor until they are stopped."""

    def __init__(self, floor: CommandHandler, notary: CheckpointSigner, random: Random) -> None:
        self.floor, self._notary, self._random = floor, notary, random
        self._keys = map(str, count(1))
        self._hear: Hear
        self._betting, self._enough, self._settled = (asyncio.Event() for _ in range(3))
        self._settled.set()  # something may be left to be kept from before
        self._bets = 0
        self._stopped = False

    async def run(self, hear: Hear) -> None:
        """Go on until stopped, and say everything; what was asked by then gets its answer first."""
        self._hear = hear
        async with asyncio.TaskGroup() as everybody:
            for name in PLAYERS:
                everybody.create_task(self._play(name))
            everybody.create_task(self._deal())
            everybody.create_task(self._keep())

    def stop(self) -> None:
        """Have everybody go when they have got their answers."""
        self._stopped = True
        for each in (self._betting, self._enough, self._settled):
            each.set()

    async def ask(self, account: str, command: AnyStreamCommand) -> bool:
        """Ask until there is a definite answer, and tell whether it is a good one."""
        key = next(self._keys)
        self._hear(Asking(account, key, command))
        while True:
            try:
                answer = await self.floor.handle(command, table=TABLE, account=account, key=key)
            except Refusal:
                self._hear(Refused(account, key))
                return False
            except StoreUnavailable as away:
                self._hear(Failed(account, key, str(away)))
            else:
                self._hear(Told(account, key, spans_of(answer)))
                return True

    # --- who is there ---------------------------------------------------------------------------

    async def _play(self, name: str) -> None:
        while not self._stopped:
            command = self._wish(name)
            if isinstance(command, commands.PlaceBet):
                await self._betting.wait()
                accepted = await self.ask(name, command)
                self._bets += accepted  # read only now: others have bet meanwhile
                if self._bets >= BETS_PER_ROUND:
                    self._enough.set()
            else:
                await self.ask("cashier" if isinstance(command, Deposit) else name, command)

    def _wish(self, name: str) -> commands.PlaceBet | commands.BuyIn | commands.CashOut | Deposit:
        """Return what a player thinks of next; mostly it is a bet."""
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
            await self._say("open betting")
            self._bets = 0
            self._enough.clear()
            self._betting.set()
            if not self._stopped:
                await self._enough.wait()
            if not self._stopped:
                self._betting.clear()  # those who bet just now meet the close, as in any house
                dice = self._random.choices("123456", k=3)
                await self._say(f"dice {' '.join(dice)}")
                self._settled.set()

    async def _say(self, line: str) -> None:
        """Have the dealer do what a line of a case says, as far as the table is ready for it."""
        house_table = await self._tended()
        game = self.floor.game(house_table)
        if game is None or (line == "open betting" and house_table.table.round is not None):
            return
        for command in parse_line(line, CaseContext(game, house_table.table)):
            await self.ask(command.by.id, command)

    async def _tended(self) -> HouseTable:
        while True:
            with suppress(StoreUnavailable):
                return await self.floor.table(TABLE)

    async def _keep(self) -> None:
        while not self._stopped:
            await self._settled.wait()
            self._settled.clear()
            with suppress(StoreUnavailable):  # the next time; the log has everything
                await self._close_books()

    async def _close_books(self) -> None:
        store, names = self.floor.store, [table_stream(TABLE), *map(account_stream, CUSTOMERS[:2])]
        for running in await self.floor.streams.get(names):
            snapshot = running.take_snapshot()
            await asyncio.to_thread(store.save_snapshot, snapshot)
            await asyncio.to_thread(
                update_statements, store, running.name, self.floor.streams.games.load_pinned
            )
        await asyncio.to_thread(self._notary.create_checkpoint, self.floor.streams.runtime.now())
