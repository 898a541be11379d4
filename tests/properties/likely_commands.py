"""Likely commands for a table: the next step of a round, and bets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from threedice.table import commands
from threedice.table.commands import Actor
from threedice.table.limits import StakeRange, TableLimits, box_of, uniform_limits
from threedice.table.rules import optional_steps, remaining_steps
from threedice.table.settlement import winning_odds

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from threedice.rulebook import Game
    from threedice.rulebook.conduct import StepName, TableRole
    from threedice.table.commands import AnyCommand
    from threedice.table.limits import LimitMode, Spot
    from threedice.table.state import Round, RoundStop, TableState

PLAYERS = ["ann", "bob", "cat", "dan"]
CHIPS = [5, 25, 100]


def moved_chips(current: Round) -> list[tuple[str, Spot, Spot, int]]:
    """Return the chips that were moved as (player, from spot, to spot, amount)."""
    return [
        (player, each.origin, spot, each.amount)
        for spot, bets in current.bets.items()
        for player, bet in bets.items()
        for each in bet.placements
        if each.origin
    ]


class LikelyCommands:
    """Generates the commands that usually come next, from the state and a random generator."""

    game: Game
    state: TableState
    mode: LimitMode
    random: Random

    def actor(self, role: TableRole, player: str = "") -> Actor:
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
        """Return an end at which a player has chips on a spot, or "" for any end."""
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
        limits = uniform_limits(self.game, least, most, self.random.choice([50, 200, 2000]))
        if self.random.random() < 0.2:
            limits.boxes[self.box()] = StakeRange(least, 200)
        return limits

    def likely_command(self) -> AnyCommand:
        """Return a command that usually comes next."""
        state = self.state
        if not state.open:
            return self.open_table()
        missing = [check for check in self.game.facts.opening if check not in state.checks]
        if missing and self.random.random() < 0.6:
            return self.pass_check(missing[0])
        if state.locked and self.random.random() < 0.5:
            return commands.ReleaseTable(by=self.actor("supervisor"), reason="mended")
        poor = [each for each in PLAYERS if each not in state.seats or state.seats[each].stack < 50]
        if poor and self.random.random() < 0.3:
            return self.buy_in(self.random.choice(poor))
        if state.float_amount < 60_000:
            return self.fill()
        if state.round and state.round.stopped and self.random.random() < 0.7:
            return self.decide_stop(state.round.stopped)
        if self.betting() and self.random.random() < 0.8:
            return self.bet()
        return self.next_step()

    def decide_stop(self, stopped: RoundStop) -> AnyCommand:
        """Return the decision of a second person on a stopped round."""
        dealer, supervisor = self.actor("dealer"), self.actor("supervisor")
        reason = self.random.choice(["it is flat", "it is flat", " "])
        if self.random.random() < 0.5:
            return commands.ResumeRound(by=supervisor, reason=reason)
        if self.random.random() < 0.3:
            return commands.AbandonRound(by=dealer, reason=reason, approved_by=supervisor)
        return commands.Report(by=dealer, irregularity=stopped.cause, approved_by=supervisor)

    def pass_check(self, check: str) -> AnyCommand:
        """Return that a check is passed, on the seal of the dice."""
        equipment = self.state.equipment
        seals = [equipment.pieces[name].seal for name in equipment.in_use("dice")]
        return commands.PassCheck(
            by=self.actor("supervisor"), check=check, seal=seals[0] if seals else ""
        )

    def betting(self) -> bool:
        current = self.state.round
        return bool(
            current and "open-betting" in current.done and "close-betting" not in current.done
        )

    def next_step(self) -> AnyCommand:
        """Return the next step of the procedure."""
        state, procedure = self.state, self.game.facts.procedure
        series = state.shooter is not None and state.shooter.stake > 0
        waiting = [
            step
            for step in remaining_steps(self.game, state)
            if not (series and procedure.steps[step].per == "shooter")
        ]
        if waiting[0] in optional_steps(self.game, state) and self.random.random() < 0.1:
            return self.step_command("collect-losers")
        return self.step_command(waiting[0])

    def step_command(self, step: StepName) -> AnyCommand:
        by = self.actor("dealer")
        shooter = self.state.shooter
        thrower = Actor(id=shooter.player, role="shooter") if shooter else by
        if step == "throw" and "shooter" not in self.game.facts.procedure.steps["throw"].by:
            thrower = by
        must_bet = step == "close-betting" and self.game.facts.shooter is not None
        if must_bet and shooter and not shooter.stake and self.random.random() < 0.7:
            return commands.PlaceBet(by=thrower, player=shooter.player, box="shooter", amount=50)
        current = self.state.round
        makers: dict[StepName, Callable[[], AnyCommand]] = {
            "offer-dice": lambda: commands.OfferDice(by=by, player=self.player()),
            "choose-dice": lambda: commands.ChooseDice(
                by=self.random.choice([by, thrower]), player=thrower.id, dice=[1, 2, 5]
            ),
            "open-betting": lambda: commands.OpenBetting(by=by),
            "close-betting": lambda: commands.CloseBetting(by=by),
            "tumble": lambda: commands.Tumble(by=by, times=self.random.choice([3, 3, 3, 4, 2])),
            "throw": lambda: commands.Throw(by=thrower),
            "uncover": lambda: commands.Uncover(by=by),
            "call-result": lambda: commands.CallResult(by=by, dice=self.dice()),
            "enter-result": lambda: self.enter(current),
            "illuminate": lambda: self.light(current),
            "collect-losers": lambda: commands.CollectLosers(by=by),
            "pay-winners": self.pay,
        }
        return makers[step]()

    def enter(self, current: Any) -> AnyCommand:
        by = self.actor("dealer")
        called = current.called or (1, 1, 1)
        if current.keys == list(called) or (len(current.keys) == 3 and self.random.random() < 0.4):
            return commands.PressEnter(by=by)
        slip = self.random.random() < 0.05
        key = self.random.randint(1, 6) if slip else called[len(current.keys) % 3]
        return commands.PressKey(by=by, key=key)

    def light(self, current: Any) -> AnyCommand:
        by = self.actor("dealer")
        unequal = current.result and sorted(current.result) != sorted(current.called)
        if unequal and self.random.random() < 0.7:
            supervisor = self.actor("supervisor")
            return commands.AmendResult(by=by, dice=current.called, approved_by=supervisor)
        return commands.Illuminate(by=by, correct=self.random.random() < 0.9)

    def pay(self) -> AnyCommand:
        """Return the payment of one area or of all winners that are left."""
        current, by = self.state.current, self.actor("dealer")
        winning = [
            spot for spot in current.bets if winning_odds(self.game, spot, current.final_result)
        ]
        with_ends = [spot for spot in winning if len(self.game.ends.get(spot, ())) > 1]
        if not winning or self.random.random() < (0.4 if with_ends else 0.7):
            return commands.PayWinners(by=by)
        box, _, area = self.random.choice(with_ends or winning).partition("@")
        if with_ends and self.random.random() < 0.5:
            area = self.area(box)
        return commands.PayArea(by=by, box=box, area=area)

    def open_table(self) -> AnyCommand:
        return commands.OpenTable(
            by=self.actor("supervisor"),
            table="t",
            currency="SGD" if self.random.random() < 0.5 or not self.state.currency else "NZD",
            mode=self.mode,
            chips=CHIPS,
            float_amount=200_000,
            limits=self.limits(),
        )

    def fill(self) -> AnyCommand:
        return commands.FillFloat(by=self.actor("supervisor"), amount=100_000)

    def buy_in(self, player: str) -> AnyCommand:
        source: Any = self.random.choice(["cash", "cash", "account"])
        return commands.BuyIn(
            by=self.actor("player", player),
            player=player,
            amount=self.random.choice([100, 500, 1500]),
            source=source,
            age_years=self.random.choice([30, 30, 30, 17]),
        )

    def bet(self) -> AnyCommand:
        """Return a bet, or another command that is usual while betting is open."""
        player, box = self.player(), self.box()
        shooter = self.state.shooter
        role: TableRole = "shooter" if shooter and shooter.player == player else "player"
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
            return commands.WithdrawBet(by=by, player=player, box=box, area=area, amount=amount)
        if held and chance < 0.2:
            spot, *_ = self.random.choice(held)
            box, _, area = spot.partition("@")
            return commands.RejectExcess(by=self.actor("dealer"), box=box, area=area)
        if held and chance < 0.24:
            spot, player, total = self.random.choice(held)
            to_box = self.box()
            if len(self.game.ends[box_of(spot)]) > 1 and self.random.random() < 0.5:
                to_box = box_of(spot)  # to the other end of it
            return commands.MoveChips(
                by=self.actor("dealer"),
                player=player,
                box=box_of(spot),
                area=self.end(spot, player),
                to_box=to_box,
                to_area=self.area(to_box),
                amount=self.random.choice([total, 5]),
            )
        moved = moved_chips(current)
        if moved and chance < 0.4:
            player, spot, to_spot, amount = self.random.choice(moved)
            return commands.PutBack(
                by=self.actor("supervisor"),
                player=player,
                box=box_of(to_spot),
                area=to_spot.partition("@")[2],
                to_box=box_of(spot),
                to_area=spot.partition("@")[2],
                amount=amount,
            )
        manner: Any = self.random.choice(["self"] * 6 + ["behalf", "call"])
        if manner == "behalf":
            by = self.actor("dealer")
        return commands.PlaceBet(
            by=by,
            player=player,
            box=box,
            area=self.area(box),
            amount=self.amount(),
            manner=manner,
        )
