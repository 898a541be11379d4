"""Debts of players to the house: what reduces them, and the chips that they hold at the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from threedice.facts import SUPERVISORS
from threedice.table import events
from threedice.table.rules import refuse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.rulebook import Game
    from threedice.table.commands import Actor
    from threedice.table.state import TableState


def amount_set_off(game: Game, state: TableState, player: str, paid: int) -> int:
    """Return how much of a payment reduces the player's debt; a returned stake is no payment."""
    rule = game.facts.debts
    return min(state.owing.get(player, 0), paid) if rule and rule.set_off == "winnings" else 0


def set_off_payments(
    game: Game,
    state: TableState,
    paid: Mapping[str, int],
    source: Literal["winnings", "buy-in"],
    round_number: int = 0,
) -> list[events.DebtRepaid]:
    """Return the repayments that are made at once from what players are paid or pay in."""
    set_off = {player: amount_set_off(game, state, player, paid[player]) for player in paid}
    return [
        events.DebtRepaid(player=player, amount=amount, source=source, round=round_number)
        for player, amount in set_off.items()
        if amount
    ]


def require_release(
    game: Game, state: TableState, player: str, amount: int, *deciders: Actor | None
) -> bool:
    """Return whether chips leave that a debt holds at the table, which a supervisor must decide."""
    stack = state.seats[player].stack
    free = stack - amount_set_off(game, state, player, stack)
    is_held = amount > free
    if is_held and not any(each and each.role in SUPERVISORS for each in deciders):
        owing = state.owing[player]
        raise refuse("debt/held", game.facts.debts, player=player, owing=owing, free=free)
    return is_held
