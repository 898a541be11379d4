"""What is asked of a table at random: the ordinary, the rare and the arbitrary."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import msgspec

from tests.properties.ordinary import CHIPS, PLAYERS
from tests.properties.rare import Rare
from tests.samples import sample
from threedice.rulebook.conduct import IrregularityName, TableRole
from threedice.table import commands
from threedice.table.commands import Actor
from threedice.table.limits import TableLimits

if TYPE_CHECKING:
    from collections.abc import Callable

    from threedice.table.commands import AnyCommand

ROLES: list[TableRole] = list(get_args(TableRole))
IRREGULARITIES: list[IrregularityName] = list(get_args(IrregularityName))


class Asker(Rare):
    """Makes up commands for a table, given its state and a generator."""

    def arbitrary(self) -> AnyCommand:
        """Return anything at all, by anybody."""
        random = self.random
        role = random.choice(ROLES)
        by = Actor(id=random.choice([*PLAYERS, role]), role=role)
        second_role = random.choice(ROLES)
        second = Actor(id=random.choice([by.id, "second"]), role=second_role)
        player, box, amount = self.player(), self.box(), random.choice([0, -5, 3, 5, 50, 5000])
        supervisor, dealer = self.actor("supervisor"), self.actor("dealer")
        manager = self.actor("shift-manager")
        rounds = [random.randint(0, self.state.rounds + 1) for _ in range(random.randint(0, 2))]
        settled = list(self.state.settled) or [1]
        makers: list[Callable[[], AnyCommand]] = [
            self.open_table,
            lambda: commands.OpenTable(by=dealer, table="t", currency="SGD", mode=self.mode,
                                    chips=random.choice([CHIPS, [], [5, 7]]), float_amount=0,
                                    limits=TableLimits(families={})),
            lambda: commands.PassCheck(by=by, check=random.choice(["power", "seal", "nonsense"])),
            lambda: commands.SetLimits(by=dealer, limits=self.limits(), approved_by=second),
            lambda: commands.SetLimits(by=dealer, limits=self.limits(), approved_by=supervisor),
            lambda: commands.SetLimits(by=dealer, limits=TableLimits(families={}),
                                    approved_by=supervisor),
            lambda: commands.FillFloat(by=supervisor, amount=amount),
            lambda: commands.CreditFloat(by=supervisor, amount=random.choice([5, 500, 10_000_000])),
            lambda: commands.CloseTable(by=random.choice([by, by, by, supervisor])),
            lambda: commands.ReleaseTable(by=supervisor, reason=random.choice(["", "mended"])),
            lambda: commands.BuyIn(by=by, player=player, amount=random.choice([3, 5, 10_000_000])),
            lambda: self.buy_in(player),
            lambda: commands.CashOut(by=self.actor("player", player), player=player,
                                  amount=random.choice([3, 5, 100, 100_000]),
                                  to=random.choice(["outside", "account"])),
            lambda: self.leave(player),
            lambda: commands.TakeColour(by=dealer, player=player, colour=random.choice("rgb"),
                                     value=random.choice([5, 7, 25])),
            lambda: commands.ColourUp(by=dealer, player=player),
            lambda: commands.PlaceBet(by=self.actor("player", player), player=player, box=box,
                                   amount=amount, area=random.choice(["", "left", "nowhere"])),
            lambda: commands.PlaceBet(by=by, player=player, box=box, amount=5,
                                   manner=random.choice(["self", "behalf", "call"])),
            lambda: commands.PlaceBet(by=self.actor("player", player), player=player, box="nowhere",
                                   amount=5),
            lambda: commands.PlaceBet(by=self.actor("shooter", player), player=player,
                                   box="shooter", amount=random.choice([5, 50, 5000])),
            lambda: commands.WithdrawBet(by=by, player=player, box=random.choice([box, "shooter"]),
                                      amount=random.choice([0, 3, 5])),
            lambda: commands.RejectExcess(by=by, box=box),
            lambda: commands.MoveChips(by=dealer, player=player, box=box, to_box=self.box(),
                                    amount=5),
            lambda: commands.PutBack(by=supervisor, player=player, box=box, to_box=self.box(),
                                  amount=5),
            lambda: commands.OfferDice(by=dealer, player=random.choice([player, "nobody"])),
            lambda: commands.ChooseDice(by=self.actor("shooter", player),
                                     dice=random.choice([[1, 2, 3], [1, 1, 2], [1, 2], [1, 2, 9]])),
            lambda: commands.Tumble(by=dealer, times=random.choice([0, 2, 3])),
            lambda: commands.Throw(by=by),
            lambda: commands.Uncover(by=random.choice([by, dealer])),
            lambda: commands.OpenBetting(by=by),
            lambda: commands.CloseBetting(by=dealer),
            lambda: commands.CallResult(by=dealer, dice=random.choice([(1, 2, 9), (1, 1, 1)])),
            lambda: commands.PressKey(by=dealer, key=random.choice([0, 1, 6, 7])),
            lambda: commands.PressEnter(by=dealer),
            lambda: commands.Illuminate(by=dealer),
            lambda: commands.CollectLosers(by=dealer),
            lambda: commands.PayWinners(by=dealer),
            self.report,
            self.report,
            lambda: commands.Report(by=supervisor, irregularity="dice-damaged", rounds=rounds,
                                 approved_by=random.choice([manager, second, None])),
            lambda: commands.Report(by=supervisor, irregularity="dice-damaged",
                                 rounds=[random.choice(settled)], approved_by=manager),
            lambda: commands.AmendResult(by=dealer, dice=self.dice(),
                                      approved_by=random.choice([second, supervisor])),
            lambda: commands.CorrectBet(by=dealer, round=random.choice([*settled, 0]),
                                     player=player,
                                     amount=random.choice([0, 3, 50, -50, -5000, 10_000_000]),
                                     reason=random.choice(["", "paid wrongly"]),
                                     approved_by=random.choice([second, supervisor])),
            lambda: commands.CorrectBet(by=dealer, round=random.choice(settled), player=player,
                                     amount=-5, reason="paid wrongly", approved_by=supervisor),
            lambda: commands.AbandonRound(by=by, reason="the dice are lost"),
            lambda: commands.MakeRuling(by=random.choice([by, manager]), player=player,
                                     amount=random.choice([0, 5, -5000]), reason="as seen"),
        ]  # fmt: skip
        return random.choice(makers)()

    def of_any_kind(self) -> AnyCommand:
        """Return a command of any kind, also of one that nothing else here makes up."""
        kind: type[AnyCommand] = self.random.choice(get_args(commands.AnyCommand))
        role, player = self.random.choice(kind.facts.roles), self.player()
        values = {
            "by": self.actor(role, player if role == "player" else ""),
            "player": player,
            "box": self.box(),
            "to_box": self.box(),
            "amount": self.amount(),
        }
        known = {name: values[name] for name in kind.__struct_fields__ if name in values}
        return msgspec.structs.replace(sample(kind, self.random), **known)

    def leave(self, player: str) -> AnyCommand:
        seat = self.state.seats.get(player)
        amount = seat.stack if seat else 5
        return commands.CashOut(by=self.actor("player", player), player=player, amount=amount)

    def report(self) -> AnyCommand:
        random = self.random
        likely = list(self.game.facts.irregularities)
        name = random.choice(likely if random.random() < 0.8 else IRREGULARITIES)
        rule = self.game.facts.irregularities.get(name)
        role = random.choice(rule.by) if rule and rule.by else "dealer"
        known = [random.randint(1, 7) for _ in range(random.choice([0, 0, 1, 2, 3, 4]))]
        second = random.choice([None, self.actor("shift-manager"), self.actor("supervisor")])
        return commands.Report(
            by=self.actor(role), irregularity=name, known=known, note="seen", approved_by=second
        )
