"""Views of a table for one audience: the state that a client loads before it follows events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import msgspec

from threedice.errors import UnknownName
from threedice.house.dealer.sealed_dice import closing_time
from threedice.house.events import Timing
from threedice.house.stream_state import table_stream
from threedice.rulebook.conduct import IrregularityName, StepName
from threedice.table.limits import TableLimits, box_of
from threedice.table.state import RoundStop

if TYPE_CHECKING:
    from threedice.house.command_handler import CommandHandler
    from threedice.house.stream_state import HouseTable
    from threedice.rulebook import Game
    from threedice.table.state import Bet, Bets, Round, Shooter, TableSeat, TableState

AudienceKind = Literal["staff", "player"]

PlacementTuple = tuple[str, int, int]
"""Chips placed together: the end of the table, the number of the placement, the amount."""


class SeatView(msgspec.Struct, frozen=True):
    """A player's chips at a table: stack, amount at risk, bets by spot and by area of the felt.

    `placements` by spot are in the order in which they were placed; the last is withdrawn first.
    `excess` by spot lies with a bet and does not play: it was rejected, or is not in the bet's
    share, and goes back with the bet.
    """

    stack: int
    at_risk: int
    colour: str
    colour_value: int
    owing: int
    bets: dict[str, int]
    excess: dict[str, int]
    areas: dict[str, int]
    placements: dict[str, list[PlacementTuple]]


class RoundView(msgspec.Struct, frozen=True):
    """The current round; `totals` are all players' chips by spot.

    `skipped` are the steps that it leaves out; they count as done. `unnamed` are the
    irregularities of which a report named no piece of equipment, for staff only: while they lock
    the table, steps with such equipment may be left out. `stopped` is the report that stopped it,
    until a second person decides.
    """

    number: int
    done: list[StepName]
    totals: dict[str, int]
    known: list[int]
    called: tuple[int, int, int] | None
    keys: list[int]
    result: tuple[int, int, int] | None
    skipped: list[StepName]
    unnamed: list[IrregularityName]
    stopped: RoundStop | None


class ShooterView(msgspec.Struct, frozen=True):
    """The shooter, the dice they chose, and their throws so far.

    `stake` is shown to the shooter and to staff (0 for others), `absent` to staff only.
    """

    player: str
    dice: list[int]
    stake: int
    throws: int
    absent: bool


class TableView(msgspec.Struct, frozen=True):
    """A table at a version of its stream; `seats` has the player's own seat, or all for staff.

    `betting_closes` is when betting closes at a table that the house deals, or 0. `next_limits`
    apply from the next opening of betting. `last_settled` is the last settled round until the dice
    are tumbled or thrown again, or 0. `standing` are the totals of bets that stand from a void
    round until the next round begins; the seats include those bets. `owing` are debts by player,
    with or without a seat. `checks_missing`, `float_amount` and `drop` are for staff only, as are
    `checks_failed`: the opening checks that failed, and the pieces of equipment by which they did.
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
    checks_failed: dict[str, str]
    locked: list[IrregularityName]
    interrupted: int
    suspended: bool
    dealt_by_house: Timing | None
    commitment: str
    seeds_lost: int
    betting_since: int
    betting_closes: int
    rounds: int
    last_settled: int
    round: RoundView | None
    standing: dict[str, int]
    shooter: ShooterView | None
    owing: dict[str, int]
    seats: dict[str, SeatView]
    float_amount: int | None
    drop: int | None


ViewType = TypeVar("ViewType", bound=msgspec.Struct)


def build_view(view_type: type[ViewType], source: object, **computed: Any) -> ViewType:
    """Build a view from computed fields, and from the source's attributes for the other fields."""
    copied = {
        name: getattr(source, name) for name in view_type.__struct_fields__ if name not in computed
    }
    return view_type(**copied, **computed)


class DurableTable(NamedTuple):
    """The durable state of a table, the game that it is set up for, and its version."""

    house_table: HouseTable
    game: Game
    version: int


async def load_durable_table(handler: CommandHandler, table: str) -> DurableTable:
    """Return the durable state of a table; raise `UnknownName` if it is not set up."""
    (stream,) = await handler.streams.get([table_stream(table)])
    game = handler.game(stream.durable)
    if game is None:
        raise UnknownName("table", table, [])
    return DurableTable(stream.durable, game, stream.durable_head.version)


