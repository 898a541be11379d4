"""A table that deals in chips, for tests."""

from __future__ import annotations

from typing import Any

import pytest

from tests.table.table_driver import MANAGER, SUPERVISOR, Table
from threedice import load
from threedice.table import Refusal, TableState, commands, events
from threedice.table.chip_counts.counts import ChipCounts, value_of
from threedice.table.commands import Actor
from threedice.table.limits import uniform_limits
from threedice.table.usual_steps import rest_of_round

NEW_ZEALAND = "nz-tai-sai-2008/1"
SINGAPORE = "sg-rws-tai-sai-v6/c"
RACK: ChipCounts = {"5": 200, "25": 200, "100": 100}


class ChipTable(Table):
    """A table that deals in chips."""

    def __init__(
        self,
        rack: ChipCounts | None = None,
        game: str = SINGAPORE,
        chips: list[int] | None = None,
        limits: tuple[int, int, int] = (5, 1000, 2000),
        readings: dict[str, str] | None = None,
    ) -> None:
        self.game = load(game, readings)
        self.state, self.events = TableState(), []
        self.chips, self.limits = chips or [5, 25, 100], uniform_limits(self.game, *limits)
        self.open(rack or RACK)

    def open(self, rack: ChipCounts, **fields: Any) -> list[events.AnyEvent]:
        opening = commands.OpenTable(
            by=SUPERVISOR,
            table="t",
            currency="SGD",
            mode="record",
            chips=self.chips,
            float_amount=value_of(rack, {str(each): each for each in self.chips}),
            limits=self.limits,
            **{"approved_by": MANAGER, "rack": rack, **fields},
        )
        opened = self.send(opening)
        for check in self.game.facts.opening:
            self.send(commands.PassCheck(by=SUPERVISOR, check=check))
        return opened

    def buy_in(self, player: str, amount: int, **counts: Any) -> list[events.AnyEvent]:
        by = Actor(id=player, role="player")
        return self.send(
            commands.BuyIn(by=by, player=player, amount=amount, age_years=30, **counts)
        )

    def bet(self, player: str, amount: int, box: str, **fields: Any) -> list[events.AnyEvent]:
        by = Actor(id=player, role="player")
        return self.send(commands.PlaceBet(by=by, player=player, box=box, amount=amount, **fields))

    def held(self, holder: str) -> ChipCounts:
        return (self.state.holders or {}).get(holder, {})

    def roll(self, *dice: int) -> None:
        """Play the rest of the round, in which the dice show these faces."""
        one, two, three = dice
        for command in rest_of_round(self.game, self.state, (one, two, three)):
            self.send(command)


def refusal_of(table: Table, command: commands.AnyCommand) -> Refusal:
    with pytest.raises(Refusal) as refused:
        table.send(command)
    return refused.value
