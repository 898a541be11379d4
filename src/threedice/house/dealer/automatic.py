"""Deal a table automatically: hold its lease, choose the next step, and send its command.

The automatic dealer of a table: holds its lease, its seed, and does what `dealing` says is next.

One server deals a table at a time. A seed is never written down before it is revealed, so a round
whose dealer is gone has lost its dice: whoever takes the lease over voids it.

What an automatic dealer does next, and when: pure, from the rulebook's procedure.

The order of the steps is the rulebook's; how long people are left is the table's timing. What only
a player may do (the shooter chooses and throws) is waited for, as long as bets are.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from threedice.errors import InvariantBroken, KeyReused, QueueFull, StreamConflict, ThreediceError
from threedice.house.commands import RecoverRound
from threedice.house.dealer.sealed_dice import (
    MICROSECONDS_PER_SECOND,
    closing_key,
    closing_time,
    draw_dice,
    new_seed,
    seed_commitment,
)
from threedice.house.decisions import HOUSE_DEALER
from threedice.house.events import SeedCommitted, SeedRevealed, Timing
from threedice.house.stream_state import HouseTable, table_stream
from threedice.table import commands
from threedice.table.commands import CallResult, CloseBetting
from threedice.table.rules import skipped_steps
from threedice.tags import tag_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from threedice.house.command_handler import CommandHandler
    from threedice.house.commands import AnyTableCommand
    from threedice.house.events import AnyStreamEvent
    from threedice.rulebook import Game
    from threedice.rulebook.conduct import StepName
    from threedice.table.commands import AnyCommand
    from threedice.table.state import Shooter, TableState


LEASE_SECONDS = 10.0


class Clock(Protocol):
    """Where the time comes from, and how it passes."""

    def now(self) -> int:
        """Return the time in microseconds of UTC since 1970."""

    def steady(self) -> float:
        """Return seconds that never go back, whoever sets the clock."""

    async def wait(self, seconds: float, wake: asyncio.Event) -> None:
        """Wait until a time has passed or an event is set."""


class SystemClock:
    """The time of this machine."""

    def now(self) -> int:
        """Return the time in microseconds of UTC since 1970."""
        return time.time_ns() // 1000

    def steady(self) -> float:
        """Return seconds that never go back, whoever sets the clock."""
        return time.monotonic()

    async def wait(self, seconds: float, wake: asyncio.Event) -> None:
        """Wait until a time has passed or an event is set."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await wake.wait()


