"""A table with many corrections, rulings and reversals, whose log is kept in a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.properties.likely_commands import PLAYERS
from tests.properties.random_table import RandomTable
from threedice.house.codec import encode
from threedice.house.reports.statements import update_statements
from threedice.house.stream_state import table_stream
from threedice.log.entry import EMPTY_HEAD, extend_stream
from threedice.log.records import Append, Proposal
from threedice.log.stores.memory import MemoryStore
from threedice.table import commands

if TYPE_CHECKING:
    from threedice.rulebook import Game
    from threedice.table.commands import AnyCommand

TABLE, STREAM = "t", table_stream("t")
HOUSE_ACCOUNTS = ("float", "cash", "vault", "variance")


class DisputedTable(RandomTable):
    """A table with many corrections, rulings and reversals, whose log is kept in a store.

    The number of commands is the time. `money` is what the house holds, after each command that
    leaves no round half settled: from the collection of the losers until the winners are paid, the
    float holds stakes that no report counts.
    """

    def __init__(self, game: Game, seed: int) -> None:
        super().__init__(game, "record", seed)
        self.store, self.head = MemoryStore(), EMPTY_HEAD
        self.time, self.money = 0, {0: 0}

    def play(self, steps: int) -> None:
        """Send commands until as many as asked for are sent and no round is half settled."""
        while self.time < steps or self.time not in self.money:
            self.time += 1
            count = len(self.events)
            self.step()
            self.write(count)
            if self.state.round is None or "collect-losers" not in self.state.round.done:
                held = (self.balances.get(account, 0) for account in HOUSE_ACCOUNTS)
                self.money[self.time] = sum(held)
        update_statements(self.store, STREAM, lambda _: self.game)

    def write(self, count: int) -> None:
        """Append the events after the first `count` to the log."""
        if new := [encode(event) for event in self.events[count:]]:
            expected = self.head
            entries, self.head = extend_stream(expected, STREAM, self.time, b"", new)
            append = Append(STREAM, expected, entries)
            self.store.write([Proposal("house", f"k{self.time}", b"", (append,))])

    def rare_command(self) -> AnyCommand | None:
        settled = sorted(set(self.state.settled) - self.state.reversed)[-4:]
        if not settled or self.random.random() < 0.4:
            return super().rare_command()
        return self.dispute(settled)

    def dispute(self, settled: list[int]) -> AnyCommand:
        """Return a correction or a reversal of settled rounds, or a ruling."""
        random, manager = self.random, self.actor("shift-manager")
        number = random.choice(settled)
        amount = random.choice([5, 50, 700, -5, -50, -5000])
        kind = random.choice(["correction", "correction", "ruling", "reversal"])
        if kind == "correction":
            return commands.CorrectBet(
                by=self.actor("dealer"),
                round=number,
                player=random.choice(list(self.state.settled[number]) or PLAYERS),
                amount=amount,
                reason="paid wrongly",
                approved_by=self.actor("supervisor"),
            )
        if kind == "ruling":
            return commands.MakeRuling(
                by=manager, player=self.player(), amount=amount, reason="as seen"
            )
        current = [self.state.round.number] if self.state.round else []
        return commands.Report(
            by=self.actor("supervisor"),
            irregularity="dice-damaged",
            rounds=random.sample([*settled, *current], random.choice([1, 1, min(len(settled), 2)])),
            approved_by=manager,
        )
