"""Chips of a table by denomination: its rack, its slips, and the win between two counts.

The rack is part of the table's state; slips and periods are read from the log, in the queue for
history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec
from litestar import get

from threedice.api.auth.authorisation import roles_at
from threedice.api.config import TableConfig, configured_limits, is_configured_game
from threedice.api.context import Context, CurrentCaller
from threedice.api.http.requests import TableId
from threedice.api.routes.tables import load_table, require_table, require_table_staff
from threedice.api.views import build_view
from threedice.errors import InvariantBroken, TamperedData
from threedice.house.recovery import list_tables
from threedice.house.reports.counts import (
    CountPeriod,
    Slip,
    SlipKind,
    read_counts,
    win_by_log,
)
from threedice.house.reports.statements import StatementReader
from threedice.house.variances import CountPolicy
from threedice.rulebook import Game
from threedice.table.chip_counts.counts import face_value, without_zeros
from threedice.table.chip_counts.ledger import chip_balance, chip_pile, owed_for_colours
from threedice.table.commands import Actor
from threedice.table.limits import LimitMode, TableLimits
from threedice.table.state import TableState

if TYPE_CHECKING:
    from collections.abc import Mapping

ChipPile = list[tuple[str, int]]
"""The chips of a bet from the bottom to the top, as (chip, count)."""


class ColourView(msgspec.Struct, frozen=True):
    """A player's colour, and the value that the player declared for a chip of it."""

    player: str
    colour: str
    value: int


class PlannedOpening(msgspec.Struct, frozen=True):
    """The terms of the house file for the first opening of a table in chips.

    The rack that the cage issues is left out, because people count without knowing it.
    """

    mode: LimitMode
    chips: list[int]
    limits: TableLimits


class RackView(msgspec.Struct, frozen=True):
    """The chips of a table at a version, by denomination.

    A table that deals in amounts has none. `value` is what the value chips of the rack are worth,
    `colours_owed` what the coloured chips in play are worth, and `float_amount` the balance of the
    float, which owes for them at a table that an older version opened. `bets` are piles by spot and
    player.
    `uncounted_drops` are the closings whose drop box nobody has counted yet, with the cash that the
    log expects in it. `slips` is the number of the last slip, and `last_closer` the rack as it was
    counted at the last close. `planned` is how a table of the house file opens for the
    first time.
    """

    version: int
    deals_in: Literal["amounts", "chips"]
    denominations: list[int]
    rack: dict[str, int]
    value: int
    float_amount: int
    colours_owed: int
    colours: list[ColourView]
    stacks: dict[str, dict[str, int]]
    bets: dict[str, dict[str, ChipPile]]
    smaller_on_top: bool
    slips: int
    last_closer: dict[str, int] | None
    uncounted_drops: dict[int, int]
    planned: PlannedOpening | None


class AcknowledgementView(msgspec.Struct, frozen=True):
    """A person who acknowledged the variance of a count, by id, role and sign-in name, and when."""

    by: Actor
    name: str
    at: int


class SlipView(msgspec.Struct, frozen=True):
    """A numbered slip; see `variance` by chip, and its value, negative if something is missing.

    `over_tolerance` is whether the variance exceeds the tolerance of the house; then the roles in
    `tell` are informed, and `acknowledged` are the people who acknowledged it.
    """

    slip: int
    kind: SlipKind
    version: int
    at: int
    counts: dict[str, int]
    value: int
    expected: dict[str, int]
    expected_value: int
    variance: dict[str, int]
    variance_value: int
    over_tolerance: bool
    tell: list[str]
    by: Actor
    approved_by: Actor | None
    note: str
    closing: int
    acknowledged: list[AcknowledgementView]


class CountPeriodView(msgspec.Struct, frozen=True):
    """A table from one count of its rack to the next, with its win by count and by log.

    `opened_by` and `closed_by` are the slips of the two counts; `end` and `closed_by` are 0 while
    the period runs, and the win by count is then unknown.
    """

    start: int
    end: int
    opened_by: int
    closed_by: int
    start_value: int
    counted_value: int
    expected_value: int
    variance: dict[str, int]
    fills: int
    credits: int
    drop: int
    drop_variance: int
    accounts: int
    debts: int
    win_by_count: int | None
    win_by_log: int | None


class CountReport(msgspec.Struct, frozen=True):
    """The slips and the periods between counts of a table, the oldest first."""

    slips: list[SlipView]
    periods: list[CountPeriodView]


class VarianceNotice(msgspec.Struct, frozen=True):
    """A variance over the tolerance that the caller has not acknowledged yet.

    `chips` has it by chip, `value` in all, negative if something is missing. A drop count has no
    chips, but the number of the `closing` whose drop box was counted.
    """

    table: str
    currency: str
    slip: int
    kind: SlipKind
    at: int
    chips: dict[str, int]
    value: int
    closing: int


