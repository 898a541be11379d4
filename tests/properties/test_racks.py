"""The rack never changes an amount: a round in chips is settled like the same round in amounts."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.table.table_driver import DEALER, MANAGER, SUPERVISOR
from threedice import load
from threedice.dice import ROLLS
from threedice.table import Refusal, TableState, commands, decide, events, evolve
from threedice.table.commands import Actor
from threedice.table.forecast import state_after
from threedice.table.limits import uniform_limits
from threedice.table.usual_steps import rest_of_round

if TYPE_CHECKING:
    from threedice.dice import Roll
    from threedice.rulebook import Game
    from threedice.table.chip_counts.counts import ChipCounts
    from threedice.table.commands import AnyCommand
    from threedice.table.events import AnyEvent

CHIPS = [5, 25, 100, 500]
RACK = {str(chip): 500 for chip in CHIPS}
PLAYERS = ("ann", "bob", "cat")
TABLES_PER_GAME = 3

GAMES: list[tuple[str, dict[str, str]]] = [
    ("sg-rws-tai-sai-v6/c", {}),
    ("sg-rws-tai-sai-v6/a", {"pro-rata": "absorb", "minimum": "box-total"}),
    ("sg-rws-tai-sai-v6/e", {"areas": "per-area"}),
    ("nz-tai-sai-2008/1", {}),
]


class Pair:
    """A table that deals in chips and one that deals in amounts, under the same commands."""

    def __init__(self, game: Game, random: Random) -> None:
        self.game, self.random = game, random
        self.chips, self.amounts = TableState(), TableState()
        limits = uniform_limits(
            game, 50, random.choice([250, 500, 1000]), random.choice([200, 600])
        )
        opening = commands.OpenTable(
            by=SUPERVISOR, table="t", currency="SGD", mode="record", chips=CHIPS,
            float_amount=sum(int(name) * count for name, count in RACK.items()), limits=limits,
            approved_by=MANAGER,
        )  # fmt: skip
        self.send(self.amounts, opening)
        self.send(self.chips, msgspec.structs.replace(opening, rack=RACK))
        for check in game.facts.opening:
            self.send_both(commands.PassCheck(by=SUPERVISOR, check=check))

    def send(self, state: TableState, command: AnyCommand) -> tuple[AnyEvent, ...]:
        """Send a command to one table, and return its events."""
        decided = decide(self.game, state, command)
        for event in decided:
            evolve(state, event)
        return decided

    def send_both(self, command: AnyCommand) -> bool:
        """Send a command to both tables, unless the one in chips refuses it."""
        try:
            self.send(self.chips, command)
        except Refusal:
            return False
        self.send(self.amounts, command)
        return True

    def bet(self) -> None:
        """Have every player buy chips and place bets, some of them over a limit."""
        random = self.random
        for player in PLAYERS:
            by = Actor(id=player, role="player")
            buy_in = commands.BuyIn(by=by, player=player, amount=5_000, age_years=30)
            assert self.send_both(buy_in)
        for command in rest_of_round(self.game, self.chips, (1, 2, 3)):
            assert self.send_both(command)
            if isinstance(command, commands.OpenBetting):
                break
        for _ in range(random.randint(3, 10)):
            player, box = random.choice(PLAYERS), random.choice([*self.game.boxes][:8])
            ends = self.game.ends[box]
            bet = commands.PlaceBet(
                by=Actor(id=player, role="player"),
                player=player,
                box=box,
                area=random.choice(ends),
                amount=random.choice([45, 100, 105, 300, 500, 500, 1000]),
            )
            self.send_both(bet)

    def empty_rack(self) -> None:
        """Take most chips out of the rack; the amounts of both floats stay alike."""
        rack = dict((self.chips.holders or {})["float"])
        kept = {name: self.random.choice([0, 0, 1, 3]) for name in rack}
        counts = {name: max(rack[name] - kept[name], 0) for name in rack}
        self.move_float(commands.CreditFloat, counts)

    def move_float(
        self, kind: type[commands.FillFloat | commands.CreditFloat], counts: ChipCounts
    ) -> None:
        amount = sum(int(name) * count for name, count in counts.items())
        self.send(
            self.chips,
            kind(by=SUPERVISOR, amount=amount, approved_by=MANAGER, counts=counts),
        )
        self.send(self.amounts, kind(by=SUPERVISOR, amount=amount, approved_by=MANAGER))

    def settle(self, roll: Roll) -> tuple[list[AnyEvent], list[AnyEvent]]:
        """Settle the round on both tables; a step that waits for change goes on after a fill."""
        settled: tuple[list[AnyEvent], list[AnyEvent]] = ([], [])
        for command in rest_of_round(self.game, self.amounts, roll):
            try:
                settled[0].extend(decided := decide(self.game, self.chips, command))
            except Refusal as refusal:
                if refusal.code not in ("chips/rack", "float/short"):
                    raise
                self.move_float(commands.FillFloat, dict(RACK))
                settled[0].extend(decided := decide(self.game, self.chips, command))
            for event in decided:
                evolve(self.chips, event)
            settled[1].extend(self.send(self.amounts, command))
        return settled


def shares_and_payments(settled: list[AnyEvent]) -> list[object]:
    """Return what plays, what is lost and what is won by the events of a settlement."""
    return [
        (type(event).__name__, event.bets)
        for event in settled
        if isinstance(event, events.BetsApportioned | events.LosersCollected | events.WinnersPaid)
    ]


@pytest.mark.no_cover
@pytest.mark.clause("sg-rws-tai-sai-v6 5.1", "sg-rws-tai-sai-v6 5.1.1")
@pytest.mark.parametrize("seed", range(TABLES_PER_GAME))
@pytest.mark.parametrize(("name", "readings"), GAMES)
def test_settlement_in_chips_is_that_in_amounts_on_every_roll_whatever_the_rack_holds(
    name: str, readings: dict[str, str], seed: int
) -> None:
    pair = Pair(load(name, readings), Random(seed))
    pair.bet()
    pair.empty_rack()
    current = pair.amounts.current
    for box in {spot.partition("@")[0] for spot in current.bets}:
        for area in pair.game.ends[box] if pair.random.random() < 0.4 else ():
            reject = commands.RejectExcess(by=DEALER, box=box, area=area)
            pair.send_both(reject)
    assert {spot: total for spot, total in pair.chips.current.totals.items() if total} == {
        spot: total for spot, total in current.totals.items() if total
    }
    before = pair.chips, pair.amounts

    for roll in ROLLS:
        pair.chips, pair.amounts = (state_after(state, []) for state in before)
        in_chips, in_amounts = pair.settle(roll)

        assert shares_and_payments(in_chips) == shares_and_payments(in_amounts)
        assert pair.chips.settled == pair.amounts.settled
        for player in PLAYERS:
            assert pair.chips.seats[player].stack == pair.amounts.seats[player].stack
            assert pair.chips.seats[player].at_risk == 0
