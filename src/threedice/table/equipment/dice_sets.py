"""Handle the life of a set of dice: installed, inspected, removed and destroyed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.errors import nearest_names
from threedice.rulebook.conduct import EquipmentDetail
from threedice.table import commands, events
from threedice.table.rules import handles, refuse, require_approval, require_role

if TYPE_CHECKING:
    from threedice.rulebook import Game
    from threedice.table.events import AnyEvent
    from threedice.table.state import Piece, TableState


def require_dice(game: Game, command: commands.RegisterPiece) -> None:
    """Refuse a set without the dice that the rulebook offers, and dice in other equipment."""
    rule = game.facts.equipment.get("dice")
    detail = rule.detail if rule else EquipmentDetail()
    expected = (detail.offered or detail.count or 3) if command.kind == "dice" else 0
    different = {die.serial for die in command.dice}
    if len(command.dice) != expected or len(different) != expected:
        raise refuse("equipment/dice-count", rule, kind=command.kind, count=expected)


@handles(commands.InstallDice)
def install_dice(game: Game, state: TableState, command: commands.InstallDice) -> list[AnyEvent]:
    """Put a set in good order into play, whose seal is untouched; its checks must be repeated."""
    require_role(command.by, command.facts.roles)
    piece = _require_set(state, command.piece)
    in_use = state.equipment.in_use("dice")
    if in_use:
        raise refuse("equipment/in-use", piece=", ".join(in_use))
    if piece.condition != "in-order":
        raise refuse("equipment/not-in-order", piece=command.piece, condition=piece.condition)
    if piece.seal and command.seen != piece.seal:
        seen = command.seen or "none"
        raise refuse("equipment/seal", piece=command.piece, seal=piece.seal, seen=seen)
    tumbler = game.facts.equipment.get("tumbler")
    if tumbler and tumbler.detail.sealed and not command.seal:
        raise refuse("equipment/unsealed", tumbler, piece=command.piece)
    checks = game.facts.opening
    again = [name for name in checks if "dice" in checks[name].pieces and name in state.checks]
    return [
        events.DiceInstalled(piece=command.piece, seal=command.seal, rechecks=again, by=command.by)
    ]


@handles(commands.InspectDice)
def inspect_dice(_game: Game, state: TableState, command: commands.InspectDice) -> list[AnyEvent]:
    """Record an inspection: damaged dice are not played with, and good ones are in order again."""
    require_role(command.by, command.facts.roles)
    piece = _require_set(state, command.piece)
    for number in command.damaged:
        if command.good or number not in range(1, len(piece.dice) + 1):
            raise refuse("equipment/no-die", piece=command.piece, die=number)
    return [
        events.DiceInspected(
            piece=command.piece,
            good=command.good,
            damaged=command.damaged,
            note=command.note,
            by=command.by,
        )
    ]


@handles(commands.RemoveDice)
def remove_dice(_game: Game, state: TableState, command: commands.RemoveDice) -> list[AnyEvent]:
    """Take the set that is installed out of play."""
    require_role(command.by, command.facts.roles)
    if not _require_set(state, command.piece).installed:
        raise refuse("equipment/not-installed", piece=command.piece)
    return [
        events.DiceRemoved(
            piece=command.piece, reason=command.reason, seal=command.seal, by=command.by
        )
    ]


@handles(commands.DestroyDice)
def destroy_dice(game: Game, state: TableState, command: commands.DestroyDice) -> list[AnyEvent]:
    """Destroy a set that is not installed, in the presence of a second person."""
    require_role(command.by, command.facts.roles)
    second = require_approval(game, command.by, command.approved_by)
    if _require_set(state, command.piece).installed:
        raise refuse("equipment/in-use", piece=command.piece)
    return [events.DiceDestroyed(piece=command.piece, by=command.by, approved_by=second)]


def _require_set(state: TableState, name: str) -> Piece:
    """Return a set of dice, refusing an unknown or destroyed one."""
    sets = {
        each: piece
        for each, piece in state.equipment.pieces.items()
        if piece.dice and piece.condition != "destroyed"
    }
    if name not in sets:
        nearest = ", ".join(nearest_names(name, sets)) or "none"
        raise refuse("equipment/unknown-dice", piece=name, nearest=nearest)
    return sets[name]


def require_set_in_order(game: Game, state: TableState) -> None:
    """Refuse a round without an installed set in good order, if the register has sets of dice."""
    pieces = state.equipment.pieces.values()
    sets = [piece for piece in pieces if piece.dice]
    if sets and not any(piece.in_use and piece.condition == "in-order" for piece in sets):
        raise refuse("dice/no-set", game.facts.equipment.get("dice"))
