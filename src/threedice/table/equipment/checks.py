"""Handle opening checks, and refuse a round while equipment does not permit it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from threedice.table import commands, events
from threedice.table.equipment.dice_sets import require_set_in_order
from threedice.table.equipment.register import require_piece
from threedice.table.rules import handles, refuse, require_role

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.rulebook import Game
    from threedice.rulebook.conduct import OpeningCheck
    from threedice.table.events import AnyEvent, TestedDisplay
    from threedice.table.state import TableState


@handles(commands.PassCheck)
def pass_check(game: Game, state: TableState, command: commands.PassCheck) -> list[AnyEvent]:
    """Record an opening check, made by a role that the rulebook names.

    It cannot be passed with equipment that is known to be faulty, without the test run that belongs
    to it, or on another seal than the register has.
    """
    check, equipment = _require_check(game, command), state.equipment
    for name, piece in equipment.pieces.items():
        failed = equipment.failed.get(command.check) == name
        if not piece.in_use or (piece.kind not in check.pieces and not failed):
            continue
        if piece.condition == "faulty":
            raise refuse("equipment/faulty", check, check=command.check, piece=name)
        if check.seal and piece.seal and command.seal != piece.seal:
            seen = command.seal or "none"
            raise refuse("equipment/seal", check, piece=name, seal=piece.seal, seen=seen)
    tested = check.test and equipment.in_use("lights")
    if check.test:
        _require_passed_test(game, state, check)
    if tested:
        untested = [lamp for lamp in game.lamps if lamp not in equipment.proved]
        if untested:
            first = ", ".join(untested[:3])
            raise refuse("equipment/untested", check, count=len(untested), lamps=first)
    return [
        events.CheckPassed(
            check=command.check,
            by=command.by,
            seal=command.seal or "",
            note=command.note or "",
            test=equipment.tests if tested else 0,
        )
    ]


@handles(commands.FailCheck)
def fail_check(game: Game, state: TableState, command: commands.FailCheck) -> list[AnyEvent]:
    """Record that a check failed by a piece: no round starts until the piece is dealt with."""
    check = _require_check(game, command)
    piece = require_piece(state, command.piece)
    if check.pieces and piece.kind not in check.pieces:
        kinds = ", ".join(check.pieces)
        raise refuse("equipment/other-kind", check, piece=command.piece, kinds=kinds)
    if not command.reason.strip():
        raise refuse("reason/missing", check)
    return [
        events.CheckFailed(
            check=command.check,
            piece=command.piece,
            reason=command.reason,
            seal=command.seal,
            by=command.by,
        )
    ]


def _require_check(game: Game, command: commands.PassCheck | commands.FailCheck) -> OpeningCheck:
    """Return the rule of a check, refusing one that the rulebook does not have or another role."""
    checks = game.facts.opening
    if command.check not in checks:
        raise refuse("table/unknown-check", check=command.check, checks=", ".join(checks) or "none")
    check = checks[command.check]
    require_role(command.by, check.by, check)
    return check


def require_ready(game: Game, state: TableState) -> None:
    """Refuse a round while a check is missing or has failed, or a test is being run or failed."""
    checks, equipment = game.facts.opening, state.equipment
    for name, piece in equipment.failed.items():
        raise refuse("table/check-failed", checks[name], check=name, piece=piece)
    missing = [check for check in checks if check not in state.checks]
    if missing:
        raise refuse("table/checks-missing", checks[missing[0]], checks=", ".join(missing))
    if equipment.test:
        raise refuse("equipment/testing")
    require_set_in_order(game, state)
    tested = next((check for check in checks.values() if check.test), None)
    _require_passed_test(game, state, tested)


_TESTED_BY: Final[dict[TestedDisplay, str]] = {"echo": "terminal", "display": "results-display"}
"""The kind of equipment that shows what a trial tests."""


def _require_passed_test(game: Game, state: TableState, check: OpeningCheck | None) -> None:
    """Refuse equipment that showed something wrong when a result was last tested.

    Equipment that the table plays without does not count. Where no check needs test runs, only the
    lamps do.
    """
    equipment, display = state.equipment, game.facts.irregularities.get("display-wrong")
    if not equipment.findings:
        return
    harmless = {each for each, kind in _TESTED_BY.items() if equipment.lacks(kind)}
    harmless |= set() if display and display.locks_table else {"display"}
    wrong = equipment.wrong - harmless if check else set()
    lamps = set() if equipment.lacks("lights") else {*game.lamps}
    dark, stray = lamps & equipment.dark, lamps & equipment.stray
    if dark or stray or wrong:
        found: dict[str, Iterable[str]] = {"dark": dark, "stray": stray, "wrong": wrong}
        texts = {word: ", ".join(sorted(each)) or "none" for word, each in found.items()}
        grounds = check or game.facts.equipment.get("lights")
        raise refuse("equipment/test-failed", grounds, **texts)
