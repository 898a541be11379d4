"""Find legal but suspicious entries in a rulebook, for game designers.

`threedice rulebooks check` prints these findings after a strict load.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from threedice.odds.figures import box_figures, format_odds, percent
from threedice.rulebook.boxes import missing_from_families

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from threedice.rulebook import Box, Game
    from threedice.rulebook.schema import Rulebook


LintFigures = dict[str, str | list[str]]


@dataclass(frozen=True, slots=True)
class LintFinding:
    """A finding: its kind, the box or family, a message with the figures, and the clauses."""

    kind: str
    box: str
    message: str
    clauses: tuple[str, ...]
    figures: LintFigures


def lint(
    game: Game, book: Rulebook, min_return: Fraction, chips: tuple[int, ...] = ()
) -> list[LintFinding]:
    """Return all findings about one game, the most severe kind first."""
    return [
        *_non_positive_edges(game),
        *_low_returns(game, min_return),
        *_dominated_boxes(game),
        *_incomplete_families(game, book),
        *_unpayable_odds(game, chips),
    ]


def _non_positive_edges(game: Game) -> Iterator[LintFinding]:
    for box in game.boxes.values():
        edge = box_figures(box).edge
        if edge <= 0:
            kind = "edge-zero" if edge == 0 else "edge-negative"
            message = f"house edge {edge} ({percent(edge)})"
            yield LintFinding(kind, box.id, message, _clauses(box), {"edge": str(edge)})


def _low_returns(game: Game, min_return: Fraction) -> Iterator[LintFinding]:
    for box in game.boxes.values():
        returned = box_figures(box).return_to_player
        if returned < min_return:
            floor = percent(min_return)
            message = f"returns {returned} ({percent(returned)}), under the floor of {floor}"
            figures: LintFigures = {"return": str(returned), "floor": str(min_return)}
            yield LintFinding("return-low", box.id, message, _clauses(box), figures)


def _dominated_boxes(game: Game) -> Iterator[LintFinding]:
    """Find boxes that another box beats or equals on every roll."""
    rows = game.payoffs
    for box_id, row in rows.items():
        for other_id, other in rows.items():
            if row != other and all(a <= b for a, b in zip(row, other, strict=True)):
                box, better = game.boxes[box_id], game.boxes[other_id]
                relation = "wins exactly when" if box.wins == better.wins else "wins only when"
                message = (
                    f"at {format_odds(box)} {relation} {other_id} at {format_odds(better)} does"
                )
                figures: LintFigures = {"better": other_id, "odds": format_odds(box)}
                yield LintFinding("dominated", box_id, message, _clauses(box), figures)


def _incomplete_families(game: Game, book: Rulebook) -> Iterator[LintFinding]:
    for family, missing in missing_from_families(game, book).items():
        offered = [box for box in game.boxes.values() if box.family == family]
        total = len(offered) + len(missing)
        message = f"{len(offered)} of {total} {family} boxes offered; missing {', '.join(missing)}"
        figures: LintFigures = {"missing": missing}
        yield LintFinding("family-incomplete", family, message, offered[0].pays, figures)


def _unpayable_odds(game: Game, chips: tuple[int, ...]) -> Iterator[LintFinding]:
    """Find odds that cannot be paid in the given chips on every stake of such chips."""
    if not chips:
        return
    smallest = min(chips)
    for box in game.boxes.values():
        for odds in (line.odds for line in box.lines):
            step = odds.ratio.denominator * smallest
            if step != smallest:
                message = (
                    f"{odds} in chips of {smallest} comes out even only on multiples of {step}"
                )
                figures: LintFigures = {"odds": str(odds), "step": str(step)}
                yield LintFinding("not-payable", box.id, message, _clauses(box), figures)


def _clauses(box: Box) -> tuple[str, ...]:
    return tuple(dict.fromkeys(box.rule + box.pays))