async def load_table_view(
    handler: CommandHandler, table: str, audience: AudienceKind, player: str = ""
) -> TableView:
    """Return the durable state of a table as its staff or one player sees it."""
    house_table, game, version = await load_durable_table(handler, table)
    suspended = bool(handler.suspension_reason)
    return build_table_view(game, house_table, version, audience, player, suspended=suspended)


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
    state, is_staff = house_table.table, audience == "staff"
    return build_view(
        TableView,
        state,
        table=house_table.id,
        version=version,
        game=house_table.game,
        game_hash=house_table.game_hash,
        checks_missing=_checks_missing(game, state) if is_staff else [],
        checks_failed=state.equipment.failed if is_staff else {},
        interrupted=house_table.interrupted,
        suspended=suspended,
        dealt_by_house=house_table.dealt_by_house,
        commitment=house_table.commitment,
        seeds_lost=house_table.seeds_lost,
        betting_since=house_table.betting_since,
        betting_closes=betting_closes(house_table),
        last_settled=state.last_settled.number if state.last_settled else 0,
        round=_round_view(game, state.round, is_staff) if state.round else None,
        standing=_nonzero(state.standing[1]) if state.standing else {},
        shooter=_shooter_view(state.shooter, is_staff, player) if state.shooter else None,
        owing={
            name: amount
            for name, amount in state.owing.items()
            if amount and (is_staff or name == player)
        },
        seats={
            name: _seat_view(game, state, name, seat)
            for name, seat in state.seats.items()
            if is_staff or name == player
        },
        float_amount=state.float_amount if is_staff else None,
        drop=state.drop if is_staff else None,
    )


def _checks_missing(game: Game, state: TableState) -> list[str]:
    return [check for check in game.facts.opening if check not in state.checks]


def _shooter_view(shooter: Shooter, is_staff: bool, player: str) -> ShooterView:
    stake = shooter.stake if is_staff or shooter.player == player else 0
    return build_view(ShooterView, shooter, stake=stake, absent=shooter.absent and is_staff)


def betting_closes(house_table: HouseTable) -> int:
    """Return when betting closes at a table that the house deals, or 0."""
    is_timed = house_table.dealt_by_house and is_betting_open(house_table.table)
    return closing_time(house_table) if is_timed else 0


def is_betting_open(state: TableState) -> bool:
    """Return whether betting has been opened in the current round and not yet closed."""
    done = state.round.done if state.round else set()
    return "open-betting" in done and "close-betting" not in done


def _round_view(game: Game, current: Round, is_staff: bool) -> RoundView:
    done = [step for step in game.facts.procedure.order if step in current.done]
    unnamed = current.unnamed if is_staff else []
    return build_view(
        RoundView, current, done=done, totals=_nonzero(current.totals), unnamed=unnamed
    )


def _nonzero(totals: dict[str, int]) -> dict[str, int]:
    return {spot: total for spot, total in totals.items() if total}


def _seat_view(game: Game, state: TableState, player: str, seat: TableSeat) -> SeatView:
    own_bets = {
        spot: bets[player] for spot, bets in _bets_on_layout(state).items() if player in bets
    }
    return build_view(
        SeatView,
        seat,
        owing=state.owing.get(player, 0),
        bets=_nonzero({spot: bet.total for spot, bet in own_bets.items()}),
        excess=_nonzero({spot: bet.excess for spot, bet in own_bets.items()}),
        areas=_chips_by_area(game, own_bets),
        placements={
            spot: [(each.area, each.number, each.amount) for each in bet.placements]
            for spot, bet in own_bets.items()
        },
    )


def _bets_on_layout(state: TableState) -> Bets:
    """Return the bets of the current round, or those that stand until the next."""
    if state.round:
        return state.round.bets
    return state.standing[0] if state.standing else {}


def _chips_by_area(game: Game, bets: dict[str, Bet]) -> dict[str, int]:
    """Return a player's chips by area; of a reduced bet the earliest placements count."""
    areas: dict[str, int] = {}
    for spot, bet in bets.items():
        remaining = bet.total
        for placement in bet.placements:
            area, amount = felt_area(game, spot, placement.area), min(placement.amount, remaining)
            if amount:
                areas[area] = areas.get(area, 0) + amount
            remaining -= amount
    return areas


def felt_area(game: Game, spot: str, end: str) -> str:
    """Return the felt area of a spot at an end of the table; the first if the end has none."""
    box, ends = box_of(spot), game.ends[box_of(spot)]
    end = end if end in ends else ends[0]
    return f"{box}@{end}" if end else box