@get("/api/variances", name="list-variances")
async def list_variances(context: Context, caller: CurrentCaller) -> list[VarianceNotice]:
    """List the variances over the tolerance that the caller has to acknowledge, the oldest first.

    They are those of the tables where the caller has a role that the house informs, since the
    caller has an account.
    """
    handler, policy, account = context.house.command_handler, context.config.counts, caller.account
    notices: list[VarianceNotice] = []
    for table in await list_tables(handler):
        if set(policy.tell).isdisjoint(roles_at(caller, table)):
            continue
        try:
            house_table = await handler.table(table)
        except (InvariantBroken, TamperedData):  # it has stopped; the others are listed
            continue
        notices += (
            build_view(VarianceNotice, each, table=table, currency=house_table.table.currency)
            for each in house_table.variances.values()
            if each.at >= account.created
            and account.id not in each.acknowledged_by
            and policy.is_exceeded(each.chips, each.value)
        )
    return sorted(notices, key=lambda notice: notice.at)


@get("/api/tables/{table:str}/rack", name="show-rack")
async def show_rack(context: Context, caller: CurrentCaller, table: TableId) -> RackView:
    """Show a table's chips by denomination: rack, stacks and bets."""
    require_table_staff(caller, table)
    house_table, game, version = await load_table(context, table)
    return rack_view(game, house_table.table, version, context.config.tables.get(table))


@get("/api/tables/{table:str}/counts", name="report-counts")
async def report_counts(context: Context, caller: CurrentCaller, table: TableId) -> CountReport:
    """Report a table's slips, variances by chip, and its win by count and by log."""
    require_table_staff(caller, table)
    await require_table(context, table)
    statements = await context.house.command_handler.streams.statements()
    return await context.history.run(
        caller.account.id, read_count_report, context, statements, table
    )


def rack_view(
    game: Game, state: TableState, version: int, configured: TableConfig | None
) -> RackView:
    """Return the chips of a table as its staff see them, and its terms in the house file."""
    holders = state.holders or {}
    rack = without_zeros(holders.get("float", {}))
    bets: dict[str, dict[str, ChipPile]] = {}
    stacks: dict[str, dict[str, int]] = {}
    for holder, counts in holders.items():
        kind, _, rest = holder.partition("/")
        if kind == "stack":
            stacks[rest] = without_zeros(counts)
        elif kind == "bet":
            spot, _, player = rest.partition("/")
            bets.setdefault(spot, {})[player] = chip_pile(game, state, player, counts)
    return RackView(
        version=version,
        deals_in="amounts" if state.holders is None else "chips",
        denominations=state.chips,
        rack=rack,
        value=face_value(rack),
        float_amount=chip_balance(state, "float") or state.float_amount,
        colours_owed=owed_for_colours(state),
        colours=[
            ColourView(player, seat.colour, seat.colour_value)
            for player, seat in state.seats.items()
            if seat.colour
        ],
        stacks=stacks,
        bets=bets,
        smaller_on_top=game.facts.chips.smaller_on_top,
        slips=state.slips,
        last_closer=state.last_closer,
        uncounted_drops=state.uncounted_drops,
        planned=_planned_opening(configured, game) if configured and not state.currency else None,
    )


def _planned_opening(table: TableConfig, game: Game) -> PlannedOpening | None:
    """Return how a table of the house file opens in chips; None if it opens otherwise."""
    if not table.rack or not is_configured_game(table, game):
        return None
    return PlannedOpening(table.mode, table.chips, configured_limits(table, game))


def read_count_report(context: Context, statements: StatementReader, table: str) -> CountReport:
    """Read the slips of a table and its periods between counts from the log."""
    ledger = read_counts(context.house.command_handler.store, table)
    names = {each.id: each.name for each in context.identity.accounts.all()}
    return CountReport(
        [_slip_view(context.config.counts, slip, names) for slip in ledger.slips],
        [_period_view(statements, table, period) for period in ledger.periods],
    )


def _slip_view(policy: CountPolicy, slip: Slip, names: Mapping[str, str]) -> SlipView:
    is_over = slip.is_over(policy)
    return build_view(
        SlipView,
        slip,
        over_tolerance=is_over,
        tell=list(policy.tell) if is_over else [],
        acknowledged=[
            AcknowledgementView(each.by, names.get(each.by.id, ""), each.at)
            for each in slip.acknowledged
        ],
    )


def _period_view(statements: StatementReader, table: str, period: CountPeriod) -> CountPeriodView:
    by_count = period.win_by_count if period.end else None
    by_log = win_by_log(statements, table, period) if period.end else None
    return build_view(CountPeriodView, period, win_by_count=by_count, win_by_log=by_log)
