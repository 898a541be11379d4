"""Calculations for a table: the room left on each spot, and the dealer's working sheet.

Both apply the table's own rules to its durable state; nothing is written.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import msgspec
from litestar import get

from threedice.api.context import Context, CurrentCaller
from threedice.api.http.requests import OptionalPlayer, TableId
from threedice.api.routes.history import resolve_player
from threedice.api.routes.tables import load_table, require_audience, require_table_staff
from threedice.table.chip_counts.moves import rack_payments
from threedice.table.events import BetsApportioned, LosersCollected, ShooterLost
from threedice.table.forecast import forecast_settlement
from threedice.table.limits import (
    box_of,
    find_breaches,
    limits_in_force,
    opposite_spot,
    permitted_total,
    remaining_room,
    stake_step,
)
from threedice.table.money import table_postings
from threedice.table.settlement import working_order
from threedice.table.state import Round

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.rulebook import Game
    from threedice.table.events import AnyEvent
    from threedice.table.state import TableState


class SpotRoom(msgspec.Struct, frozen=True):
    """A spot's limits and stake step, the player's chips and all chips on it, and the room left."""

    minimum: int
    maximum: int
    step: int
    own: int
    total: int
    room: int


class DifferentialRoom(msgspec.Struct, frozen=True):
    """A pair of opposite spots: their maximum difference, their totals, and the room on each."""

    boxes: tuple[str, str]
    limit: int
    totals: tuple[int, int]
    room: tuple[int, int]


class TableRoom(msgspec.Struct, frozen=True):
    """The room left on every spot of a table at a version, for one player."""

    version: int
    spots: dict[str, SpotRoom]
    differential: list[DifferentialRoom]


class FlagView(msgspec.Struct, frozen=True):
    """A limit that the chips on a spot exceed: one player's, or everybody's if none is named."""

    spot: str
    player: str
    limit: Literal["maximum", "differential", "minimum"]
    amount: int
    allowed: int
    clause: tuple[str, ...]


class LosingBet(msgspec.Struct, frozen=True):
    """A losing bet to collect."""

    spot: str
    player: str
    amount: int


class ApportionedBet(msgspec.Struct, frozen=True):
    """A bet of which a part plays; `stake` is all that lies there, and the rest goes back with it.

    The rest is over a limit: nobody noticed it, or it was rejected and waits for change.
    """

    spot: str
    player: str
    stake: int
    plays: int


class WinningBet(msgspec.Struct, frozen=True):
    """A winning bet to pay and to return; `stake` is what lies there, also if only a part plays.

    `chips` are the fewest chips of the rack that make the winnings, at a table that deals in chips;
    None if the rack cannot make them.
    """

    spot: str
    player: str
    stake: int
    winnings: int
    chips: dict[str, int] | None = None


class WorkingSheet(msgspec.Struct, frozen=True):
    """The dealer's tasks at a version, in the order in which the dealer works the layout.

    `lit`, `collect` and `pay` are empty until there is a result, and until then `apportion` lists
    only bets of which a rejected part waits for change. Bets that have been collected are no longer
    listed.
    """

    version: int
    flags: list[FlagView]
    lit: list[str]
    apportion: list[ApportionedBet]
    collect: list[LosingBet]
    pay: list[WinningBet]


@get("/api/tables/{table:str}/room", name="show-room")
async def show_room(
    context: Context, caller: CurrentCaller, table: TableId, player: OptionalPlayer = None
) -> TableRoom:
    """Show the room left on each spot, for the caller or for a player that staff name."""
    require_audience(caller, table)
    player = resolve_player(caller, table, player)
    house_table, game, version = await load_table(context, table)
    return table_room(game, house_table.table, version, player)


@get("/api/tables/{table:str}/sheet", name="show-sheet")
async def show_sheet(context: Context, caller: CurrentCaller, table: TableId) -> WorkingSheet:
    """Show the dealer's working sheet: flags, boxes to light, bets to collect and to pay."""
    require_table_staff(caller, table)
    house_table, game, version = await load_table(context, table)
    return working_sheet(game, house_table.table, version)


# --- room ---------------------------------------------------------------------------------------


