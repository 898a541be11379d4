"""Random commands of tables that deal in chips: racks, counts, and bets in named chips."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from tests.properties.likely_commands import CHIPS, LikelyCommands
from threedice.table import commands
from threedice.table.chip_counts.counts import face_value, fewest_chips
from threedice.table.chip_counts.ledger import chip_values
from threedice.table.limits import find_breaches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from threedice.table.chip_counts.counts import ChipCounts
    from threedice.table.commands import AnyCommand

RICH_RACK = {"5": 8_000, "25": 4_000, "100": 600}
POOR_RACK = {"5": 0, "100": 2_000}
COLOURS = {"r": 400, "g": 30}
COUNTED_NOTES = [{"500": 3}] * 2 + [{"500": 3, "note": 1}, {"5000": 10**9}] * 4


class ChipCommands(LikelyCommands):
    """Generates the commands of tables that deal in chips."""

    chips_share = 0.2
    """The share of tables that deal in chips."""

    @cached_property
    def deals_in_chips(self) -> bool:
        """True if this table deals in chips."""
        return self.random.random() < self.chips_share

    @property
    def rack(self) -> ChipCounts:
        """The chips in the rack."""
        return dict((self.state.holders or {}).get("float", {}))

    def counted_rack(self) -> ChipCounts:
        """Return a count of the rack, which now and then misses a chip or finds one."""
        counted = self.rack
        if self.random.random() < 0.3:
            name = self.random.choice([*map(str, CHIPS), *counted])
            counted[name] = max(counted.get(name, 0) + self.random.choice([-1, 1, -3]), 0)
        return counted

    def open_table(self) -> AnyCommand:
        opening = super().open_table()
        if not isinstance(opening, commands.OpenTable) or not self.deals_in_chips:
            return opening
        rack = dict(self.state.last_closer or self.random.choice([*[RICH_RACK] * 4, POOR_RACK]))
        if "non-value" in self.game.facts.chips.kinds and self.state.last_closer is None:
            rack |= COLOURS
        if self.random.random() < 0.1:
            rack[self.random.choice(["5", "25", "7", "blue"])] = 9
        value = face_value(rack) + self.random.choice([0] * 9 + [5])
        second = self.random.choice([self.actor("pit-manager")] * 9 + [msgspec.UNSET])
        return msgspec.structs.replace(opening, rack=rack, float_amount=value, approved_by=second)

    def fill(self) -> AnyCommand:
        """Return a fill that the table needs."""
        supervisor, second = self.actor("supervisor"), self.actor("pit-manager")
        if self.state.holders is None:
            return commands.FillFloat(by=supervisor, amount=100_000)
        counts = {"5": 4_000, "25": 2_000, "100": 300}
        if self.random.random() < 0.3:
            counts = {"7": 3}
        return commands.FillFloat(
            by=supervisor, amount=face_value(counts), approved_by=second, counts=counts
        )

    def chip_command(self) -> AnyCommand:
        """Return a command that tables in chips have, or that other tables refuse."""
        state, random = self.state, self.random
        supervisor, second = self.actor("supervisor"), self.actor("pit-manager")
        player = self.player()
        if state.holders and "5" not in self.rack and random.random() < 0.5:
            return self.buy_in_chips([msgspec.UNSET])
        if any(seat.colour for seat in state.seats.values()) and random.random() < 0.5:
            return commands.CloseTable(
                by=supervisor, counted=self.counted_rack(), approved_by=second
            )
        if state.uncounted_drops and random.random() < 0.9:
            return self.count_drop()
        excess = list(self.excess_commands()) if state.round else []
        if excess and random.random() < 0.7:
            return random.choice(excess)
        makers: list[Callable[[], AnyCommand]] = [
            lambda: commands.CountRack(
                by=supervisor, counted=self.counted_rack(), approved_by=second, note="end of shift"
            ),
            self.count_drop,
            lambda: commands.CloseTable(
                by=supervisor, counted=self.counted_rack(), approved_by=second
            ),
            lambda: commands.CloseTable(by=supervisor, approved_by=second),
            self.fill,
            lambda: commands.FillFloat(by=supervisor, amount=500, approved_by=second),
            lambda: self.credit(random.choice([{"5": 2}, {"100": 1}, {"5": 10**6}])),
            lambda: self.buy_in_chips([{"5": 2, "25": 4}, {"7": 1}, {"100": 1}]),
            lambda: commands.ChangeChips(
                by=self.actor("dealer"),
                player=player,
                amount=random.choice([25, 50, 100]),
                into=random.choice([5, 25]),
            ),
            self.bet_in_chips,
            self.bet_in_chips,
            self.bet_in_chips,
            self.colour,
        ]
        return random.choice(makers)()

    def excess_commands(self) -> Iterator[AnyCommand]:
        """Yield rejections of what is over a limit, and commands for bets with an excess."""
        dealer, supervisor = self.actor("dealer"), self.actor("supervisor")
        for breach in find_breaches(self.game, self.state):
            box, _, area = breach.spot.partition("@")
            if breach.kind != "minimum":
                yield commands.RejectExcess(by=dealer, box=box, area=area)
        for spot, bets in self.state.current.bets.items():
            box, _, area = spot.partition("@")
            for player, bet in bets.items():
                whole: dict[str, Any] = {
                    "player": player, "box": box, "area": area, "amount": bet.total
                }  # fmt: skip
                if bet.excess:
                    yield commands.WithdrawBet(by=self.actor("player", player), **whole)
                    yield commands.MoveChips(by=supervisor, to_box=self.box(), **whole)
                    yield commands.JudgeLine(by=supervisor, accepted=False, **whole)

    def buy_in_chips(self, counts: list[Any]) -> AnyCommand:
        """Return a buy-in for chips that do not always make its amount, or for any."""
        player = self.player()
        return commands.BuyIn(
            by=self.actor("player", player),
            player=player,
            amount=self.random.choice([110, 100, 115]),
            age_years=30,
            counts=self.random.choice(counts),
        )

    def count_drop(self) -> AnyCommand:
        return commands.CountDrop(
            by=self.actor("supervisor"),
            closing=self.random.choice([*self.state.uncounted_drops] * 9 + [99]),
            notes=self.random.choice(COUNTED_NOTES),
            approved_by=self.actor("pit-manager"),
        )

    def credit(self, counts: ChipCounts) -> AnyCommand:
        return commands.CreditFloat(
            by=self.actor("supervisor"),
            amount=face_value(counts),
            approved_by=self.actor("pit-manager"),
            counts=counts,
        )

    def bet_in_chips(self) -> AnyCommand:
        """Return a bet in named chips, which the player may not have."""
        player = self.player()
        held = (self.state.holders or {}).get(f"stack/{player}", {})
        amount = self.amount()
        counts = fewest_chips(held, chip_values(self.state, player), amount) or {"100": 1}
        if self.random.random() < 0.2:
            counts = self.random.choice([{"25": 2}, {"5": 3}, {"9": 1}])
        return commands.PlaceBet(
            by=self.actor("player", player),
            player=player,
            box=self.box(),
            amount=amount,
            counts=counts,
        )

    def colour(self) -> AnyCommand:
        """Return the change of a stack into chips of a colour, or back."""
        player, dealer = self.player(), self.actor("dealer")
        if self.random.random() < 0.3:
            return commands.ColourUp(by=dealer, player=player)
        colour = self.random.choice([*COLOURS] * 5 + ["5e2"])
        return commands.TakeColour(by=dealer, player=player, colour=colour, value=5)
