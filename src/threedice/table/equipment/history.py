"""Read the history of equipment from a table's events.

The equipment that served a round, and the rounds that damaged dice affect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, get_args

import msgspec

from threedice.table import events
from threedice.table.equipment.evolve import evolve_equipment
from threedice.table.state import PieceCondition, TableState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from threedice.table.events import AnyEvent


HISTORY_EVENTS: Final = (
    *get_args(events.AnyEquipmentEvent),
    events.RoundStarted,
    events.DiceTumbled,
    events.StepTaken,
    events.DiceChosen,
    events.ShooterRestored,
    events.WinnersPaid,
    events.RoundVoided,
    events.RoundsReversed,
)
"""The events that the functions of this module read; they may be given others."""


class ServingPiece(msgspec.Struct, frozen=True):
    """A piece of equipment in use in a round; its condition is that at the end of the round.

    `dice` are the serial numbers of the dice of a set that were thrown.
    """

    piece: str
    kind: str
    serial: str
    seal: str
    condition: PieceCondition
    dice: list[str]


class RoundEquipment(msgspec.Struct, frozen=True):
    """The equipment that served a round, and the kinds that the table was set up without."""

    round: int
    pieces: list[ServingPiece]
    omitted: list[str]


def equipment_of_round(history: Iterable[AnyEvent], number: int) -> RoundEquipment | None:
    """Return the equipment that served a round, or None if there was no such round."""
    state, chosen, is_found = TableState(), _ChosenDice(), False
    for event in history:
        chosen.apply(event)
        match event:
            case events.EquipmentEvent():
                evolve_equipment(state, event)
            case events.RoundStarted() if event.round == number:
                is_found = True
            case events.WinnersPaid() | events.RoundVoided() if event.round == number:
                is_found = True  # standing bets can be voided before their round starts
                break
            case _:
                pass
    return _served(number, state, chosen.dice) if is_found else None


def equipment_in_use(history: Iterable[AnyEvent]) -> RoundEquipment:
    """Return the equipment that is in use after the last event, as of a round 0."""
    state = TableState()
    for event in history:
        if isinstance(event, events.EquipmentEvent):
            evolve_equipment(state, event)
    return _served(0, state, [])


def _served(number: int, state: TableState, chosen: list[int]) -> RoundEquipment:
    pieces = [
        ServingPiece(
            name,
            piece.kind,
            piece.serial,
            piece.seal,
            piece.condition,
            [
                die.serial
                for position, die in enumerate(piece.dice, 1)
                if not chosen or position in chosen
            ],
        )
        for name, piece in state.equipment.pieces.items()
        if piece.in_use
    ]
    return RoundEquipment(number, pieces, sorted(state.equipment.omitted))


def affected_rounds(
    history: Iterable[AnyEvent], dice_set: str, damaged: Collection[int] = ()
) -> list[int]:
    """Return the rounds that damage to a set of dice affects, for a person to confirm.

    These are the rounds for which its dice were thrown since its last good inspection, but for void
    ones; if the damaged dice are named and the shooter chooses dice, those in which one was chosen.
    """
    chosen, installed, number, rounds = _ChosenDice(), "", 0, set[int]()
    for event in history:
        chosen.apply(event)
        match event:
            case events.DiceInstalled():
                installed = event.piece
            case events.DiceRemoved():
                installed = ""
            case events.DiceInspected() if event.piece == dice_set and event.good:
                rounds.clear()
            case events.RoundStarted():
                number = event.round
            case events.DiceTumbled() | events.StepTaken(step="throw"):
                if installed == dice_set and chosen.includes(damaged):
                    rounds.add(number)
            case events.RoundVoided():
                rounds.discard(event.round)
            case events.RoundsReversed():
                rounds.difference_update(event.rounds)
            case _:
                pass
    return sorted(rounds)


class _ChosenDice:
    """The numbers of the dice that the shooter chose; all of them if nobody chooses."""

    def __init__(self) -> None:
        self.dice: list[int] = []

    def apply(self, event: AnyEvent) -> None:
        """Follow the choice of the shooter."""
        if isinstance(event, events.DiceChosen | events.ShooterRestored):
            self.dice = event.dice

    def includes(self, damaged: Collection[int]) -> bool:
        """Return whether one of the damaged dice is thrown; if none is named, any may be."""
        return not damaged or not self.dice or not set(self.dice).isdisjoint(damaged)
