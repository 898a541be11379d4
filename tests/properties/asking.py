"""What is asked of a table at random: the ordinary, the rare and the arbitrary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from threedice.rulebook.conduct import IrregularityName, Role
from threedice.table import commands as asked
from threedice.table.commands import Actor
from threedice.table.state import box_of
from threedice.table.terms import Range, TableLimits, plain_limits

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from threedice.rulebook import Game
    from threedice.rulebook.conduct import StepName
    from threedice.table.commands import AnyCommand
    from threedice.table.state import TableState
    from threedice.table.terms import Mode

PLAYERS = ["ann", "bob", "cat", "dan"]
ROLES: list[Role] = list(get_args(Role))
CHIPS = [5, 25, 100]
IRREGULARITIES: list[IrregularityName] = list(get_args(IrregularityName))


class Asker:
    """Makes up commands for a table, given its state and a generator."""

    game: Game
    state: TableState
    mode: Mode
    random: Random

    def actor(self, role: Role, player: str = "") -> Actor:
        return Actor(id=player or role, role=role)

    def player(self) -> str:
        return self.random.choice(PLAYERS)

    def amount(self) -> int:
        return self.random.choice([5, 10, 25, 50, 100, 300, 700, 700])

    def box(self) -> str:
        favourites = ["big", "small", "odd", "even", "single:crown", "red", "single:1"]
        likely = [box for box in favourites if box in self.game.boxes]
        if likely and self.random.random() < 0.6:
            return self.random.choice(likely)
        return self.random.choice(list(self.game.boxes))

    def area(self, box: str) -> str:
        return self.random.choice(self.game.ends.get(box, ("",)))

    def end(self, spot: str, player: str) -> str:
        """Return an end at which a player has chips on a spot, or none where any will do."""
        box, _, end = spot.partition("@")
        if end or len(self.game.ends[box]) == 1:
            return end
        placements = self.state.current.bets[spot][player].placements
        return self.random.choice(["", self.random.choice(placements).area])

    def dice(self) -> tuple[int, int, int]:
        known = self.state.round.known if self.state.round else []
        if known and self.random.random() < 0.8:
            faces = [*known, *(self.random.randint(1, 6) for _ in range(3))][:3]
            return (faces[0], faces[1], faces[2])
        if self.random.random() < 0.2:
            face = self.random.randint(1, 6)
            return (face, face, face)
        roll = self.random.randint
        if self.game.facts.shooter and self.random.random() < 0.85:
            return (1, roll(1, 6), roll(1, 6))
        return (roll(1, 6), roll(1, 6), roll(1, 6))

    def limits(self) -> TableLimits:
        least = self.random.choice([5, 10, 50] if self.game.unit == 1 else [100])
        most = self.random.choice([100, 300, 1000])
        limits = plain_limits(self.game, least, most, self.random.choice([50, 200, 2000]))
        if self.random.random() < 0.2:
            limits.boxes[self.box()] = Range(least, 200)
        return limits

    def ordinary(self) -> AnyCommand:
        """Return something that would ordinarily come next."""
        state = self.state
        if not state.open:
            return self.open_table()
        missing = [check for check in self.game.facts.opening if check not in state.checks]
        if missing and self.random.random() < 0.6:
            return asked.PassCheck(by=self.actor("supervisor"), check=missing[0])
        if state.locked and self.random.random() < 0.5:
            return asked.ReleaseTable(by=self.actor("supervisor"), reason="mended")
        poor = [each for each in PLAYERS if each not in state.seats or state.seats[each].stack < 50]
        if poor and self.random.random() < 0.3:
            return self.buy_in(self.random.choice(poor))
        if state.float_amount < 60_000:
            return asked.FillFloat(by=self.actor("supervisor"), amount=100_000)
        if self.betting() and self.random.random() < 0.8:
            return self.bet()
        return self.next_step()

    def betting(self) -> bool:
        current = self.state.round
        return bool(
            current and "open-betting" in current.done and "close-betting" not in current.done
        )

    def next_step(self) -> AnyCommand:
        """Return the next step of the procedure."""
        state, procedure = self.state, self.game.facts.procedure
        done = state.round.done if state.round else set()
        series = state.shooter is not None and state.shooter.stake > 0
        waiting = [
            step
            for step in procedure.order
            if step not in done and not (series and procedure.steps[step].per == "shooter")
        ]
        return self.step_command(waiting[0])

    def step_command(self, step: StepName) -> AnyCommand:
        by = self.actor("dealer")
        shooter = self.state.shooter
        thrower = Actor(id=shooter.player, role="shooter") if shooter else by
        if step == "throw" and "shooter" not in self.game.facts.procedure.steps["throw"].by:
            thrower = by
        must_bet = step == "close-betting" and self.game.facts.shooter is not None
        if must_bet and shooter and not shooter.stake and self.random.random() < 0.7:
            return asked.PlaceBet(by=thrower, player=shooter.player, box="shooter", amount=50)
        current = self.state.round
        makers: dict[StepName, Callable[[], AnyCommand]] = {
            "offer-dice": lambda: asked.OfferDice(by=by, player=self.player()),
            "choose-dice": lambda: asked.ChooseDice(by=thrower, dice=[1, 2, 5]),
            "open-betting": lambda: asked.OpenBetting(by=by),
            "close-betting": lambda: asked.CloseBetting(by=by),
            "tumble": lambda: asked.Tumble(by=by, times=self.random.choice([3, 3, 3, 4, 2])),
            "throw": lambda: asked.Throw(by=thrower),
            "uncover": lambda: asked.Uncover(by=by),
            "call-result": lambda: asked.CallResult(by=by, dice=self.dice()),
            "enter-result": lambda: self.enter(current),
            "illuminate": lambda: self.light(current),
            "collect-losers": lambda: asked.CollectLosers(by=by),
            "pay-winners": lambda: asked.PayWinners(by=by),
        }
        return makers[step]()

    def enter(self, current: Any) -> AnyCommand:
        by = self.actor("dealer")
        called = current.called or (1, 1, 1)
        if current.keys == list(called) or (len(current.keys) == 3 and self.random.random() < 0.4):
            return asked.PressEnter(by=by)
        slip = self.random.random() < 0.05
        key = self.random.randint(1, 6) if slip else called[len(current.keys) % 3]
        return asked.PressKey(by=by, key=key)

    def light(self, current: Any) -> AnyCommand:
        by = self.actor("dealer")
        unequal = current.result and sorted(current.result) != sorted(current.called)
        if unequal and self.random.random() < 0.7:
            supervisor = self.actor("supervisor")
            return asked.AmendResult(by=by, dice=current.called, approved_by=supervisor)
        return asked.Illuminate(by=by, correct=self.random.random() < 0.9)

    def open_table(self) -> AnyCommand:
        return asked.OpenTable(
            by=self.actor("supervisor"),
            table="t",
            currency="SGD" if self.random.random() < 0.5 or not self.state.currency else "NZD",
            mode=self.mode,
            chips=CHIPS,
            float_amount=200_000,
            limits=self.limits(),
        )

    def buy_in(self, player: str) -> AnyCommand:
        source: Any = self.random.choice(["cash", "cash", "account"])
        return asked.BuyIn(
            by=self.actor("player", player),
            player=player,
            amount=self.random.choice([100, 500, 1500]),
            source=source,
            age_years=self.random.choice([30, 30, 30, 17]),
        )

    def bet(self) -> AnyCommand:
        """Return a bet, or something else that players and dealers do while betting is open."""
        player, box = self.player(), self.box()
        shooter = self.state.shooter
        role: Role = "shooter" if shooter and shooter.player == player else "player"
        by, chance = self.actor(role, player), self.random.random()
        current = self.state.current
        held = [
            (spot, each, bet.total)
            for spot, bets in current.bets.items()
            for each, bet in bets.items()
        ]
        if held and chance < 0.12:
            spot, player, total = self.random.choice(held)
            box, area = box_of(spot), self.end(spot, player)
            by = self.actor("player", player)
            amount = self.random.choice([total, 5, 50])
            return asked.WithdrawBet(by=by, player=player, box=box, area=area, amount=amount)
        if held and chance < 0.2:
            spot, *_ = self.random.choice(held)
            box, _, area = spot.partition("@")
            return asked.RejectExcess(by=self.actor("dealer"), box=box, area=area)
        if held and chance < 0.24:
            spot, player, total = self.random.choice(held)
            to_box = self.box()
            if len(self.game.ends[box_of(spot)]) > 1 and self.random.random() < 0.5:
                to_box = box_of(spot)  # to the other end of it
            return asked.MoveChips(
                by=self.actor("dealer"),
                player=player,
                box=box_of(spot),
                area=self.end(spot, player),
                to_box=to_box,
                to_area=self.area(to_box),
                amount=self.random.choice([total, 5]),
            )
        if current.moved and chance < 0.3:
            (player, spot, to_spot), amount = self.random.choice(list(current.moved.items()))
            return asked.PutBack(
                by=self.actor("supervisor"),
                player=player,
                box=box_of(to_spot),
                area=to_spot.partition("@")[2],
                to_box=box_of(spot),
                to_area=spot.partition("@")[2],
                amount=amount or 5,
            )
        manner: Any = self.random.choice(["self"] * 6 + ["behalf", "call"])
        if manner == "behalf":
            by = self.actor("dealer")
        return asked.PlaceBet(
            by=by,
            player=player,
            box=box,
            area=self.area(box),
            amount=self.amount(),
            manner=manner,
        )

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
            return [lambda: asked.OpenBetting(by=dealer), lambda: self.buy_in("ann")]
        if state.settled and "dice-damaged" in self.game.facts.irregularities:
            makers.append(
                lambda: asked.Report(
                    by=supervisor,
                    irregularity="dice-damaged",
                    rounds=[random.choice(sorted(state.settled))],
                    approved_by=self.actor("shift-manager"),
                )
            )
        for player, owed in state.owing.items():
            makers += (9 if owed else 0) * [
                lambda player=player, owed=owed: asked.RepayDebt(
                    by=self.actor("player", player),
                    player=player,
                    amount=random.choice([5, owed, owed + 5]),
                    source=random.choice(["stack", "cash"]),
                )
            ]
        if state.reversed:
            makers.append(
                lambda: asked.Report(
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
                lambda: asked.TakeColour(
                    by=dealer, player=player, value=value, colour=random.choice("rgb")
                )
            ]
            makers.append(lambda: asked.ColourUp(by=dealer, player=player))
        if state.locked:
            makers.append(self.next_step)
            makers.append(lambda: asked.ReleaseTable(by=supervisor, reason=""))
        makers.append(
            lambda: asked.SetLimits(by=supervisor, limits=self.limits(), approved_by=supervisor)
        )
        makers.append(
            lambda: asked.ChangeChips(
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
                lambda: asked.AmendResult(by=dealer, dice=wanted, approved_by=supervisor)
            ]
        if current.called and not current.result:
            makers += 3 * [lambda: asked.PressEnter(by=dealer)]
        if current.result and sorted(current.result) != sorted(current.called):
            makers += 25 * [lambda: asked.Illuminate(by=dealer)]
        if "collect-losers" in current.done:
            makers += 3 * [lambda: asked.CloseTable(by=supervisor)]
            makers.append(
                lambda: asked.Report(
                    by=supervisor,
                    irregularity="dice-damaged",
                    approved_by=self.actor("shift-manager"),
                )
            )
        if "throw" in current.done and not current.result:
            makers += 9 * [lambda: asked.Report(by=dealer, irregularity="dice-not-flat")]
        known = [random.randint(1, 6) for _ in range(random.randint(1, 3))]
        makers.append(lambda: asked.Report(by=dealer, irregularity="interruption", known=known))
        makers.append(lambda: asked.Report(by=dealer, irregularity="interruption", known=[9]))
        reason = random.choice(["the dice are lost", " "])
        makers.append(lambda: asked.AbandonRound(by=dealer, reason=reason))
        if current.bets and "bet-on-line" in self.game.facts.irregularities:
            lined = random.choice(list(current.bets))
            owner = random.choice([*current.bets[lined], self.player()])
            makers += 2 * [
                lambda: asked.JudgeLine(
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
                lambda: asked.PutBack(
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
                lambda: asked.PutBack(
                    by=supervisor, player=who, box=box_of(at), to_box=self.box(), amount=5
                )
            ]
        return makers  # fmt: skip

    def rare_with_shooter(self) -> list[Callable[[], AnyCommand]]:
        shooter, random = self.state.shooter, self.random
        dealer = self.actor("dealer")
        makers: list[Callable[[], AnyCommand]] = [
            lambda: asked.ChooseDice(by=self.actor("shooter", self.player()), dice=[1, 2, 3]),
            lambda: asked.OfferDice(by=dealer, player=self.player()),
            lambda: asked.PlaceBet(by=self.actor("shooter", self.player()), player=self.player(),
                                   box="shooter", amount=50),
            lambda: asked.WithdrawBet(by=dealer, player=self.player(), box="shooter", amount=5),
        ]  # fmt: skip
        if shooter:
            makers.append(
                lambda: asked.Report(by=dealer, irregularity="walked-away", player=shooter.player)
            )
            makers.append(lambda: asked.Throw(by=dealer))
        if self.betting() and shooter and not shooter.stake:
            makers += 6 * [lambda: asked.OfferDice(by=dealer, player=self.player())]
        if shooter:
            by = self.actor("shooter", shooter.player)
            hasty = self.betting() and not shooter.dice
            makers += (20 if hasty else 0) * [
                lambda: asked.PlaceBet(by=by, player=shooter.player, box="shooter", amount=50)
            ]
            dice = random.choice([[1, 1, 2], [1, 2], [1, 2, 9]])
            other = self.actor("shooter", self.player())
            current = self.state.round
            choosing = current and current.done == {"offer-dice"}
            makers += (9 if choosing else 0) * [lambda: asked.ChooseDice(by=other, dice=[1, 2, 3])]
            makers += (9 if choosing else 1) * [lambda: asked.ChooseDice(by=by, dice=dice)]
            makers.append(
                lambda: asked.PlaceBet(
                    by=by, player=shooter.player, box="shooter", amount=random.choice([5, 50, 5000])
                )
            )
        return makers

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
            lambda: asked.OpenTable(by=dealer, table="t", currency="SGD", mode=self.mode,
                                    chips=random.choice([CHIPS, [], [5, 7]]), float_amount=0,
                                    limits=TableLimits(families={})),
            lambda: asked.PassCheck(by=by, check=random.choice(["power", "seal", "nonsense"])),
            lambda: asked.SetLimits(by=dealer, limits=self.limits(), approved_by=second),
            lambda: asked.SetLimits(by=dealer, limits=self.limits(), approved_by=supervisor),
            lambda: asked.SetLimits(by=dealer, limits=TableLimits(families={}),
                                    approved_by=supervisor),
            lambda: asked.FillFloat(by=supervisor, amount=amount),
            lambda: asked.CreditFloat(by=supervisor, amount=random.choice([5, 500, 10_000_000])),
            lambda: asked.CloseTable(by=random.choice([by, by, by, supervisor])),
            lambda: asked.ReleaseTable(by=supervisor, reason=random.choice(["", "mended"])),
            lambda: asked.BuyIn(by=by, player=player, amount=random.choice([3, 5, 10_000_000])),
            lambda: self.buy_in(player),
            lambda: asked.CashOut(by=self.actor("player", player), player=player,
                                  amount=random.choice([3, 5, 100, 100_000]),
                                  to=random.choice(["outside", "account"])),
            lambda: self.leave(player),
            lambda: asked.TakeColour(by=dealer, player=player, colour=random.choice("rgb"),
                                     value=random.choice([5, 7, 25])),
            lambda: asked.ColourUp(by=dealer, player=player),
            lambda: asked.PlaceBet(by=self.actor("player", player), player=player, box=box,
                                   amount=amount, area=random.choice(["", "left", "nowhere"])),
            lambda: asked.PlaceBet(by=by, player=player, box=box, amount=5,
                                   manner=random.choice(["self", "behalf", "call"])),
            lambda: asked.PlaceBet(by=self.actor("player", player), player=player, box="nowhere",
                                   amount=5),
            lambda: asked.PlaceBet(by=self.actor("shooter", player), player=player,
                                   box="shooter", amount=random.choice([5, 50, 5000])),
            lambda: asked.WithdrawBet(by=by, player=player, box=random.choice([box, "shooter"]),
                                      amount=random.choice([0, 3, 5])),
            lambda: asked.RejectExcess(by=by, box=box),
            lambda: asked.MoveChips(by=dealer, player=player, box=box, to_box=self.box(),
                                    amount=5),
            lambda: asked.PutBack(by=supervisor, player=player, box=box, to_box=self.box(),
                                  amount=5),
            lambda: asked.OfferDice(by=dealer, player=random.choice([player, "nobody"])),
            lambda: asked.ChooseDice(by=self.actor("shooter", player),
                                     dice=random.choice([[1, 2, 3], [1, 1, 2], [1, 2], [1, 2, 9]])),
            lambda: asked.Tumble(by=dealer, times=random.choice([0, 2, 3])),
            lambda: asked.Throw(by=by),
            lambda: asked.Uncover(by=random.choice([by, dealer])),
            lambda: asked.OpenBetting(by=by),
            lambda: asked.CloseBetting(by=dealer),
            lambda: asked.CallResult(by=dealer, dice=random.choice([(1, 2, 9), (1, 1, 1)])),
            lambda: asked.PressKey(by=dealer, key=random.choice([0, 1, 6, 7])),
            lambda: asked.PressEnter(by=dealer),
            lambda: asked.Illuminate(by=dealer),
            lambda: asked.CollectLosers(by=dealer),
            lambda: asked.PayWinners(by=dealer),
            self.report,
            self.report,
            lambda: asked.Report(by=supervisor, irregularity="dice-damaged", rounds=rounds,
                                 approved_by=random.choice([manager, second, None])),
            lambda: asked.Report(by=supervisor, irregularity="dice-damaged",
                                 rounds=[random.choice(settled)], approved_by=manager),
            lambda: asked.AmendResult(by=dealer, dice=self.dice(),
                                      approved_by=random.choice([second, supervisor])),
            lambda: asked.CorrectBet(by=dealer, round=random.choice([*settled, 0]), player=player,
                                     amount=random.choice([0, 3, 50, -50, -5000, 10_000_000]),
                                     reason=random.choice(["", "paid wrongly"]),
                                     approved_by=random.choice([second, supervisor])),
            lambda: asked.CorrectBet(by=dealer, round=random.choice(settled), player=player,
                                     amount=-5, reason="paid wrongly", approved_by=supervisor),
            lambda: asked.AbandonRound(by=by, reason="the dice are lost"),
            lambda: asked.MakeRuling(by=random.choice([by, manager]), player=player,
                                     amount=random.choice([0, 5, -5000]), reason="as seen"),
        ]  # fmt: skip
        return random.choice(makers)()

    def leave(self, player: str) -> AnyCommand:
        seat = self.state.seats.get(player)
        amount = seat.stack if seat else 5
        return asked.CashOut(by=self.actor("player", player), player=player, amount=amount)

    def report(self) -> AnyCommand:
        random = self.random
        likely = list(self.game.facts.irregularities)
        name = random.choice(likely if random.random() < 0.8 else IRREGULARITIES)
        rule = self.game.facts.irregularities.get(name)
        role = random.choice(rule.by) if rule and rule.by else "dealer"
        known = [random.randint(1, 7) for _ in range(random.choice([0, 0, 1, 2, 3, 4]))]
        second = random.choice([None, self.actor("shift-manager"), self.actor("supervisor")])
        return asked.Report(
            by=self.actor(role), irregularity=name, known=known, note="seen", approved_by=second
        )
