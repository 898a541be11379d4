"""A table as one audience sees it at a moment: what a client draws before it follows the events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from threedice.errors import UnknownName
from threedice.house.dealer.sealed_dice import closing_time
from threedice.house.events import Timing
from threedice.house.stream_state import table_stream
from threedice.rulebook.conduct import StepName
from threedice.table.limits import TableLimits, box_of

if TYPE_CHECKING:
    from threedice.house.command_handler import CommandHandler
    from threedice.house.stream_state import HouseTable
    from threedice.rulebook import Game
    from threedice.table.state import Bet, Bets, Round, Shooter, TableSeat, TableState

AudienceKind = Literal["staff", "player"]


PlacementTuple = tuple[str, int, int]
"""Chips put down at one time: the end of the table, the number of the placement, the amount."""


class SeatView(msgspec.Struct, frozen=True):
    """A player's chips at a table: in his stack, at risk, by spot, and by area of the felt.

    `placements` by spot are in the order in which they lie there; chips go from the last.
    """

    stack: int
    at_risk: int
    colour: str
    colour_value: int
    owing: int
    bets: dict[str, int]
    areas: dict[str, int]
    placements: dict[str, list[PlacementTuple]]


class RoundView(msgspec.Struct, frozen=True):
    """The round being played; `totals` are everybody's chips by spot."""

    number: int
    done: list[StepName]
    totals: dict[str, int]
    known: list[int]
    called: tuple[int, int, int] | None
    keys: list[int]
    result: tuple[int, int, int] | None


class ShooterView(msgspec.Struct, frozen=True):
    """Who has the dice, which he chose, and how far he has come.

    His stake is for himself and for staff, that he has walked away for staff.
    """

    player: str
    dice: list[int]
    stake: int
    throws: int
    absent: bool


class TableView(msgspec.Struct, frozen=True):
    """A table after its `version`th entry; `seats` are the viewer's own, or all for staff.

    `betting_closes` is when a table that the house deals closes betting, where it is open.
    `next_limits` wait for the next opening of betting. `standing` are the totals of a void round
    whose bets stand, until the next begins; the seats have those bets. `owing` are debts, of
    players without a seat too. `checks_missing` are for staff.
    """

    table: str
    version: int
    game: str
    game_hash: str
    open: bool
    currency: str
    mode: str
    chips: list[int]
    limits: TableLimits | None
    next_limits: TableLimits | None
    checks_missing: list[str]
    locked: str
    interrupted: int
    suspended: bool
    dealt_by_house: Timing | None
    commitment: str
    seeds_lost: int
    betting_since: int
    betting_closes: int
    rounds: int
    round: RoundView | None
    standing: dict[str, int]
    shooter: ShooterView | None
    owing: dict[str, int]
    seats: dict[str, SeatView]
    float_amount: int | None
    drop: int | None


async def load_table_view(
    floor: CommandHandler, table: str, audience: AudienceKind, player: str = ""
) -> TableView:
    """Return a table as it is durably, for its staff or one player."""
    (running,) = await floor.streams.get([table_stream(table)])
    house_table: HouseTable = running.durable
    game = floor.game(house_table)
    if game is None:
        raise UnknownName("table", table, [])
    suspended = bool(floor.suspension_reason)
    return build_table_view(
        game, house_table, running.durable_head.version, audience, player, suspended=suspended
    )


def build_table_view(
    game: Game,
    house_table: HouseTable,
    version: int,
    audience: AudienceKind,
    player: str = "",
    *,
    suspended: bool = False,
) -> TableView:
    """Return a table at a version as its staff or one player sees it."""
    state, current = house_table.table, house_table.table.round
    staff = audience == "staff"
    return TableView(
        table=house_table.id,
        version=version,
        game=house_table.game,
        game_hash=house_table.game_hash,
        open=state.open,
        currency=state.currency,
        mode=state.mode,
        chips=state.chips,
        limits=state.limits,
        next_limits=state.next_limits,
        checks_missing=_checks_missing(game, state) if staff else [],
        locked=state.locked,
        interrupted=house_table.interrupted,
        suspended=suspended,
        dealt_by_house=house_table.dealt_by_house,
        commitment=house_table.commitment,
        seeds_lost=house_table.seeds_lost,
        betting_since=house_table.betting_since,
        betting_closes=_betting_closes(house_table),
        rounds=state.rounds,
        round=_round(game, current) if current else None,
        standing=_above_zero(state.standing[1]) if state.standing else {},
        shooter=_shooter(state.shooter, staff, player) if state.shooter else None,
        owing={
            name: owed for name, owed in state.owing.items() if owed and (staff or name == player)
        },
        seats={
            name: _seat(game, state, name, seat)
            for name, seat in state.seats.items()
            if staff or name == player
        },
        float_amount=state.float_amount if staff else None,
        drop=state.drop if staff else None,
    )


def _checks_missing(game: Game, state: TableState) -> list[str]:
    return [check for check in game.facts.opening if check not in state.checks]


def _shooter(shooter: Shooter, staff: bool, player: str) -> ShooterView:
    own = staff or shooter.player == player
    return ShooterView(
        player=shooter.player,
        dice=shooter.dice,
        stake=shooter.stake if own else 0,
        throws=shooter.throws,
        absent=shooter.absent and staff,
    )


def _betting_closes(house_table: HouseTable) -> int:
    current = house_table.table.round
    betting = current and "open-betting" in current.done and "close-betting" not in current.done
    return closing_time(house_table) if betting and house_table.dealt_by_house else 0


def _round(game: Game, current: Round) -> RoundView:
    return RoundView(
        number=current.number,
        done=[step for step in game.facts.procedure.order if step in current.done],
        totals=_above_zero(current.totals),
        known=current.known,
        called=current.called,
        keys=current.keys,
        result=current.result,
    )


def _above_zero(totals: dict[str, int]) -> dict[str, int]:
    return {spot: total for spot, total in totals.items() if total}


def _seat(game: Game, state: TableState, player: str, seat: TableSeat) -> SeatView:
    laid = {spot: bets[player] for spot, bets in _on_layout(state).items() if player in bets}
    return SeatView(
        stack=seat.stack,
        at_risk=seat.at_risk,
        colour=seat.colour,
        colour_value=seat.colour_value,
        owing=state.owing.get(player, 0),
        bets=_above_zero({spot: bet.total for spot, bet in laid.items()}),
        areas=_areas(game, laid),
        placements={
            spot: [(each.area, each.number, each.amount) for each in bet.placements]
            for spot, bet in laid.items()
        },
    )


def _on_layout(state: TableState) -> Bets:
    """Return the bets of the round, or those that stand until the next."""
    if state.round:
        return state.round.bets
    return state.standing[0] if state.standing else {}


def _areas(game: Game, laid: dict[str, Bet]) -> dict[str, int]:
    """Return where a player's chips lie; of a bet that plays in part, what was placed first."""
    areas: dict[str, int] = {}
    for spot, bet in laid.items():
        left = bet.total
        for each in bet.placements:
            lies, area = min(each.amount, left), felt_area(game, spot, each.area)
            if lies:
                areas[area] = areas.get(area, 0) + lies
            left -= lies
    return areas


def felt_area(game: Game, spot: str, end: str) -> str:
    """Return the area of the felt for chips on a spot; of several the first, where none is said."""
    box, ends = box_of(spot), game.ends[box_of(spot)]
    end = end if end in ends else ends[0]
    return f"{box}@{end}" if end else box
