"""A printable page: the house's shift, with win, hold, worst roll and the effect of limits."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from threedice.pages import markup
from threedice.pages.charts import distribution_chart
from threedice.pages.distribution import describe_distribution_method
from threedice.pages.numbers import (
    format_amount,
    format_chance,
    format_share,
    format_signed_percent,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.odds import PeriodForecast, SafeMaximum
    from threedice.rulebook import Game

SHIFT_QUANTILES: Final = tuple(Fraction(each, 1000) for each in (1, 10, 50, 500, 950, 990, 999))


@dataclass(frozen=True)
class ShiftForecast:
    """A forecast of a table's shift: assumptions, periods and the effect of limits.

    `compared` holds a shift for each differential; `safe` is the maximum that keeps a loss of more
    than `loss` in a shift at most `share` likely.
    """

    game: Game
    assumptions: str
    periods: Sequence[PeriodForecast]
    comparisons: Sequence[tuple[int | None, PeriodForecast]] = ()
    safe: SafeMaximum | None = None
    loss: int = 0
    share: Fraction = Fraction(1, 100)
    drop: Fraction | None = None
    """Average cash changed into chips per round, for the hold as the trade computes it."""


def shift_page(forecast: ShiftForecast) -> str:
    """Return the page."""
    return markup.page(
        "The house's shift",
        forecast.game,
        [
            markup.paragraph(forecast.assumptions, "lead"),
            markup.heading("Win"),
            markup.table(("", *(each.name for each in forecast.periods)), win_rows(forecast)),
            *[_win_figure(each) for each in forecast.periods],
            *_comparison_section(forecast),
            *_safe_maximum_section(forecast),
            markup.heading("How the figures are computed"),
            markup.paragraph(
                describe_distribution_method(max(each.win.error for each in forecast.periods))
            ),
            markup.paragraph(
                "Rounds are independent and all alike; bets of one round share its roll. Hold is "
                "the win as a share of what is staked, on average over the period. The worst roll "
                "is the one round of the period that costs the house most."
            ),
        ],
    )


def win_rows(forecast: ShiftForecast) -> list[tuple[str, ...]]:
    """Return the figures of all periods, one row per figure."""
    periods = forecast.periods
    rows = [
        ("rounds", *(f"{each.rounds:,}" for each in periods)),
        ("staked on average", *(format_amount(each.turnover) for each in periods)),
        ("expected win", *(format_amount(each.win.mean) for each in periods)),
        ("standard deviation", *(format_amount(each.win.sd) for each in periods)),
        ("expected hold of stakes", *(format_signed_percent(each.mean_hold) for each in periods)),
        ("house loses", *(format_chance(each.loss_probability) for each in periods)),
    ]
    for share in SHIFT_QUANTILES:
        label = f"win, {format_share(share)} or less"
        rows.append((label, *(format_amount(each.win.quantile(share)) for each in periods)))
    for share in (Fraction(1, 100), Fraction(1, 2)):
        label = f"worst roll, {format_share(share)}"
        rows.append((label, *(format_amount(each.worst_round_quantile(share)) for each in periods)))
    if forecast.drop:
        holds = [each.win.mean / (forecast.drop * each.rounds) for each in periods]
        rows.append(("expected hold of drop", *map(format_signed_percent, holds)))
    return rows


def comparison_rows(forecast: ShiftForecast) -> list[tuple[str, ...]]:
    """Return a row for each differential compared: stakes, win, risk, worst roll."""
    return [
        (
            "none" if differential is None else f"{differential:,}",
            format_amount(shift.turnover),
            format_amount(shift.win.mean),
            format_amount(shift.win.sd),
            format_chance(shift.loss_probability),
            format_amount(shift.win.worst_1_in_1000),
            format_amount(shift.worst_round_quantile(Fraction(1, 100))),
        )
        for differential, shift in forecast.comparisons
    ]


COMPARISON_COLUMNS: Final = (
    "differential",
    "staked",
    "expected win",
    "sd",
    "house loses",
    "1 in 1,000",
    "worst roll, 1 %",
)


def describe_safe_maximum(forecast: ShiftForecast) -> str:
    """Describe which maximum keeps the loss unlikely, if any does."""
    if forecast.safe is None:
        return ""
    target = (
        f"a loss of more than {forecast.loss:,} in a shift"
        f" at most {format_chance(forecast.share)} likely"
    )
    safe = forecast.safe
    if safe.maximum is None or safe.chance is None:
        subject = "No table maximum keeps" if safe.all_tried else "None of the maxima tried keeps"
        return f"{subject} {target}."
    next_text = (
        "A higher one changes nothing, because nobody stakes more."
        if safe.next_chance is None
        else f"The next one up makes it {format_chance(safe.next_chance)}."
    )
    chance = format_chance(safe.chance)
    return f"A table maximum of {safe.maximum:,} keeps {target}: {chance}. {next_text}"


def _win_figure(period: PeriodForecast) -> str:
    marks = [
        (format_share(share), float(period.win.quantile(share)))
        for share in (SHIFT_QUANTILES[1], SHIFT_QUANTILES[3], SHIFT_QUANTILES[5])
    ]
    drawing = distribution_chart(
        period.win.as_floats(), marks, f"Win of one {period.name}", "house's win"
    )
    return markup.figure(
        drawing, f"The house's win of one {period.name}, {period.rounds:,} rounds."
    )


def _comparison_section(forecast: ShiftForecast) -> list[str]:
    if not forecast.comparisons:
        return []
    return [
        markup.heading("Effect of a differential on a shift"),
        markup.table(COMPARISON_COLUMNS, comparison_rows(forecast)),
    ]


def _safe_maximum_section(forecast: ShiftForecast) -> list[str]:
    description = describe_safe_maximum(forecast)
    return [markup.heading("A safe maximum"), markup.paragraph(description)] if description else []
