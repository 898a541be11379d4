"""Handle the register of equipment: pieces that come, fail, are replaced and released."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.errors import nearest_names
from threedice.rulebook.conduct import USUAL_EQUIPMENT
from threedice.table import commands, events
from threedice.table.equipment.dice_sets import require_dice
from threedice.table.rules import (
    handles,
    refuse,
    remaining_steps,
    require_permission,
    require_role,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.rulebook import Game
    from threedice.rulebook.conduct import Irregularity, IrregularityName, StepName
    from threedice.table.commands import Actor
    from threedice.table.events import AnyEvent
    from threedice.table.state import Piece, TableState


@handles(commands.RegisterPiece)
def register_piece(
    game: Game, state: TableState, command: commands.RegisterPiece
) -> list[AnyEvent]:
    """Enter a new piece into the register; checks of its kind must be repeated."""
    require_role(command.by, command.facts.roles)
    _require_kind(game, command.kind)
    _require_new(state, command.piece)
    require_dice(game, command)
    return [
        events.PieceRegistered(
            piece=command.piece,
            kind=command.kind,
            serial=command.serial,
            seal=command.seal,
            dice=command.dice,
            rechecks=[] if command.dice else rechecks(game, state, command.kind),
            by=command.by,
        )
    ]


def _require_kind(game: Game, kind: str) -> None:
    kinds = dict.fromkeys([*game.facts.equipment, *USUAL_EQUIPMENT])
    if kind not in kinds:
        raise refuse("equipment/unknown-kind", kind=kind, kinds=", ".join(kinds))


def _require_new(state: TableState, name: str) -> None:
    if name in state.equipment.pieces:
        raise refuse("equipment/registered", piece=name)


def rechecks(game: Game, state: TableState, kind: str) -> list[str]:
    """Return the passed checks that a new piece of a kind requires again."""
    checks = game.facts.opening
    return [name for name in checks if kind in checks[name].pieces and name in state.checks]


@handles(commands.OmitEquipment)
def omit_equipment(
    game: Game, state: TableState, command: commands.OmitEquipment
) -> list[AnyEvent]:
    """Set the table up without a kind of equipment that the rulebook does not always need."""
    require_role(command.by, command.facts.roles)
    rule = game.facts.equipment.get(command.kind)
    if rule is None:
        kinds = ", ".join(game.facts.equipment)
        raise refuse("equipment/unknown-kind", kind=command.kind, kinds=kinds)
    if rule.needed == "always":
        raise refuse("equipment/needed", rule, kind=command.kind)
    in_use = state.equipment.in_use(command.kind)
    if in_use:
        raise refuse("equipment/in-use", rule, piece=", ".join(in_use))
    return [events.EquipmentOmitted(kind=command.kind, by=command.by)]


@handles(commands.ReplacePiece)
def replace_piece(game: Game, state: TableState, command: commands.ReplacePiece) -> list[AnyEvent]:
    """Put a piece out of use and another in its place; its checks must be repeated."""
    require_role(command.by, command.facts.roles)
    piece = require_piece(state, command.piece)
    _refuse_dice(command.piece, piece)
    _require_new(state, command.replacement)
    _require_reason(command.reason)
    return [
        events.PieceReplaced(
            piece=command.piece,
            kind=piece.kind,
            replacement=command.replacement,
            reason=command.reason,
            serial=command.serial,
            seal=command.seal,
            rechecks=rechecks(game, state, piece.kind),
            by=command.by,
        )
    ]


@handles(commands.ReleasePiece)
def release_piece(game: Game, state: TableState, command: commands.ReleasePiece) -> list[AnyEvent]:
    """Return a faulty piece to use, or play on without it; a check that failed by it is over."""
    require_permission(game, command.by, "release-table", command.facts.roles)
    piece = state.equipment.pieces.get(command.piece) or require_piece(state, command.piece)
    _refuse_dice(command.piece, piece)
    if piece.condition == "in-order" and not state.equipment.is_faulty(piece):
        raise refuse("equipment/in-order", piece=command.piece)
    _require_reason(command.reason)
    return [
        events.PieceReleased(
            piece=command.piece, reason=command.reason, remedy=command.remedy, by=command.by
        )
    ]


def release_reported_pieces(
    state: TableState, command: commands.ReleaseTable
) -> Iterable[events.PieceReleased]:
    """Yield the release of the pieces whose reported malfunction locked the table."""
    causes = [command.cause] if command.cause else state.locked
    for name, piece in state.equipment.pieces.items():
        if piece.fault in causes and not piece.dice:
            yield events.PieceReleased(
                piece=name, reason=command.reason, remedy=command.remedy, by=command.by
            )


def require_piece(state: TableState, name: str) -> Piece:
    """Return a piece in use, refusing one that is unknown or out of use."""
    piece = state.equipment.pieces.get(name)
    if piece is None or not piece.in_use:
        known = [each for each, other in state.equipment.pieces.items() if other.in_use]
        nearest = ", ".join(nearest_names(name, known)) or "none"
        raise refuse("equipment/unknown", piece=name, nearest=nearest)
    return piece


def _refuse_dice(name: str, piece: Piece) -> None:
    if piece.dice:
        raise refuse("equipment/dice", piece=name)


def fail_piece(
    game: Game,
    state: TableState,
    name: str,
    rule: Irregularity,
    cause: IrregularityName,
    by: Actor,
    *,
    is_void: bool,
) -> list[AnyEvent]:
    """Return the failure of a piece that a report names; refuse one that it cannot concern.

    The round in play, unless it is void, leaves out the steps that need the piece, and goes on by
    the dice.
    """
    kind = require_piece(state, name).kind
    if kind not in rule.pieces:
        kinds = ", ".join(rule.pieces) or "no equipment"
        raise refuse("equipment/other-kind", rule, piece=name, kinds=kinds)
    skipped = [] if is_void else _steps_without(game, state, name, kind)
    return [events.PieceFailed(piece=name, cause=cause, skipped=skipped, by=by)]


def _steps_without(game: Game, state: TableState, name: str, kind: str) -> list[StepName]:
    """Return the steps left in the round that need this piece: no other of its kind is in order."""
    pieces = state.equipment.pieces
    others = (pieces[each] for each in state.equipment.in_use(kind) if each != name)
    if state.round is None or any(each.condition == "in-order" for each in others):
        return []
    left = remaining_steps(game, state)
    return [each for each in left if kind in game.facts.procedure.steps[each].equipment]


def fail_lights(state: TableState, cause: IrregularityName, by: Actor) -> list[AnyEvent]:
    """Return the failure of the table's lights, if the register has exactly one piece of them."""
    lights = state.equipment.in_use("lights")
    return [events.PieceFailed(piece=lights[0], cause=cause, by=by)] if len(lights) == 1 else []


def _require_reason(reason: str) -> None:
    if not reason.strip():
        raise refuse("reason/missing")
