"""Simulated players for the demo: each table's players bet at random intervals.

They send the same commands as real players, under their own names, and are refused the same way. A
simulated shooter chooses and throws the dice; nothing here affects the outcome of a roll.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from threedice.api.http import journal
from threedice.api.server import CONSOLE_ACTOR
from threedice.api.views import is_betting_open
from threedice.errors import OperatingFailure, Refusal
from threedice.house.recovery import list_tables
from threedice.table import commands
from threedice.table.commands import Actor
from threedice.table.limits import stake_step

if TYPE_CHECKING:
    from threedice.house.command_handler import CommandHandler
    from threedice.house.house import House
    from threedice.house.stream_state import HouseTable
    from threedice.rulebook import Game
    from threedice.table.commands import AnyCommand
    from threedice.table.state import TableState

PLAYER_NAMES: Final = ("demo-ada", "demo-bai", "demo-cleo", "demo-dov")
PAUSE_SECONDS: Final = (0.3, 1.8)
RETRY_SECONDS: Final = 5.0
STACK_CHIPS: Final = 2_000
"""Buy-in of a player who is low on chips, in chips of the smallest denomination."""

AGE_YEARS: Final = 36
EASY_BOX_PROBABILITY: Final = 0.6
"""Probability of betting on one of the six boxes that win most often, as people do."""


async def play(house: House) -> None:
    """Run simulated players at every table until cancelled."""
    async with asyncio.TaskGroup() as players:
        for table in await list_tables(house.command_handler):
            players.create_task(_play_at_table(house.command_handler, table))


async def _play_at_table(handler: CommandHandler, table: str) -> None:
    players = DemoPlayers(Random(handler.runtime.random_bytes(16)))
    while True:
        try:
            house_table = await handler.table(table)
            game = handler.game(house_table)
            if game is not None and not handler.suspension_reason:
                command = players.next_command(game, house_table)
                if command is not None:
                    key = f"demo {uuid4()}"
                    await handler.handle(command, table=table, account=command.by.id, key=key)
            await asyncio.sleep(players.random.uniform(*PAUSE_SECONDS))
        except Refusal:
            await asyncio.sleep(players.random.uniform(*PAUSE_SECONDS))
        except OperatingFailure:
            await asyncio.sleep(RETRY_SECONDS)
        except Exception as error:
            journal.warn("demo-players-failed", error, table=table)
            return


class DemoPlayers:
    """The simulated players of one table."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def next_command(self, game: Game, house_table: HouseTable) -> AnyCommand | None:
        """Return the next command of a randomly chosen player, or None."""
        state, name = house_table.table, self.random.choice(PLAYER_NAMES)
        if not state.open or house_table.interrupted:
            return None
        if missing := [check for check in game.facts.opening if check not in state.checks]:
            at_automatic_table = house_table.dealt_by_house is not None
            check = commands.PassCheck(by=CONSOLE_ACTOR, check=missing[0])
            return check if at_automatic_table else None  # elsewhere its staff pass the checks
        chip = state.chips[0]
        in_amounts = state.holders is None  # else two people sign a fill
        if in_amounts and state.float_amount < 10 * STACK_CHIPS * chip * len(PLAYER_NAMES):
            return commands.FillFloat(
                by=CONSOLE_ACTOR, amount=100 * STACK_CHIPS * chip * len(PLAYER_NAMES)
            )
        seat = state.seats.get(name)
        if seat is None or seat.stack < 20 * chip:
            return commands.BuyIn(
                by=Actor(id=name, role="player"),
                player=name,
                amount=STACK_CHIPS * chip,
                age_years=AGE_YEARS,
            )
        shooter_command = _shooter_command(game, state)
        if shooter_command is not None or not is_betting_open(state):
            return shooter_command
        return self._random_bet(game, state, name)

    def _random_bet(self, game: Game, state: TableState, name: str) -> AnyCommand | None:
        """Return a small bet on a random box, more often on one that wins often."""
        rule = game.facts.shooter
        boxes = [box for box in game.boxes.values() if not rule or box.id != rule.box]
        if self.random.random() < EASY_BOX_PROBABILITY:
            boxes = sorted(boxes, key=lambda box: -box.wins.bit_count())[:6]
        box = self.random.choice(boxes)
        if state.limits is None:
            return None
        step, limits = stake_step(box, state.chips), state.limits.for_box(box.id)
        amount = min(limits.minimum + step * self.random.randint(0, 9), limits.maximum)
        area = self.random.choice(game.ends.get(box.id, ("",)))
        by = Actor(id=name, role="player")
        return commands.PlaceBet(by=by, player=name, box=box.id, amount=amount, area=area)


def _shooter_command(game: Game, state: TableState) -> AnyCommand | None:
    """Return the next command of a simulated player who is the shooter, or None."""
    current, rule, shooter = state.round, game.facts.shooter, state.shooter
    if not (current and rule and shooter) or shooter.player not in PLAYER_NAMES:
        return None
    by = Actor(id=shooter.player, role="shooter")
    step = next((step for step in game.facts.procedure.order if step not in current.done), "")
    if step == "choose-dice":
        return commands.ChooseDice(by=by, dice=[1, 3, 5])
    if is_betting_open(state) and not shooter.stake:
        minimum = state.limits.for_box(rule.box).minimum if state.limits else state.chips[0]
        return commands.PlaceBet(by=by, player=shooter.player, box=rule.box, amount=minimum)
    return commands.Throw(by=by) if step == "throw" else None
