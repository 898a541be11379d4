"""Lines of a case that state an expected state of the table; they send no commands.

An expectation that fails is a difference of the case, and play continues.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from threedice.cases.language import (
    AREA_PATTERN,
    BOX_PATTERN,
    NAME_PATTERN,
    ExpectationFailed,
    phrase,
)
from threedice.table.limits import LimitBreach, find_breaches, remaining_room
from threedice.table.rules import require_box, resolve_spot

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from threedice.cases.language import CaseContext


@phrase("ann has 300", rf"(?P<who>{NAME_PATTERN}) has (?P<amount>\d+)")
def _has(context: CaseContext, match: re.Match[str]) -> Iterator[Any]:
    seat = context.state.seats.get(match["who"])
    _expect_equal(f"{match['who']} has", seat.stack if seat else 0, match["amount"])
    yield from ()


@phrase("the float is 5000 / the drop is 500", r"the (?P<what>float|drop) is (?P<amount>\d+)")
def _float_is(context: CaseContext, match: re.Match[str]) -> Iterator[Any]:
    actual = context.state.drop if match["what"] == "drop" else context.state.float_amount
    _expect_equal(f"the {match['what']} is", actual, match["amount"])
    yield from ()


@phrase(
    "ann has room for 300 on big [at left]",
    rf"(?P<who>{NAME_PATTERN}) has room for (?P<amount>\d+)"
    rf" on (?P<box>{BOX_PATTERN}){AREA_PATTERN}",
)
def _has_room(context: CaseContext, match: re.Match[str]) -> Iterator[Any]:
    require_box(context.game, match["box"])
    spot = resolve_spot(context.game, match["box"], match["area"] or "")
    actual = (
        remaining_room(context.game, context.state, spot, match["who"])
        if context.state.round
        else 0
    )
    _expect_equal(f"{match['who']} has room on {spot} for", actual, match["amount"])
    yield from ()


@phrase(
    "flags: big over the maximum; odd over the differential; ann's on big under the minimum",
    r"flags: (?P<flags>.+)",
)
def _flags(context: CaseContext, match: re.Match[str]) -> Iterator[Any]:
    raised = (
        [_describe_flag(each) for each in find_breaches(context.game, context.state)]
        if context.state.round
        else []
    )
    actual = "; ".join(raised) or "none"
    expected = [each.strip() for each in match["flags"].split(";")]
    if sorted(raised or ["none"]) != sorted(expected):
        raise ExpectationFailed(f"flags: {actual}, expected {'; '.join(expected)}")
    yield from ()


def _describe_flag(flag: LimitBreach) -> str:
    side = "under" if flag.kind == "minimum" else "over"
    where = f"{flag.player}'s on {flag.spot}" if flag.player else flag.spot
    return f"{where} {side} the {flag.kind}"


def _expect_equal(what: str, actual: int, expected: str) -> None:
    if actual != int(expected):
        raise ExpectationFailed(f"{what} {actual}, expected {expected}")
