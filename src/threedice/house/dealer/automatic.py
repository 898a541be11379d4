"""Deal a table automatically: hold its lease, choose the next step, and send its command.

One server deals a table at a time, under a lease. The seed of a round is not stored before it is
revealed, so the dice of a round are lost with its dealer: the next holder of the lease voids it.

`next_action` is pure: the rulebook's procedure gives the order of the steps, and the table's timing
the waits between them. For steps that only a player may take (the shooter chooses the dice and
throws) the dealer waits as long as for bets.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from threedice.errors import InvariantBroken, KeyReused, QueueFull, StreamConflict, ThreediceError
from threedice.house.codec import tag_of
from threedice.house.commands import RecoverRound
from threedice.house.dealer.sealed_dice import (
    MICROSECONDS_PER_SECOND,
    SEED_BYTES,
    closing_key,
    closing_time,
    draw_dice,
    seed_commitment,
)
from threedice.house.decisions import HOUSE_DEALER
from threedice.house.events import SeedCommitted, SeedRevealed, Timing
from threedice.house.stream_state import HouseTable, table_stream
from threedice.table import commands
from threedice.table.rules import remaining_steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.house.command_handler import CommandHandler
    from threedice.house.commands import AnyTableCommand
    from threedice.house.events import AnyStreamEvent
    from threedice.rulebook import Game
    from threedice.rulebook.conduct import StepName
    from threedice.table.commands import AnyCommand
    from threedice.table.state import Shooter, TableState


LEASE_SECONDS = 10.0
"""How long a dealer's lease lasts; it is renewed after half of that."""


