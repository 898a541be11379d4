"""Lines of a case that state an expected state of the table; they send no commands.

An expectation that fails is a difference of the case, and play continues.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from threedice.cases.language import ExpectationFailed, Phrase
from threedice.table.limits import LimitBreach, find_breaches, remaining_room
from threedice.table.rules import require_box, resolve_spot

if TYPE_CHECKING:
    from threedice.cases.language import CaseContext, Fields


def _expect_stack(context: CaseContext, fields: Fields) -> None:
    seat = context.state.seats.get(fields["player"])
    _expect_equal(f"{fields['player']} has", seat.stack if seat else 0, fields["amount"])


def _expect_float_or_drop(context: CaseContext, fields: Fields) -> None:
    actual = context.state.drop if fields["what"] == "drop" else context.state.float_amount
    _expect_equal(f"the {fields['what']} is", actual, fields["amount"])


def _expect_room(context: CaseContext, fields: Fields) -> None:
    game, state, player = context.game, context.state, fields["player"]
    require_box(game, fields["box"])
    spot = resolve_spot(game, fields["box"], fields.get("area", ""))
    actual = remaining_room(game, state, spot, player) if state.round else 0
    _expect_equal(f"{player} has room on {spot} for", actual, fields["amount"])


def _expect_equal(what: str, actual: int, expected: int) -> None:
    if actual != expected:
        raise ExpectationFailed(f"{what} {actual}, expected {expected}")


def _expect_flags(context: CaseContext, fields: Fields) -> None:
    breaches = find_breaches(context.game, context.state) if context.state.round else ()
    actual = [_describe_flag(each) for each in breaches] or ["none"]
    expected = [each.strip() for each in fields["flags"].split(";")]
    if sorted(actual) != sorted(expected):
        raise ExpectationFailed(f"flags: {'; '.join(actual)}, expected {'; '.join(expected)}")


def _describe_flag(flag: LimitBreach) -> str:
    side = "under" if flag.kind == "minimum" else "over"
    where = f"{flag.player}'s on {flag.spot}" if flag.player else flag.spot
    return f"{where} {side} the {flag.kind}"


EXPECTATIONS: Final = (
    Phrase("ann has 300", "{player} has {amount:int}", _expect_stack),
    Phrase(
        "the float is 5000 / the drop is 500",
        "the {what=float|drop} is {amount:int}",
        _expect_float_or_drop,
    ),
    Phrase(
        "ann has room for 300 on big [at left]",
        "{player} has room for {amount:int} on {box:box}( at {area:word})?",
        _expect_room,
    ),
    Phrase(
        "flags: big over the maximum; odd over the differential; ann's on big under the minimum",
        "flags: {flags:text}",
        _expect_flags,
    ),
)
