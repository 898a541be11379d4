"""Handle chips: buy-in, cash-out, change, colours, debts, and fills and credits of the float."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from threedice.facts import STAFF
from threedice.names import skeleton
from threedice.table import commands, events
from threedice.table.chip_counts.counts import is_value_chip
from threedice.table.chip_counts.racks import (
    require_colour_name,
    require_fill_counts,
    require_no_counts,
)
from threedice.table.debts import require_release, set_off_payments
from threedice.table.rules import (
    handles,
    optional_second_person,
    refuse,
    require_age,
    require_role,
    require_seat,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.rulebook import Game
    from threedice.rulebook.conduct import Equipment
    from threedice.table.commands import Actor
    from threedice.table.events import AnyEvent
    from threedice.table.state import TableSeat, TableState


@handles(commands.BuyIn)
def buy_in(game: Game, state: TableState, command: commands.BuyIn) -> list[AnyEvent]:
    """Give a player chips for cash or for money from the player's account."""
    _require_player_or_staff(command.by, command.player)
    require_age(game, "player", command.age_years)
    seat = state.seats.get(command.player)
    if seat is None:
        _require_distinct_player(state, command.player)
    chip = seat.colour_value if seat else 0
    require_chip_multiple(command.amount, chip or state.chips[0])
    if state.holders is None:
        require_no_counts(command.counts)
    if command.amount > state.float_amount:
        if command.source == "account":  # the player reads it, and does not see the float
            raise refuse("chips/rack", amount=command.amount)
        raise refuse("float/short", short=command.amount - state.float_amount)
    by, second = _two_people(game, command)
    player, amount, source = command.player, command.amount, command.source
    bought = events.BoughtIn(player=player, amount=amount, source=source, by=by, approved_by=second)
    cash = {player: amount} if source == "cash" else {}
    return [bought, *set_off_payments(game, state, cash, "buy-in")]


@handles(commands.CashOut)
def cash_out(game: Game, state: TableState, command: commands.CashOut) -> list[AnyEvent]:
    """Let a player take chips away, or pay their value into the player's account."""
    _require_player_or_staff(command.by, command.player)
    seat = require_seat(state, command.player)
    _require_stack(seat, command.amount)
    leaving = command.amount == seat.stack and not seat.at_risk
    chip = 0 if leaving else seat.colour_value
    require_chip_multiple(command.amount, chip or state.chips[0])
    by, second = _two_people(game, command)
    player, amount, to = command.player, command.amount, command.to
    if require_release(game, state, player, amount, command.by, second):
        by = command.by
    cashed = events.CashedOut(player=player, amount=amount, to=to, by=by, approved_by=second)
    if leaving and seat.colour:
        return [events.ColouredUp(player=command.player), cashed]
    return [cashed]


@handles(commands.ChangeChips)
def change_chips(game: Game, state: TableState, command: commands.ChangeChips) -> list[AnyEvent]:
    """Change a player's chips into one denomination of the same value."""
    require_role(command.by, command.facts.roles)
    seat = require_seat(state, command.player)
    equipment = game.facts.equipment.items()
    _require_equipment(state, {kind: rule for kind, rule in equipment if rule.detail.changes_chips})
    if command.into not in state.chips:
        raise refuse("chips/amount", amount=command.into, chip=state.chips[0])
    require_chip_multiple(command.amount, command.into)
    _require_stack(seat, command.amount)
    return [events.ChipsChanged(player=command.player, amount=command.amount, into=command.into)]


@handles(commands.RepayDebt)
def repay_debt(game: Game, state: TableState, command: commands.RepayDebt) -> list[AnyEvent]:
    """Let a player repay a debt to the house."""
    _require_player_or_staff(command.by, command.player)
    owing = state.owing.get(command.player, 0)
    if not 0 < command.amount <= owing:
        raise refuse("debt/amount", player=command.player, owing=owing, amount=command.amount)
    if command.source == "stack":
        seat = require_seat(state, command.player)
        require_chip_multiple(command.amount, seat.colour_value or state.chips[0])
        _require_stack(seat, command.amount)
    by, second = _two_people(game, command)
    player, amount, source = command.player, command.amount, command.source
    return [
        events.DebtRepaid(player=player, amount=amount, source=source, by=by, approved_by=second)
    ]


