"""Voiding: a round without a result, and settled rounds that are undone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from threedice.table import events as happened
from threedice.table.refusal import refuse
from threedice.table.settling import odds_on, shooters_bet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.rulebook import Game
    from threedice.rulebook.conduct import Irregularity
    from threedice.table.commands import Actor
    from threedice.table.events import AnyEvent, Stake, Transfer
    from threedice.table.state import TableState


def fate_of_bets(game: Game, rule: Irregularity | None) -> Literal["returned", "stand"]:
    """Return what becomes of bets when an irregularity voids a round; as ever, where it is silent.

    A bet that is locked for a throw to come stands too, should the round be void after all.
    """
    if rule is None or rule.bets is None:
        return game.facts.procedure.void.bets
    return "returned" if rule.bets == "returned" else "stand"


def void_round(
    game: Game,
    state: TableState,
    cause: str,
    bets: Literal["returned", "stand"],
    by: Actor,
    approved_by: Actor | None = None,
    *,
    everything: bool = False,
) -> list[AnyEvent]:
    """Return the voiding of the round being played, with what goes back to whom.

    The shooter's bet spans several throws and stays, unless everything goes back.
    """
    number = state.round.number if state.round else state.rounds + 1
    returned = stakes_on_layout(game, state) if bets == "returned" else []
    held = shooters_bet(game, state)
    if everything and held and held[0].stake:
        shooter, box = held
        returned.append((box.id, shooter.player, shooter.stake))
    return [
        happened.RoundVoided(
            round=number,
            cause=cause,
            bets=bets,
            returned=returned,
            by=by,
            approved_by=approved_by,
        )
    ]


def stakes_on_layout(game: Game, state: TableState) -> list[Stake]:
    """Return every bet on the layout, those left standing by a void round included.

    Once the losers have been collected, only the winners lie there still.
    """
    current = state.round
    layout = current.bets if current else state.standing[0] if state.standing else {}
    roll = current.result if current and "collect-losers" in current.done else None
    return [
        (spot, player, bet.total)
        for spot, bets in layout.items()
        if roll is None or odds_on(game, spot, roll)
        for player, bet in bets.items()
    ]


def reverse_rounds(
    game: Game,
    state: TableState,
    rounds: list[int],
    cause: str,
    by: Actor,
    approved_by: Actor,
    returned: bool,
) -> list[AnyEvent]:
    """Return the reversal of settled rounds, all reckoned together: each player's net is undone.

    Where the round being played is void too, what it returned counts for what can be paid back,
    and losers who have been collected already get their stakes again.
    """
    if not rounds:
        return []
    unit = game.facts.procedure.unit
    nets: dict[str, int] = {}
    for number in rounds:
        if number in state.reversed:
            raise refuse("round/reversed", unit=unit, round=number)
        for player, net in _nets_of(game, state, number).items():
            nets[player] = nets.get(player, 0) + net
    transfers, owing = undone(nets, _stacks(game, state, returned), state.owing)
    paid = sum(amount for _, amount in transfers) + sum(owed for _, owed in owing)
    if paid > state.float_amount:
        raise refuse("float/short", short=paid - state.float_amount)
    return [
        happened.RoundsReversed(
            rounds=rounds,
            cause=cause,
            transfers=transfers,
            owing=owing,
            by=by,
            approved_by=approved_by,
        )
    ]


def _nets_of(game: Game, state: TableState, number: int) -> Mapping[str, int]:
    """Return what a round has brought each player: one settled, or one being settled."""
    if state.round and state.round.number == number:
        return state.round.nets
    if number not in state.settled:
        raise refuse("round/unknown", unit=game.facts.procedure.unit, round=number)
    return state.settled[number]


def _stacks(game: Game, state: TableState, returned: bool) -> dict[str, int]:
    """Return what players have, or will have once the bets on the layout are back."""
    stacks = {player: seat.stack for player, seat in state.seats.items()}
    for _, player, amount in stakes_on_layout(game, state) if returned else []:
        stacks[player] += amount
    return stacks


def undone(
    nets: Mapping[str, int], stacks: Mapping[str, int], owed: Mapping[str, int]
) -> tuple[list[Transfer], list[Transfer]]:
    """Return what undoing players' nets moves, and how it changes what they owe.

    What a stack cannot give is owed; what comes to a player pays off his debt first. Money is
    collected before any is paid, so that the float is never short for a moment.
    """
    transfers = sorted(((player, -net) for player, net in nets.items() if net), key=_amount)
    owing = []
    for player, amount in transfers:
        short = max(-amount - stacks.get(player, 0), 0)
        paid_off = min(owed.get(player, 0), max(amount, 0))
        if short != paid_off:
            owing.append((player, short - paid_off))
    return transfers, owing


def _amount(transfer: Transfer) -> int:
    return transfer[1]