def table_room(game: Game, state: TableState, version: int, player: str) -> TableRoom:
    """Return the room left; between rounds, bets standing from a void round count."""
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
    room = remaining_room(game, state, spot, player)
    if rule and box.id == rule.box:  # only for a shooter with dice, once, before the first throw
        is_shooter = shooter is not None and shooter.player == player
        own = shooter.stake if shooter and is_shooter else 0
        total = own
        may_stake = shooter and is_shooter and shooter.dice and not shooter.throws and not own
        room = limits.maximum if may_stake else 0
    step = stake_step(box, state.chips)
    return SpotRoom(limits.minimum, limits.maximum, step, own, total, room)


def _differentials(game: Game, state: TableState) -> Iterator[DifferentialRoom]:
    limits, totals, spots = limits_in_force(state), state.current.totals, list(_spots(game))

    def room(spot: str) -> int:
        return max(permitted_total(game, limits, totals, spot) - totals.get(spot, 0), 0)

    for spot in spots:
        other, first = opposite_spot(game, spot) or ("", "")
        if first == box_of(spot) and other in spots:  # each pair once
            pair_totals = (totals.get(spot, 0), totals.get(other, 0))
            limit = limits.differential[first]
            yield DifferentialRoom((spot, other), limit, pair_totals, (room(spot), room(other)))


# --- working sheet ------------------------------------------------------------------------------


def working_sheet(game: Game, state: TableState, version: int) -> WorkingSheet:
    """Return the dealer's tasks in the current state; flags only until bets are collected."""
    current = state.round
    if current is None:
        return WorkingSheet(version, [], [], [], [], [])
    flags = []
    if "collect-losers" not in current.done:
        flags = _flags_in_working_order(game, state)
    if current.called is None:
        return WorkingSheet(version, flags, [], _apportioned(game, state, []), [], [])
    events = list(forecast_settlement(game, state))
    return WorkingSheet(
        version=version,
        flags=flags,
        lit=list(game.winning(current.called)),
        apportion=_apportioned(game, state, events),
        collect=[bet for each in events for bet in _losing_bets(game, each)],
        pay=_propose_chips(game, state, events),
    )


def _apportioned(game: Game, state: TableState, events: list[AnyEvent]) -> list[ApportionedBet]:
    """Return the bets that play in part: those with an excess now, and those over a limit."""
    shares = {
        (spot, player): plays
        for each in events
        if isinstance(each, BetsApportioned)
        for spot, player, _, plays in each.bets
    }
    return [
        ApportionedBet(spot, player, bet.lying, plays)
        for spot, bets in working_order(game, state)
        for player, bet in bets.items()
        if (plays := shares.get((spot, player), bet.total)) != bet.lying
    ]


def _propose_chips(game: Game, state: TableState, events: list[AnyEvent]) -> list[WinningBet]:
    """Return the bets to pay, with the chips that the rack holds once the losers are in it."""
    bets = [bet for each in events for bet in _winning_bets(game, each)]
    if state.holders is None:
        return bets
    collected = [each for each in events if isinstance(each, LosersCollected | ShooterLost)]
    payouts = [(bet.spot, bet.player, bet.stake, bet.winnings) for bet in bets]
    payments = rack_payments(game, state, collected, payouts)
    return [WinningBet(*payout, chips) for payout, chips in payments]


def _flags_in_working_order(game: Game, state: TableState) -> list[FlagView]:
    order = {box: index for index, box in enumerate(game.working_order)}
    flags = [
        FlagView(each.spot, each.player, each.kind, each.staked, each.limit, each.clauses)
        for each in find_breaches(game, state)
    ]
    return sorted(flags, key=lambda flag: (order[box_of(flag.spot)], flag.spot))


def _losing_bets(game: Game, event: AnyEvent) -> Iterator[LosingBet]:
    for posting in table_postings(event):
        if (posting.source, posting.destination) == ("layout", "float") and posting.amount:
            yield LosingBet(posting.spot or _shooter_box(game), posting.player, posting.amount)


def _winning_bets(game: Game, event: AnyEvent) -> Iterator[WinningBet]:
    postings = table_postings(event)
    stakes = Counter[tuple[str, str]]()
    for posting in postings:
        if posting.source == "layout":
            stakes[posting.player, posting.spot] += posting.amount
    for posting in postings:
        if posting.source == "float":
            spot, stake = posting.spot or _shooter_box(game), stakes[posting.player, posting.spot]
            yield WinningBet(spot, posting.player, stake, posting.amount)


def _shooter_box(game: Game) -> str:
    return game.facts.shooter.box if game.facts.shooter else ""