class AutomaticDealer:
    """Deal one table while this server holds its lease."""

    def __init__(self, handler: CommandHandler, table: str, holder: str) -> None:
        self.handler, self.table, self.holder = handler, table, holder
        self.wake = asyncio.Event()
        self.error = ""
        """Why the dealer cannot go on; empty while it deals."""
        self._lease_name = f"dealer/{table}"
        self._leased_until = 0.0
        self._seed: tuple[int, bytes] | None = None  # round and seed; no seed if recovered
        self._last_step = (-1, 0.0)  # its version, and its time by the monotonic clock
        self._closed = False

    async def run(self) -> None:
        """Deal until closed."""
        try:
            while not self._closed:
                self.wake.clear()
                await self.handler.runtime.wait(await self._run_until_idle(), self.wake)
        finally:
            with suppress(ThreediceError):
                await self.handler.runtime.run_blocking(
                    self.handler.store.release_lease, self._lease_name, self.holder
                )

    def close(self) -> None:
        """Stop after the current step."""
        self._closed = True
        self.wake.set()

    async def _run_until_idle(self) -> float:
        """Take steps until none is due; return how many seconds to wait.

        An error (the store is unavailable, the float is too short to pay, a defect) is reported in
        `error` and retried until time or a person resolves it.
        """
        try:
            while not self._closed:
                if not await self._holds_lease():
                    self._seed, self.error = None, ""
                    return LEASE_SECONDS / 2
                wait_seconds = await self._take_next_step()
                self.error = ""
                if wait_seconds is not None:
                    return min(wait_seconds, self._seconds_until_renewal())
        except (StreamConflict, KeyReused, QueueFull):
            return 0.1
        except Exception as error:
            self.error = str(error) or type(error).__name__
            return LEASE_SECONDS / 5
        return 0.0

    async def _holds_lease(self) -> bool:
        """Renew the lease once half of it has passed; return whether it is held now.

        The lease counts from before the request: if this server or the database was delayed, it may
        have expired since, and another server may have started to deal.
        """
        renewal_time = self._leased_until - LEASE_SECONDS / 2
        while (now := self.handler.runtime.monotonic()) >= renewal_time:
            acquire = self.handler.store.acquire_lease
            held = await self.handler.runtime.run_blocking(
                acquire, self._lease_name, self.holder, LEASE_SECONDS
            )
            self._leased_until = renewal_time = now + LEASE_SECONDS if held else 0.0
            if not held:
                return False
        return True

    def _seconds_until_renewal(self) -> float:
        """Return the seconds until the lease must be renewed."""
        return max(self._leased_until - self.handler.runtime.monotonic() - LEASE_SECONDS / 2, 0.1)

    async def _take_next_step(self) -> float | None:
        """Take one step and return None, or return the seconds until a step is due."""
        if self.handler.suspension_reason:
            return LEASE_SECONDS / 5
        house_table = await self.handler.table(self.table)
        game = self.handler.game(house_table)
        if game is None or house_table.dealt_by_house is None:
            return LEASE_SECONDS
        position, current = procedure_position(house_table), house_table.table.round
        if current and not self._owns_round(house_table):
            await self._send(position, RecoverRound())
            self._seed = (current.number, b"")
            return None
        action = next_action(game, house_table, self._elapsed(house_table))
        if isinstance(action, DealerWait):
            return LEASE_SECONDS if action.seconds is None else action.seconds
        if isinstance(action, DealerDraw):
            await self._draw_and_call(house_table)
        elif action.starts_round:
            await self._start_round(house_table, action)
        elif isinstance(action.command, commands.CloseBetting):
            key = closing_key(self.table, house_table.table.rounds)
            await self._send(position, action.command, key=key, at=closing_time(house_table))
        else:
            await self._send(position, action.command)
        return None

    def _elapsed(self, house_table: HouseTable) -> float:
        """Return the seconds since the table's last step.

        The time before this dealer first saw the step is taken from the clock; after that the
        monotonic clock counts, so that setting the clock does not disturb play. A step is
        identified by its version, because while the clock is behind the log, successive steps have
        the same time.
        """
        now = self.handler.runtime.monotonic()
        if self._last_step[0] != house_table.stepped_version:
            passed = (
                max(self.handler.runtime.now() - house_table.stepped_at, 0)
                / MICROSECONDS_PER_SECOND
            )
            self._last_step = (house_table.stepped_version, now - passed)
        return now - self._last_step[1]

    def _owns_round(self, house_table: HouseTable) -> bool:
        """Return whether this dealer started or recovered the current round."""
        if self._seed is None or self._seed[0] != house_table.table.current.number:
            return False
        return not self._seed[1] or seed_commitment(self._seed[1]) == house_table.commitment

    async def _start_round(self, house_table: HouseTable, action: DealerCommand) -> None:
        """Start a round, committing to a fresh seed in the same append."""
        seed, number = self.handler.runtime.random_bytes(SEED_BYTES), house_table.table.rounds + 1
        self._seed = (number, seed)
        committed = SeedCommitted(round=number, commitment=seed_commitment(seed))
        await self._send(procedure_position(house_table), action.command, [committed])

    async def _draw_and_call(self, house_table: HouseTable) -> None:
        """Draw the dice from the seed and the chain's head at the close; call and reveal both."""
        if self._seed is None or not self._seed[1]:
            raise InvariantBroken(f"table {self.table} must draw dice and has no seed for them")
        (number, seed), position = self._seed, procedure_position(house_table)
        stream, version = table_stream(self.table), house_table.closed_version
        (closed,) = await self.handler.runtime.run_blocking(
            self.handler.store.read, stream, version - 1, 1
        )
        revealed = SeedRevealed(round=number, seed=seed.hex())
        command = commands.CallResult(by=HOUSE_DEALER, dice=draw_dice(seed, closed.hash))
        await self._send(position, command, [revealed])

    async def _send(
        self,
        position: tuple[object, ...],
        command: AnyTableCommand,
        preceding_events: Sequence[AnyStreamEvent] = (),
        key: str = "",
        at: int | None = None,
    ) -> None:
        """Send a command in the house's name; the default key names the table's version.

        The command applies to the table as this dealer saw it: the handler decides it, also after a
        conflict, only while the table is at the same position of its procedure.
        """
        (stream,) = await self.handler.streams.get([table_stream(self.table)])
        if not await self._holds_lease():
            raise StreamConflict(f"another server deals table {self.table}")
        await self.handler.handle_for_house(
            command,
            table=self.table,
            key=key or f"{self.table} {stream.durable_head.version} {tag_of(command)}",
            preceding_events=preceding_events,
            at=at,
            precondition=lambda current: procedure_position(current) == position,
        )


