"""A table that tests drive by commands or by the lines of a case."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from threedice import load
from threedice.cases.language import CaseContext
from threedice.cases.phrases import parse_line
from threedice.table import Refusal, TableState, commands, decide, evolve
from threedice.table.commands import Actor
from threedice.table.limits import uniform_limits

if TYPE_CHECKING:
    from threedice.rulebook import Game
    from threedice.table.commands import AnyCommand
    from threedice.table.events import AnyEvent
    from threedice.table.limits import LimitMode, TableLimits

SUPERVISOR = Actor(id="supervisor", role="supervisor")
DEALER = Actor(id="dealer", role="dealer")
MANAGER = Actor(id="manager", role="shift-manager")

PER_PLAYER_LIMITS = "nz-tai-sai-2008/1"
"""A game whose maximum applies to each player separately."""


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
        self.send(
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
            self.send(commands.PassCheck(by=SUPERVISOR, check=check))
        for player, amount in (stacks or {"ann": 2000, "bob": 2000, "cat": 2000}).items():
            by = Actor(id=player, role="player")
            self.send(commands.BuyIn(by=by, player=player, amount=amount, age_years=30))

    def send(self, command: AnyCommand) -> list[AnyEvent]:
        """Decide a command, apply its events and return them."""
        events = decide(self.game, self.state, command)
        for event in events:
            evolve(self.state, event)
        self.events += events
        return list(events)

    def play(self, *lines: str) -> list[AnyEvent]:
        """Play lines of a case and return their events."""
        start = len(self.events)
        for line in lines:
            for command in parse_line(line, CaseContext(self.game, self.state)):
                self.send(command)
        return self.events[start:]

    def expect_refusal(self, line: str) -> Refusal:
        """Play a line that must be refused, and return the refusal."""
        with pytest.raises(Refusal) as refused:
            self.play(line)
        return refused.value

    def stack(self, player: str) -> int:
        seat = self.state.seats.get(player)
        return seat.stack if seat else 0


def replace_facts(game: Game, **facts: Any) -> Game:
    """Return a copy of a game with some facts replaced."""
    return replace(game, facts=msgspec.structs.replace(game.facts, **facts))


def table_on_changed_game(game: Game, **options: Any) -> Table:
    """Return an open table whose game has been replaced by a changed copy."""
    table = Table(game.id, **options)
    table.game, table.state.game_hash = game, game.hash
    return table


def table_with_bets(
    *bets: str,
    game: str = "sg-rws-tai-sai-v6/c",
    differential: int = 2000,
    readings: dict[str, str] | None = None,
) -> Table:
    """Return a table with limits of 50 to 1000 and bets written as "ann 600 big"."""
    table = Table(game, readings=readings, stacks={"ann": 5000, "bob": 5000, "cat": 5000})
    table.state.limits = uniform_limits(table.game, 50, 1000, differential)
    table.play("open betting")
    for bet in bets:
        player, amount, box = bet.split()
        table.play(f"{player} bets {amount} on {box}")
    return table
