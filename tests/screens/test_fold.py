"""The browser's fold of events, compared with the view of the server at every version.

Random commands run at tables of every game, seen by staff, two players and a player without a seat.
Node folds the events of each viewer as a page does, and compares the result with the server's view.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec
from screens.build import node

from tests.properties.command_generator import CommandGenerator
from tests.properties.random_table import GAMES_AND_READINGS
from threedice import load
from threedice.api.auth.audiences import event_for_player, spot_total_changes
from threedice.api.live.messages import LiveEvent
from threedice.api.routes.games import game_view
from threedice.api.views import build_table_view
from threedice.house import events as house_events
from threedice.house.events import Timing
from threedice.house.stream_state import FOLDS, HouseTable
from threedice.table import Refusal, commands, decide
from threedice.table import events as table_events
from threedice.table.commands import Actor

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from threedice.api.views import AudienceKind
    from threedice.house.events import AnyHouseEvent, TableStreamEvent
    from threedice.rulebook import Game
    from threedice.table.commands import AnyCommand
    from threedice.table.limits import LimitMode

STEPS = 220
SCRIPT = Path(__file__).with_name("fold_cases.mjs")
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

    def record(self, game: Game, house_table: HouseTable, event: LiveEvent) -> None:
        """Record an event as the viewer receives it, and how the server's view changes."""
        view = build_table_view(game, house_table, event.version, self.audience, self.player)
        current: dict[str, Any] = msgspec.to_builtins(view)
        if not self.first:
            self.first = self.last = current
            return
        changed = {each: value for each, value in current.items() if value != self.last[each]}
        self.steps.append({"event": msgspec.to_builtins(event), "changed": changed})
        self.last = current


class Played(CommandGenerator):
    """A table under random commands, with what the floor adds to its stream."""

    chips_share = 0.5

    def __init__(self, game: Game, mode: LimitMode, seed: int) -> None:
        self.game, self.mode, self.random = game, mode, Random(seed)
        self.house_table = HouseTable()
        self.state = self.house_table.table
        self.version, self.at = 0, 1_800_000_000_000_000
        name = f"{game.id} {dict(game.readings)} {mode} {seed}"
        self.viewers = [Viewer(*viewer, f"{name} {viewer}") for viewer in VIEWERS]
        self.counts: Counter[str] = Counter()
        self.happen(self.established(Timing(betting_seconds=12.5)))

    def step(self) -> None:
        """Ask one thing of the table, now and then of the floor."""
        chance = self.random.random()
        if chance < 0.03:
            self.happen(self.random.choice(list(self.of_the_floor())))
            return
        command = self.seldom() if chance < 0.13 else self.rare_command() if chance < 0.25 else None
        if 0.82 < chance < 0.85:
            command = self.sample_command()
        if command is None:
            command = self.likely_command() if chance < 0.85 else self.arbitrary_command()
        try:
            events = decide(self.game, self.state, command)
        except Refusal:
            return
        for event in events:
            self.happen(event)

    def seldom(self) -> AnyCommand | None:
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
        found = list(self.possible())
        return self.random.choice(found) if found else None

    def possible(self) -> Iterator[AnyCommand]:
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
        if current and "throw" in current.done and not current.called:
            for known in ([], [1]):
                yield commands.Report(by=DEALER, irregularity="interruption", known=known)
            yield commands.Report(by=DEALER, irregularity="dice-not-flat")
        if current and "collect-losers" in current.done:
            void = commands.Report(by=DEALER, irregularity="dice-not-flat", approved_by=SUPERVISOR)
            yield void
        for spot, player, area, amount in self.split_bets() if self.betting() else ():
            actor = self.actor("player", player)
            yield commands.WithdrawBet(by=actor, player=player, box=spot, area=area, amount=amount)
        if current and current.bets and "bet-on-line" in self.game.facts.irregularities:
            spot, accepted = random.choice(list(current.bets)), random.random() < 0.3
            player = self.player()
            yield commands.JudgeLine(by=by, player=player, box=spot, amount=5, accepted=accepted)

    def equipment_remedies(self) -> Iterator[AnyCommand]:
        """Yield a command about equipment, and the release of every faulty piece."""
        if self.equipped and not self.state.round:
            yield self.equipment_command()
        for name, piece in self.state.equipment.pieces.items():
            if self.is_faulty(piece):
                yield commands.ReleasePiece(by=SUPERVISOR, piece=name, reason="repaired")

    def split_bets(self) -> Iterator[tuple[str, str, str, int]]:
        """Yield the first placement of each bet that lies on both areas of a box."""
        for spot, bets in self.state.current.bets.items():
            for player, bet in bets.items():
                first = bet.placements[0]
                if first.area and any(each.area != first.area for each in bet.placements):
                    yield spot, player, first.area, first.amount

    def of_the_floor(self) -> Iterator[AnyHouseEvent]:
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

    def happen(self, event: TableStreamEvent) -> None:
        """Apply an event to the table, and record it for every viewer."""
        self.version, self.at = self.version + 1, self.at + self.random.randint(1, 10**7)
        FOLDS["table"].evolve(self.house_table, event, self.at, self.version)
        self.counts[type(event).__name__] += 1
        totals = spot_total_changes(event)
        for viewer in self.viewers:
            staff = viewer.audience == "staff"
            visible = event if staff else event_for_player(event, viewer.player)
            live = LiveEvent(version=self.version, at=self.at, event=visible, totals=totals)
            viewer.record(self.game, self.house_table, live)


def played(file: Path, tables: int) -> Counter[str]:
    """Play tables of every game in both modes into a file of cases; returns what happened."""
    counts: Counter[str] = Counter()
    with file.open("wb") as cases:
        for (name, readings), mode in product(GAMES_AND_READINGS, ("refuse", "record")):
            game = load(name, readings)
            cases.write(msgspec.json.encode(game_view(game, name.rpartition("/")[0])) + b"\n")
            stand = game.facts.procedure.void.bets == "stand"
            rare = 3 if game.facts.shooter or game.facts.areas or stand else 1
            for seed in range(tables * rare):
                table = Played(game, mode, seed)  # type: ignore[arg-type]
                for _ in range(STEPS):
                    table.step()
                counts += table.counts
                for viewer in table.viewers:
                    run = {
                        "name": viewer.name,
                        "seesAll": viewer.audience == "staff",
                        "view": viewer.first,
                        "steps": viewer.steps,
                    }
                    cases.write(msgspec.json.encode(run) + b"\n")
    return counts


def test_views_and_nets_computed_by_the_browser_are_those_of_the_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cases.jsonl"
    counts = played(file, 1)
    process = subprocess.run([node(), str(SCRIPT), str(file)], capture_output=True, check=False)
    assert process.returncode == 0, process.stderr.decode()
    report = json.loads(process.stdout)
    with capsys.disabled():
        print(  # noqa: T201
            f"\n{counts.total()} events, {report['compared']} views compared, "
            f"{report['nets']} expected nets, {report['shared']} of apportioned bets"
        )
        print(", ".join(f"{name} {counts[name]}" for name in sorted(EVENTS)))  # noqa: T201
    assert report["count"] == 0, json.dumps(report["differences"], indent=1)[:6000]
    assert report["nets"] > 100
    assert report["shared"] > 0
    assert {name for name in EVENTS if not counts[name]} == set()
