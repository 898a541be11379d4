"""Lines of a case that state how the table stands; they ask nothing of it.

A statement that is not so is a difference of the case, and play goes on.
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
def _has(scene: CaseContext, line: re.Match[str]) -> Iterator[Any]:
    seat = scene.state.seats.get(line["who"])
    _expect_equal(f"{line['who']} has", seat.stack if seat else 0, line["amount"])
    yield from ()


@phrase("the float is 5000 / the drop is 500", r"the (?P<what>float|drop) is (?P<amount>\d+)")
def _float_is(scene: CaseContext, line: re.Match[str]) -> Iterator[Any]:
    now = scene.state.drop if line["what"] == "drop" else scene.state.float_amount
    _expect_equal(f"the {line['what']} is", now, line["amount"])
    yield from ()


@phrase(
    "ann has room for 300 on big [at left]",
    rf"(?P<who>{NAME_PATTERN}) has room for (?P<amount>\d+) on (?P<box>{BOX_PATTERN}){AREA_PATTERN}",
)
def _has_room(scene: CaseContext, line: re.Match[str]) -> Iterator[Any]:
    require_box(scene.game, line["box"])
    spot = resolve_spot(scene.game, line["box"], line["area"] or "")
    now = remaining_room(scene.game, scene.state, spot, line["who"]) if scene.state.round else 0
    _expect_equal(f"{line['who']} has room on {spot} for", now, line["amount"])
    yield from ()


@phrase(
    "flags: big over the maximum; odd over the differential; ann's on big under the minimum",
    r"flags: (?P<flags>.+)",
)
def _flags(scene: CaseContext, line: re.Match[str]) -> Iterator[Any]:
    raised = (
        [_describe_flag(each) for each in find_breaches(scene.game, scene.state)]
        if scene.state.round
        else []
    )
    now = "; ".join(raised) or "none"
    expected = [each.strip() for each in line["flags"].split(";")]
    if sorted(raised or ["none"]) != sorted(expected):
        raise ExpectationFailed(f"flags: {now}, expected {'; '.join(expected)}")
    yield from ()


def _describe_flag(flag: LimitBreach) -> str:
    side = "under" if flag.kind == "minimum" else "over"
    where = f"{flag.player}'s on {flag.spot}" if flag.player else flag.spot
    return f"{where} {side} the {flag.kind}"


def _expect_equal(what: str, now: int, expected: str) -> None:
    if now != int(expected):
        raise ExpectationFailed(f"{what} {now}, expected {expected}")
