"""What is seldom asked of a table, where it is possible, or nearly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.properties.ordinary import Ordinary
from threedice.table import commands
from threedice.table.limits import box_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from threedice.table.commands import AnyCommand


class Rare(Ordinary):
    """Makes up what seldom happens, too."""

    def rare(self) -> AnyCommand | None:
        """Return something that seldom happens and is possible, or nearly, just now."""
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
        for player, owed in state.owing.items():
            makers += (9 if owed else 0) * [
                lambda player=player, owed=owed: commands.RepayDebt(
                    by=self.actor("player", player),
                    player=player,
                    amount=random.choice([5, owed, owed + 5]),
                    source=random.choice(["stack", "cash"]),
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
                    by=dealer, player=player, value=value, colour=random.choice("rgb")
                )
            ]
            makers.append(lambda: commands.ColourUp(by=dealer, player=player))
        if state.locked:
            makers.append(self.next_step)
            makers.append(lambda: commands.ReleaseTable(by=supervisor, reason=""))
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
        if current.called and not current.result:
            makers += 3 * [lambda: commands.PressEnter(by=dealer)]
        if current.result and sorted(current.result) != sorted(current.called):
            makers += 25 * [lambda: commands.Illuminate(by=dealer)]
        if "collect-losers" in current.done:
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
        reason = random.choice(["the dice are lost", " "])
        makers.append(lambda: commands.AbandonRound(by=dealer, reason=reason))
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
        if current.moved:
            (player, spot, to_spot), amount = random.choice(list(current.moved.items()))
            makers += 20 * [
                lambda: commands.PutBack(
                    by=supervisor,
                    player=player,
                    box=box_of(to_spot),
                    area=to_spot.partition("@")[2],
                    to_box=box_of(spot),
                    to_area=spot.partition("@")[2],
                    amount=amount or 5,
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
