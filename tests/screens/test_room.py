"""The room that a player's screen computes is the server's, on random tables of every game.

Node computes the room of players from their views as a screen does, and compares it with the
answer of `/api/tables/{table}/room`. It also judges random bets, which the table then judges.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from itertools import product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec
from screens.build import node

from tests.properties.command_generator import CommandGenerator
from tests.properties.random_runs import write_fractional_game
from tests.properties.random_table import GAMES_AND_READINGS
from threedice import load
from threedice.api.routes.games import game_view
from threedice.api.routes.worksheets import table_room
from threedice.api.views import build_table_view
from threedice.house.stream_state import FOLDS, HouseTable
from threedice.table import Refusal, commands, decide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.rulebook import Game
    from threedice.table.commands import AnyCommand
    from threedice.table.limits import LimitMode

STEPS = 250
SCRIPT = Path(__file__).with_name("room_cases.mjs")
FAULTS = {
    "bet/stack": "stack",
    "bet/amount": "chip",
    "bet/not-payable": "step",
    "bet/over-maximum": "maximum",
    "bet/under-minimum": "minimum",
}
"""The faults that a screen finds, by the code of the table's refusal."""


class JudgedTable(CommandGenerator):
    """A table under random commands, with the views and rooms of its players."""

    def __init__(self, game: Game, mode: LimitMode, seed: int) -> None:
        self.game, self.mode, self.random = game, mode, Random(seed)
        self.house_table = HouseTable()
        self.state = self.house_table.table
        self.version = 0

    def step(self) -> None:
        """Send one command; a refused one changes nothing."""
        chance = self.random.random()
        command = self.rare_command() if chance < 0.1 else None
        if command is None:
            command = self.likely_command() if chance < 0.95 else self.arbitrary_command()
        try:
            events = decide(self.game, self.state, command)
        except Refusal:
            return
        for event in events:
            self.version += 1
            FOLDS["table"].evolve(self.house_table, event, self.version, self.version)

    def case(self, player: str) -> dict[str, Any]:
        """Return a player's view, room and bets as the server answers."""
        view = build_table_view(self.game, self.house_table, self.version, "player", player)
        room = table_room(self.game, self.state, self.version, player)
        judged = list(self.judged_bets(player)) if self.betting() else []
        return {"player": player, "view": view, "room": room, "bets": judged}

    def judged_bets(self, player: str) -> Iterator[dict[str, Any]]:
        """Yield bets and withdrawals with the fault for which the table refuses them, if any."""
        for area, amount, command in self.possible_bets(player):
            try:
                decide(self.game, self.state, command)
                fault = ""
            except Refusal as refusal:
                if refusal.code not in FAULTS:
                    continue
                fault = FAULTS[refusal.code]
            yield {"area": area, "amount": amount, "fault": fault}

    def possible_bets(self, player: str) -> Iterator[tuple[str, int, AnyCommand]]:
        by = self.actor("player", player)
        shooter = self.state.shooter
        if shooter and shooter.player == player:
            by = self.actor("shooter", player)
        for _ in range(4):
            box, amount = self.box(), self.random.choice([3, 5, 50, 100, 300, 700, 1000, 9000])
            end = self.area(box)
            command = commands.PlaceBet(by=by, player=player, box=box, area=end, amount=amount)
            yield f"{box}@{end}" if end else box, amount, command
        for spot, bets in self.state.current.bets.items():
            box = spot.partition("@")[0]
            for each in bets[player].placements if player in bets else ():
                amount = self.random.choice([each.amount, 5])
                yield (
                    f"{box}@{each.area}" if each.area else box,
                    -amount,
                    commands.WithdrawBet(
                        by=by, player=player, box=box, area=each.area, amount=amount
                    ),
                )


def write_cases(games: list[Game], file: Path) -> Counter[str]:
    """Play tables of all games in both modes into a file; returns how the bets were judged."""
    judged: Counter[str] = Counter()
    with file.open("wb") as cases:
        for game, mode in product(games, ("refuse", "record")):
            cases.write(msgspec.json.encode(game_view(game, "rulebook")) + b"\n")
            table = JudgedTable(game, mode, seed=1)  # type: ignore[arg-type]
            for _ in range(STEPS):
                table.step()
                if table.random.random() < 0.15:
                    case = table.case(table.random.choice(["ann", "bob"]))
                    judged.update(each["fault"] for each in case["bets"])
                    cases.write(msgspec.json.encode(case) + b"\n")
    return judged


def test_room_and_faults_on_a_screen_are_those_of_the_server(tmp_path: Path) -> None:
    fractional = write_fractional_game(tmp_path)
    games = [load(name, readings) for name, readings in [*GAMES_AND_READINGS, (fractional, {})]]
    file = tmp_path / "cases.jsonl"
    judged = write_cases(games, file)

    ran = subprocess.run([node(), str(SCRIPT), str(file)], capture_output=True, check=False)

    assert ran.returncode == 0, ran.stderr.decode()
    result = json.loads(ran.stdout)
    assert result["differing"] == [], json.dumps(result["differing"][:3], indent=1)[:6000]
    assert result["rooms"] > 500
    assert result["bets"] == judged.total()
    assert {"", *FAULTS.values()} == set(judged)