@handles(commands.TakeColour)
def take_colour(game: Game, state: TableState, command: commands.TakeColour) -> list[AnyEvent]:
    """Give a player non-value chips in a colour at a declared value."""
    require_role(command.by, command.facts.roles)
    rule = game.facts.chips
    if "non-value" not in rule.kinds:
        raise refuse("chips/no-colours", rule)
    equipment = game.facts.equipment.items()
    _require_equipment(
        state, {kind: each for kind, each in equipment if each.needed == "with-non-value-chips"}
    )
    seat = require_seat(state, command.player)
    racked = (state.holders or {}).get("float", {})
    if is_value_chip(command.colour) or command.colour not in racked:
        require_colour_name(command.colour)
    if command.value < 1 or command.value % state.chips[0] or seat.stack % command.value:
        raise refuse("chips/colour-value", rule, chip=state.chips[0])
    alike = skeleton(command.colour)
    if any(skeleton(each.colour) == alike for each in state.seats.values() if each is not seat):
        raise refuse("chips/colour-taken", rule, colour=command.colour)
    if seat.at_risk:
        raise refuse("chips/bets-down", rule)
    return [events.ColourTaken(player=command.player, colour=command.colour, value=command.value)]


@handles(commands.ColourUp)
def colour_up(game: Game, state: TableState, command: commands.ColourUp) -> list[AnyEvent]:
    """Change a player's colour back into value chips."""
    require_role(command.by, command.facts.roles)
    seat = require_seat(state, command.player)
    if not seat.colour:
        raise refuse("chips/no-colours", game.facts.chips)
    if seat.at_risk:
        raise refuse("chips/bets-down", game.facts.chips)
    return [events.ColouredUp(player=command.player)]


@handles(commands.FillFloat)
def fill_float(game: Game, state: TableState, command: commands.FillFloat) -> list[AnyEvent]:
    """Add chips from the vault to the float."""
    require_role(command.by, command.facts.roles)
    _require_fill_amount(state, command)
    second = optional_second_person(game, command)
    filled = events.FloatFilled(amount=command.amount, by=command.by, approved_by=second)
    counts = require_fill_counts(game, state, command)
    if counts is None:
        return [filled]
    return [replace(filled, slip=state.slips + 1, chip_moves=[("vault", "float", "", counts)])]


@handles(commands.CreditFloat)
def credit_float(game: Game, state: TableState, command: commands.CreditFloat) -> list[AnyEvent]:
    """Return chips from the float to the vault."""
    require_role(command.by, command.facts.roles)
    _require_fill_amount(state, command)
    if command.amount > state.float_amount:
        raise refuse("float/amount", float=state.float_amount, amount=command.amount)
    second = optional_second_person(game, command)
    credited = events.FloatCredited(amount=command.amount, by=command.by, approved_by=second)
    counts = require_fill_counts(game, state, command)
    if counts is None:
        return [credited]
    return [replace(credited, slip=state.slips + 1, chip_moves=[("float", "vault", "", counts)])]


def _require_fill_amount(
    state: TableState, command: commands.FillFloat | commands.CreditFloat
) -> None:
    """Refuse an amount that no chips make; only coloured chips are worth nothing."""
    minimum = 0 if command.counts and any(command.counts.values()) else 1
    require_chip_multiple(command.amount, state.chips[0], minimum)


def _require_equipment(state: TableState, needed: Mapping[str, Equipment]) -> None:
    """Refuse what needs equipment that the table plays without, or that is registered as faulty."""
    equipment = state.equipment
    for kind, rule in needed.items():
        if equipment.lacks(kind):
            raise refuse("equipment/none", rule, kind=kind)
        for piece in equipment.in_use(kind):
            if equipment.is_faulty(equipment.pieces[piece]):
                raise refuse("equipment/not-in-order", rule, piece=piece, condition="faulty")


def require_chip_multiple(amount: int, chip: int, minimum: int = 1) -> None:
    """Refuse an amount that is too small or cannot be made in chips of this value."""
    if amount < minimum or amount % chip:
        raise refuse("chips/amount", amount=amount, chip=chip)


def _two_people(
    game: Game,
    command: commands.BuyIn | commands.CashOut | commands.RepayDebt,
) -> tuple[Actor | None, Actor | None]:
    """Return the sender and the second person, who are recorded only together."""
    second = optional_second_person(game, command)
    return (command.by, second) if second else (None, None)


def _require_player_or_staff(actor: Actor, player: str) -> None:
    if actor.role in ("player", "shooter") and actor.id != player:
        raise refuse("role/not-allowed", role=actor.role, allowed=", ".join(STAFF))


def _require_distinct_player(state: TableState, player: str) -> None:
    """Refuse a player who would look like another one who is seated or owes money here."""
    alike = skeleton(player)
    for other in (*state.seats, *state.owing):
        if other != player and skeleton(other) == alike:
            raise refuse("player/looks-alike", player=player, other=other)


def _require_stack(seat: TableSeat, amount: int) -> None:
    if amount > seat.stack:
        raise refuse("chips/stack", amount=amount, stack=seat.stack)