class AutomaticDealer:
    """Deals one table for as long as this server holds its lease."""

    def __init__(self, handler: CommandHandler, table: str, holder: str, clock: Clock) -> None:
        self.handler, self.table, self.holder, self.clock = handler, table, holder, clock
        self.wake = asyncio.Event()
        self.stuck = ""
        self._lease = f"dealer/{table}"
        self._leased_until = 0.0
        self._seed: tuple[int, bytes] | None = None
        self._step_seen = (-1, 0.0)
        self._closed = False

    async def run(self) -> None:
        """Deal until closed."""
        try:
            while not self._closed:
                self.wake.clear()
                await self.clock.wait(await self._run_until_idle(), self.wake)
        finally:
            with suppress(ThreediceError):
                await asyncio.to_thread(self.handler.store.release_lease, self._lease, self.holder)

    def close(self) -> None:
        """Stop after what is being done."""
        self._closed = True
        self.wake.set()

    async def _run_until_idle(self) -> float:
        """Do what is next; return for how long there is nothing more to do.

        Whatever stands in the way, a store that is away, a float that is too short to pay or a
        defect, is shown and tried again: people, or time, see to it.
        """
        try:
            while not self._closed:
                if not await self._holds_lease():
                    self._seed, self.stuck = None, ""
                    return LEASE_SECONDS / 2
                seconds = await self._take_next_step()
                self.stuck = ""
                if seconds is not None:
                    return min(seconds, self._seconds_until_renewal())
        except (StreamConflict, KeyReused, QueueFull):
            return 0.1
        except Exception as trouble:
            self.stuck = str(trouble) or type(trouble).__name__
            return LEASE_SECONDS / 5
        return 0.0

    async def _holds_lease(self) -> bool:
        """Renew the lease when half of it is over, and tell whether it is held at this moment.

        Its time is counted from before it was asked for: while this server or the database was
        held up, it may have ended, and another have begun to deal.
        """
        due = self._leased_until - LEASE_SECONDS / 2
        while (now := self.clock.steady()) >= due:
            take = self.handler.store.acquire_lease
            held = await asyncio.to_thread(take, self._lease, self.holder, LEASE_SECONDS)
            self._leased_until = due = now + LEASE_SECONDS if held else 0.0
            if not held:
                return False
        return True

    def _seconds_until_renewal(self) -> float:
        """Return in how many seconds the lease is to be renewed."""
        return max(self._leased_until - self.clock.steady() - LEASE_SECONDS / 2, 0.1)

    async def _take_next_step(self) -> float | None:
        """Do one thing, or return for how long there is none."""
        if self.handler.suspension_reason:
            return LEASE_SECONDS / 5
        house_table = await self.handler.table(self.table)
        game = self.handler.game(house_table)
        if game is None or house_table.dealt_by_house is None:
            return LEASE_SECONDS
        seen, current = procedure_position(house_table), house_table.table.round
        if current and not self._owns_round(house_table):
            await self._send(seen, RecoverRound())
            self._seed = (current.number, b"")
            return None
        act = next_action(game, house_table, self._elapsed(house_table))
        if isinstance(act, DealerWait):
            return LEASE_SECONDS if act.seconds is None else act.seconds
        if isinstance(act, DealerDraw):
            await self._draw_and_call(house_table)
        elif act.starts_round:
            await self._start_round(house_table, act)
        elif isinstance(act.command, CloseBetting):
            key = closing_key(self.table, house_table.table.rounds)
            await self._send(seen, act.command, key=key, at=closing_time(house_table))
        else:
            await self._send(seen, act.command)
        return None

    def _elapsed(self, house_table: HouseTable) -> float:
        """Return for how long the table has stood at its last step.

        What passed before this dealer saw the step is by the clock; from then on somebody may set
        the clock, and the table plays on. A step is known by its version: while the clock is behind
        the log, one has the same time as the next.
        """
        now = self.clock.steady()
        if self._step_seen[0] != house_table.stepped_version:
            passed = max(self.clock.now() - house_table.stepped_at, 0) / MICROSECONDS_PER_SECOND
            self._step_seen = (house_table.stepped_version, now - passed)
        return now - self._step_seen[1]

    def _owns_round(self, house_table: HouseTable) -> bool:
        """Tell whether the round being played is one that this dealer began or has recovered."""
        if self._seed is None or self._seed[0] != house_table.table.current.number:
            return False
        return not self._seed[1] or seed_commitment(self._seed[1]) == house_table.commitment

    async def _start_round(self, house_table: HouseTable, action: DealerCommand) -> None:
        """Commit to a fresh seed in the same append that begins a round."""
        seed, number = new_seed(), house_table.table.rounds + 1
        self._seed = (number, seed)
        sealed = SeedCommitted(round=number, commitment=seed_commitment(seed))
        await self._send(procedure_position(house_table), action.command, [sealed])

    async def _draw_and_call(self, house_table: HouseTable) -> None:
        """Draw the dice from the seed and the head of the chain at the close, and reveal it."""
        if self._seed is None or not self._seed[1]:
            raise InvariantBroken(f"table {self.table} has dice to draw and no seed for them")
        (number, seed), seen = self._seed, procedure_position(house_table)
        stream, version = table_stream(self.table), house_table.closed_version
        (closed,) = await asyncio.to_thread(self.handler.store.read, stream, version - 1, 1)
        revealed = SeedRevealed(round=number, seed=seed.hex())
        command = CallResult(by=HOUSE_DEALER, dice=draw_dice(seed, closed.hash))
        await self._send(seen, command, [revealed])

    async def _send(
        self,
        position: tuple[object, ...],
        command: AnyTableCommand,
        preceding_events: Sequence[AnyStreamEvent] = (),
        key: str = "",
        at: int | None = None,
    ) -> None:
        """Ask the floor in the house's name; the key says at which version of the table.

        It is meant for the table as it was seen, and for nobody else's round: the floor decides it
        at once, or again after others have written, only while the table stands where it stood.
        """
        (running,) = await self.handler.streams.get([table_stream(self.table)])
        if not await self._holds_lease():
            raise StreamConflict(f"another server deals table {self.table}")
        await self.handler.handle_for_house(
            command,
            table=self.table,
            key=key or f"{self.table} {running.durable_head.version} {tag_of(command)}",
            preceding_events=preceding_events,
            at=at,
            precondition=lambda now: procedure_position(now) == position,
        )


@dataclass(frozen=True, slots=True)
class DealerCommand:
    """Something to ask of the table now."""

    command: AnyCommand
    starts_round: bool = False


@dataclass(frozen=True, slots=True)
class DealerDraw:
    """Draw the dice and call them."""


@dataclass(frozen=True, slots=True)
class DealerWait:
    """Nothing to do until something happens at the table, or these seconds have passed."""

    seconds: float | None = None


