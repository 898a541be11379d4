"""A table under random commands: mostly what would ordinarily come next, often nonsense.

Everything is drawn from one seeded generator, so that a seed and a number of steps replay exactly.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING

from tests.oracle import brute_force as oracle
from tests.properties.asking import Asker
from tests.properties.ordinary import PLAYERS
from threedice.dice import index
from threedice.money import Balances
from threedice.table import (
    BetRef,
    Refusal,
    TableState,
    decide,
    evolve,
    explain,
    replay,
)
from threedice.table import events as table_events
from threedice.table.limits import box_of, permitted_total
from threedice.table.money import table_postings
from threedice.table.prose import describe_events

if TYPE_CHECKING:
    from threedice.rulebook import Game
    from threedice.table.events import AnyEvent
    from threedice.table.limits import LimitMode


class Driven(Asker):
    """One table, the commands it is given, and what must hold after each."""

    def __init__(self, game: Game, mode: LimitMode, seed: int) -> None:
        self.game, self.mode, self.random = game, mode, Random(seed)
        self.state = TableState()
        self.balances = Balances()
        self.events: list[AnyEvent] = []
        self.counts: Counter[str] = Counter()
        self.allowed: dict[str, int] = {}

    def step(self) -> None:
        """Ask one thing of the table and check what must hold."""
        chance = self.random.random()
        command = self.rare() if chance < 0.2 else None
        if 0.77 < chance < 0.8:
            command = self.of_any_kind()
        if command is None:
            command = self.ordinary() if chance < 0.8 else self.arbitrary()
        before = repr(self.state)
        try:
            events = decide(self.game, self.state, command)
        except Refusal as refusal:
            self.must_be(before)
            self.counts[refusal.code] += 1
            self.counts["refused"] += 1
            return
        self.must_be(before)
        self.counts["accepted"] += 1
        for event in events:
            self.check_before(event)
            evolve(self.state, event)
            self.balances.post(table_postings(event))
            self.events.append(event)
            self.counts[type(event).__name__] += 1
        self.check()

    def must_be(self, before: str) -> None:
        """Deciding has changed nothing."""
        assert repr(self.state) == before

    # --- what must hold -------------------------------------------------------------------------

    def check(self) -> None:
        """Money is where the state says it is, and sums to zero."""
        state, balances = self.state, self.balances
        assert sum(balances.values()) == 0
        assert balances.get("float", 0) == state.float_amount
        assert balances.get("cash", 0) == state.drop
        at_risk = sum(seat.at_risk for seat in state.seats.values())
        assert balances.get("layout", 0) == at_risk == self.on_layout()
        for player in PLAYERS:
            seat = state.seats.get(player)
            assert balances.get(f"stack/{player}", 0) == (seat.stack if seat else 0)
            assert -balances.get(f"owing/{player}", 0) == state.owing.get(player, 0)
        if state.round:
            for spot, bets in state.round.bets.items():
                assert state.round.totals[spot] == sum(bet.total for bet in bets.values())

    def on_layout(self) -> int:
        """Return what the bets that are recorded add up to."""
        state = self.state
        layouts = [state.round.bets if state.round else {}]
        layouts += [state.standing[0]] if state.standing else []
        laid = sum(bet.total for bets in layouts for at in bets.values() for bet in at.values())
        if state.round and "collect-losers" in state.round.done and state.round.result:
            roll = state.round.result
            laid -= sum(
                bet.total
                for spot, at in state.round.bets.items()
                for bet in at.values()
                if self.net(spot, roll) < 0
            )
        return laid + (state.shooter.stake if state.shooter else 0)

    def check_before(self, event: AnyEvent) -> None:
        """What an event says agrees with the documents and with what lies on the layout."""
        state = self.state
        match event:
            case table_events.RoundVoided(bets="returned"):
                self.check_returned(event)
            case table_events.WinnersPaid():
                for spot, _, stake, winnings in event.bets:
                    assert winnings == self.net(spot, event.dice) * stake > 0
                self.check_played()
            case table_events.BetsApportioned():
                self.remember_allowed()
            case table_events.RoundStarted():
                self.allowed = {}
            case table_events.LosersCollected() if state.round and state.round.result:
                if not self.allowed:
                    self.remember_allowed()
                for spot, _, _ in event.bets:
                    assert self.net(spot, state.round.result) < 0
            case _:
                pass

    def check_returned(self, event: table_events.RoundVoided) -> None:
        """A void round returns to everyone exactly what he staked."""
        state = self.state
        bets = state.round.bets if state.round else state.standing[0] if state.standing else {}
        staked, returned = Counter[str](), Counter[str]()
        collected = state.round and "collect-losers" in state.round.done
        roll = state.round.result if state.round and collected else None
        for spot, at in bets.items():
            for player, bet in at.items() if roll is None or self.net(spot, roll) > 0 else ():
                staked[player] += bet.total
        for spot, player, amount in event.returned:
            if spot != "shooter":
                returned[player] += amount
        assert returned == staked

    def net(self, spot: str, roll: tuple[int, int, int]) -> Fraction:
        """Return what the documents say a unit on a spot brings; of a user's game, its matrix."""
        if self.game.id in oracle.GAMES:
            readings = self.game.readings
            return Fraction(oracle.net(self.game.id, box_of(spot), roll, readings))
        return Fraction(self.game.payoffs[box_of(spot)][index(roll)], self.game.unit)

    def remember_allowed(self) -> None:
        """Note what each spot may play, by the stakes as they were laid."""
        policy, state = self.game.facts.limits, self.state
        self.allowed = {}
        if policy.maximum.scope == "box" and policy.pro_rata and state.limits:
            totals = state.current.totals
            self.allowed = {
                spot: permitted_total(self.game, state.limits, totals, spot) for spot in totals
            }

    def check_played(self) -> None:
        """No spot plays more than is permitted, but for exempt stakes and the minimum's floor."""
        current, limits = self.state.current, self.state.limits
        for spot, allowed in self.allowed.items():
            least = limits.for_box(box_of(spot)).minimum if limits else 0
            bets = current.bets.get(spot, {}).values()
            floors = sum(bet.total for bet in bets if bet.total <= least)
            assert current.totals[spot] <= allowed + floors

    def finish(self) -> None:
        """The events alone lead to the same state, can be told, and explain what was paid."""
        assert replay(self.events) == self.state
        assert all(describe_events(self.game, self.events))
        paid = [
            (BetRef(event.round, player, spot), stake, winnings)
            for event in self.events
            if isinstance(event, table_events.WinnersPaid)
            for spot, player, stake, winnings in event.bets
        ]
        for bet, stake, winnings in self.random.sample(paid, min(len(paid), 2)):
            text = " ".join(explain(self.game, self.events, bet))
            assert f" pays {winnings}; {stake} is handed back." in text
