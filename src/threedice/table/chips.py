"""Handle chips: buy-in, cash-out, change, colours, debts, and fills and credits of the float."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.facts import STAFF
from threedice.table import commands
from threedice.table import events as table_events
from threedice.table.rules import handles, refuse, require_role

if TYPE_CHECKING:
    from threedice.rulebook import Game
    from threedice.table.commands import Actor
    from threedice.table.events import AnyEvent
    from threedice.table.state import TableSeat, TableState


@handles(commands.BuyIn)
def buy_in(game: Game, state: TableState, command: commands.BuyIn) -> list[AnyEvent]:
    """Give a player chips for cash or for money from the player's account."""
    _require_player_or_staff(command.by, command.player)
    age = game.facts.people.minimum_age
    if age and "player" in age.applies_to and (command.age_years or 0) < age.years:
        raise refuse("player/age", age.clause, years=age.years)
    seat = state.seats.get(command.player)
    _require_chips(game, state, command.amount, seat.colour_value if seat else 0)
    if command.amount > state.float_amount:
        raise refuse("float/short", short=command.amount - state.float_amount)
    return [
        table_events.BoughtIn(player=command.player, amount=command.amount, source=command.source)
    ]


@handles(commands.CashOut)
def cash_out(game: Game, state: TableState, command: commands.CashOut) -> list[AnyEvent]:
    """Let a player take chips away, or pay their value into the player's account."""
    _require_player_or_staff(command.by, command.player)
    seat = _require_seat(game, state, command.player)
    if command.amount > seat.stack:
        raise refuse(
            "chips/stack", game.facts.chips.clause, amount=command.amount, stack=seat.stack
        )
    leaving = command.amount == seat.stack and not seat.at_risk
    _require_chips(game, state, command.amount, 0 if leaving else seat.colour_value)
    events: list[AnyEvent] = []
    if leaving and seat.colour:
        events.append(table_events.ColouredUp(player=command.player))
    cashed = table_events.CashedOut(player=command.player, amount=command.amount, to=command.to)
    return [*events, cashed]


@handles(commands.ChangeChips)
def change_chips(game: Game, state: TableState, command: commands.ChangeChips) -> list[AnyEvent]:
    """Change a player's chips into one denomination of the same value."""
    require_role(command.by, command.facts.roles)
    seat = _require_seat(game, state, command.player)
    if command.into not in state.chips:
        raise refuse(
            "chips/amount", game.facts.chips.clause, amount=command.into, chip=state.chips[0]
        )
    if command.amount < 1 or command.amount % command.into:
        raise refuse(
            "chips/amount", game.facts.chips.clause, amount=command.amount, chip=command.into
        )
    if command.amount > seat.stack:
        raise refuse(
            "chips/stack", game.facts.chips.clause, amount=command.amount, stack=seat.stack
        )
    return [
        table_events.ChipsChanged(player=command.player, amount=command.amount, into=command.into)
    ]


@handles(commands.RepayDebt)
def repay_debt(game: Game, state: TableState, command: commands.RepayDebt) -> list[AnyEvent]:
    """Let a player repay a debt to the house."""
    _require_player_or_staff(command.by, command.player)
    owing = state.owing.get(command.player, 0)
    if not 0 < command.amount <= owing:
        raise refuse("debt/amount", player=command.player, owing=owing, amount=command.amount)
    if command.source == "stack":
        seat = _require_seat(game, state, command.player)
        _require_chips(game, state, command.amount, seat.colour_value)
        if command.amount > seat.stack:
            clause = game.facts.chips.clause
            raise refuse("chips/stack", clause, amount=command.amount, stack=seat.stack)
    return [
        table_events.DebtRepaid(player=command.player, amount=command.amount, source=command.source)
    ]


@handles(commands.TakeColour)
def take_colour(game: Game, state: TableState, command: commands.TakeColour) -> list[AnyEvent]:
    """Give a player non-value chips in a colour at a declared value."""
    require_role(command.by, command.facts.roles)
    if "non-value" not in game.facts.chips.kinds:
        raise refuse("chips/no-colours", game.facts.chips.clause)
    seat = _require_seat(game, state, command.player)
    clause = game.facts.chips.clause
    if any(each.colour == command.colour for each in state.seats.values() if each is not seat):
        raise refuse("chips/colour-taken", clause, colour=command.colour)
    if (
        not command.colour.strip()
        or command.value < 1
        or command.value % state.chips[0]
        or seat.stack % command.value
    ):
        raise refuse("chips/colour-value", clause, chip=state.chips[0])
    if seat.at_risk:
        raise refuse("chips/bets-down", clause)
    return [
        table_events.ColourTaken(player=command.player, colour=command.colour, value=command.value)
    ]


@handles(commands.ColourUp)
def colour_up(game: Game, state: TableState, command: commands.ColourUp) -> list[AnyEvent]:
    """Change a player's colour back into value chips."""
    require_role(command.by, command.facts.roles)
    seat = _require_seat(game, state, command.player)
    if not seat.colour:
        raise refuse("chips/no-colours", game.facts.chips.clause)
    if seat.at_risk:
        raise refuse("chips/bets-down", game.facts.chips.clause)
    return [table_events.ColouredUp(player=command.player)]


@handles(commands.FillFloat)
def fill_float(_game: Game, state: TableState, command: commands.FillFloat) -> list[AnyEvent]:
    """Add chips from the vault to the float."""
    require_role(command.by, command.facts.roles)
    require_chip_multiple(command.amount, state.chips[0])
    return [table_events.FloatFilled(amount=command.amount, by=command.by)]


@handles(commands.CreditFloat)
def credit_float(_game: Game, state: TableState, command: commands.CreditFloat) -> list[AnyEvent]:
    """Return chips from the float to the vault."""
    require_role(command.by, command.facts.roles)
    require_chip_multiple(command.amount, state.chips[0])
    if command.amount > state.float_amount:
        raise refuse("float/amount", float=state.float_amount, amount=command.amount)
    return [table_events.FloatCredited(amount=command.amount, by=command.by)]


def require_chip_multiple(amount: int, chip: int, minimum: int = 1) -> None:
    """Refuse an amount for the float that is too small or not a multiple of the smallest chip."""
    if amount < minimum or amount % chip:
        raise refuse("chips/amount", amount=amount, chip=chip)


def _require_player_or_staff(actor: Actor, player: str) -> None:
    if actor.role in ("player", "shooter") and actor.id != player:
        raise refuse("role/not-allowed", role=actor.role, allowed=", ".join(STAFF))


def _require_chips(game: Game, state: TableState, amount: int, colour_value: int = 0) -> None:
    chip = colour_value or state.chips[0]
    if amount < 1 or amount % chip:
        raise refuse("chips/amount", game.facts.chips.clause, amount=amount, chip=chip)


def _require_seat(game: Game, state: TableState, player: str) -> TableSeat:
    if player not in state.seats:
        raise refuse("player/unknown", game.facts.chips.clause, player=player)
    return state.seats[player]
