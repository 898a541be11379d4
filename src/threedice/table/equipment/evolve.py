"""Apply the events about equipment to the state of a table, in place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from threedice.table import events
from threedice.table.state import EquipmentState, Piece, TrialFinding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.table.events import AnyEquipmentEvent, TestedDisplay
    from threedice.table.state import PieceCondition, Round, TableState


def evolve_equipment(state: TableState, event: AnyEquipmentEvent) -> None:
    """Apply an event to the register, the checks and the findings of tests."""
    equipment = state.equipment
    match event:
        case events.TrialEntered():
            _apply_trial(equipment, event)
        case events.PieceRegistered():
            equipment.pieces[event.piece] = Piece(
                event.kind,
                event.serial,
                event.seal,
                dice=event.dice,
                installed=not event.dice,
            )
            _add_kind(state, event.kind, event.rechecks)
        case events.EquipmentOmitted():
            equipment.omitted.add(event.kind)
        case events.PieceReplaced():
            _release(state, event.piece, "out-of-use")
            equipment.pieces[event.replacement] = Piece(event.kind, event.serial, event.seal)
            _add_kind(state, event.kind, event.rechecks)
        case events.PieceFailed():
            piece = equipment.pieces[event.piece]
            piece.condition, piece.fault = "faulty", event.cause
            if state.round:  # the history of a table's equipment is applied without rounds
                _leave_out_steps(state.round, event)
        case events.PieceReleased():
            if event.remedy == "rectified":
                _release(state, event.piece, "in-order")
                if equipment.pieces[event.piece].kind == "lights":
                    equipment.proved -= equipment.dark
                    _forget_lamps(equipment)
            else:
                state.checks.update(_release(state, event.piece, "out-of-use"))
        case events.CheckFailed():
            state.checks.discard(event.check)
            equipment.failed[event.check] = event.piece
            equipment.pieces[event.piece].condition = "faulty"
        case events.DiceInstalled():
            piece = equipment.pieces[event.piece]
            piece.installed, piece.seal = True, event.seal
            state.checks.difference_update(event.rechecks)
        case events.DiceInspected():
            if event.good:
                _release(state, event.piece, "in-order")
            else:
                equipment.pieces[event.piece].condition = "faulty"
        case events.DiceRemoved():
            piece = equipment.pieces[event.piece]
            _release(state, event.piece, piece.condition)
            piece.installed, piece.seal = False, event.seal
        case events.DiceDestroyed():
            equipment.pieces[event.piece].condition = "destroyed"
        case events.TestStarted():
            equipment.test = equipment.tests = event.test
        case events.TestEnded():
            equipment.test = 0
            equipment.tried.clear()
        case _:
            assert_never(event)


def _leave_out_steps(current: Round, event: events.PieceFailed) -> None:
    """Leave the steps that need a failed piece out of the round."""
    if event.cause in current.unnamed[-1:]:
        current.unnamed.pop()  # the report that was applied just before names the piece
    if event.skipped:
        current.skipped = [*current.skipped, *event.skipped]
        current.done.update(event.skipped)


def _add_kind(state: TableState, kind: str, rechecks: Iterable[str]) -> None:
    """Require the checks of a new piece again, and forget the findings on the old one."""
    equipment = state.equipment
    equipment.omitted.discard(kind)
    state.checks.difference_update(rechecks)
    if kind == "lights":
        equipment.proved.clear()
        _forget_lamps(equipment)
    elif kind == "terminal":
        _forget_display(equipment, "echo")
    elif kind == "results-display":
        _forget_display(equipment, "display")


def _release(state: TableState, name: str, condition: PieceCondition) -> list[str]:
    """End the fault of a piece and the failure of checks by it; return those checks."""
    equipment = state.equipment
    piece = equipment.pieces[name]
    piece.condition, piece.fault = condition, None
    over = [check for check, failed in equipment.failed.items() if failed == name]
    for check in over:
        del equipment.failed[check]
    return over


def _apply_trial(equipment: EquipmentState, event: events.TrialEntered) -> None:
    """Record a trial; it replaces what the last one of the same result found."""
    result = tuple(sorted(event.dice))
    equipment.tried.add(result)
    equipment.proved |= set(event.lit) - set(event.stray)
    finding = TrialFinding(frozenset(event.dark), frozenset(event.stray), frozenset(event.wrong))
    _set_finding(equipment, "-".join(map(str, result)), finding)


def _forget_lamps(equipment: EquipmentState) -> None:
    """Forget which lamps were dark or stray."""
    for result, finding in [*equipment.findings.items()]:
        _set_finding(equipment, result, TrialFinding(wrong=finding.wrong))


def _forget_display(equipment: EquipmentState, display: TestedDisplay) -> None:
    """Forget that a display showed something wrong."""
    for result, finding in [*equipment.findings.items()]:
        left = replace(finding, wrong=finding.wrong - {display})
        _set_finding(equipment, result, left)


def _set_finding(equipment: EquipmentState, result: str, finding: TrialFinding) -> None:
    """Record what a result's last trial showed wrong, or forget it if that is nothing."""
    if finding == TrialFinding():
        equipment.findings.pop(result, None)
    else:
        equipment.findings[result] = finding
