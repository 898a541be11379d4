"""Lines of a case about chips by denomination: counts of the rack, fills, slips and piles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from threedice.cases.expectations import require_known_player
from threedice.cases.language import ExpectationFailed, Phrase, build
from threedice.money import stack_account
from threedice.table import commands, events
from threedice.table.chip_counts.counts import face_value, without_zeros
from threedice.table.chip_counts.ledger import bet_holder, chip_pile
from threedice.table.chip_counts.prose import describe_counts
from threedice.table.rules import require_box
from threedice.table.usual_steps import SUPERVISOR

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from threedice.cases.language import CaseContext, Fields
    from threedice.table.chip_counts.ledger import ChipHolders
    from threedice.table.commands import AnyCommand


def _fill_chips(_context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    command = commands.FillFloat if fields.pop("what") == "fill" else commands.CreditFloat
    amount = face_value(fields["counts"])
    yield build(command, {"by": SUPERVISOR, "amount": amount, **fields})


def _count_rack(_context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    yield build(commands.CountRack, {"by": SUPERVISOR, **fields})


def _count_drop(_context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    yield build(commands.CountDrop, {"by": SUPERVISOR, **fields})


# --- expectations -------------------------------------------------------------------------------


def _holders(context: CaseContext) -> ChipHolders:
    """Return the chips of every holder; the table must deal in chips."""
    if context.state.holders is None:
        raise ExpectationFailed("the table deals in amounts and knows no chips; give it a `rack`")
    return context.state.holders


def _check_holder(context: CaseContext, fields: Fields) -> None:
    holder = "float"
    if "player" in fields:
        require_known_player(context, fields["player"])
        holder = stack_account(fields["player"])
    actual = _holders(context).get(holder, {})
    _expect_counts(f"{fields.get('player', 'the rack')} holds", actual, fields["counts"])


def _check_pile(context: CaseContext, fields: Fields) -> None:
    """Compare the chips of a bet in the order in which they lie, from the bottom to the top."""
    require_known_player(context, fields["player"])
    require_box(context.game, fields["box"])
    counts = _holders(context).get(bet_holder(fields["box"], fields["player"]), {})
    actual = dict(chip_pile(context.game, context.state, fields["player"], counts))
    if list(actual.items()) != list(fields["counts"].items()):
        what = f"{fields['player']}'s pile on {fields['box']} is"
        raise ExpectationFailed(f"{what} {_text(actual)}, expected {_text(fields['counts'])}")


def _check_variance(context: CaseContext, fields: Fields) -> None:
    counts = [event for event in context.events if isinstance(event, events.RackCounted)]
    if not counts:
        raise ExpectationFailed("nobody has counted the rack")
    last, sign = counts[-1], 1 if fields.get("what") == "over" else -1
    names = {**last.counted, **last.expected}
    change = {name: last.counted.get(name, 0) - last.expected.get(name, 0) for name in names}
    found = {name: sign * count for name, count in change.items() if sign * count > 0}
    _expect_counts(f"{fields.get('what', 'missing')}:", found, fields.get("counts", {}))


def _check_slips(context: CaseContext, fields: Fields) -> None:
    if context.state.slips != fields["number"]:
        raise ExpectationFailed(f"the last slip is {context.state.slips}")


def _expect_counts(what: str, actual: Mapping[str, int], expected: Mapping[str, int]) -> None:
    if without_zeros(actual) != without_zeros(expected):
        raise ExpectationFailed(f"{what} {_text(actual)}, expected {_text(expected)}")


def _text(counts: Mapping[str, int]) -> str:
    return describe_counts(counts, str)


_BY: Final = "({by:actor} )?"
_WITH: Final = "( with {approved_by:actor})?"

CHIP_EXPECTATIONS: Final = (
    Phrase("ann holds 2x5 1x25", "{player} holds {counts:counts}", _check_holder, expects=True),
    Phrase(
        "the rack holds 98x5 100x25", "the rack holds {counts:counts}", _check_holder, expects=True
    ),
    Phrase(
        "ann's pile on big is 1x25 2x5",
        "{player}'s pile on {box:box} is {counts:counts}",
        _check_pile,
        expects=True,
    ),
    Phrase("nothing is missing", "nothing is missing", _check_variance, expects=True),
    Phrase(
        "1x25 is missing",
        "{counts:counts} is {what=missing|over}",
        _check_variance,
        expects=True,
    ),
    Phrase("the last slip is 3", "the last slip is {number:int}", _check_slips, expects=True),
)

CHIP_PHRASES: Final = (
    Phrase(
        "fill 4x25 2x5 with pit-manager",
        _BY + "{what=fill|credit}s? {counts:counts}" + _WITH,
        _fill_chips,
    ),
    Phrase(
        "supervisor counts the rack as 98x5 99x25 with pit-manager [: end of the shift]",
        _BY + "counts? the rack as {counted:counts} with {approved_by:actor}(: {note:text})?",
        _count_rack,
    ),
    Phrase(
        "supervisor counts the drop of closing 1 as 3x50 with pit-manager [: torn note]",
        _BY + "counts? the drop of closing {closing:int} as {notes:counts}"
        " with {approved_by:actor}(: {note:text})?",
        _count_drop,
    ),
)
