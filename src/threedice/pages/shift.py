"""The house's shift as a page to print: win, hold, the worst roll, and what limits do to them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from threedice.pages.curves import distribution_chart
from threedice.pages.distribution import chance_signed, method
from threedice.pages.frame import amount, chance, figure, heading, page, paragraph, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.maths import Period, SafeMaximum
    from threedice.rulebook import Game

QUANTILES: Final = tuple(Fraction(each, 1000) for each in (1, 10, 50, 500, 950, 990, 999))


@dataclass(frozen=True)
class ShiftReport:
    """All that is told of a table's shift: what was assumed, the periods, what limits would do.

    `compared` holds a shift for each differential; `safe` answers which maximum keeps a loss of
    more than `loss` in a shift at most `share` likely.
    """

    game: Game
    assumed: str
    periods: Sequence[Period]
    compared: Sequence[tuple[int | None, Period]] = ()
    safe: SafeMaximum | None = None
    loss: int = 0
    share: Fraction = Fraction(1, 100)
    drop: Fraction | None = None
    """Cash changed into chips in a round, on average, for hold as the trade reckons it."""


def shift_page(report: ShiftReport) -> str:
    """Return the whole page."""
    return page(
        "The house's shift",
        report.game,
        [
            paragraph(report.assumed, "lead"),
            heading("Win"),
            table(("", *(each.name for each in report.periods)), win_rows(report)),
            *[_picture(each) for each in report.periods],
            *_compared(report),
            *_safe(report),
            heading("How the figures are made"),
            paragraph(method(max(each.win.error for each in report.periods))),
            paragraph(
                "Rounds are independent and all alike; bets of one round share its roll. Hold is "
                "the win as a share of what is staked, on average over the period. The worst roll "
                "is the one round of the period that costs the house most."
            ),
        ],
    )


def win_rows(report: ShiftReport) -> list[tuple[str, ...]]:
    """Return the figures of all periods, a row for each figure."""
    periods = report.periods
    rows = [
        ("rounds", *(f"{each.rounds:,}" for each in periods)),
        ("staked on average", *(amount(each.turnover) for each in periods)),
        ("expected win", *(amount(each.win.mean) for each in periods)),
        ("standard deviation", *(amount(each.win.sd) for each in periods)),
        ("expected hold of stakes", *(chance_signed(each.mean_hold) for each in periods)),
        ("house loses", *(chance(each.losing) for each in periods)),
    ]
    for share in QUANTILES:
        words = f"win, {float(share) * 100:g} % or less"
        rows.append((words, *(amount(each.win.quantile(share)) for each in periods)))
    for share in (Fraction(1, 100), Fraction(1, 2)):
        words = f"worst roll, {float(share) * 100:g} %"
        rows.append((words, *(amount(each.worst_roll(share)) for each in periods)))
    if report.drop:
        holds = [each.win.mean / (report.drop * each.rounds) for each in periods]
        rows.append(("expected hold of drop", *map(chance_signed, holds)))
    return rows


def compared_rows(report: ShiftReport) -> list[tuple[str, ...]]:
    """Return a row for each differential compared: win, risk, hold, worst roll."""
    return [
        (
            "none" if apart is None else f"{apart:,}",
            amount(shift.turnover),
            amount(shift.win.mean),
            amount(shift.win.sd),
            chance(shift.losing),
            amount(shift.win.worst),
            amount(shift.worst_roll(Fraction(1, 100))),
        )
        for apart, shift in report.compared
    ]


COMPARED: Final = ("differential", "staked", "expected win", "sd", "house loses", "1 in 1,000",
                   "worst roll, 1 %")  # fmt: skip


def safe_words(report: ShiftReport) -> str:
    """Say which maximum keeps the loss unlikely, or that none does."""
    if report.safe is None:
        return ""
    asked = f"a loss of more than {report.loss:,} in a shift at most {chance(report.share)} likely"
    safe = report.safe
    if safe.maximum is None or safe.chance is None:
        tried = "No table maximum keeps" if safe.all_tried else "None of the maxima tried keeps"
        return f"{tried} {asked}."
    above = (
        "A higher one changes nothing, because nobody stakes more."
        if safe.next is None
        else f"The next one up makes it {chance(safe.next)}."
    )
    return f"A table maximum of {safe.maximum:,} keeps {asked}: {chance(safe.chance)}. {above}"


def _picture(each: Period) -> str:
    marks = [
        (f"{float(share) * 100:g} %", float(each.win.quantile(share)))
        for share in (QUANTILES[1], QUANTILES[3], QUANTILES[5])
    ]
    drawing = distribution_chart(each.win.plain(), marks, f"Win of one {each.name}", "house's win")
    return figure(drawing, f"The house's win of one {each.name}, {each.rounds:,} rounds.")


def _compared(report: ShiftReport) -> list[str]:
    if not report.compared:
        return []
    return [heading("What a differential does to a shift"), table(COMPARED, compared_rows(report))]


def _safe(report: ShiftReport) -> list[str]:
    words = safe_words(report)
    return [heading("A safe maximum"), paragraph(words)] if words else []
