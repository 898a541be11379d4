"""A table as one audience sees it at a moment: what a client draws before it follows the events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from threedice.errors import UnknownName
from threedice.floor.dealing import closing_time
from threedice.floor.events import Timing
from threedice.floor.folds import table_stream
from threedice.rulebook.conduct import StepName
from threedice.table.terms import TableLimits

if TYPE_CHECKING:
    from threedice.floor.floor import Floor
    from threedice.floor.folds import Tended
    from threedice.rulebook import Game
    from threedice.table.state import Round, Seat

Audience = Literal["staff", "player"]


class SeatView(msgspec.Struct, frozen=True):
    """A player's chips at a table: in his stack, at risk, and by spot."""

    stack: int
    at_risk: int
    colour: str
    colour_value: int
    owing: int
    bets: dict[str, int]


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
    """Who has the dice, and how far he has come."""

    player: str
    throws: int
    absent: bool


class TableView(msgspec.Struct, frozen=True):
    """A table after its `version`th entry; `seats` are the viewer's own, or all for staff.

    `betting_closes` is when a table that the house deals closes betting, where it is open.
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
    shooter: ShooterView | None
    seats: dict[str, SeatView]
    float_amount: int | None
    drop: int | None


async def view_of(floor: Floor, table: str, audience: Audience, player: str = "") -> TableView:
    """Return a table as it is durably, for its staff or one player."""
    (running,) = await floor.streams.ready([table_stream(table)])
    tended: Tended = running.durable
    game = floor.game(tended)
    if game is None:
        raise UnknownName("table", table, [])
    suspended = bool(floor.suspended)
    return view(game, tended, running.durable_head.version, audience, player, suspended=suspended)


def view(
    game: Game,
    tended: Tended,
    version: int,
    audience: Audience,
    player: str = "",
    *,
    suspended: bool = False,
) -> TableView:
    """Return a table at a version as its staff or one player sees it."""
    state, current = tended.table, tended.table.round
    staff = audience == "staff"
    shooter = state.shooter
    return TableView(
        table=tended.id,
        version=version,
        game=tended.game,
        game_hash=tended.game_hash,
        open=state.open,
        currency=state.currency,
        mode=state.mode,
        chips=state.chips,
        limits=state.limits,
        checks_missing=[check for check in game.facts.opening if check not in state.checks],
        locked=state.locked,
        interrupted=tended.interrupted,
        suspended=suspended,
        dealt_by_house=tended.dealt_by_house,
        commitment=tended.commitment,
        seeds_lost=tended.seeds_lost,
        betting_since=tended.betting_since,
        betting_closes=_betting_closes(tended),
        rounds=state.rounds,
        round=_round(game, current) if current else None,
        shooter=ShooterView(shooter.player, shooter.throws, shooter.absent) if shooter else None,
        seats={
            name: _seat(tended, name, seat)
            for name, seat in state.seats.items()
            if staff or name == player
        },
        float_amount=state.float_amount if staff else None,
        drop=state.drop if staff else None,
    )


def _betting_closes(tended: Tended) -> int:
    current = tended.table.round
    betting = current and "open-betting" in current.done and "close-betting" not in current.done
    return closing_time(tended) if betting and tended.dealt_by_house else 0


def _round(game: Game, current: Round) -> RoundView:
    return RoundView(
        number=current.number,
        done=[step for step in game.facts.procedure.order if step in current.done],
        totals={spot: total for spot, total in current.totals.items() if total},
        known=current.known,
        called=current.called,
        keys=current.keys,
        result=current.result,
    )


def _seat(tended: Tended, player: str, seat: Seat) -> SeatView:
    state, current = tended.table, tended.table.round
    bets = {
        spot: laid[player].total
        for spot, laid in (current.bets if current else {}).items()
        if player in laid
    }
    return SeatView(
        stack=seat.stack,
        at_risk=seat.at_risk,
        colour=seat.colour,
        colour_value=seat.colour_value,
        owing=state.owing.get(player, 0),
        bets=bets,
    )