def procedure_position(house_table: HouseTable) -> tuple[object, ...]:
    """Return a table's position in its procedure, which bets and buy-ins do not change."""
    current = house_table.table.round
    done = (frozenset(current.done), tuple(current.keys)) if current else ()
    return (house_table.table.rounds, house_table.commitment, house_table.stepped_version, done)


@dataclass(frozen=True, slots=True)
class DealerCommand:
    """Send this command now."""

    command: AnyCommand
    starts_round: bool = False


@dataclass(frozen=True, slots=True)
class DealerDraw:
    """Draw the dice and call the result."""


@dataclass(frozen=True, slots=True)
class DealerWait:
    """Wait for this many seconds, or without a limit, for a change at the table."""

    seconds: float | None = None


def next_action(
    game: Game, house_table: HouseTable, elapsed: float
) -> DealerCommand | DealerDraw | DealerWait:
    """Return the dealer's next action, given the seconds elapsed since the table's last step."""
    state, timing = house_table.table, house_table.dealt_by_house
    if not state.open or timing is None or house_table.interrupted:
        return DealerWait()
    if state.round is None and (state.locked or set(game.facts.opening) - state.checks):
        return DealerWait()
    step = remaining_steps(game, state)[0]
    remaining = _seconds_before(step, house_table, timing) - elapsed
    if step in _PLAYER_STEPS:
        return _await_player(game, state, step, remaining)
    if remaining > 0:
        return DealerWait(remaining)
    if step == "call-result":
        return DealerDraw()
    if step == "offer-dice" or (step == "close-betting" and _shooter_must_bet(game, state)):
        return _offer_dice(state)
    return DealerCommand(_step_command(game, state, step), state.round is None)


_PLAYER_STEPS: Final = ("choose-dice", "throw")


def _step_command(game: Game, state: TableState, step: StepName) -> AnyCommand:
    if step == "tumble":
        times = game.facts.procedure.steps["tumble"].at_least
        return commands.Tumble(by=HOUSE_DEALER, times=times)
    if step == "enter-result":
        return _next_key(state)
    return commands.PLAIN_STEP_COMMANDS[step](by=HOUSE_DEALER)


def _seconds_before(step: StepName, house_table: HouseTable, timing: Timing) -> float:
    """Return the seconds that a step waits, to give people time."""
    if step in ("close-betting", *_PLAYER_STEPS):
        return timing.betting_seconds
    if step == "collect-losers":
        return timing.showing_seconds
    if step == "call-result" or house_table.table.round is None:
        return timing.closing_seconds
    return 0.0


def _next_key(state: TableState) -> AnyCommand:
    """Return the next key press at the terminal: the called dice in order, then Enter."""
    called, keys = state.current.called or (), state.current.keys
    if len(keys) < len(called):
        return commands.PressKey(by=HOUSE_DEALER, key=called[len(keys)])
    return commands.PressEnter(by=HOUSE_DEALER)


# --- the shooter --------------------------------------------------------------------------------


def _shooter_must_bet(game: Game, state: TableState) -> bool:
    """Return whether betting cannot close because the shooter has not bet."""
    rule = game.facts.shooter
    return rule is not None and rule.must_bet and not (state.shooter and state.shooter.stake)


def _await_player(
    game: Game, state: TableState, step: StepName, remaining: float
) -> DealerCommand | DealerWait:
    """Wait for the shooter to choose or throw; after the timeout, go on without them."""
    shooter = state.shooter
    throwers = game.facts.procedure.steps[step].by
    if step == "throw" and ("shooter" not in throwers or shooter is None or shooter.absent):
        return DealerCommand(commands.Throw(by=HOUSE_DEALER))
    if remaining > 0 or shooter is None:
        return DealerWait(remaining if shooter else None)
    if step == "choose-dice":
        return _offer_dice(state)
    return DealerCommand(
        commands.Report(by=HOUSE_DEALER, irregularity="walked-away", player=shooter.player)
    )


def _offer_dice(state: TableState) -> DealerCommand | DealerWait:
    """Offer the dice to the player seated after the last shooter."""
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
