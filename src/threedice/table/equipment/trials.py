"""Handle the test mode of the terminal: results that are entered without a round.

The people at the table say what they saw; the game says which areas win, and so which lamps are
dark and which are stray.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from threedice.errors import nearest_names
from threedice.facts import STAFF
from threedice.rulebook.conduct import EquipmentDetail
from threedice.table import commands, events
from threedice.table.rules import handles, refuse, require_role, roles_with_stand_ins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.rulebook import Game
    from threedice.table.events import AnyEvent, TestedDisplay
    from threedice.table.state import TableState


@handles(commands.StartTest)
def start_test(game: Game, state: TableState, command: commands.StartTest) -> list[AnyEvent]:
    """Switch the terminal to test mode."""
    _require_operator(game, command)
    if state.equipment.test:
        raise refuse("equipment/testing")
    if state.equipment.lacks("terminal"):
        raise refuse("equipment/none", game.facts.equipment.get("terminal"), kind="terminal")
    return [events.TestStarted(test=state.equipment.tests + 1, by=command.by)]


@handles(commands.EnterTrial)
def enter_trial(game: Game, state: TableState, command: commands.EnterTrial) -> list[AnyEvent]:
    """Enter a result in test mode, and compare what was seen with what it has to show."""
    test, dice = _require_test(game, state, command), _dice(game, command.keys)
    known = game.lamps
    for lamp in command.lit:
        if lamp not in known:
            nearest = ", ".join(nearest_names(lamp, known))
            raise refuse("equipment/unknown-lamp", lamp=lamp, nearest=nearest)
    wins = set(game.winning(dice))
    expected = [lamp for lamp in known if lamp.partition("@")[0] in wins]
    if state.equipment.lacks("lights"):
        expected = []
    lit = [lamp for lamp in known if lamp in command.lit]
    return [
        events.TrialEntered(
            test=test,
            dice=dice,
            lit=lit,
            dark=[lamp for lamp in expected if lamp not in command.lit],
            stray=[lamp for lamp in lit if lamp not in expected],
            wrong=_wrong_displays(game, command, dice),
            by=command.by,
        )
    ]


@handles(commands.EndTest)
def end_test(game: Game, state: TableState, command: commands.EndTest) -> list[AnyEvent]:
    """Switch the terminal back from test mode."""
    return [events.TestEnded(test=_require_test(game, state, command), by=command.by)]


def _require_operator(game: Game, command: commands.TrialCommand) -> None:
    """Refuse a role that may neither enter results nor make a check by testing the terminal."""
    step = game.facts.procedure.steps.get("enter-result")
    checks = [check for check in game.facts.opening.values() if check.test]
    operators = roles_with_stand_ins(game, step.by) if step else STAFF
    allowed = dict.fromkeys([*operators, *(role for check in checks for role in check.by)])
    interference = game.facts.irregularities.get("interference")
    require_role(command.by, allowed, step, interference)


def _require_test(game: Game, state: TableState, command: commands.TrialCommand) -> int:
    """Return the number of the test that is being run."""
    _require_operator(game, command)
    if not state.equipment.test:
        raise refuse("equipment/not-testing")
    return state.equipment.test


def _terminal(game: Game) -> EquipmentDetail:
    terminal = game.facts.equipment.get("terminal")
    return terminal.detail if terminal else EquipmentDetail()


def _dice(game: Game, keys: Sequence[int]) -> tuple[int, int, int]:
    """Return the result that keys enter: the last three of them."""
    rule, most = game.facts.equipment.get("terminal"), _terminal(game).keys or 6
    for key in keys:
        if key not in range(1, most + 1):
            raise refuse("dice/face", rule, key=key)
    if len(keys) < 3:
        raise refuse("dice/too-few", rule)
    return (keys[-3], keys[-2], keys[-1])


def _wrong_displays(
    game: Game, command: commands.EnterTrial, dice: tuple[int, int, int]
) -> list[TestedDisplay]:
    echoed = command.keys[-(_terminal(game).echo or 3) :]
    wrong: list[TestedDisplay] = []
    if command.echo not in (msgspec.UNSET, echoed):
        wrong.append("echo")
    if command.display is not msgspec.UNSET and sorted(command.display) != sorted(dice):
        wrong.append("display")
    return wrong
