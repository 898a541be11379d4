"""A printable page: the net result of a mix of bets over many rounds."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from threedice.pages import markup
from threedice.pages.charts import distribution_chart
from threedice.pages.numbers import (
    format_amount,
    format_chance,
    format_share,
    format_signed_percent,
)

if TYPE_CHECKING:
    from threedice.odds import LongRun, Mix

DISTRIBUTION_QUANTILES: Final = tuple(
    Fraction(each, 1000) for each in (1, 10, 50, 100, 250, 500, 750, 900, 950, 990, 999)
)
_MARKED_QUANTILES: Final = tuple(Fraction(each, 1000) for each in (1, 50, 500, 950, 999))


def distribution_page(bets: Mix, result: LongRun) -> str:
    """Return the page."""
    stakes = ", ".join(f"{stake} on {box}" for box, stake in bets.stakes.items())
    marks = [(format_share(each), float(result.quantile(each))) for each in _MARKED_QUANTILES]
    quantiles = [(each, result.quantile(each)) for each in DISTRIBUTION_QUANTILES]
    return markup.page(
        f"{result.rounds:,} rounds of {bets.total:,}",
        bets.game,
        [
            markup.paragraph(f"In every round {stakes}.", "lead"),
            markup.key_figures(
                [
                    ("ahead in the end", format_chance(result.ahead)),
                    ("expected net result", format_amount(result.mean)),
                    ("standard deviation", format_amount(result.sd)),
                    ("or worse, once in a thousand times", format_amount(result.worst_1_in_1000)),
                ]
            ),
            markup.figure(
                distribution_chart(
                    result.as_floats(), marks, "Distribution of the net result", "net result"
                ),
                "The probability of each net result; losses are red, wins are green. Dashed lines "
                "mark the results that are not exceeded with the probability above. One part in a "
                "hundred thousand at either end is left out.",
            ),
            markup.heading("Quantiles"),
            markup.table(
                ("with probability", "no more than", "of all stakes"),
                (
                    (
                        format_share(share),
                        format_amount(net),
                        format_signed_percent(net / (bets.total * result.rounds)),
                    )
                    for share, net in quantiles
                ),
            ),
            markup.heading("Ahead, level, behind"),
            markup.table(
                ("", "probability"),
                (
                    ("ahead", format_chance(result.ahead)),
                    ("level", format_chance(result.level)),
                    ("behind", format_chance(result.behind)),
                ),
            ),
            markup.heading("How the figures are computed"),
            markup.paragraph(describe_distribution_method(result.error)),
        ],
    )


def describe_distribution_method(error: float) -> str:
    """Describe how a distribution was computed and how exact it is."""
    if error:
        return (
            "The results of one round were counted over the 216 rolls and raised to the number of "
            "rounds by a Fourier transform in float64. No probability is off by more than "
            f"{error:.1e}. Mean and standard deviation are exact before they are rounded."
        )
    return (
        "Every sequence of rolls is counted, in whole numbers of any size; nothing is simulated "
        "and nothing is rounded until it is written down."
    )
