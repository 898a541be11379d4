"""The net result of a mix of bets over many rounds, as a page to print."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from threedice.pages.curves import distribution_chart
from threedice.pages.frame import (
    amount,
    chance,
    figure,
    heading,
    key_figures,
    page,
    paragraph,
    table,
)

if TYPE_CHECKING:
    from threedice.maths import LongRun, Mix

SHARES: Final = tuple(
    Fraction(each, 1000) for each in (1, 10, 50, 100, 250, 500, 750, 900, 950, 990, 999)
)
_MARKED: Final = (1, 50, 500, 950, 999)


def distribution_page(bets: Mix, found: LongRun) -> str:
    """Return the whole page."""
    stakes = ", ".join(f"{stake} on {box}" for box, stake in bets.stakes.items())
    marks = [
        (_name(Fraction(each, 1000)), float(found.quantile(Fraction(each, 1000))))
        for each in _MARKED
    ]
    return page(
        f"{found.rounds:,} rounds of {bets.total:,}",
        bets.game,
        [
            paragraph(f"In every round {stakes}.", "lead"),
            key_figures(
                [
                    ("ahead in the end", chance(found.ahead)),
                    ("expected net result", amount(found.mean)),
                    ("standard deviation", amount(found.sd)),
                    ("or worse, once in a thousand times", amount(found.worst)),
                ]
            ),
            figure(
                distribution_chart(
                    found.plain(), marks, "Distribution of the net result", "net result"
                ),
                "How likely each net result is; red is lost, green is won. Dashed lines mark the "
                "results that are not exceeded with the probability written above. One part in a "
                "hundred thousand at either end is left out of the picture.",
            ),
            heading("Quantiles"),
            table(
                ("with probability", "no more than", "of all stakes"),
                (
                    (_name(share), amount(net), chance_signed(net / (bets.total * found.rounds)))
                    for share, net in ((each, found.quantile(each)) for each in SHARES)
                ),
            ),
            heading("Ahead, level, behind"),
            table(
                ("", "probability"),
                (
                    ("ahead", chance(found.ahead)),
                    ("level", chance(found.level)),
                    ("behind", chance(found.behind)),
                ),
            ),
            heading("How the figures are made"),
            paragraph(method(found.error)),
        ],
    )


def method(error: float) -> str:
    """Say how a distribution was found, and how sure its digits are."""
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


def chance_signed(share: Fraction) -> str:
    """Write a share of the stakes, which may be negative, as a percentage."""
    return f"{float(share) * 100:,.3f} %".replace("-", "−")


def _name(share: Fraction) -> str:
    return f"{float(share) * 100:g} %"