def next_action(
    game: Game, house_table: HouseTable, elapsed: float
) -> DealerCommand | DealerDraw | DealerWait:
    """Return what the dealer of a table does next, so many seconds after its last step."""
    state, timing = house_table.table, house_table.dealt_by_house
    if not state.open or timing is None or house_table.interrupted:
        return DealerWait()
    if state.round is None and (state.locked or set(game.facts.opening) - state.checks):
        return DealerWait()
    done = state.round.done if state.round else set(skipped_steps(game, state))
    step = next(each for each in game.facts.procedure.order if each not in done)
    left = _seconds_before(step, house_table, timing) - elapsed
    if step in _PLAYER_STEPS:
        return _await_player(game, state, step, left)
    if left > 0:
        return DealerWait(left)
    if step == "call-result":
        return DealerDraw()
    if step == "offer-dice" or (step == "close-betting" and _shooter_must_bet(game, state)):
        return _offer_dice(state)
    return DealerCommand(_STEP_COMMANDS[step](game, state), state.round is None)


_PLAYER_STEPS: Final = ("choose-dice", "throw")


_STEP_COMMANDS: Final[dict[StepName, Callable[[Game, TableState], AnyCommand]]] = {
    "open-betting": lambda _game, _state: commands.OpenBetting(by=HOUSE_DEALER),
    "close-betting": lambda _game, _state: commands.CloseBetting(by=HOUSE_DEALER),
    "tumble": lambda game, _state: commands.Tumble(
        by=HOUSE_DEALER, times=game.facts.procedure.steps["tumble"].at_least
    ),
    "uncover": lambda _game, _state: commands.Uncover(by=HOUSE_DEALER),
    "enter-result": lambda _game, state: _next_key(state),
    "illuminate": lambda _game, _state: commands.Illuminate(by=HOUSE_DEALER),
    "collect-losers": lambda _game, _state: commands.CollectLosers(by=HOUSE_DEALER),
    "pay-winners": lambda _game, _state: commands.PayWinners(by=HOUSE_DEALER),
}


def _seconds_before(step: StepName, house_table: HouseTable, timing: Timing) -> float:
    """Return for how many seconds people are left before a step."""
    if step in ("close-betting", *_PLAYER_STEPS):
        return timing.betting_seconds
    if step == "collect-losers":
        return timing.showing_seconds
    if step == "call-result" or house_table.table.round is None:
        return timing.closing_seconds
    return 0.0


def procedure_position(house_table: HouseTable) -> tuple[object, ...]:
    """Return where a table stands in its procedure, whatever people bet and buy meanwhile."""
    current = house_table.table.round
    done = (frozenset(current.done), tuple(current.keys)) if current else ()
    return (house_table.table.rounds, house_table.commitment, house_table.stepped_version, done)


def _next_key(state: TableState) -> AnyCommand:
    """Return the next key of the terminal: what was called, and then Enter."""
    called, keys = state.current.called or (), state.current.keys
    if len(keys) < len(called):
        return commands.PressKey(by=HOUSE_DEALER, key=called[len(keys)])
    return commands.PressEnter(by=HOUSE_DEALER)


# --- the shooter --------------------------------------------------------------------------------


def _shooter_must_bet(game: Game, state: TableState) -> bool:
    """Tell whether betting cannot close because the shooter has not bet."""
    rule = game.facts.shooter
    return rule is not None and rule.must_bet and not (state.shooter and state.shooter.stake)


def _await_player(
    game: Game, state: TableState, step: StepName, left: float
) -> DealerCommand | DealerWait:
    """Wait for a player who chooses or throws; the house goes on without one who does not."""
    shooter = state.shooter
    throws = game.facts.procedure.steps[step].by
    if step == "throw" and ("shooter" not in throws or shooter is None or shooter.absent):
        return DealerCommand(commands.Throw(by=HOUSE_DEALER))
    if left > 0 or shooter is None:
        return DealerWait(left if shooter else None)
    if step == "choose-dice":
        return _offer_dice(state)
    return DealerCommand(
        commands.Report(by=HOUSE_DEALER, irregularity="walked-away", player=shooter.player)
    )


def _offer_dice(state: TableState) -> DealerCommand | DealerWait:
    """Offer the dice to whoever sits next to the last who had them."""
    player = _next_player(list(state.seats), state.shooter)
    if player is None:
        return DealerWait()
    return DealerCommand(commands.OfferDice(by=HOUSE_DEALER, player=player), state.round is None)


def _next_player(players: list[str], shooter: Shooter | None) -> str | None:
    if not players:
        return None
    if shooter is None or shooter.player not in players:
        return players[0]
    return players[(players.index(shooter.player) + 1) % len(players)]
