"""Random commands for a table: likely, rare, arbitrary, and of every kind."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from tests.properties.equipment_commands import EquipmentCommands
from tests.properties.likely_commands import CHIPS, PLAYERS, moved_chips
from tests.samples import sample
from threedice.rulebook.conduct import IrregularityName, TableRole
from threedice.table import commands
from threedice.table.commands import Actor
from threedice.table.limits import TableLimits, box_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from threedice.table.commands import AnyCommand

ROLES: list[TableRole] = list(get_args(TableRole))
IRREGULARITIES: list[IrregularityName] = list(get_args(IrregularityName))


class CommandGenerator(EquipmentCommands):
    """Generates commands for a table from its state and a random generator."""

    def arbitrary_command(self) -> AnyCommand:
        """Return any command by any role."""
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
        named_rounds: list[int | msgspec.UnsetType] = [msgspec.UNSET, self.state.rounds + 1]
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
            lambda: commands.ReleaseTable(
                by=supervisor,
                reason=random.choice(["", "mended"]),
                remedy=random.choice(["rectified", "substitute-procedure"]),
            ),
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
                                   amount=amount, area=random.choice(["", "left", "nowhere"]),
                                   round=random.choice(named_rounds)),
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
            lambda: commands.PayArea(by=dealer, box=box, area=self.area(box)),
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
            lambda: commands.AbandonRound(by=by, reason="the dice are lost",
                                       approved_by=random.choice([second, supervisor])),
            lambda: commands.ResumeRound(by=supervisor, reason="it is flat"),
            lambda: commands.MakeRuling(by=random.choice([by, manager, manager]), player=player,
                                     amount=random.choice([0, 0, 5, -5000]), reason="as seen"),
        ]  # fmt: skip
        return random.choice(makers)()

    def sample_command(self) -> AnyCommand:
        """Return a command of any kind, also of kinds that no other method generates."""
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

    # --- rare commands, where they are possible or nearly so -------------------------------------

    def rare_command(self) -> AnyCommand | None:
        """Return a rare command that is possible now, or nearly so."""
        if self.equipped and self.random.random() < (0.03 if self.state.round else 0.4):
            return self.equipment_command()
        if self.random.random() < (0.3 if self.deals_in_chips else 0.02):
            return self.chip_command()
        makers = [
            *self.rare_at_table(),
            *(self.rare_in_round(self.state.round) if self.state.round else []),
            *(self.rare_with_shooter() if self.game.facts.shooter else []),
        ]
        return self.random.choice(makers)() if makers else None

    def rare_at_table(self) -> list[Callable[[], AnyCommand]]:
        state, random = self.state, self.random
        dealer, supervisor = self.actor("dealer"), self.actor("supervisor")
        makers: list[Callable[[], AnyCommand]] = []
        if not state.open:
            return [lambda: commands.OpenBetting(by=dealer), lambda: self.buy_in("ann")]
        if state.settled and "dice-damaged" in self.game.facts.irregularities:
            makers.append(
                lambda: commands.Report(
                    by=supervisor,
                    irregularity="dice-damaged",
                    rounds=[random.choice(sorted(state.settled))],
                    approved_by=self.actor("shift-manager"),
                )
            )
        late = [
            name
            for name, rule in self.game.facts.irregularities.items()
            if rule.found_until != "last-payment"
        ]
        if late and (state.last_settled or (state.round and "collect-losers" in state.round.done)):
            numbers = [[], [], [], [random.choice(sorted(state.settled) or [1])]]
            makers += 4 * [
                lambda: commands.Report(
                    by=dealer,
                    irregularity=random.choice(late),
                    rounds=random.choice(numbers),
                    approved_by=supervisor,
                )
            ]
        for player in (each for each, owed in state.owing.items() if owed and each in state.seats):
            makers += 9 * [partial(self.leave, player)]
            makers.append(
                partial(
                    commands.CashOut, by=dealer, player=player, amount=5, approved_by=supervisor
                )
            )
        for player, owed in state.owing.items():
            makers += (9 if owed else 0) * [
                lambda player=player, owed=owed: commands.RepayDebt(
                    by=self.actor("player", player),
                    player=player,
                    amount=random.choice([5, owed, owed + 5]),
                    source=random.choice(["stack", "cash"]),
                )
            ]
        if self.game.facts.corrections and not self.game.facts.corrections.allowed:
            makers += 2 * [
                lambda: commands.CorrectBet(
                    by=dealer, round=1, player="ann", amount=5, reason="-", approved_by=supervisor
                )
            ]
        if state.reversed:
            makers.append(
                lambda: commands.Report(
                    by=supervisor,
                    irregularity="dice-damaged",
                    rounds=[random.choice(sorted(state.reversed))],
                    approved_by=self.actor("shift-manager"),
                )
            )
        if "non-value" in self.game.facts.chips.kinds and state.seats:
            player = random.choice(list(state.seats))
            seat = state.seats[player]
            value = random.choice([25 if seat.stack % 25 == 0 else 5, 7])
            makers += 4 * [
                lambda: commands.TakeColour(
                    by=dealer, player=player, value=value, colour=random.choice([*"rgb", "r5"])
                )
            ]
            makers.append(lambda: commands.ColourUp(by=dealer, player=player))
            makers.append(lambda: self.buy_in(player.upper()))  # looks like the one seated
        if state.locked:
            makers.append(self.next_step)
            makers.append(lambda: commands.ReleaseTable(by=supervisor, reason=""))
            cause = random.choice([state.locked[-1], "dice-damaged", "dice-damaged"])
            makers += 6 * [
                lambda: commands.ReleaseTable(by=supervisor, reason="mended", cause=cause)
            ]
        makers.append(
            lambda: commands.SetLimits(by=supervisor, limits=self.limits(), approved_by=supervisor)
        )
        makers.append(
            lambda: commands.ChangeChips(
                by=dealer,
                player=self.player(),
                amount=random.choice([50, 100, 5000]),
                into=random.choice([5, 25, 7]),
            )
        )
        return makers  # fmt: skip

    def rare_in_round(self, current: Any) -> list[Callable[[], AnyCommand]]:
        random = self.random
        dealer, supervisor = self.actor("dealer"), self.actor("supervisor")
        makers: list[Callable[[], AnyCommand]] = []
        if current.result:
            wanted = random.choice([current.result, self.dice(), (1, 2, 9)])
            makers += 3 * [
                lambda: commands.AmendResult(by=dealer, dice=wanted, approved_by=supervisor)
            ]
        if current.known and current.result:
            other = current.known[0] % 6 + 1
            makers += 9 * [
                lambda: commands.AmendResult(
                    by=dealer, dice=(other, other, other), approved_by=supervisor
                )
            ]
        if current.called and not current.result:  # too few keys, or too late
            makers += 25 * [lambda: commands.PressEnter(by=dealer)]
            makers += 9 * [
                lambda: commands.AmendResult(by=dealer, dice=current.called, approved_by=supervisor)
            ]
        if current.result and sorted(current.result) != sorted(current.called):
            makers += 25 * [lambda: commands.Illuminate(by=dealer)]
        makers += 9 * [lambda: commands.PressKey(by=dealer, key=1) for _ in current.skipped]
        if "collect-losers" in current.done:
            makers += 9 * [lambda: commands.Illuminate(by=dealer)]
            makers += 3 * [lambda: commands.CloseTable(by=supervisor)]
            makers.append(
                lambda: commands.Report(
                    by=supervisor,
                    irregularity="dice-damaged",
                    approved_by=self.actor("shift-manager"),
                )
            )
        if "throw" in current.done and not current.result:
            makers += 9 * [lambda: commands.Report(by=dealer, irregularity="dice-not-flat")]
        known = [random.randint(1, 6) for _ in range(random.randint(1, 3))]
        makers.append(lambda: commands.Report(by=dealer, irregularity="interruption", known=known))
        makers.append(lambda: commands.Report(by=dealer, irregularity="interruption", known=[9]))
        makers += [self.report_piece] * (self.equipped and bool(current.called))
        reason = random.choice(["the dice are lost", " "])
        makers.append(lambda: commands.AbandonRound(by=dealer, reason=reason))
        makers.append(
            lambda: commands.AbandonRound(by=dealer, reason=reason, approved_by=supervisor)
        )
        if current.bets and "bet-on-line" in self.game.facts.irregularities:
            lined = random.choice(list(current.bets))
            owner = random.choice([*current.bets[lined], self.player()])
            makers += 2 * [
                lambda: commands.JudgeLine(
                    by=supervisor,
                    player=owner,
                    box=box_of(lined),
                    area=lined.partition("@")[2],
                    amount=random.choice([5, 50]),
                    accepted=random.random() < 0.5,
                )
            ]
        moved = moved_chips(current)
        if moved:
            player, spot, to_spot, amount = random.choice(moved)
            makers += 20 * [
                lambda: commands.PutBack(
                    by=supervisor,
                    player=player,
                    box=box_of(to_spot),
                    area=to_spot.partition("@")[2],
                    to_box=box_of(spot),
                    to_area=spot.partition("@")[2],
                    amount=amount,
                    moved_by=random.choice([msgspec.UNSET, "patron"]),
                )
            ]
        called = [
            (spot, player)
            for spot, bets in current.bets.items()
            for player, bet in bets.items()
            if any(each.manner == "call" for each in bet.placements)
        ]
        if called:
            at, who = random.choice(called)
            makers += 4 * [
                lambda: commands.PutBack(
                    by=supervisor, player=who, box=box_of(at), to_box=self.box(), amount=5
                )
            ]
        return makers  # fmt: skip

    def rare_with_shooter(self) -> list[Callable[[], AnyCommand]]:
        shooter, random = self.state.shooter, self.random
        dealer = self.actor("dealer")
        makers: list[Callable[[], AnyCommand]] = [
            lambda: commands.ChooseDice(by=self.actor("shooter", self.player()), dice=[1, 2, 3]),
            lambda: commands.OfferDice(by=dealer, player=self.player()),
            lambda: commands.PlaceBet(by=self.actor("shooter", self.player()), player=self.player(),
                                   box="shooter", amount=50),
            lambda: commands.WithdrawBet(by=dealer, player=self.player(), box="shooter", amount=5),
        ]  # fmt: skip
        if shooter:
            makers.append(
                lambda: commands.Report(
                    by=dealer, irregularity="walked-away", player=shooter.player
                )
            )
            makers.append(lambda: commands.Throw(by=dealer))
            makers.append(lambda: commands.Throw(by=dealer, player=self.player()))
            makers.append(
                lambda: commands.ChooseDice(by=dealer, player=self.player(), dice=[1, 2, 3])
            )
        if self.betting() and shooter and not shooter.stake:
            makers += 6 * [lambda: commands.OfferDice(by=dealer, player=self.player())]
        if shooter:
            by = self.actor("shooter", shooter.player)
            hasty = self.betting() and not shooter.dice
            makers += (20 if hasty else 0) * [
                lambda: commands.PlaceBet(by=by, player=shooter.player, box="shooter", amount=50)
            ]
            dice = random.choice([[1, 1, 2], [1, 2], [1, 2, 9]])
            other = self.actor("shooter", self.player())
            current = self.state.round
            choosing = current and current.done == {"offer-dice"}
            makers += (9 if choosing else 0) * [
                lambda: commands.ChooseDice(by=other, dice=[1, 2, 3])
            ]
            makers += (9 if choosing else 1) * [lambda: commands.ChooseDice(by=by, dice=dice)]
            makers.append(
                lambda: commands.PlaceBet(
                    by=by, player=shooter.player, box="shooter", amount=random.choice([5, 50, 5000])
                )
            )
        return makers
