"""Voiding: a round without a result, and settled rounds that are undone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from threedice.table import events as happened
from threedice.table.refusal import refuse

if TYPE_CHECKING:
    from threedice.rulebook import Game
    from threedice.table.commands import Actor
    from threedice.table.events import AnyEvent, Stake, Transfer
    from threedice.table.state import TableState


def void_round(
    game: Game,
    state: TableState,
    cause: str,
    bets: Literal["returned", "stand"],
    *,
    everything: bool = False,
) -> list[AnyEvent]:
    """Return the voiding of the round being played, with what goes back to whom.

    The shooter's bet spans several throws and stays, unless everything goes back.
    """
    number = state.round.number if state.round else state.rounds
    returned = stakes_on_layout(state) if bets == "returned" else []
    shooter, rule = state.shooter, game.facts.shooter
    if everything and shooter and shooter.stake and rule:
        returned.append((rule.box, shooter.player, shooter.stake))
    return [happened.RoundVoided(round=number, cause=cause, bets=bets, returned=returned)]


def stakes_on_layout(state: TableState) -> list[Stake]:
    """Return every bet on the layout, those left standing by a void round included."""
    layout = state.round.bets if state.round else state.standing[0] if state.standing else {}
    return [
        (spot, player, bet.total) for spot, bets in layout.items() for player, bet in bets.items()
    ]


def reverse_rounds(
    game: Game, state: TableState, rounds: list[int], cause: str, by: Actor, approved_by: Actor
) -> list[AnyEvent]:
    """Return the reversal of settled rounds: each player's net is undone.

    The round being played is void too, so what it returns counts for what a player can pay back.
    """
    unit = game.facts.procedure.unit
    returned = dict.fromkeys(state.seats, 0)
    for _, player, amount in stakes_on_layout(state):
        returned[player] += amount
    stacks = {player: seat.stack + returned[player] for player, seat in state.seats.items()}
    paid_back = state.float_amount
    events: list[AnyEvent] = []
    for number in rounds:
        if number in state.reversed:
            raise refuse("round/reversed", unit=unit, round=number)
        if number not in state.settled:
            raise refuse("round/unknown", unit=unit, round=number)
        transfers, owing = undone(state.settled[number], stacks)
        paid_back -= sum(amount for _, amount in transfers) + sum(owed for _, owed in owing)
        events.append(
            happened.RoundReversed(
                round=number,
                cause=cause,
                transfers=transfers,
                owing=owing,
                by=by,
                approved_by=approved_by,
            )
        )
    if paid_back < 0:
        raise refuse("float/short", short=-paid_back)
    return events


def undone(nets: dict[str, int], stacks: dict[str, int]) -> tuple[list[Transfer], list[Transfer]]:
    """Return what undoing players' nets moves, and what their stacks leave them owing."""
    transfers, owing = [], []
    for player, net in nets.items():
        if not net:
            continue
        stack = stacks.get(player, 0)
        owed = max(net - stack, 0)
        transfers.append((player, -net))
        if owed:
            owing.append((player, owed))
        stacks[player] = stack - net + owed
    return transfers, owing
