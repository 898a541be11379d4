"""What is worked out for those at a table: how much still fits, and the dealer's working sheet.

Both come from the table's own rules applied to the state as it is; nothing is written.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from threedice.api.auth.authorisation import audience_of, is_own_or_staff
from threedice.api.context import require_table
from threedice.api.http.operations import Operation, RequestContext, operation
from threedice.api.http.problems import HttpProblem
from threedice.api.routes.history import PlayerQuery
from threedice.api.routes.tables import require_table_staff
from threedice.errors import UnknownName
from threedice.house.stream_state import table_stream
from threedice.money import MAX_AMOUNT
from threedice.table import commands, decide, evolve
from threedice.table import events as table_events
from threedice.table.commands import Actor
from threedice.table.limits import (
    box_of,
    find_breaches,
    limits_in_force,
    permitted_total,
    remaining_room,
    stake_step,
)
from threedice.table.rules import steps_before
from threedice.table.state import Round, TableState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.api.context import ServerContext
    from threedice.rulebook import Game
    from threedice.rulebook.conduct import StepName
    from threedice.table.events import AnyEvent
    from threedice.table.limits import LimitBreach


class SpotRoom(msgspec.Struct, frozen=True):
    """A spot's limits, in which step it is staked, a player's chips and all on it, what fits."""

    minimum: int
    maximum: int
    step: int
    own: int
    total: int
    room: int


class DifferentialRoom(msgspec.Struct, frozen=True):
    """Two opposite spots: by how much they may differ, what lies there, what may still play."""

    boxes: tuple[str, str]
    limit: int
    totals: tuple[int, int]
    room: tuple[int, int]


class TableRoom(msgspec.Struct, frozen=True):
    """How much still fits on every spot of a table at a version, for one player."""

    version: int
    spots: dict[str, SpotRoom]
    differential: list[DifferentialRoom]


class FlagView(msgspec.Struct, frozen=True):
    """A limit that chips on a spot break: one player's, or everybody's where none is named."""

    spot: str
    player: str
    limit: Literal["maximum", "differential", "minimum"]
    amount: int
    allowed: int
    clause: tuple[str, ...]


class LosingBet(msgspec.Struct, frozen=True):
    """A losing bet to take."""

    spot: str
    player: str
    amount: int


class ApportionedBet(msgspec.Struct, frozen=True):
    """A bet over a limit that nobody noticed: of its stake it plays a part, the rest goes back."""

    spot: str
    player: str
    stake: int
    plays: int


class WinningBet(msgspec.Struct, frozen=True):
    """A winning bet to pay and hand back."""

    spot: str
    player: str
    stake: int
    winnings: int


class WorkingSheet(msgspec.Struct, frozen=True):
    """What a dealer has in hand at a version, in the order in which he works the layout.

    `lit`, `apportion`, `collect` and `pay` are there once a result stands; what has been collected
    is no more to be collected.
    """

    version: int
    flags: list[FlagView]
    lit: list[str]
    apportion: list[ApportionedBet]
    collect: list[LosingBet]
    pay: list[WinningBet]


@operation(
    "show-room",
    "GET",
    "/api/tables/{table}/room",
    query=PlayerQuery,
    response=TableRoom,
    problems=(404, 503),
)
async def show_room(request: RequestContext) -> TableRoom:
    """Show how much still fits on each spot: for oneself, or for a player whom staff name."""
    table, player = request.path_params["table"], request.query.player or request.account_id
    if audience_of(request.caller, table) is None:
        raise HttpProblem(403, "door/role")
    if not is_own_or_staff(request.caller, player):
        raise HttpProblem(403, "door/own")
    if player != request.account_id:
        require_table_staff(request, table)
    game, state, version = await _load_durable_state(request.context, table)
    return table_room(game, state, version, player)


@operation(
    "show-sheet", "GET", "/api/tables/{table}/sheet", response=WorkingSheet, problems=(404, 503)
)
async def show_sheet(request: RequestContext) -> WorkingSheet:
    """Show what a dealer has in hand: flags, boxes to light, losers to collect, winners to pay."""
    require_table_staff(request, request.path_params["table"])
    return working_sheet(*await _load_durable_state(request.context, request.path_params["table"]))


async def _load_durable_state(context: ServerContext, table: str) -> tuple[Game, TableState, int]:
    """Return a table's game, its state as it is durably, and at which version that is."""
    await require_table(context, table)
    floor = context.house.command_handler
    (running,) = await floor.streams.get([table_stream(table)])
    game = floor.game(running.durable)
    if game is None:
        raise UnknownName("table", table, sorted(context.table_ids))
    return game, running.durable.table, running.durable_head.version


# --- room ---------------------------------------------------------------------------------------


def table_room(game: Game, state: TableState, version: int, player: str) -> TableRoom:
    """Return how much still fits; between rounds, beside what stands from a void one."""
    if state.limits is None:
        return TableRoom(version, {}, [])
    if state.round is None:
        bets, totals = state.standing or ({}, {})
        state = replace(state, round=Round(state.rounds + 1, bets=bets, totals=totals))
    spots = {spot: _spot_room(game, state, spot, player) for spot in _spots(game)}
    return TableRoom(version, spots, list(_differentials(game, state)))


