"""A table to try things at: what was asked of it, what happened, what was refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from threedice import load
from threedice.cases.language import CaseContext
from threedice.cases.phrases import parse_line
from threedice.table import Refusal, TableState, commands, decide, evolve
from threedice.table.commands import Actor
from threedice.table.limits import uniform_limits

if TYPE_CHECKING:
    from threedice.table.commands import AnyCommand
    from threedice.table.events import AnyEvent
    from threedice.table.limits import LimitMode, TableLimits

SUPERVISOR = Actor(id="supervisor", role="supervisor")
DEALER = Actor(id="dealer", role="dealer")
MANAGER = Actor(id="manager", role="shift-manager")


class Table:
    """An open table with players who have bought in."""

    def __init__(
        self,
        game: str = "sg-rws-tai-sai-v6/c",
        mode: LimitMode = "record",
        readings: dict[str, str] | None = None,
        limits: TableLimits | None = None,
        stacks: dict[str, int] | None = None,
        float_amount: int = 1_000_000,
    ) -> None:
        self.game = load(game, readings)
        self.state = TableState()
        self.events: list[AnyEvent] = []
        self.ask(
            commands.OpenTable(
                by=SUPERVISOR,
                table="t",
                currency="SGD",
                mode=mode,
                chips=[5, 25, 100],
                float_amount=float_amount,
                limits=limits or uniform_limits(self.game, 50, 1000, 2000),
            )
        )
        for check in self.game.facts.opening:
            self.ask(commands.PassCheck(by=SUPERVISOR, check=check))
        for player, amount in (stacks or {"ann": 2000, "bob": 2000, "cat": 2000}).items():
            by = Actor(id=player, role="player")
            self.ask(commands.BuyIn(by=by, player=player, amount=amount, age_years=30))

    def ask(self, command: AnyCommand) -> list[AnyEvent]:
        """Ask something of the table and return what happened."""
        events = decide(self.game, self.state, command)
        for event in events:
            evolve(self.state, event)
        self.events += events
        return list(events)

    def play(self, *lines: str) -> list[AnyEvent]:
        """Play lines of a case and return what happened."""
        start = len(self.events)
        for line in lines:
            for command in parse_line(line, CaseContext(self.game, self.state)):
                self.ask(command)
        return self.events[start:]

    def refuses(self, line: str) -> Refusal:
        """Return the refusal of a line."""
        with pytest.raises(Refusal) as refused:
            self.play(line)
        return refused.value

    def stack(self, player: str) -> int:
        seat = self.state.seats.get(player)
        return seat.stack if seat else 0
