"""A table under random commands, as staff, two players and a player without a seat watch it.

Each viewer gets what the live feed would send, and the changes of the server's view beside it.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from itertools import count, islice
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from tests.properties.command_generator import CommandGenerator
from tests.properties.random_runs import MODES
from tests.properties.random_table import GAMES_AND_READINGS
from threedice import load
from threedice.api.auth.audiences import event_for_player, spot_total_changes
from threedice.api.live.messages import LiveEvent
from threedice.api.views import build_table_view
from threedice.house import events as house_events
from threedice.house.events import Timing
from threedice.house.stream_state import FOLDS, HouseTable
from threedice.table import Refusal, commands, decide
from threedice.table import events as table_events
from threedice.table.commands import Actor
from threedice.table.rules import remaining_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.api.views import AudienceKind
    from threedice.house.events import AnyHouseEvent, TableStreamEvent
    from threedice.rulebook import Game
    from threedice.table.commands import AnyCommand
    from threedice.table.limits import LimitMode
    from threedice.table.state import Round

RUNS = int(os.environ.get("THREEDICE_WATCHED_RUNS", "200"))
STEPS = 220
EVENTS = {
    each.__name__
    for each in (*table_events.AnyEvent.__args__, *house_events.AnyHouseEvent.__args__)
}
VIEWERS: list[tuple[AudienceKind, str]] = [
    ("staff", ""),
    ("player", "ann"),
    ("player", "bob"),
    ("player", ""),
]
DEALER = Actor(id="dealer", role="dealer")
SUPERVISOR = Actor(id="supervisor", role="supervisor")


@dataclass
class Viewer:
    """A viewer of a table: the first view, and how each version changes it."""

    audience: AudienceKind
    player: str
    name: str
    first: dict[str, Any] = field(default_factory=dict)
    last: dict[str, Any] = field(default_factory=dict)
    steps: list[dict[str, Any]] = field(default_factory=list)

    def record(
        self, game: Game, house_table: HouseTable, event: LiveEvent, *, keeps_steps: bool
    ) -> dict[str, Any]:
        """Record an event as the viewer receives it, and return what changes in the server's view.

        Only a comparison with another fold needs the steps.
        """
        view = build_table_view(game, house_table, event.version, self.audience, self.player)
        current: dict[str, Any] = msgspec.to_builtins(view)
        if not self.first:
            self.first = self.last = current
            return {}
        changed = {each: value for each, value in current.items() if value != self.last[each]}
        if keeps_steps:
            self.steps.append({"event": msgspec.to_builtins(event), "changed": changed})
        unannounced = {} if event.event else self._unannounced_changes(changed, event)
        self.last = current
        return unannounced

    def _unannounced_changes(self, changed: dict[str, Any], event: LiveEvent) -> dict[str, Any]:
        """Return the changes of which a viewer who does not see the event learns nothing.

        Every message has the new version and the changes of the totals.
        """
        before, after = self.last["round"], changed.get("round")
        known = {"version"}
        if event.totals and before and after and after == {**before, "totals": after["totals"]}:
            known.add("round")
        return {name: value for name, value in changed.items() if name not in known}


class WatchedTable(CommandGenerator):
    """A table under random commands, with the events that the house adds to its stream."""

    chips_share = 0.5

    def __init__(self, game: Game, mode: LimitMode, seed: int, *, keeps_steps: bool) -> None:
        self.game, self.mode, self.random = game, mode, Random(seed)
        self.keeps_steps = keeps_steps
        self.house_table = HouseTable()
        self.state = self.house_table.table
        self.version, self.at = 0, 1_800_000_000_000_000
        name = f"{game.id} {dict(game.readings)} {mode} {seed}"
        self.viewers = [Viewer(*viewer, f"{name} {viewer}") for viewer in VIEWERS]
        self.counts: Counter[str] = Counter()
        self.withheld: Counter[str] = Counter()
        self.unannounced: list[str] = []
        self.apply(self.established(Timing(betting_seconds=12.5)))

    def step(self) -> None:
        """Send a random command to the table, now and then add an event of the house."""
        chance = self.random.random()
        if chance < 0.03:
            self.apply(self.random.choice(list(self.events_of_the_house())))
            return
        command = None
        if chance < 0.25:
            command = self.conditional_command() if chance < 0.13 else self.rare_command()
        if 0.82 < chance < 0.85:
            command = self.sample_command()
        if command is None:
            command = self.likely_command() if chance < 0.85 else self.arbitrary_command()
        try:
            events = decide(self.game, self.state, command)
        except Refusal:
            return
        for event in events:
            self.apply(event)

    def conditional_command(self) -> AnyCommand | None:
        """Return a command whose conditions seldom arise by chance, if any holds now."""
        second = self.actor("pit-manager")
        if self.state.holders and not self.state.round and self.random.random() < 0.5:
            counted = self.counted_rack()
            return commands.CloseTable(by=SUPERVISOR, counted=counted, approved_by=second)
        if self.state.uncounted_drops:
            return commands.CountDrop(
                by=SUPERVISOR,
                closing=min(self.state.uncounted_drops),
                notes={"500": 3},
                approved_by=second,
            )
        found = list(self.commands_possible_now())
        return self.random.choice(found) if found else None

    def commands_possible_now(self) -> Iterator[AnyCommand]:
        state, by, random = self.state, self.actor("supervisor"), self.random
        current = state.round
        if state.open and (state.standing or state.next_limits):
            yield commands.CloseTable(by=by)
        for player, owed in state.owing.items():
            actor = self.actor("player", player)
            yield commands.RepayDebt(by=actor, player=player, amount=owed or 5, source="cash")
        for player in (each for each, seat in state.seats.items() if seat.colour):
            yield commands.ColourUp(by=DEALER, player=player)
        yield from self.equipment_remedies()
        yield from self.reports_in_round(current) if current else ()
        for spot, player, area, amount in self.split_bets() if self.betting() else ():
            actor = self.actor("player", player)
            yield commands.WithdrawBet(by=actor, player=player, box=spot, area=area, amount=amount)
        if current and current.bets and "bet-on-line" in self.game.facts.irregularities:
            spot, accepted = random.choice(list(current.bets)), random.random() < 0.3
            player = self.player()
            yield commands.JudgeLine(by=by, player=player, box=spot, amount=5, accepted=accepted)

    def reports_in_round(self, current: Round) -> Iterator[AnyCommand]:
        """Yield reports that void, stop or change the round in play, and decisions on a stop."""
        yield from self.failures_of_pieces()
        if current.stopped:
            yield self.decide_stop(current.stopped)
        if "throw" in current.done and not current.called:
            for known in ([], [1]):
                yield commands.Report(by=DEALER, irregularity="interruption", known=known)
            yield commands.Report(by=DEALER, irregularity="dice-not-flat")
        if "collect-losers" in current.done:
            yield commands.Report(by=DEALER, irregularity="dice-not-flat", approved_by=SUPERVISOR)

    def equipment_remedies(self) -> Iterator[AnyCommand]:
        """Yield a command about equipment, and the release of every faulty piece."""
        if self.equipped and not self.state.round:
            yield self.equipment_command()
        for name, piece in self.state.equipment.pieces.items():
            if self.is_faulty(piece):
                yield commands.ReleasePiece(by=SUPERVISOR, piece=name, reason="repaired")

    def failures_of_pieces(self) -> Iterator[AnyCommand]:
        """Yield the report of each piece without which the round in play leaves out steps."""
        steps = self.game.facts.procedure.steps
        needed = {
            kind
            for each in remaining_steps(self.game, self.state)
            for kind in steps[each].equipment
        }
        for name, piece in self.state.equipment.pieces.items():
            if piece.in_use and piece.kind in needed:
                for cause, rule in self.game.facts.irregularities.items():
                    if piece.kind in rule.pieces:
                        yield commands.Report(by=DEALER, irregularity=cause, piece=name)

    def split_bets(self) -> Iterator[tuple[str, str, str, int]]:
        """Yield the first placement of each bet that lies on both areas of a box."""
        for spot, bets in self.state.current.bets.items():
            for player, bet in bets.items():
                first = bet.placements[0]
                if first.area and any(each.area != first.area for each in bet.placements):
                    yield spot, player, first.area, first.amount

    def events_of_the_house(self) -> Iterator[AnyHouseEvent]:
        number, known = self.state.rounds, [self.random.randint(1, 6)]
        yield house_events.SeedCommitted(round=number, commitment=f"{self.random.random()}")
        yield house_events.SeedRevealed(round=number, seed="ab")
        yield house_events.SeedLost(round=number)
        yield house_events.TableInterrupted(round=number)
        yield house_events.InterruptionResolved(
            round=number, known=known, by=DEALER, confirmed_by=SUPERVISOR
        )
        yield house_events.PlayersNotified(round=number, players=["ann", "bob"], outcome="goes on")
        yield house_events.VarianceAcknowledged(slip=1, by=SUPERVISOR)
        yield house_events.WritingReleased(cause="full", reason="emptied", by="x")
        yield house_events.HouseRestored(by="x", backup="ab", backup_at=1, checkpoint=2)
        yield house_events.SigningKeyRotated(old="ab", new="cd", by="x")
        yield house_events.KeysReplaced(files=["people.key"], reason="lost", by="x", second="y")
        yield house_events.EntriesAccepted(
            stream="table/t", first=1, version=2, hash="ab", reason="known", by="x"
        )
        timing = Timing(betting_seconds=self.random.choice([0.5, 30]))
        yield self.established(self.random.choice([timing, None]))

    def established(self, timing: Timing | None) -> house_events.TableEstablished:
        return house_events.TableEstablished(
            table="t",
            game=self.game.id,
            game_hash=self.game.hash,
            dealt_by_house=timing,
            by="x",
        )

    def apply(self, event: TableStreamEvent) -> None:
        """Apply an event to the table, and record it for every viewer."""
        self.version, self.at = self.version + 1, self.at + self.random.randint(1, 10**7)
        FOLDS["table"].evolve(self.house_table, event, self.at, self.version)
        self.counts[type(event).__name__] += 1
        totals = spot_total_changes(event)
        for viewer in self.viewers:
            staff = viewer.audience == "staff"
            visible = event if staff else event_for_player(event, viewer.player)
            live = LiveEvent(version=self.version, at=self.at, event=visible, totals=totals)
            changes = viewer.record(self.game, self.house_table, live, keeps_steps=self.keeps_steps)
            self.withheld[type(event).__name__] += visible is None
            if changes:
                self.unannounced.append(f"{viewer.name}, version {self.version}: {event} {changes}")


class WatchedRun(NamedTuple):
    """A watched table for `STEPS` random commands, which replays from its seed."""

    game: str
    readings: dict[str, str]
    mode: LimitMode
    seed: int

    def play(self, *, keeps_steps: bool) -> WatchedTable:
        """Play the table."""
        game = load_once(self.game, tuple(self.readings.items()))
        table = WatchedTable(game, self.mode, self.seed, keeps_steps=keeps_steps)
        for _ in range(STEPS):
            table.step()
        return table


@cache
def load_once(name: str, readings: tuple[tuple[str, str], ...]) -> Game:
    return load(name, dict(readings))


def plan_watched_runs(number: int) -> Iterator[WatchedRun]:
    """Yield runs of every game in both modes, more of games with rare events."""
    return islice((run for turn in count() for run in _plan_turn(turn)), number)


def _plan_turn(turn: int) -> Iterator[WatchedRun]:
    for name, readings in GAMES_AND_READINGS:
        game = load_once(name, tuple(readings.items()))
        stand = game.facts.procedure.void.bets == "stand"
        rare = 3 if game.facts.shooter or game.facts.areas or stand else 1
        for mode in MODES:
            for seed in range(turn * rare, (turn + 1) * rare):
                yield WatchedRun(name, readings, mode, seed)
