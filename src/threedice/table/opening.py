"""Opening and closing a table, its float, its limits, and its release after a malfunction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.errors import InvalidInput, UnknownName
from threedice.table import events as happened
from threedice.table.refusal import refuse
from threedice.table.rules import STAFF, SUPERVISORS, need_act, need_open, need_role, need_second
from threedice.table.terms import TableLimits, check_chips, check_limits
from threedice.table.voiding import void_round

if TYPE_CHECKING:
    from threedice.rulebook import Game
    from threedice.table import commands as asked
    from threedice.table.events import AnyEvent
    from threedice.table.state import TableState


def open_table(game: Game, state: TableState, command: asked.OpenTable) -> list[AnyEvent]:
    """Open a table on a game."""
    if state.open:
        raise refuse("table/already-open")
    need_act(game, command.by, "open-table", STAFF)
    if state.currency not in ("", command.currency):
        raise refuse("table/currency", currency=state.currency)
    try:
        check_chips(command.chips)
        check_limits(command.limits, game, command.chips)
    except (InvalidInput, UnknownName) as error:
        raise refuse("limits/wrong", game.facts.limits.clause, problem=str(error)) from None
    _need_amount(command.float_amount, command.chips[0], least=0)
    return [
        happened.TableOpened(
            table=command.table,
            game=game.id,
            game_hash=game.hash,
            currency=command.currency,
            mode=command.mode,
            chips=command.chips,
            float_amount=command.float_amount,
            limits=command.limits,
            by=command.by,
        )
    ]


def pass_check(game: Game, state: TableState, command: asked.PassCheck) -> list[AnyEvent]:
    """Record an opening check, by whom the rulebook asks to make it."""
    need_open(state)
    checks = game.facts.opening
    if command.check not in checks:
        raise refuse("table/unknown-check", check=command.check, checks=", ".join(checks) or "none")
    check = checks[command.check]
    need_role(command.by, check.by, check.clause)
    return [happened.CheckPassed(check=command.check, by=command.by)]


def set_limits(game: Game, state: TableState, command: asked.SetLimits) -> list[AnyEvent]:
    """Let new limits wait for the next opening of betting."""
    need_open(state)
    need_role(command.by, STAFF)
    second = need_second(command.by, command.approved_by, SUPERVISORS, game.facts.limits.clause)
    _need_limits(game, state, command.limits)
    return [happened.LimitsSet(limits=command.limits, by=command.by, approved_by=second)]


def _need_limits(game: Game, state: TableState, limits: TableLimits) -> None:
    try:
        check_limits(limits, game, state.chips)
    except (InvalidInput, UnknownName) as error:
        raise refuse("limits/wrong", game.facts.limits.clause, problem=str(error)) from None


def fill_float(_game: Game, state: TableState, command: asked.FillFloat) -> list[AnyEvent]:
    """Bring chips from the vault."""
    need_open(state)
    need_role(command.by, SUPERVISORS)
    _need_amount(command.amount, state.chips[0])
    return [happened.FloatFilled(amount=command.amount, by=command.by)]


def credit_float(_game: Game, state: TableState, command: asked.CreditFloat) -> list[AnyEvent]:
    """Take chips to the vault."""
    need_open(state)
    need_role(command.by, SUPERVISORS)
    _need_amount(command.amount, state.chips[0])
    if command.amount > state.float_amount:
        raise refuse("float/amount", float=state.float_amount, amount=command.amount)
    return [happened.FloatCredited(amount=command.amount, by=command.by)]


def close_table(game: Game, state: TableState, command: asked.CloseTable) -> list[AnyEvent]:
    """Close the table: a round without an outcome is void, and everyone takes his chips."""
    need_open(state)
    need_role(command.by, SUPERVISORS)
    current = state.round
    if current and current.established:
        unit = game.facts.procedure.unit
        raise refuse("table/round-open", game.facts.procedure.clause, unit=unit)
    events: list[AnyEvent] = []
    if current or state.standing or (state.shooter and state.shooter.stake):
        events += void_round(
            game, state, "the table closes", "returned", command.by, everything=True
        )
    carried = [(player, seat.stack + seat.at_risk) for player, seat in state.seats.items()]
    return [
        *events,
        happened.TableClosed(
            carried_away=carried, float_amount=state.float_amount, drop=state.drop, by=command.by
        ),
    ]


def release_table(game: Game, state: TableState, command: asked.ReleaseTable) -> list[AnyEvent]:
    """Let play go on after a malfunction."""
    need_open(state)
    need_act(game, command.by, "release-table", SUPERVISORS)
    if not state.locked:
        raise refuse("table/not-locked")
    if not command.reason.strip():
        raise refuse("reason/missing")
    return [happened.TableReleased(reason=command.reason, by=command.by)]


def _need_amount(amount: int, chip: int, least: int = 1) -> None:
    if amount < least or amount % chip:
        raise refuse("chips/amount", amount=amount, chip=chip)