def _spots(game: Game) -> Iterator[str]:
    per_area = game.facts.limits.areas == "per-area"
    for box in game.boxes:
        for end in game.ends[box] if per_area else ("",):
            yield f"{box}@{end}" if end else box


def _spot_room(game: Game, state: TableState, spot: str, player: str) -> SpotRoom:
    box, limits = game.boxes[box_of(spot)], limits_in_force(state).for_box(box_of(spot))
    rule, shooter, current = game.facts.shooter, state.shooter, state.current
    bet = current.bets.get(spot, {}).get(player)
    own, total = bet.total if bet else 0, current.totals.get(spot, 0)
    fits = remaining_room(game, state, spot, player)
    if rule and box.id == rule.box:  # only his who has chosen the dice, before his first throw
        holds = shooter is not None and shooter.player == player
        own = shooter.stake if shooter and holds else 0
        total = own
        may = shooter and holds and shooter.dice and not shooter.throws
        fits = max(limits.maximum - own, 0) if may else 0
    step = stake_step(box, state.chips)
    return SpotRoom(limits.minimum, limits.maximum, step, own, total, fits)


def _differentials(game: Game, state: TableState) -> Iterator[DifferentialRoom]:
    policy, limits = game.facts.limits.differential, limits_in_force(state)
    totals, known = state.current.totals, set(_spots(game))
    for first, second in policy.pairs if policy else ():
        for spot in (each for each in _spots(game) if box_of(each) == first):
            pair = (spot, second + spot[len(first) :])
            if not known.issuperset(pair):
                continue
            held = (totals.get(pair[0], 0), totals.get(pair[1], 0))
            left = [
                max(permitted_total(game, limits, totals, each) - totals.get(each, 0), 0)
                for each in pair
            ]
            limit = limits.differential[first]
            yield DifferentialRoom(pair, limit, held, (left[0], left[1]))


# --- the working sheet --------------------------------------------------------------------------


def working_sheet(game: Game, state: TableState, version: int) -> WorkingSheet:
    """Return what the dealer would be told to do now."""
    current = state.round
    if current is None:
        return WorkingSheet(version, [], [], [], [], [])
    begun = "collect-losers" in current.done
    raised = [] if begun else [_flag_view(each) for each in _flags_in_working_order(game, state)]
    if current.result is None:
        return WorkingSheet(version, raised, [], [], [], [])
    events = list(_simulate_settlement(game, state))
    return WorkingSheet(
        version=version,
        flags=raised,
        lit=list(game.winning(current.result)),
        apportion=[
            ApportionedBet(*bet)
            for each in events
            if isinstance(each, table_events.BetsApportioned)
            for bet in each.bets
        ],
        collect=[bet for each in events for bet in _losing_bets(game, each)],
        pay=[bet for each in events for bet in _winning_bets(game, each)],
    )


def _flags_in_working_order(game: Game, state: TableState) -> list[LimitBreach]:
    order = {box: place for place, box in enumerate(game.working_order)}
    return sorted(
        find_breaches(game, state), key=lambda flag: (order[box_of(flag.spot)], flag.spot)
    )


def _flag_view(flag: LimitBreach) -> FlagView:
    return FlagView(flag.spot, flag.player, flag.kind, flag.staked, flag.limit, flag.clauses)


def _simulate_settlement(game: Game, state: TableState) -> Iterator[AnyEvent]:
    """Yield what collecting and paying would make happen, on a copy of the state.

    What has to come before is taken as done, and the float as filled: short or not, this is owed.
    """
    bare = replace(state, float_amount=MAX_AMOUNT, settled={}, reversed=set())
    copy = _STATE_DECODER.decode(_STATE_ENCODER.encode(bare))
    if "collect-losers" not in copy.current.done:
        for event in _simulate_step(game, copy, "collect-losers"):
            yield event
            evolve(copy, event)
    yield from _simulate_step(game, copy, "pay-winners")


def _simulate_step(game: Game, state: TableState, step: StepName) -> tuple[AnyEvent, ...]:
    state.current.done.update(steps_before(game, step))
    by = Actor(id="", role=game.facts.procedure.steps[step].by[0])
    if step == "collect-losers":
        return decide(game, state, commands.CollectLosers(by=by))
    return decide(game, state, commands.PayWinners(by=by))


_STATE_ENCODER: Final = msgspec.msgpack.Encoder()
_STATE_DECODER: Final = msgspec.msgpack.Decoder(TableState)


def _losing_bets(game: Game, event: AnyEvent) -> Iterator[LosingBet]:
    match event:
        case table_events.LosersCollected():
            yield from (LosingBet(*bet) for bet in event.bets)
        case table_events.ShooterLost() if game.facts.shooter and event.stake:
            yield LosingBet(game.facts.shooter.box, event.player, event.stake)
        case _:
            pass


def _winning_bets(game: Game, event: AnyEvent) -> Iterator[WinningBet]:
    match event:
        case table_events.WinnersPaid():
            yield from (WinningBet(*bet) for bet in event.bets)
        case table_events.ShooterWon() if game.facts.shooter:
            yield WinningBet(game.facts.shooter.box, event.player, event.stake, event.winnings)
        case _:
            pass


WORKSHEET_OPERATIONS: Final[tuple[Operation, ...]] = (show_room, show_sheet)
