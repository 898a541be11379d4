"""Lines of a case about equipment: opening checks, the register, the test mode and dice."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Final

from threedice.cases.language import Phrase, build, require_known_lamps, send
from threedice.table import commands

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.cases.language import CaseContext, Fields
    from threedice.table.commands import AnyCommand


def _release_piece(_context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    remedy = "substitute-procedure" if "remedy" in fields else "rectified"
    yield build(commands.ReleasePiece, {**fields, "remedy": remedy})


def _register_dice(_context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    """Register a set of dice whose serial numbers are those of the set and of the die."""
    serials = (f"{fields['piece']}-{number + 1}" for number in range(fields.pop("count")))
    dice = [commands.Die(serial=serial) for serial in serials]
    yield build(commands.RegisterPiece, {**fields, "dice": dice})


def _test_result(context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    """Enter a result in test mode; the lamps of its winning areas are lit, but for the faults."""
    game, dark, stray = context.game, fields.pop("dark", ()), fields.pop("stray", ())
    require_known_lamps(context, dark)
    keys = fields.pop("keys")
    is_result = len(keys) >= 3 and all(key in range(1, 7) for key in keys)
    boxes = game.winning((keys[-3], keys[-2], keys[-1])) if is_result else ()
    lit = [lamp for lamp in game.lamps if lamp.partition("@")[0] in boxes and lamp not in dark]
    yield build(commands.EnterTrial, {**fields, "keys": keys, "lit": [*lit, *stray]})


def _test_every_result(context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    """Enter all 56 results in test mode."""
    for keys in combinations_with_replacement(range(1, 7), 3):
        yield from _test_result(context, {**fields, "keys": list(keys)})


_LAMPS: Final = "( with {dark:areas} dark)?( with {stray:areas} stray)?"

EQUIPMENT_PHRASES: Final = (
    # checks
    Phrase(
        "supervisor checks seal [seeing seal n-1]",
        "{by:actor} checks {check}( seeing seal {seal})?",
        send(commands.PassCheck),
    ),
    Phrase(
        "supervisor fails seal by dice-1 [seeing seal n-2]: a reason",
        "{by:actor} fails {check} by {piece}( seeing seal {seal})?: {reason:text}",
        send(commands.FailCheck),
    ),
    # equipment
    Phrase(
        "supervisor registers tumbler t-1 [under seal n-1]",
        "{by:actor} registers {kind} {piece}( under seal {seal})?",
        send(commands.RegisterPiece),
    ),
    Phrase(
        "supervisor registers dice d-1 with 3 dice [under seal n-1]",
        "{by:actor} registers {kind} {piece} with {count:int} dice( under seal {seal})?",
        _register_dice,
    ),
    Phrase(
        "supervisor installs dice d-1 [with seal n-1] [under seal n-2]",
        "{by:actor} installs dice {piece}( with seal {seen})?( under seal {seal})?",
        send(commands.InstallDice),
    ),
    Phrase(
        "supervisor finds dice d-1 good",
        "{by:actor} finds dice {piece} good(: {note:text})?",
        send(commands.InspectDice, good=True),
    ),
    Phrase(
        "supervisor finds dice d-1 damaged [by 1 3] [: a note]",
        "{by:actor} finds dice {piece} damaged( by {damaged:ints})?(: {note:text})?",
        send(commands.InspectDice, good=False),
    ),
    Phrase(
        "supervisor removes dice d-1 [under seal n-3] [: a reason]",
        "{by:actor} removes dice {piece}( under seal {seal})?(: {reason:text})?",
        send(commands.RemoveDice),
    ),
    Phrase(
        "supervisor destroys dice d-1 with pit-manager",
        "{by:actor} destroys dice {piece} with {approved_by:actor}",
        send(commands.DestroyDice),
    ),
    Phrase(
        "supervisor sets the table up without lights",
        "{by:actor} sets the table up without {kind}",
        send(commands.OmitEquipment),
    ),
    Phrase(
        "supervisor replaces t-1 by t-2 [under seal n-2]: a reason",
        "{by:actor} replaces {piece} by {replacement}( under seal {seal})?: {reason:text}",
        send(commands.ReplacePiece),
    ),
    Phrase(
        "supervisor releases t-1 [under a substitute procedure]: a reason",
        "{by:actor} releases {piece}( under a {remedy=substitute procedure})?: {reason:text}",
        _release_piece,
    ),
    Phrase("supervisor starts a test", "{by:actor} starts a test", send(commands.StartTest)),
    Phrase(
        "supervisor tests every result [with big@left dark] [with odd stray]",
        "{by:actor} tests every result" + _LAMPS,
        _test_every_result,
    ),
    Phrase(
        "supervisor tests 1 3 6 [with big@left dark] [with odd stray] [echoing 1 3 5]"
        " [displaying 1 3 5]",
        "{by:actor} tests {keys:ints}"
        + _LAMPS
        + "( echoing {echo:ints})?( displaying {display:ints})?",
        _test_result,
    ),
    Phrase("supervisor ends the test", "{by:actor} ends the test", send(commands.EndTest)),
)
"""Every phrase about equipment."""
