"""Simulated players, so that the felt lives: each looks at its table now and then, and bets.

They ask of the floor what players ask, in their own names, and are refused as players are. One who
gets the dice chooses and throws them. Nothing here touches the dice.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from threedice.errors import OperatingFailure, Refusal
from threedice.table import commands as asked
from threedice.table.commands import Actor
from threedice.table.terms import step_of
from threedice.web import journal
from threedice.web.setting_up import AT_THE_CONSOLE

if TYPE_CHECKING:
    from threedice.floor.floor import Floor
    from threedice.floor.folds import Tended
    from threedice.floor.house import House
    from threedice.rulebook import Game
    from threedice.table.commands import AnyCommand
    from threedice.table.state import Shooter

NAMES: Final = ("demo-ada", "demo-bai", "demo-cleo", "demo-dov")
PAUSE_SECONDS: Final = (0.3, 1.8)
AWAY_SECONDS: Final = 5.0
STACK_CHIPS: Final = 2_000
"""How many of the smallest chips somebody buys when he has few left."""

OF_AGE: Final = 36
EASY: Final = 0.6
"""How often somebody takes one of the boxes that pay least, as people do."""


async def play(house: House) -> None:
    """Have simulated players at every table until cancelled."""
    streams = await asyncio.to_thread(house.floor.store.streams)
    tables = [name.partition("/")[2] for name in streams if name.startswith("table/")]
    async with asyncio.TaskGroup() as players:
        for table in tables:
            players.create_task(_sit_at(house.floor, table))


async def _sit_at(floor: Floor, table: str) -> None:
    crowd = Crowd(table, Random())
    while True:
        try:
            tended = await floor.tended(table)
            game = floor.game(tended)
            if game is not None and not floor.suspended:
                await _do(floor, table, crowd.next(game, tended))
            await asyncio.sleep(crowd.random.uniform(*PAUSE_SECONDS))
        except Refusal:
            await asyncio.sleep(crowd.random.uniform(*PAUSE_SECONDS))
        except OperatingFailure:
            await asyncio.sleep(AWAY_SECONDS)
        except Exception as defect:
            journal.warn("demo-players-failed", defect, table=table)
            return


async def _do(floor: Floor, table: str, command: AnyCommand | None) -> None:
    if command is not None:
        account = command.by.id
        await floor.handle(command, table=table, account=account, key=f"demo {uuid4()}")


class Crowd:
    """The simulated players of one table, and what one of them does next."""

    def __init__(self, table: str, random: Random) -> None:
        self.table, self.random = table, random

    def next(self, game: Game, tended: Tended) -> AnyCommand | None:
        """Return what somebody does now, if anything."""
        state, name = tended.table, self.random.choice(NAMES)
        if not state.open or tended.interrupted:
            return None
        if missing := [check for check in game.facts.opening if check not in state.checks]:
            return self._check(tended, missing[0])
        chip = state.chips[0]
        if state.float_amount < 10 * STACK_CHIPS * chip * len(NAMES):
            return asked.FillFloat(by=AT_THE_CONSOLE, amount=100 * STACK_CHIPS * chip * len(NAMES))
        seat = state.seats.get(name)
        if seat is None or seat.stack < 20 * chip:
            return asked.BuyIn(
                by=Actor(id=name, role="player"),
                player=name,
                amount=STACK_CHIPS * chip,
                age_years=OF_AGE,
            )
        shooting = self._as_shooter(game, tended, state.shooter) if state.shooter else None
        if shooting is not None or not _is_betting(tended):
            return shooting
        return self._bet(game, tended, name)

    def _check(self, tended: Tended, check: str) -> AnyCommand | None:
        """Pass the opening checks of a table that no people open."""
        if tended.dealt_by_house is None:
            return None
        return asked.PassCheck(by=AT_THE_CONSOLE, check=check)

    def _as_shooter(self, game: Game, tended: Tended, shooter: Shooter) -> AnyCommand | None:
        """Choose, bet and throw for a simulated player who has the dice."""
        current, rule = tended.table.round, game.facts.shooter
        if current is None or rule is None or shooter.player not in NAMES:
            return None
        by = Actor(id=shooter.player, role="shooter")
        step = next((each for each in game.facts.procedure.order if each not in current.done), "")
        if step == "choose-dice":
            return asked.ChooseDice(by=by, dice=[1, 3, 5])
        if _is_betting(tended) and not shooter.stake:
            limits = tended.table.limits
            least = limits.of(rule.box).minimum if limits else tended.table.chips[0]
            return asked.PlaceBet(by=by, player=shooter.player, box=rule.box, amount=least)
        return asked.Throw(by=by) if step == "throw" else None

    def _bet(self, game: Game, tended: Tended, name: str) -> AnyCommand | None:
        """Put a few chips on some box, more often on one that wins often."""
        state, rule = tended.table, game.facts.shooter
        boxes = [box for box in game.boxes.values() if not rule or box.id != rule.box]
        if self.random.random() < EASY:
            boxes = sorted(boxes, key=lambda box: -box.wins.bit_count())[:6]
        box = self.random.choice(boxes)
        if state.limits is None:
            return None
        step, limits = step_of(box, state.chips), state.limits.of(box.id)
        amount = min(limits.minimum + step * self.random.randint(0, 9), limits.maximum)
        area = self.random.choice(game.ends.get(box.id, ("",)))
        by = Actor(id=name, role="player")
        return asked.PlaceBet(by=by, player=name, box=box.id, amount=amount, area=area)


def _is_betting(tended: Tended) -> bool:
    current = tended.table.round
    return bool(current and "open-betting" in current.done and "close-betting" not in current.done)
