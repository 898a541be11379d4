"""A table under random commands, with the invariants that must hold after each.

One seeded generator draws everything, so that a seed and a number of steps replay exactly.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING

from tests.oracle import brute_force as oracle
from tests.properties.command_generator import CommandGenerator
from tests.properties.likely_commands import PLAYERS
from threedice import shipped_games
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
from threedice.table.chip_counts.ledger import OUTSIDE_HOLDERS, chip_balance
from threedice.table.equipment.history import equipment_in_use
from threedice.table.limits import box_of, permitted_total
from threedice.table.money import table_balance, table_postings
from threedice.table.prose import describe_events

if TYPE_CHECKING:
    from threedice.rulebook import Game
    from threedice.table.commands import AnyCommand
    from threedice.table.events import AnyEvent
    from threedice.table.limits import LimitMode


GAMES_AND_READINGS: list[tuple[str, dict[str, str]]] = [(game, {}) for game in shipped_games()] + [
    (
        "sg-rws-tai-sai-v6/e",
        {"areas": "per-area", "pro-rata": "absorb", "corrections": "rulings-only"},
    ),
    (
        "sg-rws-tai-sai-v6/c",
        {
            "pro-rata": "absorb",
            "minimum": "box-total",
            "available": "placed",
            "entry": "as-in-new-zealand",
        },
    ),
    ("sg-rws-tai-sai-open-cover-v5/a", {"found-after-settlement": "void"}),
    (
        "nz-tai-sai-2008/1",
        {
            "no-spin": "stand",
            "no-spin-found-late": "stands",
            "line-after-call": "one",
            "display-fault": "information",
        },
    ),
    ("triple-dice/mat", {"no-throw": "return", "outside": "per-die", "double": "exact-pair"}),
    ("triple-dice/mat", {"age-proof": "everybody", "shooter-at-close": "refuse"}),
]


class RandomTable(CommandGenerator):
    """A table that receives random commands and checks its invariants after each."""

    def __init__(self, game: Game, mode: LimitMode, seed: int) -> None:
        self.game, self.mode, self.random = game, mode, Random(seed)
        self.state = TableState()
        self.balances = Balances()
        self.events: list[AnyEvent] = []
        self.counts: Counter[str] = Counter()
        self.allowed: dict[str, int] = {}
        self.are_dice_shown = False

    def step(self) -> None:
        """Send one random command."""
        chance = self.random.random()
        command = self.rare_command() if chance < 0.2 else None
        if 0.77 < chance < 0.8:
            command = self.sample_command()
        if command is None:
            command = self.likely_command() if chance < 0.8 else self.arbitrary_command()
        is_young = self.random.random() < 0.02
        self.send(command, {command.by.id: self.random.choice([17, None])} if is_young else None)

    def send(self, command: AnyCommand, ages: dict[str, int | None] | None = None) -> None:
        """Send a command and check the invariants."""
        before = repr(self.state)
        try:
            events = decide(self.game, self.state, command, ages)
        except Refusal as refusal:
            self.check_unchanged(before)
            self.counts[refusal.code] += 1
            self.counts["refused"] += 1
            return
        self.check_unchanged(before)
        self.counts["accepted"] += 1
        for event in events:
            self.check_before(event)
            evolve(self.state, event)
            self.balances.post(table_postings(event))
            self.events.append(event)
            self.counts[type(event).__name__] += 1
        self.check_state()

    def check_unchanged(self, before: str) -> None:
        """Check that deciding a command has not changed the state."""
        assert repr(self.state) == before

    # --- invariants -----------------------------------------------------------------------------

    def check_state(self) -> None:
        """Check that balances equal the state and sum to zero."""
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
        self.check_chips()
        if state.round:
            for spot, bets in state.round.bets.items():
                assert state.round.totals[spot] == sum(bet.total for bet in bets.values())

    def check_chips(self) -> None:
        """Check that every kind of chip is conserved, and worth what the balances say."""
        state = self.state
        if state.holders is None:
            return
        total: Counter[str] = Counter()
        for holder, counts in state.holders.items():
            total.update(counts)
            if holder not in OUTSIDE_HOLDERS:
                assert all(count > 0 for count in counts.values())
        assert not any(total.values())
        assert self.balances.get("colours", 0) == table_balance(state, "colours")
        for account in ("float", "layout", "colours", *(f"stack/{player}" for player in PLAYERS)):
            assert chip_balance(state, account) == self.balances.get(account, 0)

    def on_layout(self) -> int:
        """Return the sum of the recorded bets."""
        state = self.state
        layouts = [state.round.bets if state.round else {}]
        layouts += [state.standing[0]] if state.standing else []
        laid = sum(bet.lying for bets in layouts for at in bets.values() for bet in at.values())
        if state.round and "collect-losers" in state.round.done:
            roll = state.round.final_result
            laid -= sum(
                bet.total
                for spot, at in state.round.bets.items()
                for bet in at.values()
                if self.net(spot, roll) < 0
            )
        return laid + (state.shooter.stake if state.shooter else 0)

    def check_before(self, event: AnyEvent) -> None:
        """Compare an event with the oracle and with the bets on the layout."""
        state = self.state
        self.check_second_person(event)
        match event:
            case table_events.RoundVoided(bets="returned"):
                self.check_returned(event)
            case table_events.AreaPaid() | table_events.WinnersPaid():
                for spot, _, stake, winnings in event.bets:
                    assert winnings == self.net(spot, state.current.final_result) * stake > 0
                self.check_played()
            case table_events.BetsApportioned():
                self.remember_allowed()
            case table_events.RoundStarted():
                self.allowed = {}
                self.check_equipment()
            case table_events.LosersCollected() if state.round:
                if not self.allowed:
                    self.remember_allowed()
                for spot, _, _ in event.bets:
                    assert self.net(spot, state.round.final_result) < 0
            case _:
                pass

    def check_second_person(self, event: AnyEvent) -> None:
        """Check that no bet goes back by one person once the dice have been shown."""
        current, steps = self.state.round, self.game.facts.procedure.steps
        is_stopped = current is not None and current.stopped is not None
        match event:
            case table_events.StepTaken(step="uncover" | "throw") | table_events.ResultCalled():
                self.are_dice_shown = True
            case table_events.DiceTumbled():
                self.are_dice_shown = not steps["tumble"].covered
            case table_events.RoundContinued():
                self.are_dice_shown = self.are_dice_shown or bool(event.known)
            case table_events.RoundStarted() | table_events.WinnersPaid():
                self.are_dice_shown = False
            case table_events.RoundVoided():
                assert event.approved_by or not (self.are_dice_shown or is_stopped)
                self.are_dice_shown = False
            case table_events.ThrowRepeated():
                assert event.approved_by or not (is_stopped or self.state.current.called)
                self.are_dice_shown = False
            case table_events.BetWithdrawn() | table_events.BetRejected():
                assert not self.are_dice_shown
                assert not is_stopped
            case table_events.LineJudged(accepted=False):
                rule = self.game.facts.irregularities["bet-on-line"]
                assert event.approved_by or not self.are_dice_shown or rule.second_person == "never"
            case _:
                pass

    def check_equipment(self) -> None:
        """Check that no round starts with a failed check, a dark lamp or bad dice."""
        state, checks = self.state, self.game.facts.opening
        equipment, failed = state.equipment, set[str]()
        for event in self.events:  # by the log, not by the state
            match event:
                case table_events.TableOpened():
                    failed.clear()
                case table_events.CheckFailed():
                    failed.add(event.check)
                case table_events.CheckPassed():
                    failed.discard(event.check)
                case table_events.PieceReleased(remedy="substitute-procedure"):
                    failed -= {check for check in failed if self.failed_by(check) == event.piece}
                case _:
                    pass
        assert not failed
        assert set(checks) <= state.checks
        assert not equipment.test
        if equipment.in_use("lights"):
            assert not equipment.dark
            assert not equipment.stray
        if any(piece.dice for piece in equipment.pieces.values()):
            (dice,) = equipment.in_use("dice")
            assert equipment.pieces[dice].condition == "in-order"

    def failed_by(self, check: str) -> str:
        """Return the piece by which a check failed last."""
        failures = [
            event.piece
            for event in self.events
            if isinstance(event, table_events.CheckFailed) and event.check == check
        ]
        return failures[-1]

    def check_returned(self, event: table_events.RoundVoided) -> None:
        """Check that a void round returns to each player exactly their stakes."""
        state = self.state
        bets = state.round.bets if state.round else state.standing[0] if state.standing else {}
        staked, returned = Counter[str](), Counter[str]()
        collected = state.round and "collect-losers" in state.round.done
        roll = state.round.final_result if state.round and collected else None
        for spot, at in bets.items():
            for player, bet in at.items() if roll is None or self.net(spot, roll) > 0 else ():
                staked[player] += bet.lying
        for spot, player, amount in event.returned:
            if spot != "shooter":
                returned[player] += amount
        assert returned == staked

    def net(self, spot: str, roll: tuple[int, int, int]) -> Fraction:
        """Return the net win of a unit on a spot: by the oracle or a user game's matrix."""
        if self.game.id in oracle.GAMES:
            readings = self.game.readings
            return Fraction(oracle.net(self.game.id, box_of(spot), roll, readings))
        return Fraction(self.game.payoffs[box_of(spot)][index(roll)], self.game.unit)

    def remember_allowed(self) -> None:
        """Record the permitted total of each spot before stakes are apportioned."""
        policy, state = self.game.facts.limits, self.state
        self.allowed = {}
        if policy.maximum.scope == "box" and policy.pro_rata and state.limits:
            totals = state.current.totals
            self.allowed = {
                spot: permitted_total(self.game, state.limits, totals, spot) for spot in totals
            }

    def check_played(self) -> None:
        """Check that no spot plays more than permitted, except exempt stakes and minimum floors."""
        current, limits = self.state.current, self.state.limits
        for spot, allowed in self.allowed.items():
            least = limits.for_box(box_of(spot)).minimum if limits else 0
            bets = current.bets.get(spot, {}).values()
            floors = sum(bet.total for bet in bets if bet.total <= least)
            assert current.totals.get(spot, 0) <= allowed + floors

    def finish(self) -> None:
        """Check that events replay to the same state, can be described, and explain payouts.

        The equipment in use is that of the state, too.
        """
        assert replay(self.events) == self.state
        assert all(describe_events(self.game, self.events))
        pieces = self.state.equipment.pieces
        assert {each.piece: each.condition for each in equipment_in_use(self.events).pieces} == {
            name: piece.condition for name, piece in pieces.items() if piece.in_use
        }
        paid, in_areas = list[tuple[BetRef, int, int]](), list[table_events.Payout]()
        for event in self.events:
            match event:
                case table_events.RoundStarted():
                    in_areas = []
                case table_events.AreaPaid():
                    in_areas += event.bets
                case table_events.WinnersPaid():
                    paid += [
                        (BetRef(event.round, player, spot), stake, winnings)
                        for spot, player, stake, winnings in (*in_areas, *event.bets)
                    ]
                case _:
                    pass
        for bet, stake, winnings in self.random.sample(paid, min(len(paid), 2)):
            text = " ".join(explain(self.game, self.events, bet))
            assert f" pays {winnings}; {stake} is handed back." in text


def run_random_table(
    game: Game,
    mode: LimitMode,
    seed: int,
    steps: int,
    equipment_share: float = 0.3,
    chips_share: float = 0.2,
) -> RandomTable:
    """Send a number of random commands to a table, then check its history."""
    table = RandomTable(game, mode, seed)
    table.equipment_share, table.chips_share = equipment_share, chips_share
    for _ in range(steps):
        table.step()
    table.finish()
    return table
